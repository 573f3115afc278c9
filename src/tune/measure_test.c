#include "tune/measure.h"

#include <math.h>
#include <string.h>

#include "base/testing/fault.h"
#include "tune/testing/fake_driver.h"

static hone_space_t* space;

static double cost(const hone_space_t* of, const hone_candidate_t* candidate) {
  return (double)hone_candidate_number(of, candidate, "cost", 0) * 1e-3;
}

static double failure(const hone_space_t* of, const hone_candidate_t* candidate) {
  return (double)hone_candidate_number(of, candidate, "cost", 0);
}

static int set_up(void** state) {
  assert_ok(hone_space_create(NULL, &space));
  assert_ok(
      hone_space_define_numbers(space, "cost", 7, (int64_t[]){1, 10, 100, 1000, 5000, 0, -1}));
  return 0;
}

static int tear_down(void** state) {
  hone_space_destroy(space);
  return 0;
}

/* Measures the candidate whose cost is the index-th. */
static hone_measurement_t measure(fake_driver_t* driver, const hone_measure_options_t* options,
                                  uint64_t index, double best, double deadline) {
  hone_measurer_t measurer = fake_measurer(driver);
  hone_clock_t clock = fake_clock(driver);
  hone_candidate_t candidate = hone_space_at(space, index);
  hone_measurement_t found;
  assert_ok(hone_measure(&measurer, options, &clock, space, &candidate, best, deadline, &found));
  return found;
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * fabs(b); }

static void repeats_are_long_enough(void** state) {
  fake_driver_t driver = {.cost = cost, .build_seconds = 0.5};
  hone_measurement_t found = measure(&driver, NULL, 0, INFINITY, INFINITY);
  assert_int_equal(found.outcome, HONE_OUTCOME_OK);
  assert_true(near(found.seconds, 1e-3));
  assert_true(found.spread < 1e-9);
  assert_int_equal(found.repeats, 3);
  assert_int_equal(driver.repeats, 4); /* one sets the length */
  assert_int_equal(driver.runs, 1 + 3 * 20);
  assert_int_equal(driver.releases, 1);
  assert_true(near(found.build_seconds, 0.5));
  assert_true(near(found.total_seconds, driver.now));
  assert_false(found.cut);
}

static void a_cold_first_run_does_not_count(void** state) {
  fake_driver_t driver = {.cost = cost, .first_factor = 100};
  hone_measurement_t found = measure(&driver, NULL, 0, INFINITY, INFINITY);
  assert_true(near(found.seconds, 1e-3));
  assert_int_equal(found.repeats, 3);
  /* 1 took 100 ms, so 1 was enough; that took 1 ms, so 20 are. */
  assert_int_equal(driver.runs, 1 + 1 + 3 * 20);
}

static void options_are_kept(void** state) {
  fake_driver_t driver = {.cost = cost};
  hone_measure_options_t options = {.repeats = 5, .runs = 7, .min_repeat_seconds = 1e-6};
  hone_measurement_t found = measure(&driver, &options, 1, INFINITY, INFINITY);
  assert_int_equal(found.repeats, 5);
  assert_int_equal(driver.runs, 1 + 5 * 7);
  driver.runs = driver.repeats = 0;
  options = (hone_measure_options_t){.min_repeat_seconds = 100, .run_limit_seconds = 2};
  found = measure(&driver, &options, 2, INFINITY, INFINITY);
  assert_int_equal(found.repeats, 3);
  assert_int_equal(driver.runs, 1 + 3 * 10); /* no longer than half of the limit */
}

static void the_hopeless_are_given_up(void** state) {
  fake_driver_t driver = {.cost = cost};
  hone_measurement_t found = measure(&driver, NULL, 2, 0.01, INFINITY);
  assert_int_equal(found.outcome, HONE_OUTCOME_OK);
  assert_true(near(found.seconds, 0.1));
  assert_int_equal(found.repeats, 1);
  assert_int_equal(driver.runs, 1);
  driver.runs = 0; /* too short for one run to tell: one repeat, not three */
  found = measure(&driver, NULL, 1, 0.001, INFINITY);
  assert_int_equal(found.repeats, 1);
  assert_int_equal(driver.runs, 1 + 2);
  driver.runs = 0;
  hone_measure_options_t never = {.hopeless = -1};
  found = measure(&driver, &never, 2, 0.01, INFINITY);
  assert_int_equal(found.repeats, 3);
}

