/* Random graphs, whose nodes are fused in ways that nobody thought of.
 *
 * Rounding may differ within kernels, and a graph may make much of it (the floor of a
 * sum that is nearly whole). So an element that is off counts only if `ref` itself
 * keeps to its result when the inputs are moved by a rounding error. */
#include "base/random.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "case.h"
#include "ir/random_graph.h"
#include "verify/verify.h"

enum { MOST = 8, NODES = 40, MOST_SYMBOLS = 32, SHAKES = 6 };

/* Relative to the element, and never less than the same of 1. */
static const double tolerance = 2e-3;

typedef struct trial {
  const hone_verify_device_t* device;
  const hone_verify_unit_t* unit;
  int n_nodes;
  hone_graph_t *graph, *plain;
  hone_program_t *program, *reference;
  int n_inputs, n_outputs;
  hone_tensor_t *inputs[MOST], *actual[MOST], *expected[MOST];
  bool differs;
  char text[HONE_VERIFY_TEXT_SIZE];
  bool failed; /* the device says no */
} trial_t;

static hone_verify_device_t oracle(void) {
  return (hone_verify_device_t){.name = "ref", .backend = hone_backend_find("ref")};
}

/* ---- inputs ---- */

static hone_status_t make_inputs(trial_t* t) {
  int64_t values[MOST_SYMBOLS] = {0}, dims[HONE_MAX_RANK];
  for (int i = 0; i < hone_dims_symbol_count(t->plain->dims) && i < MOST_SYMBOLS; i++)
    values[i] = 1 + (int64_t)(hone_random_u32(t->unit->seed, (uint64_t)i) % 4);
  for (int i = 0; i < t->n_inputs; i++) {
    const hone_type_t* type = &t->plain->inputs[i]->type;
    for (int k = 0; k < type->rank; k++) dims[k] = hone_dim_eval(type->dims[k], values);
    hone_verify_input_t input = {.fill = HONE_VERIFY_MODERATE};
    HONE_TRY(hone_verify_fill_tensor(&input, 0, type->dtype, type->rank, dims,
                                     t->unit->seed + 1 + (uint64_t)i, &t->inputs[i]));
  }
  return NULL;
}

/* A copy with every float moved by up to four units in the last place. */
static hone_status_t shake(const hone_tensor_t* from, uint64_t seed, hone_tensor_t** out) {
  HONE_TRY(hone_tensor_create(NULL, hone_tensor_dtype(from), hone_tensor_rank(from),
                              hone_tensor_dims(from), out));
  if (hone_tensor_bytes(from))
    memcpy(hone_tensor_data(*out), hone_tensor_data(from), hone_tensor_bytes(from));
  float* numbers = hone_tensor_data(*out);
  for (int64_t i = 0; hone_tensor_dtype(from) == HONE_F32 && i < hone_tensor_count(from); i++) {
    int steps = (int)(hone_random_u32(seed, (uint64_t)i) % 9) - 4;
    numbers[i] += (float)steps * 0x1p-23f * (fabsf(numbers[i]) + 0x1p-20f);
  }
  return NULL;
}

/* ---- comparing ---- */

static bool is_near(double a, double b) {
  if (a == b || (isnan(a) && isnan(b))) return true;
  return isfinite(a) && isfinite(b) && fabs(a - b) <= tolerance * fmax(1, fabs(b));
}

static double number_at(const hone_tensor_t* tensor, int64_t index) {
  const char* data = hone_tensor_data(tensor);
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  return hone_to_double(dtype, data + (size_t)index * hone_dtype_size(dtype));
}

/* Marks elements at which `ref` says something else once the inputs were shaken. */
static hone_status_t mark_touchy(const trial_t* t, int output, uint64_t seed, bool* touchy) {
  hone_tensor_t *inputs[MOST] = {NULL}, *outputs[MOST] = {NULL};
  hone_verify_device_t ref = oracle();
  hone_status_t status = NULL;
  for (int i = 0; i < t->n_inputs && !status; i++)
    status = shake(t->inputs[i], seed + (uint64_t)i, &inputs[i]);
  if (!status)
    status = hone_verify_run(&ref, t->reference, t->n_inputs, inputs, t->n_outputs, outputs);
  for (int64_t i = 0; !status && i < hone_tensor_count(t->expected[output]); i++) {
    double a = number_at(outputs[output], i), b = number_at(t->expected[output], i);
    touchy[i] = touchy[i] || !(a == b || (isfinite(a) && isfinite(b) &&
                                          fabs(a - b) <= 0.1 * tolerance * fmax(1, fabs(b))));
  }
  hone_verify_release(MOST, inputs);
  hone_verify_release(MOST, outputs);
  return status;
}

/* The first element that is off without being touchy; -1: none. */
static hone_status_t first_wrong(const trial_t* t, int output, int64_t* out_index) {
  const hone_tensor_t *e = t->expected[output], *a = t->actual[output];
  int64_t count = hone_tensor_count(e), first = -1;
  *out_index = -1;
  for (int64_t i = count - 1; i >= 0; i--)
    if (!is_near(number_at(a, i), number_at(e, i))) first = i;
  if (first < 0) return NULL;
  bool* touchy = hone_alloc(NULL, (size_t)count);
  if (!touchy) return hone_oom();
  hone_status_t status = NULL;
  for (uint64_t k = 0; k < SHAKES && !status; k++)
    status = mark_touchy(t, output, t->unit->seed + 100 * k, touchy);
  for (int64_t i = count - 1; i >= 0 && !status; i--)
    if (!touchy[i] && !is_near(number_at(a, i), number_at(e, i))) *out_index = i;
  hone_free(NULL, touchy, (size_t)count);
  return status;
}

