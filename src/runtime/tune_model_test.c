/* Tuning a model: what is measured, kept and used; nothing here depends on times. */
#include "runtime/tune_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/testing/folder.h"
#include "ops/lower.h"
#include "runtime/engine_impl.h"
#include "runtime/testing/rich_model.h"

enum { TRIALS = 2 };

typedef struct fixture {
  hone_model_t* model;
  test_folder_t folder;
  char database[PATH_MAX];
} fixture_t;

static int set_up(void** state) {
  fixture_t* f = hone_alloc(NULL, sizeof *f);
  assert_non_null(f);
  *state = f;
  f->model = test_rich_model();
  test_folder_make(&f->folder);
  snprintf(f->database, sizeof f->database, "%s", test_folder_file(&f->folder, "tune.db"));
  return 0;
}

static int tear_down(void** state) {
  fixture_t* f = *state;
  hone_model_destroy(f->model);
  test_folder_remove(&f->folder);
  hone_free(NULL, f, sizeof *f);
  return 0;
}

static hone_tuning_options_t options_of(const fixture_t* f) {
  return (hone_tuning_options_t){.struct_size = sizeof(hone_tuning_options_t),
                                 .database = f->database,
                                 .budget_seconds = HUGE_VAL,
                                 .trials = TRIALS,
                                 .repeats = 1,
                                 .min_repeat_seconds = 1e-6};
}

static hone_tuning_t* tune(const fixture_t* f, const hone_tuning_options_t* options) {
  hone_tuning_t* tuning;
  assert_ok(hone_model_tune(f->model, options, &tuning));
  return tuning;
}

static int64_t trials_of(const fixture_t* f, const hone_tuning_options_t* options,
                         int64_t* out_known) {
  hone_tuning_t* tuning = tune(f, options);
  const hone_tuning_report_t* report = hone_tuning_report(tuning);
  int64_t trials = report->trials;
  *out_known = 0;
  for (int i = 0; i < report->n_kernels; i++) *out_known += report->kernels[i].known;
  hone_tuning_destroy(tuning);
  return trials;
}

/* ---- what is measured ---- */

static void each_kernel_is_measured_with_its_default(void** state) {
  const fixture_t* f = *state;
  const hone_tuning_options_t options = options_of(f);
  hone_tuning_t* tuning = tune(f, &options);
  const hone_tuning_report_t* report = hone_tuning_report(tuning);
  assert_true(report->n_kernels > 0);
  assert_string_equal(report->database_error, "");
  assert_string_equal(report->database, f->database);
  int tuned = 0;
  for (int i = 0; i < report->n_kernels; i++) {
    const hone_tuning_kernel_t* kernel = &report->kernels[i];
    if (kernel->skipped[0]) continue;
    tuned++;
    assert_true(kernel->count > 0 && kernel->tactic[0] && kernel->parameters[0]);
    assert_true(kernel->trials >= 1 && kernel->trials <= TRIALS && kernel->failed == 0);
    assert_true(kernel->default_seconds > 0 && kernel->best_seconds > 0);
    assert_true(kernel->best_seconds <= kernel->default_seconds);
  }
  assert_true(tuned > 0);
  assert_true(report->best_seconds <= report->default_seconds);
  hone_tuning_destroy(tuning);
}

static void what_is_known_is_not_measured_again(void** state) {
  const fixture_t* f = *state;
  hone_tuning_options_t options = options_of(f);
  int64_t known, first = trials_of(f, &options, &known);
  assert_int_equal(known, 0);
  options.budget_seconds = 0;
  assert_int_equal(trials_of(f, &options, &known), 0);
  assert_int_equal(known, first);
}

static void a_budget_of_zero_needs_no_database(void** state) {
  const fixture_t* f = *state;
  hone_tuning_options_t options = options_of(f);
  options.budget_seconds = 0;
  hone_tuning_t* tuning = tune(f, &options);
  assert_int_equal(hone_tuning_report(tuning)->trials, 0);
  assert_string_equal(hone_tuning_report(tuning)->database_error, "");
  assert_int_equal(test_folder_entries(&f->folder), 0);
  hone_tuning_destroy(tuning);
}

typedef struct heard {
  int count, until;
} heard_t;

static bool hear(void* self, const hone_tuning_progress_t* progress) {
  heard_t* heard = self;
  assert_true(progress->kernel[0] && progress->trials == heard->count + 1);
  assert_string_equal(progress->outcome, "ok");
  assert_true(strstr(progress->parameters, "tactic=") == progress->parameters);
  assert_true(progress->seconds > 0 && progress->left > 0);
  return ++heard->count < heard->until;
}