static void time_limits_hold(void** state) {
  fake_driver_t driver = {.cost = cost};
  hone_measurement_t found = measure(&driver, NULL, 4, INFINITY, INFINITY); /* 5 s, limit 4 */
  assert_int_equal(found.outcome, HONE_OUTCOME_TIMEOUT);
  assert_true(near(driver.now, 4));
  assert_false(found.cut);
  driver = (fake_driver_t){.cost = cost, .build_seconds = 11};
  found = measure(&driver, NULL, 0, INFINITY, INFINITY);
  assert_int_equal(found.outcome, HONE_OUTCOME_TIMEOUT);
  assert_int_equal(driver.repeats, 0);
  assert_int_equal(driver.releases, 0);
}

static void a_deadline_cuts(void** state) {
  fake_driver_t driver = {.cost = cost, .build_seconds = 1};
  hone_measurement_t found = measure(&driver, NULL, 3, INFINITY, 3.5);
  assert_int_equal(found.outcome,
                   HONE_OUTCOME_OK); /* the first run counts, there is no more time */
  assert_true(near(found.seconds, 1));
  assert_true(driver.now <= 3.5);
  driver = (fake_driver_t){.cost = cost, .build_seconds = 1};
  found = measure(&driver, NULL, 3, INFINITY, 1.5);
  assert_int_equal(found.outcome, HONE_OUTCOME_TIMEOUT);
  assert_true(found.cut);
  assert_true(near(driver.now, 1.5));
}

static void failures_say_why(void** state) {
  fake_driver_t driver = {.cost = failure};
  hone_measurement_t found = measure(&driver, NULL, 6, INFINITY, INFINITY);
  assert_int_equal(found.outcome, HONE_OUTCOME_BUILD_FAILED);
  assert_string_equal(found.message, "too many registers");
  assert_string_equal(hone_outcome_name(found.outcome), "build failed");
}

static double fatal(const hone_space_t* of, const hone_candidate_t* candidate) { return -5; }

static void what_is_fatal_is_an_error(void** state) {
  fake_driver_t driver = {.cost = fatal};
  hone_measurer_t measurer = fake_measurer(&driver);
  hone_clock_t clock = fake_clock(&driver);
  hone_candidate_t candidate = {{0}};
  hone_measurement_t found;
  assert_code(hone_measure(&measurer, NULL, &clock, space, &candidate, INFINITY, INFINITY, &found),
              HONE_UNAVAILABLE);
}

static void a_clock_that_stands_still_does_no_harm(void** state) {
  fake_driver_t driver = {.cost = cost};
  hone_measurement_t found = measure(&driver, NULL, 5, INFINITY, INFINITY); /* takes no time */
  assert_int_equal(found.outcome, HONE_OUTCOME_OK);
  assert_true(found.seconds > 0 && isfinite(found.seconds));
}

static void medians_and_deviations(void** state) {
  double odd[] = {5, 1, 100}, even[] = {4, 1, 3, 100}, spread[] = {1, 2, 3, 4, 100};
  assert_true(hone_median(3, odd) == 5);
  assert_true(hone_median(4, even) == 3.5);
  assert_true(hone_median(0, NULL) == 0);
  assert_true(hone_deviation(5, spread, 3) == 1);
}

static void the_system_clock_runs(void** state) {
  double first = hone_clock_now(NULL);
  assert_true(hone_clock_now(NULL) >= first && first > 0);
}

#define IN_SPACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_SPACE(repeats_are_long_enough),
      IN_SPACE(a_cold_first_run_does_not_count),
      IN_SPACE(options_are_kept),
      IN_SPACE(the_hopeless_are_given_up),
      IN_SPACE(time_limits_hold),
      IN_SPACE(a_deadline_cuts),
      IN_SPACE(failures_say_why),
      IN_SPACE(what_is_fatal_is_an_error),
      IN_SPACE(a_clock_that_stands_still_does_no_harm),
      cmocka_unit_test(medians_and_deviations),
      cmocka_unit_test(the_system_clock_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
