/* Random inputs, two runs, one comparison. */
#include "backends/ref/testing/same_results.h"

#include <math.h>
#include <string.h>

#include "backends/ref/interpreter.h"
#include "base/float_convert.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/str.h"
#include "import/graph_text.h"
#include "ir/verify.h"

enum { MAX_VALUES = 64 };

typedef struct trial {
  hone_graph_t* graph;
  int64_t* symbols;
  ref_view_t inputs[MAX_VALUES], outputs[MAX_VALUES];
} trial_t;

/* The same for the same name in both graphs. */
static int64_t size_of_symbol(const hone_symbol_t* symbol, uint64_t seed) {
  uint64_t key = seed;
  for (const char* c = symbol->name; *c; c++) key = key * 31 + (unsigned char)*c;
  int64_t low = symbol->min > 1 ? symbol->min : 1;
  int64_t high = symbol->max < low + 4 ? symbol->max : low + 4;
  return low + (int64_t)(hone_random_u32(key, 0) % (uint32_t)(high - low + 1));
}

static void fill(ref_view_t* view, uint64_t seed) {
  int64_t count = hone_ref_count(view);
  size_t size = hone_dtype_size(view->dtype);
  bool is_float = hone_dtype_is_float(view->dtype);
  for (int64_t i = 0; i < count; i++) {
    uint32_t word = hone_random_u32(seed, (uint64_t)i);
    double value = is_float ? word / 1073741824.0 - 2 : word % (view->dtype == HONE_BOOL ? 2 : 4);
    hone_from_double(view->dtype, value, true, view->data + (size_t)i * size);
  }
}

static void run(trial_t* t, hone_graph_t* graph, uint64_t seed) {
  int64_t symbols[256] = {0}, dims[HONE_MAX_RANK];
  int n_symbols = hone_dims_symbol_count(graph->dims);
  assert_true(n_symbols <= 256 && graph->n_inputs <= MAX_VALUES && graph->n_outputs <= MAX_VALUES);
  for (int i = 0; i < n_symbols; i++)
    symbols[i] = size_of_symbol(hone_dims_symbol(graph->dims, i), seed);
  for (int i = 0; i < graph->n_inputs; i++) {
    const hone_type_t* type = &graph->inputs[i]->type;
    for (int k = 0; k < type->rank; k++) dims[k] = hone_dim_eval(type->dims[k], symbols);
    assert_ok(hone_ref_make(NULL, type->dtype, type->rank, dims, &t->inputs[i]));
    fill(&t->inputs[i], seed + 77u * (unsigned)i);
  }
  ref_run_t state = {.allocator = hone_allocator_system(), .seed = seed};
  assert_ok(hone_ref_run_root(&state, graph, graph->n_inputs, t->inputs, t->outputs));
}

static void drop(trial_t* t, const hone_graph_t* graph) {
  for (int i = 0; i < graph->n_inputs; i++) hone_ref_drop(&t->inputs[i]);
  for (int i = 0; i < graph->n_outputs; i++) hone_ref_drop(&t->outputs[i]);
}

/* The largest difference; infinite where only one is a number. */
static double distance(hone_tensor_t* a, hone_tensor_t* b) {
  size_t bytes = hone_tensor_bytes(a);
  if (bytes == 0 || memcmp(hone_tensor_data(a), hone_tensor_data(b), bytes) == 0) return 0;
  double worst = 1e-300; /* other bytes are a difference */
  size_t size = hone_dtype_size(hone_tensor_dtype(a));
  for (int64_t i = 0; i < hone_tensor_count(a); i++) {
    const char* x = (const char*)hone_tensor_data(a) + (size_t)i * size;
    const char* y = (const char*)hone_tensor_data(b) + (size_t)i * size;
    double p = hone_to_double(hone_tensor_dtype(a), x), q = hone_to_double(hone_tensor_dtype(a), y);
    if (isnan(p) != isnan(q)) return INFINITY;
    if (p != q && fabs(p - q) > worst) worst = fabs(p - q);
  }
  return worst;
}

static void compare(const ref_view_t* x, const ref_view_t* y, double tolerance, int index,
                    const char* file, int line) {
  hone_tensor_t *a, *b;
  assert_ok(hone_ref_tensor(NULL, x, &a));
  assert_ok(hone_ref_tensor(NULL, y, &b));
  bool same = x->dtype == y->dtype && x->rank == y->rank;
  for (int i = 0; same && i < x->rank; i++) same = x->dims[i] == y->dims[i];
  double worst = same ? distance(a, b) : INFINITY;
  if (worst > tolerance) print_error("result %d differs by %g\n", index, worst);
  _assert_true(worst <= tolerance, "the results are the same", file, line);
  hone_tensor_release(a);
  hone_tensor_release(b);
}

void hone_same_results(hone_graph_t* a, hone_graph_t* b, uint64_t seed, double tolerance,
                       const char* file, int line) {
  trial_t x = {0}, y = {0};
  assert_ok(hone_graph_verify(a));
  assert_ok(hone_graph_verify(b));
  run(&x, a, seed);
  run(&y, b, seed);
  _assert_int_equal(a->n_outputs, b->n_outputs, file, line);
  for (int i = 0; i < a->n_outputs; i++)
    compare(&x.outputs[i], &y.outputs[i], tolerance, i, file, line);
  drop(&x, a);
  drop(&y, b);
}

hone_graph_t* hone_graph_of_text(const char* symbols, const char* lines) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_appendf(&text, "hone-graph 1\n%sgraph \"main\" {\n%s}\n", symbols, lines);
  hone_graph_t* graph;
  hone_status_t status = hone_graph_parse(NULL, hone_str_text(&text), text.size, &graph);
  if (status) print_error("%s", hone_str_text(&text));
  assert_ok(status);
  hone_str_free(&text);
  return graph;
}

void hone_expect_text(const hone_graph_t* graph, const char* expected, const char* file, int line) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  assert_ok(hone_graph_print(graph, 0, &text));
  const char* start = strstr(hone_str_text(&text), "graph \"");
  assert_non_null(start);
  start = strchr(start, '\n') + 1;
  _assert_string_equal(start, expected, file, line);
  hone_str_free(&text);
}
