#include "passes/testing/graph_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "hone/backend.h"
#include "import/graph_text.h"

/* ---- inputs ---- */

typedef struct draw {
  uint64_t seed, index;
} draw_t;

static uint32_t next(draw_t* d) { return hone_random_u32(d->seed, d->index++); }

/* Small numbers with fractions, and now and then a special one. */
static double draw_float(draw_t* d) {
  static const double special[] = {0.0, -0.0, 1.0, -1.0, 0.5};
  uint32_t word = next(d);
  if (word % 11 == 0) return special[(word / 11) % TEST_COUNT(special)];
  return ((double)(word >> 8) / (1 << 24) - 0.5) * 4;
}

static void draw_element(draw_t* d, hone_dtype_t dtype, void* element) {
  if (hone_dtype_is_float(dtype)) {
    hone_from_double(dtype, draw_float(d), true, element);
    return;
  }
  int64_t value = (int64_t)(next(d) % (dtype == HONE_BOOL ? 2 : 5));
  memcpy(element, &value, hone_dtype_size(dtype)); /* little endian */
}

static void draw_word(draw_t* d, hone_tensor_t* tensor, int64_t index) {
  static const char* const words[] = {"", "a", "one", "two words", "Three."};
  const char* word = words[next(d) % TEST_COUNT(words)];
  assert_ok(hone_tensor_set_string(tensor, index, word, strlen(word)));
}

static hone_tensor_t* draw_tensor(draw_t* d, const hone_type_t* type, const int64_t* symbols) {
  int64_t dims[HONE_MAX_RANK];
  assert_true(hone_type_is_known(type));
  for (int i = 0; i < type->rank; i++) dims[i] = hone_dim_eval(type->dims[i], symbols);
  hone_tensor_t* tensor;
  assert_ok(hone_tensor_create(NULL, type->dtype, type->rank, dims, &tensor));
  char* data = hone_tensor_data(tensor);
  size_t size = hone_dtype_size(type->dtype);
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++)
    if (type->dtype == HONE_STRING)
      draw_word(d, tensor, i);
    else
      draw_element(d, type->dtype, data + (size_t)i * size);
  return tensor;
}

/* Each symbol of the inputs a size that its range allows: `extent`, or (0) a small one. */
static int64_t* draw_symbols(const hone_graph_t* graph, draw_t* d, int64_t extent) {
  int count = hone_dims_symbol_count(graph->dims);
  int64_t* values = calloc((size_t)count + 1, sizeof *values);
  assert_non_null(values);
  for (int i = 0; i < count; i++) {
    const hone_symbol_t* symbol = hone_dims_symbol(graph->dims, i);
    if (symbol->origin != HONE_SYMBOL_INPUT) continue;
    values[i] = extent ? extent : 1 + (int64_t)(next(d) % 4);
    if (values[i] < symbol->min) values[i] = symbol->min;
    if (values[i] > symbol->max) values[i] = symbol->max;
  }
  return values;
}

/* ---- running ---- */

static hone_status_t run_ref(const hone_graph_t* graph, hone_tensor_t** inputs,
                             test_outputs_t* out) {
  const hone_backend_t* ref = hone_backend_find("ref");
  hone_compile_options_t compile = {.struct_size = sizeof compile,
                                    .allocator = hone_allocator_system()};
  hone_run_options_t options = {.struct_size = sizeof options, .seed = 7};
  hone_program_t* program;
  HONE_TRY(ref->compile(graph, &compile, &program));
  hone_status_t status =
      ref->run(program, &options, graph->n_inputs, inputs, graph->n_outputs, out->tensors);
  ref->destroy(program);
  return status;
}

void test_graph_run(const hone_graph_t* graph, uint64_t seed, test_outputs_t* out) {
  test_graph_run_sized(graph, seed, 0, out);
}

void test_graph_run_sized(const hone_graph_t* graph, uint64_t seed, int64_t extent,
                          test_outputs_t* out) {
  *out = (test_outputs_t){.count = graph->n_outputs};
  assert_true(graph->n_outputs <= TEST_MAX_OUTPUTS);
  draw_t d = {.seed = seed};
  int64_t* symbols = draw_symbols(graph, &d, extent);
  hone_tensor_t** inputs = calloc((size_t)graph->n_inputs + 1, sizeof *inputs);
  assert_non_null(inputs);
  for (int i = 0; i < graph->n_inputs; i++) {
    d = (draw_t){.seed = seed + 1 + (uint64_t)i};
    inputs[i] = draw_tensor(&d, &graph->inputs[i]->type, symbols);
  }
  hone_status_t status = run_ref(graph, inputs, out);
  out->code = hone_status_code(status);
  snprintf(out->message, sizeof out->message, "%s", hone_status_message(status));
  assert_int_not_equal(out->code, HONE_OUT_OF_MEMORY);
  assert_int_not_equal(out->code, HONE_INTERNAL);
  hone_status_free(status);
  for (int i = 0; i < graph->n_inputs; i++) hone_tensor_release(inputs[i]);
  free(inputs);
  free(symbols);
}

