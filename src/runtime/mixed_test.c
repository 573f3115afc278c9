/* Mixed precision: bounds are kept, choices are told, and memory may run out anywhere. */
#include "hone/mixed.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/testing/fault.h"
#include "import/testing/sample.h"
#include "runtime/testing/rich_model.h"

enum { LAYERS = 3, SIZE = 32 };

typedef struct fixture {
  hone_model_t* model;
  hone_tensor_t* input;
} fixture_t;

static fixture_t f;

static void fill(uint64_t seed, int64_t count, float* out) {
  for (int64_t i = 0; i < count; i++)
    out[i] = ((float)(hone_random_u32(seed, (uint64_t)i) % 2001) - 1000) / 4000;
}

/* Three products, one after the other, by weights that are used once. */
static int set_up(void** state) {
  static const char* const nodes[] = {"m0 MatMul x,w0 > a", "m1 MatMul a,w1 > b",
                                      "m2 MatMul b,w2 > y", NULL};
  static const char* const names[] = {"w0", "w1", "w2"};
  static float weights[LAYERS][SIZE * SIZE];
  static const int64_t dims[] = {SIZE, SIZE};
  hone_onnx_tensor_t tensors[LAYERS];
  assert_ok(hone_sample_model(NULL, "x", "y", nodes, &f.model));
  test_declare(f.model, &f.model->graph->inputs[0], HONE_F32, 2,
               (hone_onnx_dim_t[]){{1}, {SIZE}, {0}});
  for (int i = 0; i < LAYERS; i++) {
    fill((uint64_t)i, (int64_t)SIZE * SIZE, weights[i]);
    tensors[i] = hone_sample_tensor(f.model, names[i], HONE_F32, 2, dims, weights[i]);
  }
  f.model->graph->initializers = hone_arena_memdup(f.model->arena, tensors, sizeof tensors);
  f.model->graph->n_initializers = LAYERS;
  assert_non_null(f.model->graph->initializers);
  assert_ok(hone_tensor_create(NULL, HONE_F32, 2, (int64_t[]){1, SIZE}, &f.input));
  fill(9, SIZE, hone_tensor_data(f.input));
  return 0;
}

static int tear_down(void** state) {
  hone_tensor_release(f.input);
  hone_model_destroy(f.model);
  return 0;
}

static hone_status_t compile(const hone_allocator_t* allocator, double bound,
                             hone_engine_t** out_engine, hone_mixed_report_t** out_report) {
  const hone_engine_options_t options = {.struct_size = sizeof options,
                                         .allocator = allocator,
                                         .precision = "mixed",
                                         .no_tuned = true};
  const hone_mixed_options_t mixed = {
      .struct_size = sizeof mixed, .error_bound = bound, .n_inputs = 1, .inputs = &f.input};
  return hone_engine_compile_mixed(f.model, &options, &mixed, out_engine, out_report);
}

static hone_mixed_report_t* choose(double bound) {
  hone_engine_t* engine;
  hone_mixed_report_t* report;
  hone_engine_info_t info;
  assert_ok(compile(NULL, bound, &engine, &report));
  hone_engine_describe(engine, &info);
  assert_string_equal(info.precision, "mixed");
  hone_engine_destroy(engine);
  int narrow = 0;
  assert_int_equal(report->n_layers, LAYERS);
  for (int i = 0; i < LAYERS; i++) {
    const char name[] = {'m', (char)('0' + i), ' ', '(', 0};
    assert_memory_equal(report->layers[i].node, name, strlen(name));
    assert_true(report->layers[i].gain_seconds > 0);
    narrow += report->layers[i].is_narrow;
  }
  assert_int_equal(report->n_narrow, narrow);
  assert_true(report->error <= report->error_bound);
  return report;
}

static void bounds_are_kept(void** state) {
  hone_mixed_report_t* all = choose(0);
  assert_true(all->error_bound == 1e-2 && all->n_narrow == LAYERS && all->n_measured == 1);
  assert_true(all->error > 0 && all->layers[0].error < 0);
  hone_mixed_report_t* none = choose(1e-12);
  assert_true(none->n_narrow == 0 && none->error == 0);
  double least = INFINITY;
  for (int i = 0; i < LAYERS; i++) least = fmin(least, none->layers[i].error);
  hone_mixed_report_t* one = choose(1.001 * least);
  assert_true(one->n_narrow >= 1 && one->n_narrow < LAYERS);
  hone_mixed_report_destroy(all);
  hone_mixed_report_destroy(none);
  hone_mixed_report_destroy(one);
  hone_mixed_report_destroy(NULL);
}

static void mistakes_are_refused(void** state) {
  hone_engine_t* engine;
  hone_mixed_options_t mixed = {.error_bound = -1, .n_inputs = 1, .inputs = &f.input};
  assert_code(hone_engine_compile_mixed(f.model, NULL, &mixed, &engine, NULL),
              HONE_INVALID_ARGUMENT);
  mixed.error_bound = 0;
  mixed.n_inputs = 0;
  assert_code(hone_engine_compile_mixed(f.model, NULL, &mixed, &engine, NULL),
              HONE_INVALID_ARGUMENT);
  assert_null(engine);
  const hone_engine_options_t plain = {.precision = "mixed"};
  assert_code(hone_engine_compile(f.model, &plain, &engine), HONE_UNSUPPORTED);
}

/* At forty places of the whole road, which is long. */
static void memory_may_run_out(void** state) {
  enum { PLACES = 40 };
  hone_fault_t fault;
  hone_engine_t* engine;
  hone_mixed_report_t* report;
  hone_fault_init(&fault, 0, false);
  assert_ok(compile(&fault.allocator, 1e-12, &engine, &report));
  size_t total = atomic_load(&fault.calls);
  hone_engine_destroy(engine);
  hone_mixed_report_destroy(report);
  for (size_t i = 0; i < PLACES; i++) {
    hone_fault_init(&fault, 1 + i * total / PLACES, true);
    hone_status_t status = compile(&fault.allocator, 1e-12, &engine, &report);
    assert_int_equal(hone_status_code(status), HONE_OUT_OF_MEMORY);
    assert_null(engine);
    assert_null(report);
    hone_status_free(status);
    assert_int_equal(atomic_load(&fault.blocks), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bounds_are_kept),
      cmocka_unit_test(mistakes_are_refused),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
