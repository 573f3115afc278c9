/* Tuning a model: what is measured, kept and used; nothing here depends on times. */
#include "runtime/tune_model.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
  other.verdict = HONE_VERDICT_CONFIRMED;
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

/* ---- whole runs, with times that the test makes up ---- */

static double slowness;                          /* of a run with something tuned; 1 without */
static bool is_killed;                           /* once a group was decided */
static hone_code_t open_code = HONE_UNSUPPORTED; /* of wholes that cannot be opened */

static hone_status_t open_doctored(void* context, const bool* on, void** out_whole) {
  static double seconds[2] = {1, 1};
  const hone_tuning_t* t = context;
  bool any = false;
  for (int i = 0; i < t->n_items; i++) any = any || on[i];
  seconds[1] = slowness;
  *out_whole = &seconds[any];
  return NULL;
}

static hone_status_t run_doctored(void* context, void* whole, double* out_seconds) {
  *out_seconds = *(const double*)whole;
  return *out_seconds > 0 ? NULL : hone_status_make(HONE_UNSUPPORTED, "nothing runs today");
}

static hone_status_t open_nothing(void* context, const bool* on, void** out_whole) {
  return hone_status_make(open_code, "nothing runs today");
}

static void close_doctored(void* context, void* whole) {}

static hone_status_t collect_doctored(hone_tuning_t* t, const void* model) {
  HONE_TRY(hone_tuning_collect_model(t, model));
  t->whole = (hone_confirm_driver_t){t, slowness > 0 ? open_doctored : open_nothing, run_doctored,
                                     close_doctored};
  return NULL;
}

static bool kill_once_decided(void* self, const hone_tuning_progress_t* p) {
  if (is_killed && strcmp(p->kernel, "whole runs") == 0) raise(SIGKILL);
  return true;
}

static hone_tuning_report_t tune_doctored(const fixture_t* f, hone_tuning_options_t options,
                                          double slow, hone_tuning_t** out_tuning) {
  slowness = slow;
  options.progress = kill_once_decided;
  assert_ok(hone_tuning_run(&options, collect_doctored, f->model, out_tuning));
  return *hone_tuning_report(*out_tuning);
}

/* Whatever `plain` builds is fastest, alone, and no whole was run with it. */
static hone_status_t praise_alone(void* context, const hone_tune_record_t* record) {
  hone_tune_record_t other = *record;
  if (strncmp(record->parameters, "tactic=plain", 12) == 0) other.seconds = 1e-9;
  return hone_tune_db_put(context, &other, NULL);
}

static hone_tuning_options_t options_praised(const fixture_t* f, char praised[PATH_MAX]) {
  hone_tuning_options_t options = options_of(f);
  hone_tuning_t* tuning;
  hone_tune_db_t *from, *to;
  options.trials = 24;
  options.strategy = "random";
  hone_tuning_report_t report = tune_doctored(f, options, 0, &tuning);
  assert_int_equal(report.n_confirmed + report.n_refused, 0);
  hone_tuning_destroy(tuning);
  snprintf(praised, PATH_MAX, "%s", test_folder_file(&f->folder, "praised.db"));
  assert_ok(hone_tune_db_open(NULL, f->database, HONE_TUNE_DB_READ, &from));
  assert_ok(hone_tune_db_open(NULL, praised, HONE_TUNE_DB_WRITE, &to));
  assert_ok(hone_tune_db_each(from, NULL, false, praise_alone, to));
  hone_tune_db_close(from);
  hone_tune_db_close(to);
  options.trials = 1;
  options.database = praised;
  return options;
}

/* Kernels that compiling builds as praised. */
static int count_praised(const fixture_t* f, const char* database) {
  hone_engine_t* engine = compile(f, database, false);
  int count = 0;
  for (int i = 0; i < engine->program->n_kernels; i++)
    count += engine->program->kernels[i].predicted_seconds == 1e-9;
  hone_engine_destroy(engine);
  return count;
}

static hone_status_t add_refused(void* context, const hone_tune_record_t* record) {
  *(int*)context += record->verdict == HONE_VERDICT_REFUSED;
  return NULL;
}

static int count_refused_records(const char* path) {
  hone_tune_db_t* db;
  int count = 0;
  assert_ok(hone_tune_db_open(NULL, path, HONE_TUNE_DB_READ, &db));
  assert_ok(hone_tune_db_each(db, NULL, false, add_refused, &count));
  hone_tune_db_close(db);
  return count;
}