void test_outputs_free(test_outputs_t* outputs) {
  for (int i = 0; i < outputs->count; i++) hone_tensor_release(outputs->tensors[i]);
}

/* ---- comparing ---- */

static bool close_enough(double x, double y, double tolerance) {
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
  if (tolerance == 0 || isinf(x) || isinf(y)) return x == y && signbit(x) == signbit(y);
  double scale = fmax(1, fmax(fabs(x), fabs(y)));
  return fabs(x - y) <= tolerance * scale;
}

static bool same_text(const hone_string_t* x, const hone_string_t* y) {
  return x->size == y->size && (x->size == 0 || memcmp(x->data, y->data, x->size) == 0);
}

/* One element of two tensors. */
static bool same_element(hone_dtype_t dtype, const void* x, const void* y, double tolerance) {
  if (dtype == HONE_STRING) return same_text(x, y);
  if (memcmp(x, y, hone_dtype_size(dtype)) == 0) return true;
  return hone_dtype_is_float(dtype) &&
         close_enough(hone_to_double(dtype, x), hone_to_double(dtype, y), tolerance);
}

static void same_value(const hone_tensor_t* a, const hone_tensor_t* b, double tolerance,
                       const char* what, int output);

static void same_items(const hone_tensor_t* a, const hone_tensor_t* b, double tolerance,
                       const char* what, int output) {
  if (hone_tensor_kind(a) != hone_tensor_kind(b) || hone_tensor_count(a) != hone_tensor_count(b))
    fail_msg("%s: output %d is of another kind or length", what, output);
  for (int64_t i = 0; hone_sequence_item(a, i); i++)
    same_value(hone_sequence_item(a, i), hone_sequence_item(b, i), tolerance, what, output);
}

static void same_tensor(const hone_tensor_t* a, const hone_tensor_t* b, double tolerance,
                        const char* what, int output) {
  hone_dtype_t dtype = hone_tensor_dtype(a);
  if (dtype != hone_tensor_dtype(b) || hone_tensor_count(a) != hone_tensor_count(b) ||
      hone_tensor_rank(a) != hone_tensor_rank(b))
    fail_msg("%s: output %d is of another type or shape", what, output);
  size_t size = hone_dtype_size(dtype);
  const char *x = hone_tensor_data(a), *y = hone_tensor_data(b);
  for (int64_t i = 0; i < hone_tensor_count(a); i++, x += size, y += size)
    if (!same_element(dtype, x, y, tolerance))
      fail_msg("%s: output %d, element %lld differs", what, output, (long long)i);
}

static void same_value(const hone_tensor_t* a, const hone_tensor_t* b, double tolerance,
                       const char* what, int output) {
  if (hone_tensor_kind(a) == HONE_KIND_TENSOR && hone_tensor_kind(b) == HONE_KIND_TENSOR)
    same_tensor(a, b, tolerance, what, output);
  else
    same_items(a, b, tolerance, what, output);
}

void test_outputs_same(const test_outputs_t* a, const test_outputs_t* b, double tolerance,
                       const char* what) {
  if (a->code != b->code)
    fail_msg("%s: one run ends with %s, the other with %s (%s%s)", what, hone_code_name(a->code),
             hone_code_name(b->code), a->message, b->message);
  assert_int_equal(a->count, b->count);
  for (int i = 0; !a->code && i < a->count; i++)
    same_value(a->tensors[i], b->tensors[i], tolerance, what, i);
}

/* ---- text ---- */

char* test_graph_text(const hone_graph_t* graph) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  assert_ok(hone_graph_print(graph, 0, &text));
  char* copy = strdup(hone_str_text(&text));
  assert_non_null(copy);
  hone_str_free(&text);
  return copy;
}

hone_graph_t* test_graph_parse(const char* text) {
  hone_graph_t* graph;
  assert_ok(hone_graph_parse(NULL, text, strlen(text), &graph));
  return graph;
}

int64_t test_pass_run(hone_graph_t* graph, const hone_pass_options_t* options, const char* pass) {
  hone_pass_options_t one = *options;
  hone_pass_report_t report;
  one.n_only = 1;
  one.only = &pass;
  one.verify = true;
  assert_ok(hone_pass_report_create(NULL, &report));
  assert_ok(hone_passes_run(graph, &one, &report));
  int64_t count = report.first ? report.first->count : 0;
  hone_pass_report_destroy(&report);
  return count;
}