static void progress_is_told_and_may_stop(void** state) {
  const fixture_t* f = *state;
  heard_t heard = {.until = 2};
  hone_tuning_options_t options = options_of(f);
  options.trials = 4;
  options.progress = hear;
  options.progress_self = &heard;
  hone_tuning_t* tuning = tune(f, &options);
  assert_int_equal(heard.count, 2);
  assert_int_equal(hone_tuning_report(tuning)->trials, 2);
  assert_string_equal(hone_tuning_report(tuning)->stop, "stopped on request");
  hone_tuning_destroy(tuning);
}

/* ---- what becomes of it ---- */

static hone_engine_t* compile(const fixture_t* f, const char* database, bool no_tuned) {
  const hone_engine_options_t options = {
      .struct_size = sizeof options, .tuned_database = database, .no_tuned = no_tuned};
  hone_engine_t* engine;
  assert_ok(hone_engine_compile(f->model, &options, &engine));
  return engine;
}

static int count_why(const hone_engine_t* engine, const char* beginning) {
  int count = 0;
  for (int i = 0; i < engine->program->n_kernels; i++)
    count += strncmp(engine->program->kernels[i].why, beginning, strlen(beginning)) == 0;
  return count;
}

/* Whatever `plain` builds becomes what nothing beats. */
static hone_status_t praise(void* context, const hone_tune_record_t* record) {
  hone_tune_db_t* praised = context;
  hone_tune_record_t other = *record;
  if (strncmp(record->parameters, "tactic=plain", 12) == 0) other.seconds = 1e-9;
  return hone_tune_db_put(praised, &other, NULL);
}

static void rewrite_database(const fixture_t* f, const char* path) {
  hone_tune_db_t *from, *to;
  assert_ok(hone_tune_db_open(NULL, f->database, HONE_TUNE_DB_READ, &from));
  assert_ok(hone_tune_db_open(NULL, path, HONE_TUNE_DB_WRITE, &to));
  assert_ok(hone_tune_db_each(from, NULL, false, praise, to));
  hone_tune_db_close(from);
  hone_tune_db_close(to);
}

static void compiling_uses_what_was_tuned(void** state) {
  const fixture_t* f = *state;
  char praised[PATH_MAX];
  hone_tuning_options_t options = options_of(f);
  options.trials = 24; /* enough to meet the tactic `plain` */
  options.strategy = "random";
  hone_tuning_destroy(tune(f, &options));
  snprintf(praised, sizeof praised, "%s", test_folder_file(&f->folder, "praised.db"));
  rewrite_database(f, praised);
  hone_engine_t *without = compile(f, praised, true), *with = compile(f, praised, false);
  assert_int_equal(count_why(without, "tuned: "), 0);
  assert_true(count_why(without, "cost model: best of ") > 0);
  assert_true(count_why(with, "tuned: ") > 0);
  int plain = 0;
  for (int i = 0; i < with->program->n_kernels; i++) {
    const hone_program_kernel_t* kernel = &with->program->kernels[i];
    assert_true(kernel->predicted_seconds > 0);
    plain += kernel->predicted_seconds == 1e-9 && strcmp(kernel->tactic, "plain") == 0;
  }
  assert_true(plain > 0);
  hone_engine_destroy(without);
  hone_engine_destroy(with);
}

/* The renderer of cpu, but for one tactic. */
static hone_status_t render_no_plain(const hone_device_t* device, const hone_kernel_t* kernel,
                                     const char* name, hone_blob_t* out_source) {
  if (strcmp(kernel->tactic, "plain") == 0)
    return hone_status_make(HONE_UNSUPPORTED, "nothing plain here");
  return hone_backend_find("cpu")->render(device, kernel, name, out_source);
}

/* Compiles for a device without that tactic; counts kernels whose reason begins so. */
static int count_refused(const fixture_t* f, const char* database, const char* beginning,
                         hone_compile_report_t* out_report) {
  hone_backend_t backend = *hone_backend_find("cpu");
  backend.render = render_no_plain;
  const hone_open_options_t open = {.struct_size = sizeof open};
  const hone_compile_settings_t settings = {.tuned_database = database, .no_tuned = !database};
  hone_device_t* device;
  hone_graph_t* graph;
  hone_engine_t engine = {0};
  assert_ok(backend.open(0, &open, &device));
  assert_ok(hone_lower_model(f->model, NULL, NULL, &graph));
  assert_ok(hone_compile(graph, &backend, device, &settings, out_report, &engine.program));
  int count = count_why(&engine, beginning);
  hone_program_destroy(engine.program);
  hone_graph_destroy(graph);
  backend.close(device);
  return count;
}