static hone_status_t compare(trial_t* t) {
  for (int i = 0; i < t->n_outputs && !t->differs; i++) {
    hone_verify_mismatch_t type_only;
    int64_t index = -1;
    hone_verify_compare(t->expected[i], t->actual[i], NULL, (hone_verify_bound_t){.ulps = INFINITY},
                        &type_only);
    bool other_type = type_only.wrong && strstr(type_only.text, "another");
    if (!other_type) HONE_TRY(first_wrong(t, i, &index));
    t->differs = other_type || index >= 0;
    if (other_type)
      snprintf(t->text, sizeof t->text, "output %d is of another type or shape", i);
    else if (index >= 0)
      snprintf(t->text, sizeof t->text, "output %d, element %lld: %.9g, expected %.9g", i,
               (long long)index, number_at(t->actual[i], index), number_at(t->expected[i], index));
  }
  return NULL;
}

/* ---- one graph ---- */

/* What both refuse alike is no difference. */
static hone_status_t run_both(trial_t* t) {
  hone_verify_device_t ref = oracle();
  hone_status_t theirs =
      hone_verify_run(&ref, t->reference, t->n_inputs, t->inputs, t->n_outputs, t->expected);
  hone_status_t mine =
      hone_verify_run(t->device, t->program, t->n_inputs, t->inputs, t->n_outputs, t->actual);
  hone_code_t a = hone_status_code(theirs), b = hone_status_code(mine);
  t->differs = a != b;
  if (t->differs)
    snprintf(t->text, sizeof t->text, "ends with %s, expected %s: %.120s", hone_code_name(b),
             hone_code_name(a), mine ? hone_status_message(mine) : hone_status_message(theirs));
  bool ran = !mine && !theirs;
  hone_status_free(mine);
  hone_status_free(theirs);
  return ran ? compare(t) : NULL;
}

static hone_status_t run_trial(trial_t* t) {
  hone_verify_device_t ref = oracle();
  HONE_TRY(hone_random_graph(t->unit->seed, t->n_nodes, &t->graph));
  HONE_TRY(hone_random_graph(t->unit->seed, t->n_nodes, &t->plain));
  t->n_inputs = t->plain->n_inputs;
  t->n_outputs = t->plain->n_outputs;
  HONE_TRY(make_inputs(t));
  HONE_TRY(hone_verify_compile(&ref, t->plain, &t->reference));
  hone_status_t status = hone_verify_compile(t->device, t->graph, &t->program);
  if (!status) return run_both(t);
  if (hone_status_code(status) == HONE_OUT_OF_MEMORY) return status;
  t->failed = true;
  snprintf(t->text, sizeof t->text, "%s", hone_status_message(status));
  hone_status_free(status);
  return NULL;
}

static void drop(trial_t* t) {
  hone_verify_device_t ref = oracle();
  hone_verify_release(MOST, t->inputs);
  hone_verify_release(MOST, t->actual);
  hone_verify_release(MOST, t->expected);
  hone_verify_drop_program(t->device, t->program);
  hone_verify_drop_program(&ref, t->reference);
  hone_graph_destroy(t->graph);
  hone_graph_destroy(t->plain);
}

static hone_status_t write_case(const trial_t* t, const hone_verify_options_t* options) {
  hone_graph_t* graph;
  HONE_TRY(hone_random_graph(t->unit->seed, t->n_nodes, &graph));
  int n = t->expected[0] ? t->n_outputs : 0;
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%s/%s", options->cases, t->unit->name);
  hone_status_t status = hone_case_write(folder, graph, t->n_inputs, t->inputs, n, t->expected);
  hone_graph_destroy(graph);
  return status;
}

/* One number of steps; writes the case when it differs and `writes`. */
static hone_status_t try_nodes(const hone_verify_device_t* device,
                               const hone_verify_options_t* options, const hone_verify_unit_t* unit,
                               int n_nodes, bool writes, hone_verify_cell_t* out_cell) {
  trial_t t = {.device = device, .unit = unit, .n_nodes = n_nodes};
  hone_status_t status = run_trial(&t);
  out_cell->verdict = t.failed    ? HONE_VERIFY_FAILED
                      : t.differs ? HONE_VERIFY_DIFFERS
                                  : HONE_VERIFY_SAME;
  snprintf(out_cell->text, sizeof out_cell->text, "%s", t.text);
  if (!status && writes && out_cell->verdict != HONE_VERIFY_SAME) status = write_case(&t, options);
  drop(&t);
  return status;
}

hone_status_t hone_verify_random_run(const hone_verify_device_t* device,
                                     const hone_verify_options_t* options,
                                     const hone_verify_unit_t* unit,
                                     hone_verify_result_t* out_result) {
  hone_verify_cell_t* cell = &out_result->cells[0];
  HONE_TRY(try_nodes(device, options, unit, NODES, false, cell));
  out_result->done = true;
  if (cell->verdict == HONE_VERIFY_SAME || !options->cases) return NULL;
  for (int n = 1; n <= NODES; n++) { /* the shortest beginning that is wrong too */
    hone_verify_cell_t shorter;
    HONE_TRY(try_nodes(device, options, unit, n, true, &shorter));
    if (shorter.verdict == HONE_VERIFY_SAME) continue;
    *cell = shorter;
    break;
  }
  return NULL;
}
