#include "tune/tuner.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing/fault.h"
#include "base/testing/folder.h"
#include "hone/version.h"
#include "tune/apply.h"
#include "tune/testing/fake_driver.h"

static test_folder_t folder;
static hone_space_t* space;

static int set_up(void** state) {
  test_folder_make(&folder);
  assert_ok(hone_space_create(NULL, &space));
  assert_ok(hone_space_define_powers(space, "tile_m", 1, 128));
  assert_ok(hone_space_define_powers(space, "tile_n", 1, 128));
  assert_ok(hone_space_define_powers(space, "vec", 1, 16));
  return 0;
}

static int tear_down(void** state) {
  hone_space_destroy(space);
  test_folder_remove(&folder);
  return 0;
}

/* Milliseconds, least at tile_m = 16, tile_n = 8, vec = 8. */
static double cost(const hone_space_t* of, const hone_candidate_t* candidate) {
  double m = log2((double)hone_candidate_number(of, candidate, "tile_m", 0));
  double n = log2((double)hone_candidate_number(of, candidate, "tile_n", 0));
  double vec = log2((double)hone_candidate_number(of, candidate, "vec", 0));
  return 1e-3 * (1 + (m - 4) * (m - 4) + (n - 3) * (n - 3) + 2 * (vec - 3) * (vec - 3));
}

static double slow_cost(const hone_space_t* of, const hone_candidate_t* candidate) {
  return 10 * cost(of, candidate);
}

/* Half of all fail, each in another way. */
static double risky_cost(const hone_space_t* of, const hone_candidate_t* candidate) {
  uint64_t index = hone_space_index(of, candidate) % 8;
  return index < 4 ? -1 - (double)index : cost(of, candidate);
}

static double never(const hone_space_t* of, const hone_candidate_t* candidate) { return -1; }
static double lost(const hone_space_t* of, const hone_candidate_t* candidate) {
  return cost(of, candidate) < 0.005 ? -5 : cost(of, candidate);
}

static hone_tune_task_t task(const char* kernel, fake_driver_t* driver) {
  return (hone_tune_task_t){.key = {.kernel = kernel, .tactic = "t", .device = "d"},
                            .space = space,
                            .measurer = fake_measurer(driver)};
}

static hone_tune_options_t options(fake_driver_t* driver, double budget) {
  return (hone_tune_options_t){.budget_seconds = budget, .clock = fake_clock(driver)};
}

/* ---- stopping ---- */

static void keep_budget(const char* strategy, double budget) {
  fake_driver_t driver = {.cost = cost, .build_seconds = 0.2};
  hone_tune_task_t one = task("k", &driver);
  hone_tune_options_t how = options(&driver, budget);
  hone_tune_result_t result;
  hone_tune_report_t report;
  how.strategy = strategy;
  assert_ok(hone_tune(NULL, 1, &one, &how, &result, &report));
  assert_true(driver.now <= budget * 1.0001);
  assert_true(result.found);
  if (report.stop == HONE_TUNE_STOP_BUDGET)
    assert_true(driver.now >= budget - 1); /* a measurement takes no longer */
  else
    assert_int_equal(result.trials, hone_space_size(space));
  assert_int_equal(driver.builds, result.trials);
  assert_int_equal(report.trials, result.trials);
}

static void the_budget_is_kept(void** state) {
  static const double budgets[] = {1, 3, 9, 27, 81};
  for (int i = 0; hone_strategy_name(i); i++)
    for (size_t k = 0; k < TEST_COUNT(budgets); k++) keep_budget(hone_strategy_name(i), budgets[k]);
}

static double slow_build_cost(const hone_space_t* of, const hone_candidate_t* candidate) {
  return -4; /* never ends */
}

static void what_never_ends_does_not_break_the_budget(void** state) {
  fake_driver_t driver = {.cost = slow_build_cost, .build_seconds = 1};
  hone_tune_task_t one = task("k", &driver);
  hone_tune_options_t how = options(&driver, 13);
  hone_tune_result_t result;
  assert_ok(hone_tune(NULL, 1, &one, &how, &result, NULL));
  assert_true(driver.now <= 13);
  assert_false(result.found);
  assert_int_equal(result.trials, 2); /* of 5 seconds; a third would not end in time */
  assert_int_equal(result.failed, 2);
}

