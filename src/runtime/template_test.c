/* Templates: what tuning chooses is what is built, and computes the same. */
#include "hone/template.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/testing/folder.h"
#include "hone/schedule.h"
#include "loop/testing/kernels.h"

static const char database_name[] = "tune.db";
static float a[12][20], b[20][16], out[12][16], want[12][16];

static void set_up(void) {
  for (int i = 0; i < 12 * 20; i++) a[i / 20][i % 20] = (float)(i % 7 - 3);
  for (int i = 0; i < 20 * 16; i++) b[i / 16][i % 16] = (float)(i % 5 - 2);
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 16; j++) {
      float sum = 0;
      for (int k = 0; k < 20; k++) sum += a[i][k] * b[k][j];
      want[i][j] = fmaxf(sum, 0);
    }
}

/* ---- a template of the product ---- */

static hone_status_t define(void* self, hone_space_t* space) {
  static const char* const kinds[] = {"none", "vector", "wrong"};
  HONE_TRY(hone_space_define_split(space, "i", 12, 2, 0));
  HONE_TRY(hone_space_define_powers(space, "lanes", 2, 16));
  return hone_space_define_words(space, "kind", self ? 3 : 2, kinds);
}

static hone_status_t schedule(void* self, const hone_space_t* space, const hone_candidate_t* c,
                              hone_kernel_t* kernel) {
  char text[256];
  const char* kind = hone_candidate_word(space, c, "kind", 0);
  if (strcmp(kind, "wrong") == 0) return hone_schedule_apply(kernel, "unroll nothing");
  snprintf(text, sizeof text, "split i %d\nsplit j %d\ndistribute j.i\nreorder k j.i.1\n%s",
           (int)hone_candidate_number(space, c, "i", 1),
           (int)hone_candidate_number(space, c, "lanes", 0),
           strcmp(kind, "vector") ? "" : "vectorize j.i.1\nvectorize j.i.2\n");
  return hone_schedule_apply(kernel, text);
}

typedef struct fixture {
  hone_kernel_t* kernel;
  hone_template_t form;
  test_folder_t folder;
  const char* database;
} fixture_t;

static void open_fixture(fixture_t* f) {
  set_up();
  f->kernel = hone_test_kernel_make(hone_test_kernel("matmul"));
  f->form = (hone_template_t){.struct_size = sizeof f->form,
                              .name = "product",
                              .kernel = f->kernel,
                              .space = define,
                              .schedule = schedule};
  test_folder_make(&f->folder);
  f->database = test_folder_file(&f->folder, database_name);
}

static void close_fixture(fixture_t* f) {
  hone_kernel_destroy(f->kernel);
  test_folder_remove(&f->folder);
}

static void assert_computes(hone_function_t* function) {
  hone_tensor_t* tensors[3];
  const int64_t dims[3][2] = {{12, 20}, {20, 16}, {12, 16}};
  void* const data[3] = {a, b, out};
  for (int i = 0; i < 3; i++)
    assert_ok(hone_tensor_wrap(NULL, HONE_F32, 2, dims[i], data[i], NULL, NULL, &tensors[i]));
  memset(out, 0, sizeof out);
  assert_ok(hone_function_run(function, 0, NULL, 3, tensors));
  assert_memory_equal(out, want, sizeof out);
  for (int i = 0; i < 3; i++) hone_tensor_release(tensors[i]);
}

static hone_template_result_t build(const fixture_t* f, const hone_template_options_t* options) {
  hone_template_result_t result;
  assert_ok(hone_template_build(&f->form, options, &result));
  assert_computes(result.function);
  hone_function_destroy(result.function);
  return result;
}

static hone_tuning_options_t tuning_options(const fixture_t* f, int64_t trials) {
  return (hone_tuning_options_t){.struct_size = sizeof(hone_tuning_options_t),
                                 .database = f->database,
                                 .budget_seconds = HUGE_VAL,
                                 .trials = trials,
                                 .strategy = "grid",
                                 .repeats = 1,
                                 .min_repeat_seconds = 1e-5};
}

