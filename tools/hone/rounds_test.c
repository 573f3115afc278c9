#include "rounds.h"

#include <string.h>

#include "base/testing/test.h"

typedef struct runner {
  char name;
  char* log; /* of all of them, in the order of running */
  int runs, after, fails_at;
} runner_t;

static hone_status_t run(void* self) {
  runner_t* r = self;
  if (r->fails_at && r->runs + 1 == r->fails_at)
    return hone_status_make(HONE_INVALID_ARGUMENT, "%c fell", r->name);
  r->log[strlen(r->log)] = r->name;
  r->runs++;
  return NULL;
}

static void after(void* self) { ((runner_t*)self)->after++; }

static void contestants_take_turns(void** state) {
  (void)state;
  char log[64] = "";
  runner_t a = {'a', log, 0, 0, 0}, b = {'b', log, 0, 0, 0};
  hone_contestant_t both[2] = {{.run = run, .after = after, .self = &a}, {.run = run, .self = &b}};
  hone_rounds_options_t options = {.warmup = 2, .runs = 4};
  assert_ok(hone_rounds_run(2, both, &options));
  assert_string_equal(log, "aabbabbaabba");
  assert_int_equal(both[0].n_runs, 4);
  assert_int_equal(a.after, 6);
  assert_true(both[1].first_ms >= 0);
  hone_rounds_free(2, both);
}

static void time_is_a_limit_and_one_round_is_least(void** state) {
  (void)state;
  char log[64] = "";
  runner_t a = {'a', log, 0, 0, 0};
  hone_contestant_t one = {.run = run, .self = &a};
  hone_rounds_options_t options = {.warmup = 1, .runs = 40, .seconds = 1e-12};
  assert_ok(hone_rounds_run(1, &one, &options));
  assert_string_equal(log, "aa");
  hone_rounds_free(1, &one);
}

static void a_failure_ends_it(void** state) {
  (void)state;
  for (int at = 1; at <= 4; at++) {
    char log[64] = "";
    runner_t a = {'a', log, 0, 0, 0}, b = {'b', log, 0, 0, at};
    hone_contestant_t both[2] = {{.run = run, .self = &a}, {.run = run, .self = &b}};
    hone_rounds_options_t options = {.warmup = 1, .runs = 9};
    assert_code(hone_rounds_run(2, both, &options), HONE_INVALID_ARGUMENT);
    assert_int_equal(b.runs, at - 1);
    hone_rounds_free(2, both);
  }
}

static void times_of_known_numbers(void** state) {
  (void)state;
  double numbers[100];
  for (int i = 0; i < 100; i++) numbers[i] = 100 - i;
  hone_times_t t = hone_times_find(100, numbers);
  assert_true(t.runs == 100 && t.min == 1 && t.max == 100);
  assert_true(t.median == 50.5 && t.mean == 50.5 && t.p90 == 90 && t.p99 == 99);
  double one = 7;
  t = hone_times_find(1, &one);
  assert_true(t.min == 7 && t.median == 7 && t.p90 == 7 && t.p99 == 7 && t.max == 7);
  double three[] = {3, 1, 2};
  t = hone_times_find(3, three);
  assert_true(t.median == 2 && t.p90 == 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contestants_take_turns),
      cmocka_unit_test(time_is_a_limit_and_one_round_is_least),
      cmocka_unit_test(a_failure_ends_it),
      cmocka_unit_test(times_of_known_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