static void without_budget_the_database_answers(void** state) {
  hone_tune_db_t* db;
  assert_ok(hone_tune_db_open(NULL, NULL, HONE_TUNE_DB_WRITE, &db));
  fake_driver_t driver = {.cost = cost};
  hone_tune_task_t one = task("k", &driver);
  hone_tune_options_t how = options(&driver, 2);
  hone_tune_result_t tuned, result;
  how.database = db;
  assert_ok(hone_tune(NULL, 1, &one, &how, &tuned, NULL));
  int builds = driver.builds;
  how.budget_seconds = 0;
  assert_ok(hone_tune(NULL, 1, &one, &how, &result, NULL));
  assert_int_equal(driver.builds, builds);
  assert_int_equal(result.trials, 0);
  assert_int_equal(result.known, tuned.trials);
  assert_int_equal(result.stop, HONE_TUNE_STOP_BUDGET);
  assert_true(result.found && result.seconds == tuned.seconds);
  assert_memory_equal(&result.best, &tuned.best, sizeof result.best);
  hone_tune_db_close(db);
}

static void trials_and_early_stopping_end_it(void** state) {
  fake_driver_t driver = {.cost = cost};
  hone_tune_task_t tasks[] = {task("k1", &driver), task("k2", &driver)};
  hone_tune_options_t how = options(&driver, INFINITY);
  hone_tune_result_t results[2];
  hone_tune_report_t report;
  how.trials = 30;
  assert_ok(hone_tune(NULL, 2, tasks, &how, results, &report));
  for (int i = 0; i < 2; i++) {
    assert_int_equal(results[i].trials, 30);
    assert_int_equal(results[i].stop, HONE_TUNE_STOP_TRIALS);
  }
  assert_int_equal(report.trials, 60);
  how.trials = 0;
  how.early_stopping = 25;
  assert_ok(hone_tune(NULL, 2, tasks, &how, results, &report));
  assert_int_equal(results[0].stop, HONE_TUNE_STOP_NO_GAIN);
  assert_true(results[0].trials >= 25 && results[0].trials < 200);
  assert_int_equal(report.stop, HONE_TUNE_STOP_NO_GAIN);
  how.early_stopping = 0;
  assert_ok(hone_tune(NULL, 1, tasks, &how, results, &report));
  assert_int_equal(results[0].stop, HONE_TUNE_STOP_EXHAUSTED);
  assert_true(results[0].seconds < 1.001e-3);
  assert_string_equal(hone_tune_stop_text(report.stop), "everything was tried");
}

typedef struct watcher {
  int calls, gains;
  int64_t stop_after;
  double best, left;
} watcher_t;

static bool watch(void* context, const hone_tune_progress_t* progress) {
  watcher_t* watcher = context;
  watcher->calls++;
  watcher->gains += progress->is_gain;
  assert_int_equal(progress->trials, watcher->calls);
  assert_string_equal(progress->label, "k");
  assert_true(progress->best <= watcher->best);
  assert_true(progress->left <= watcher->left);
  assert_true(progress->whole == progress->best);
  if (progress->is_gain) assert_true(progress->measurement->seconds == progress->best);
  watcher->best = progress->best;
  watcher->left = progress->left;
  return !watcher->stop_after || progress->trials < watcher->stop_after;
}

static void progress_is_told_and_can_stop(void** state) {
  fake_driver_t driver = {.cost = cost};
  hone_tune_task_t one = task("k", &driver);
  hone_tune_options_t how = options(&driver, 60);
  watcher_t watcher = {.best = INFINITY, .left = 60, .stop_after = 17};
  hone_tune_result_t result;
  hone_tune_report_t report;
  how.progress = watch;
  how.progress_context = &watcher;
  assert_ok(hone_tune(NULL, 1, &one, &how, &result, &report));
  assert_int_equal(watcher.calls, 17);
  assert_true(watcher.gains > 0 && watcher.gains < 17);
  assert_int_equal(report.stop, HONE_TUNE_STOP_ASKED);
  assert_int_equal(result.stop, HONE_TUNE_STOP_ASKED);
  assert_true(result.seconds == watcher.best);
}