static void what_was_tuned_and_is_refused_is_built_untuned(void** state) {
  const fixture_t* f = *state;
  char praised[PATH_MAX];
  hone_tuning_options_t options = options_of(f);
  hone_compile_report_t tuned, untuned;
  options.trials = 24;
  options.strategy = "random";
  hone_tuning_destroy(tune(f, &options));
  snprintf(praised, sizeof praised, "%s", test_folder_file(&f->folder, "praised.db"));
  rewrite_database(f, praised);
  assert_int_equal(count_refused(f, NULL, "what was tuned is refused", &untuned), 0);
  const char refused[] = "what was tuned is refused (nothing plain here): cost model";
  assert_true(count_refused(f, praised, refused, &tuned) > 0);
  assert_int_equal(tuned.n_kernels, untuned.n_kernels);
  assert_int_equal(tuned.n_interpreted, untuned.n_interpreted);
}

static void a_named_database_must_be_there(void** state) {
  const fixture_t* f = *state;
  const hone_engine_options_t options = {.tuned_database = f->database};
  hone_engine_t* engine;
  assert_code(hone_engine_compile(f->model, &options, &engine), HONE_NOT_FOUND);
}

static void a_damaged_database_is_done_without(void** state) {
  const fixture_t* f = *state;
  test_folder_write(&f->folder, "tune.db",
                    "this is no database, and longer than its header is: "
                    "0123456789012345678901234567890123456789012345678901");
  hone_engine_t* engine = compile(f, f->database, false);
  assert_true(count_why(engine, "cost model: best of ") > 0);
  hone_engine_destroy(engine);
  const hone_tuning_options_t options = options_of(f);
  hone_tuning_t* tuning = tune(f, &options);
  assert_non_null(strstr(hone_tuning_report(tuning)->database_error, "set-aside"));
  assert_true(hone_tuning_report(tuning)->trials > 0);
  hone_tuning_destroy(tuning);
}

static void a_log_can_be_imported(void** state) {
  const fixture_t* f = *state;
  char log[PATH_MAX];
  hone_tuning_options_t options = options_of(f);
  snprintf(log, sizeof log, "%s", test_folder_file(&f->folder, "log.jsonl"));
  options.log = log;
  int64_t known, trials = trials_of(f, &options, &known);
  hone_tune_db_t* db;
  hone_tune_merge_t merge;
  assert_ok(hone_tune_db_open(NULL, NULL, HONE_TUNE_DB_WRITE, &db));
  assert_ok(hone_tune_db_import(db, log, &merge));
  assert_int_equal(merge.count[HONE_TUNE_PUT_ADDED], trials);
  hone_tune_db_close(db);
  options.log = f->folder.path; /* a folder */
  hone_tuning_t* tuning;
  assert_code(hone_model_tune(f->model, &options, &tuning), HONE_IO);
}

/* ---- what is refused ---- */

static void senseless_options_are_refused(void** state) {
  const fixture_t* f = *state;
  hone_tuning_t* tuning;
  hone_tuning_options_t options = options_of(f);
  options.budget_seconds = -1;
  assert_code(hone_model_tune(f->model, &options, &tuning), HONE_INVALID_ARGUMENT);
  options = options_of(f);
  options.strategy = "hope";
  assert_code(hone_model_tune(f->model, &options, &tuning), HONE_NOT_FOUND);
  options = options_of(f);
  options.device = "ref";
  assert_code(hone_model_tune(f->model, &options, &tuning), HONE_UNSUPPORTED);
  options.device = "toaster";
  assert_code(hone_model_tune(f->model, &options, &tuning), HONE_NOT_FOUND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(each_kernel_is_measured_with_its_default),
      TEST(what_is_known_is_not_measured_again),
      TEST(a_budget_of_zero_needs_no_database),
      TEST(progress_is_told_and_may_stop),
      TEST(compiling_uses_what_was_tuned),
      TEST(what_was_tuned_and_is_refused_is_built_untuned),
      TEST(a_named_database_must_be_there),
      TEST(a_damaged_database_is_done_without),
      TEST(a_log_can_be_imported),
      TEST(senseless_options_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