/* ---- tests ---- */

static void tuned_is_built(void** state) {
  (void)state;
  fixture_t f;
  open_fixture(&f);
  hone_tuning_t* tuning;
  const hone_tuning_options_t options = tuning_options(&f, 6);
  assert_ok(hone_template_tune(&f.form, &options, &tuning));
  const hone_tuning_report_t* report = hone_tuning_report(tuning);
  assert_int_equal(report->n_kernels, 1);
  assert_int_equal(report->trials, 6);
  assert_string_equal(report->kernels[0].tactic, "product");
  assert_true(report->kernels[0].best_seconds > 0);
  assert_true(report->kernels[0].best_seconds <= report->kernels[0].default_seconds);
  const hone_template_options_t from = {.struct_size = sizeof from, .database = f.database};
  hone_template_result_t built = build(&f, &from);
  assert_string_equal(built.candidate, report->kernels[0].parameters);
  assert_non_null(strstr(built.why, "tuned"));
  hone_tuning_destroy(tuning);
  close_fixture(&f);
}

static void untuned_is_the_first(void** state) {
  (void)state;
  fixture_t f;
  open_fixture(&f);
  const hone_template_options_t options = {.struct_size = sizeof options, .no_tuned = true};
  hone_template_result_t built = build(&f, &options);
  assert_string_equal(built.candidate,
                      "tactic=product product.i=1x12 product.lanes=2 product.kind=none");
  close_fixture(&f);
}

/* Candidates whose schedule is refused are passed over; the others are right,
 * in vectors shorter and longer than those of the machine. */
static void refusals_are_passed_over(void** state) {
  (void)state;
  fixture_t f;
  open_fixture(&f);
  f.form.self = &f;
  hone_tuning_t* tuning;
  const hone_tuning_options_t options = tuning_options(&f, 0);
  assert_ok(hone_template_tune(&f.form, &options, &tuning));
  const hone_tuning_kernel_t* kernel = &hone_tuning_report(tuning)->kernels[0];
  assert_int_equal(kernel->trials, 6 * 4 * 3);
  assert_int_equal(kernel->failed, 6 * 4);
  hone_tuning_destroy(tuning);
  close_fixture(&f);
}

static void assert_refused(hone_status_t status, hone_code_t code) {
  assert_int_equal(hone_status_code(status), code);
  hone_status_free(status);
}

static hone_status_t always_fails(void* self, const hone_space_t* space, const hone_candidate_t* c,
                                  hone_kernel_t* kernel) {
  return hone_status_make(HONE_INVALID_ARGUMENT, "no");
}

static void bad_templates(void** state) {
  (void)state;
  fixture_t f;
  open_fixture(&f);
  hone_tuning_t* tuning;
  hone_template_result_t built;
  const hone_template_options_t nowhere = {.device = "nothing"}, interpreted = {.device = "ref"};
  assert_refused(hone_template_build(&f.form, &nowhere, &built), HONE_NOT_FOUND);
  assert_refused(hone_template_build(&f.form, &interpreted, &built), HONE_UNSUPPORTED);
  f.form.name = "two words";
  assert_refused(hone_template_tune(&f.form, NULL, &tuning), HONE_INVALID_ARGUMENT);
  assert_refused(hone_template_build(&f.form, NULL, &built), HONE_INVALID_ARGUMENT);
  f.form.name = "product";
  f.form.schedule = always_fails;
  assert_refused(hone_template_build(&f.form, NULL, &built), HONE_INVALID_ARGUMENT);
  assert_null(built.function);
  f.form.kernel = NULL;
  assert_refused(hone_template_build(&f.form, NULL, &built), HONE_INVALID_ARGUMENT);
  close_fixture(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tuned_is_built),
      cmocka_unit_test(untuned_is_the_first),
      cmocka_unit_test(refusals_are_passed_over),
      cmocka_unit_test(bad_templates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