/* Two at once, whose building is then free. */
static void prepare_pairs(void* context, const hone_space_t* of, int count,
                          const hone_candidate_t* candidates, double limit) {
  fake_driver_t* driver = context;
  int pairs = (count + 1) / 2;
  double seconds = 0.2 * pairs;
  assert_true(count > 1 && count <= 8);
  assert_true(seconds <= limit);
  driver->prepared += count;
  driver->now += seconds;
}

static void what_is_built_ahead_keeps_the_budget(void** state) {
  static const double budgets[] = {0.3, 1, 2, 5, 12};
  for (size_t i = 0; i < TEST_COUNT(budgets); i++) {
    fake_driver_t driver = {.cost = cost};
    hone_tune_task_t one = task("k", &driver);
    hone_tune_options_t how = options(&driver, budgets[i]);
    hone_tune_result_t result;
    one.measurer.prepare = prepare_pairs;
    assert_ok(hone_tune(NULL, 1, &one, &how, &result, NULL));
    assert_true(driver.now <= budgets[i] * 1.05);
    assert_true(result.trials >= 1);
    assert_true(driver.prepared <= result.trials + 8);
    if (budgets[i] > 4) assert_true(driver.prepared > 8);
  }
}

/* ---- several tasks ---- */

static void the_heavy_task_gets_the_time(void** state) {
  fake_driver_t light = {.cost = cost, .build_seconds = 0.1}, heavy = light;
  hone_tune_task_t tasks[] = {task("light", &light), task("heavy", &heavy)};
  tasks[1].weight = 20;
  /* One clock for both. */
  tasks[1].measurer = fake_measurer(&light);
  hone_tune_options_t how = options(&light, 10);
  hone_tune_result_t results[2];
  assert_ok(hone_tune(NULL, 2, tasks, &how, results, NULL));
  assert_true(results[0].trials >= 1);
  assert_true(results[1].trials > 2 * results[0].trials);
}

static void a_task_that_always_fails_does_not_eat_the_budget(void** state) {
  fake_driver_t good = {.cost = cost, .build_seconds = 0.1};
  fake_driver_t bad = {.cost = never};
  hone_tune_task_t tasks[] = {task("bad", &bad), task("good", &good)};
  hone_tune_options_t how = options(&good, 10);
  hone_tune_result_t results[2];
  how.trials = 60;
  assert_ok(hone_tune(NULL, 2, tasks, &how, results, NULL));
  assert_false(results[0].found);
  assert_true(results[1].found);
  assert_true(results[1].trials > 20);
  assert_int_equal(results[0].failed, results[0].trials);
}

static void many_tasks_are_each_tried_once_first(void** state) {
  enum { TASKS = 20 };
  fake_driver_t driver = {.cost = slow_cost, .build_seconds = 0.1};
  hone_tune_task_t tasks[TASKS];
  hone_tune_result_t results[TASKS];
  char names[TASKS][8];
  for (int i = 0; i < TASKS; i++) {
    snprintf(names[i], sizeof names[i], "k%d", i);
    tasks[i] = task(names[i], &driver);
  }
  hone_tune_options_t how = options(&driver, 40);
  assert_ok(hone_tune(NULL, TASKS, tasks, &how, results, NULL));
  for (int i = 0; i < TASKS; i++) assert_true(results[i].found);
  assert_ok(hone_tune(NULL, 0, NULL, &how, NULL, NULL));
}

/* ---- the database ---- */

static hone_tune_db_t* open_db(const char* name) {
  hone_tune_db_t* db;
  assert_ok(hone_tune_db_open(NULL, test_folder_file(&folder, name), HONE_TUNE_DB_WRITE, &db));
  return db;
}

static hone_status_t count_one(void* context, const hone_tune_record_t* found) {
  ++*(int64_t*)context;
  return NULL;
}

