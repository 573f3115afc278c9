/* Real models, where build/models has them, compute the same after all passes
 * as before, but for rounding. HONE_MODEL names a single one. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/testing/test.h"
#include "hone/model.h"
#include "ops/lower.h"
#include "passes/pass.h"
#include "passes/testing/graph_run.h"

/* With so many bytes of weights `ref` takes too long. */
enum { MAX_MODEL_BYTES = 3 << 20 };

/* Models that do not run with any extents. */
static const struct {
  const char* name;
  hone_dim_option_t dims[2];
} sizes[] = {
    {"silero_vad_16k_op15", {{"sequence", 576, 576}, {"batch", 2, 2}}},
    {"silero_vad_op18_ifless", {{"sequence", 576, 576}, {"batch", 2, 2}}},
};

static hone_graph_t* lower(const hone_model_t* model, const char* path) {
  hone_lower_options_t options = {0};
  for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
    if (!strstr(path, sizes[i].name)) continue;
    options.n_dims = 2;
    options.dims = sizes[i].dims;
  }
  hone_graph_t* graph;
  assert_ok(hone_lower_model(model, &options, hone_allocator_system(), &graph));
  return graph;
}

/* The first extent of these with which the model runs at all. */
static bool check_sizes(const hone_graph_t* before, const hone_graph_t* after, const char* path) {
  static const int64_t extents[] = {2, 40, 64};
  for (size_t i = 0; i < TEST_COUNT(extents); i++) {
    test_outputs_t a, b;
    test_graph_run_sized(before, 1, extents[i], &a);
    if (a.code == HONE_OK) {
      test_graph_run_sized(after, 1, extents[i], &b);
      test_outputs_same(&a, &b, 1e-3, path);
      test_outputs_free(&b);
    }
    test_outputs_free(&a);
    if (a.code == HONE_OK) return true;
  }
  return false;
}

static bool check_model(const char* path) {
  hone_model_t* model;
  assert_ok(hone_model_load(path, NULL, &model));
  hone_graph_t *before = lower(model, path), *after = lower(model, path);
  hone_pass_options_t options = {.verify = true};
  assert_ok(hone_passes_run(after, &options, NULL));
  bool ran = check_sizes(before, after, path);
  print_message("%s: %lld -> %lld nodes%s\n", path, (long long)hone_graph_node_count(before),
                (long long)hone_graph_node_count(after), ran ? "" : ", does not run");
  hone_graph_destroy(before);
  hone_graph_destroy(after);
  hone_model_destroy(model);
  return ran;
}

/* Nets that magnify rounding: a value lands on the other side of an int8 step.
 * tests/models/compare.py judges these. */
static bool magnifies_rounding(const char* path) {
  static const char* const names[] = {"arbitrary_predict", "arbitrary_transform", "temporalfix",
                                      "judge_nli", "traceforge"};
  for (size_t i = 0; i < TEST_COUNT(names); i++) {
    if (!strstr(path, names[i])) continue;
    print_message("%s: left out, it magnifies rounding\n", path);
    return true;
  }
  return false;
}

static bool small_enough(const char* path) {
  FILE* file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  fclose(file);
  return size <= MAX_MODEL_BYTES;
}

static void models_compute_the_same(void** state) {
  const char* one = getenv("HONE_MODEL");
  if (one) {
    assert_true(check_model(one));
    return;
  }
  static const char* const patterns[] = {"build/models/*/*/*.onnx", "build/models/*/*/*/*.onnx",
                                         "build/models/*/*/*/*/*.onnx"};
  int ran = 0, found_any = 0;
  for (size_t p = 0; p < TEST_COUNT(patterns); p++) {
    glob_t found;
    if (glob(patterns[p], 0, NULL, &found) != 0) continue;
    found_any += (int)found.gl_pathc;
    for (size_t i = 0; i < found.gl_pathc; i++)
      if (small_enough(found.gl_pathv[i]) && !magnifies_rounding(found.gl_pathv[i]))
        ran += check_model(found.gl_pathv[i]);
    globfree(&found);
  }
  if (!found_any) {
    print_message("skipped: there is no model in build/models; make models fetches them\n");
    skip();
  }
  assert_true(ran > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(models_compute_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