static void what_no_whole_has_run_is_not_used(void** state) {
  const fixture_t* f = *state;
  char praised[PATH_MAX];
  hone_tuning_t* tuning;
  const hone_tuning_options_t options = options_praised(f, praised);
  const hone_tuning_report_t report = tune_doctored(f, options, 0, &tuning);
  assert_true(report.n_untested > 0 && report.n_confirmed == 0 && report.n_refused == 0);
  assert_string_equal(report.whole_error, "nothing runs today");
  hone_tuning_destroy(tuning);
  assert_int_equal(count_praised(f, praised), 0);
}

static void trials_are_reported_where_memory_is_too_small_for_wholes(void** state) {
  const fixture_t* f = *state;
  char praised[PATH_MAX];
  hone_tuning_t* tuning;
  const hone_tuning_options_t options = options_praised(f, praised);
  open_code = HONE_OUT_OF_MEMORY;
  const hone_tuning_report_t report = tune_doctored(f, options, 0, &tuning);
  open_code = HONE_UNSUPPORTED;
  assert_true(report.n_kernels > 0 && report.default_seconds > 0 && report.n_untested > 0);
  assert_string_equal(report.whole_error, "nothing runs today");
  hone_tuning_destroy(tuning);
}

static void verdicts_are_logged(void** state) {
  const fixture_t* f = *state;
  char praised[PATH_MAX];
  char log[PATH_MAX];
  hone_tuning_t* tuning;
  hone_tuning_options_t options = options_praised(f, praised);
  snprintf(log, sizeof log, "%s", test_folder_file(&f->folder, "verdicts.jsonl"));
  options.log = log;
  const hone_tuning_report_t report = tune_doctored(f, options, 1.2, &tuning);
  hone_tuning_destroy(tuning);
  hone_tune_db_t* db;
  hone_tune_merge_t merge;
  int refused = 0;
  assert_ok(hone_tune_db_open(NULL, NULL, HONE_TUNE_DB_WRITE, &db));
  assert_ok(hone_tune_db_import(db, log, &merge));
  assert_ok(hone_tune_db_each(db, NULL, false, add_refused, &refused));
  assert_int_equal(refused, report.n_refused);
  assert_true(refused > 0);
  hone_tune_db_close(db);
}

static void a_gain_of_the_whole_is_used(void** state) {
  const fixture_t* f = *state;
  char praised[PATH_MAX];
  hone_tuning_t* tuning;
  const hone_tuning_options_t options = options_praised(f, praised);
  const hone_tuning_report_t report = tune_doctored(f, options, 0.8, &tuning);
  assert_true(report.n_confirmed > 0 && report.n_refused == 0 && report.n_untested == 0);
  assert_float_equal(report.whole_gain, 1.25, 1e-6);
  assert_true(report.best_seconds < report.default_seconds);
  hone_tuning_destroy(tuning);
  assert_true(count_praised(f, praised) > 0);
}

static void a_loss_of_the_whole_is_refused_for_good(void** state) {
  const fixture_t* f = *state;
  char praised[PATH_MAX];
  hone_tuning_t* tuning;
  hone_tuning_options_t options = options_praised(f, praised);
  const hone_tuning_report_t report = tune_doctored(f, options, 1.2, &tuning);
  assert_true(report.n_refused > 0 && report.n_confirmed == 0 && report.n_untested == 0);
  assert_true(report.best_seconds == report.default_seconds);
  hone_tuning_destroy(tuning);
  assert_int_equal(count_praised(f, praised), 0);
  /* What was refused stays so, even were it a gain now. */
  const int refused = count_refused_records(praised);
  assert_int_equal(refused, report.n_refused);
  options.trials = 2;
  tune_doctored(f, options, 0.8, &tuning);
  hone_tuning_destroy(tuning);
  assert_int_equal(count_refused_records(praised), refused);
}

static void a_kill_between_verdicts_leaves_it_usable(void** state) {
  const fixture_t* f = *state;
  char praised[PATH_MAX];
  hone_tuning_t* tuning;
  const hone_tuning_options_t options = options_praised(f, praised);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    is_killed = true;
    tune_doctored(f, options, 0.8, &tuning);
    _exit(1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  hone_tune_db_t* db;
  assert_ok(hone_tune_db_open(NULL, praised, HONE_TUNE_DB_READ, &db));
  assert_ok(hone_tune_db_check(db));
  hone_tune_db_close(db);
  assert_true(count_praised(f, praised) > 0);
  tune_doctored(f, options, 0.8, &tuning);
  hone_tuning_destroy(tuning);
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
      TEST(what_no_whole_has_run_is_not_used),
      TEST(trials_are_reported_where_memory_is_too_small_for_wholes),
      TEST(verdicts_are_logged),
      TEST(a_gain_of_the_whole_is_used),
      TEST(a_loss_of_the_whole_is_refused_for_good),
      TEST(a_kill_between_verdicts_leaves_it_usable),
      TEST(senseless_options_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