static void tuning_goes_on_where_it_was(void** state) {
  fake_driver_t driver = {.cost = risky_cost, .build_seconds = 0.1};
  hone_tune_task_t one = task("k", &driver);
  hone_tune_options_t how = options(&driver, INFINITY);
  hone_tune_result_t first, second, third;
  how.database = open_db("a.db");
  how.trials = 50;
  assert_ok(hone_tune(NULL, 1, &one, &how, &first, NULL));
  assert_int_equal(first.trials, 50);
  assert_true(first.failed > 5);
  hone_tune_db_close(how.database);
  how.database = open_db("a.db");
  how.trials = 0;
  driver.builds = 0;
  assert_ok(hone_tune(NULL, 1, &one, &how, &second, NULL));
  assert_int_equal(second.known, 50);
  assert_int_equal(second.trials, (int64_t)hone_space_size(space) - 50);
  assert_int_equal(driver.builds, second.trials);
  assert_true(second.seconds <= first.seconds);
  int64_t rows = 0;
  assert_ok(hone_tune_db_each(how.database, NULL, false, count_one, &rows));
  assert_int_equal(rows, hone_space_size(space));
  how.retry_failures = true;
  assert_ok(hone_tune(NULL, 1, &one, &how, &third, NULL));
  assert_int_equal(third.known, hone_space_size(space) / 2);
  assert_int_equal(third.trials, hone_space_size(space) / 2);
  hone_tune_db_close(how.database);
}

static void other_devices_and_spaces_are_not_known(void** state) {
  fake_driver_t driver = {.cost = cost};
  hone_tune_task_t one = task("k", &driver);
  hone_tune_options_t how = options(&driver, INFINITY);
  hone_tune_result_t result;
  how.database = open_db("a.db");
  how.trials = 10;
  assert_ok(hone_tune(NULL, 1, &one, &how, &result, NULL));
  one.key.device = "another";
  assert_ok(hone_tune(NULL, 1, &one, &how, &result, NULL));
  assert_int_equal(result.known, 0);
  one.key.device = NULL;
  assert_ok(hone_tune(NULL, 1, &one, &how, &result, NULL));
  assert_int_equal(result.known, 0);
  one.key.device = "d";
  assert_ok(hone_space_define_powers(space, "more", 1, 2));
  assert_ok(hone_tune(NULL, 1, &one, &how, &result, NULL));
  assert_int_equal(result.known, 0);
  assert_int_equal(result.trials, 10);
  hone_tune_db_close(how.database);
}

static void a_cut_measurement_is_not_kept(void** state) {
  fake_driver_t driver = {.cost = slow_cost, .build_seconds = 30};
  hone_tune_task_t one = task("k", &driver);
  hone_tune_options_t how = options(&driver, 5); /* less than the limit for building */
  hone_tune_result_t result;
  int64_t rows = 0;
  how.database = open_db("a.db");
  assert_ok(hone_tune(NULL, 1, &one, &how, &result, NULL));
  assert_int_equal(result.trials, 1);
  assert_ok(hone_tune_db_each(how.database, NULL, false, count_one, &rows));
  assert_int_equal(rows, 0);
  hone_tune_db_close(how.database);
}

static void a_database_that_fails_does_not_stop_it(void** state) {
  fake_driver_t driver = {.cost = cost};
  hone_tune_task_t one = task("k", &driver);
  hone_tune_options_t how = options(&driver, INFINITY);
  hone_tune_result_t result;
  hone_tune_report_t report;
  hone_tune_db_close(open_db("a.db"));
  assert_ok(
      hone_tune_db_open(NULL, test_folder_file(&folder, "a.db"), HONE_TUNE_DB_READ, &how.database));
  how.trials = 12;
  assert_ok(hone_tune(NULL, 1, &one, &how, &result, &report));
  assert_int_equal(result.trials, 12);
  assert_true(result.found);
  assert_non_null(strstr(report.database_error, "read-only"));
  hone_tune_db_close(how.database);
}

static bool kill_self(void* context, const hone_tune_progress_t* progress) {
  if (progress->trials == 25) kill(getpid(), SIGKILL);
  return true;
}

/* A trial takes a quarter of a second, so that a kill may lose four at most. */
static void a_killed_tuning_keeps_what_it_had(void** state) {
  int64_t rows = 0, before = 0;
  for (int round = 0; round < 3; round++) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      fake_driver_t driver = {.cost = cost, .build_seconds = 0.25};
      hone_tune_task_t one = task("k", &driver);
      hone_tune_options_t how = options(&driver, INFINITY);
      hone_tune_result_t result;
      how.progress = kill_self;
      how.database = open_db("a.db");
      _exit(hone_tune(NULL, 1, &one, &how, &result, NULL) ? 1 : 2);
    }
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
    hone_tune_db_t* db = open_db("a.db");
    assert_ok(hone_tune_db_check(db));
    rows = 0;
    assert_ok(hone_tune_db_each(db, NULL, false, count_one, &rows));
    assert_true(rows >= before + 20 && rows <= before + 25);
    before = rows;
    hone_tune_db_close(db);
  }
}

/* ---- a template ---- */

/* A convolution with 64 channels of 224 x 224 out of 3, and a 7 x 7 window. */
static void define_convolution(hone_space_t* of) {
  assert_ok(hone_space_define_split(of, "tile_f", 64, 4, 0));
  assert_ok(hone_space_define_split(of, "tile_y", 224, 4, 0));
  assert_ok(hone_space_define_split(of, "tile_x", 224, 4, 0));
  assert_ok(hone_space_define_split(of, "tile_rc", 3, 2, 0));
  assert_ok(hone_space_define_split(of, "tile_ry", 7, 2, 0));
  assert_ok(hone_space_define_split(of, "tile_rx", 7, 2, 0));
}

static double convolution_cost(const hone_space_t* of, const hone_candidate_t* candidate) {
  double f = (double)hone_candidate_number(of, candidate, "tile_f", 3);
  double x = (double)hone_candidate_number(of, candidate, "tile_x", 3);
  double y = (double)hone_candidate_number(of, candidate, "tile_y", 1);
  return 1e-3 * (1 + fabs(f - 8) + fabs(x - 14) + fabs(y - 4));
}

/* Tuned on one machine, logged, and applied on another that has the log. */
static void a_template_is_tuned_logged_and_applied(void** state) {
  hone_space_t* convolution;
  assert_ok(hone_space_create(NULL, &convolution));
  define_convolution(convolution);
  fake_driver_t driver = {.cost = convolution_cost};
  hone_tune_task_t one = task("conv2d", &driver);
  hone_tune_options_t how = options(&driver, INFINITY);
  hone_tune_result_t result;
  hone_tune_db_t* other;
  int64_t exported;
  hone_tune_merge_t merge;
  one.space = convolution;
  how.strategy = "random";
  how.trials = 100;
  how.measure = (hone_measure_options_t){.runs = 5, .repeats = 1, .min_repeat_seconds = 1};
  how.database = open_db("a.db");
  assert_ok(hone_tune(NULL, 1, &one, &how, &result, NULL));
  const char* log = test_folder_file(&folder, "conv2d.log");
  assert_ok(hone_tune_db_export(how.database, NULL, false, log, &exported));
  assert_int_equal(exported, 100);
  hone_tune_db_close(how.database);
  assert_ok(hone_tune_db_open(NULL, NULL, HONE_TUNE_DB_WRITE, &other));
  assert_ok(hone_tune_db_import(other, log, &merge));
  bool found, fits;
  hone_arena_t* arena;
  hone_tune_record_t record;
  hone_candidate_t best;
  const hone_tune_key_t key = hone_tune_key_complete(&one.key);
  assert_ok(hone_arena_create(NULL, &arena));
  assert_ok(hone_tune_db_best(other, &key, arena, &found, &record));
  assert_true(found && record.seconds == result.seconds);
  assert_ok(hone_tune_record_candidate(&record, convolution, &fits, &best));
  assert_true(fits);
  hone_arena_destroy(arena);
  assert_memory_equal(&best, &result.best, sizeof best);
  hone_tune_db_close(other);
  hone_space_destroy(convolution);
}

static bool odd_only(const hone_space_t* of, const hone_candidate_t* candidate, void* context) {
  return hone_candidate_number(of, candidate, "a", 0) % 2 == 1;
}

static void what_no_longer_fits_is_no_candidate(void** state) {
  static const struct {
    const char* text;
    bool fits;
  } cases[] = {{"a=1 gone=3", false}, {"a=2", false}, {"a=7", true}, {"a=3", true}};
  hone_space_t* odd;
  assert_ok(hone_space_create(NULL, &odd));
  assert_ok(hone_space_define_numbers(odd, "a", 3, (int64_t[]){2, 3, 7}));
  assert_ok(hone_space_add_rule(odd, odd_only, NULL));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const hone_tune_record_t record = {.parameters = cases[i].text};
    hone_candidate_t candidate;
    bool fits;
    assert_ok(hone_tune_record_candidate(&record, odd, &fits, &candidate));
    assert_int_equal(fits, cases[i].fits);
    if (fits)
      assert_int_equal(hone_candidate_number(odd, &candidate, "a", 0), cases[i].text[2] - '0');
  }
  hone_space_destroy(odd);
}

/* ---- errors ---- */

static void senseless_options_are_refused(void** state) {
  fake_driver_t driver = {.cost = cost};
  hone_tune_task_t one = task("k", &driver), none = task("", &driver);
  hone_tune_options_t how = options(&driver, 1);
  hone_tune_result_t result;
  assert_code(hone_tune(NULL, 1, &none, &how, &result, NULL), HONE_INVALID_ARGUMENT);
  how.batch = 65;
  assert_code(hone_tune(NULL, 1, &one, &how, &result, NULL), HONE_INVALID_ARGUMENT);
  how.batch = 0;
  how.trials = -1;
  assert_code(hone_tune(NULL, 1, &one, &how, &result, NULL), HONE_INVALID_ARGUMENT);
  how.trials = 0;
  how.strategy = "guess";
  assert_code(hone_tune(NULL, 1, &one, &how, &result, NULL), HONE_NOT_FOUND);
  how.strategy = NULL;
  how.budget_seconds = -1;
  assert_code(hone_tune(NULL, 1, &one, &how, &result, NULL), HONE_INVALID_ARGUMENT);
  how.budget_seconds = NAN;
  assert_code(hone_tune(NULL, 1, &one, &how, &result, NULL), HONE_INVALID_ARGUMENT);
}

static void a_lost_device_ends_it_with_the_best_so_far(void** state) {
  fake_driver_t driver = {.cost = lost};
  hone_tune_task_t one = task("k", &driver);
  hone_tune_options_t how = options(&driver, INFINITY);
  hone_tune_result_t result;
  assert_code(hone_tune(NULL, 1, &one, &how, &result, NULL), HONE_UNAVAILABLE);
  assert_true(result.found);
  assert_true(result.trials > 0);
}

static hone_status_t tune_a_little(const hone_allocator_t* allocator, void* context) {
  fake_driver_t driver = {.cost = risky_cost};
  hone_tune_task_t tasks[] = {task("k1", &driver), task("k2", &driver)};
  hone_tune_options_t how = options(&driver, INFINITY);
  hone_tune_result_t results[2];
  how.trials = 18;
  hone_status_t status = hone_tune_db_open(allocator, NULL, HONE_TUNE_DB_WRITE, &how.database);
  if (!status) status = hone_tune(allocator, 2, tasks, &how, results, NULL);
  hone_tune_db_close(how.database);
  return status;
}

static void memory_may_run_out(void** state) {
  assert_true(assert_survives_faults(tune_a_little, NULL) > 20);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_FOLDER(the_budget_is_kept),
      IN_FOLDER(what_never_ends_does_not_break_the_budget),
      IN_FOLDER(without_budget_the_database_answers),
      IN_FOLDER(trials_and_early_stopping_end_it),
      IN_FOLDER(progress_is_told_and_can_stop),
      IN_FOLDER(what_is_built_ahead_keeps_the_budget),
      IN_FOLDER(the_heavy_task_gets_the_time),
      IN_FOLDER(a_task_that_always_fails_does_not_eat_the_budget),
      IN_FOLDER(many_tasks_are_each_tried_once_first),
      IN_FOLDER(tuning_goes_on_where_it_was),
      IN_FOLDER(other_devices_and_spaces_are_not_known),
      IN_FOLDER(a_cut_measurement_is_not_kept),
      IN_FOLDER(a_database_that_fails_does_not_stop_it),
      IN_FOLDER(a_killed_tuning_keeps_what_it_had),
      IN_FOLDER(a_template_is_tuned_logged_and_applied),
      cmocka_unit_test(what_no_longer_fits_is_no_candidate),
      IN_FOLDER(senseless_options_are_refused),
      IN_FOLDER(a_lost_device_ends_it_with_the_best_so_far),
      IN_FOLDER(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
