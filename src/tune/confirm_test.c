/* Confirming, with wholes whose times the test makes up, on a clock of its own. */
#include "tune/confirm.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/testing/fault.h"

enum { MOST_ITEMS = 16 };

/* A whole takes a second, and what each item adds. */
typedef struct stage {
  double now;
  int n_items;
  double effect[MOST_ITEMS];
  double noise, drift; /* shares of a run's time: at random, and slowly up and down */
  int fails_with;      /* wholes with this item cannot run; -1: none */
  bool fails;          /* no whole can */
  uint32_t state;
  double making; /* seconds that a whole takes to be opened; 0: 0.5 */
  int opened, closed;
  int decisions, until; /* decisions that are wanted; 0: all */
  double gain;          /* of the last decision */
} stage_t;

typedef struct fake_whole {
  double seconds;
  bool fails;
} fake_whole_t;

static double tell_time(void* context) { return ((stage_t*)context)->now; }

static hone_status_t open_fake(void* context, const bool* on, void** out_whole) {
  stage_t* stage = context;
  fake_whole_t* whole = hone_alloc(NULL, sizeof *whole);
  assert_non_null(whole);
  *whole = (fake_whole_t){1, stage->fails};
  for (int i = 0; i < stage->n_items; i++) whole->seconds += on[i] ? stage->effect[i] : 0;
  if (stage->fails_with >= 0 && on[stage->fails_with]) whole->fails = true;
  stage->now += stage->making > 0 ? stage->making : 0.5;
  stage->opened++;
  *out_whole = whole;
  return NULL;
}

/* From -1 to 1. */
static double draw(stage_t* stage) {
  stage->state = stage->state * 1664525u + 1013904223u;
  return stage->state / 2147483648.0 - 1;
}

static hone_status_t run_fake(void* context, void* built, double* out_seconds) {
  stage_t* stage = context;
  const fake_whole_t* whole = built;
  if (whole->fails) return hone_status_make(HONE_UNSUPPORTED, "it cannot run");
  double shares = 1 + stage->noise * draw(stage) + stage->drift * sin(stage->now / 40);
  *out_seconds = whole->seconds * shares;
  stage->now += *out_seconds;
  return NULL;
}

static void close_fake(void* context, void* built) {
  ((stage_t*)context)->closed++;
  hone_free(NULL, built, sizeof(fake_whole_t));
}

static hone_status_t count_decision(void* context, const hone_confirm_decision_t* decision,
                                    bool* out_more) {
  stage_t* stage = context;
  assert_true(decision->count > 0 && decision->verdict != HONE_VERDICT_NONE);
  stage->gain = decision->gain;
  *out_more = ++stage->decisions != stage->until;
  return NULL;
}

typedef struct ending {
  hone_status_t status;
  hone_verdict_t verdicts[MOST_ITEMS];
  hone_confirm_report_t report;
} ending_t;

static stage_t stage_of(int n_items) {
  return (stage_t){.n_items = n_items, .fails_with = -1, .noise = 0.01, .drift = 0.05};
}

static ending_t confirm(stage_t* stage, const hone_confirm_item_t* items, double deadline) {
  ending_t ending = {0};
  const hone_confirm_driver_t driver = {stage, open_fake, run_fake, close_fake};
  const hone_confirm_options_t options = {.deadline = deadline,
                                          .clock = {tell_time, stage},
                                          .open_seconds = 0.5,
                                          .run_seconds = 1,
                                          .decided = count_decision,
                                          .decided_context = stage};
  ending.status =
      hone_confirm(NULL, stage->n_items, items, &driver, &options, ending.verdicts, &ending.report);
  assert_int_equal(stage->opened, stage->closed);
  return ending;
}

/* Every item promises much, as its kernel alone does. */
static const hone_confirm_item_t promising[MOST_ITEMS] = {{0.5, false}, {0.4, false}, {0.3, false},
                                                          {0.2, false}, {0.1, false}, {0.1, false},
                                                          {0.1, false}, {0.1, false}};

static void a_real_gain_is_kept(void** state) {
  stage_t stage = stage_of(3);
  for (int i = 0; i < 3; i++) stage.effect[i] = -0.02;
  const ending_t ending = confirm(&stage, promising, INFINITY);
  assert_ok(ending.status);
  for (int i = 0; i < 3; i++) assert_int_equal(ending.verdicts[i], HONE_VERDICT_CONFIRMED);
  assert_int_equal(stage.decisions, 1);
  assert_true(fabs(ending.report.gain - 1 / 0.94) < 0.01);
}

static void a_loss_in_the_whole_is_refused_whatever_the_kernel_gains(void** state) {
  stage_t stage = stage_of(1);
  stage.effect[0] = 0.02;
  const ending_t ending = confirm(&stage, promising, INFINITY);
  assert_ok(ending.status);
  assert_int_equal(ending.verdicts[0], HONE_VERDICT_REFUSED);
  assert_true(ending.report.gain == 1);
}

static void what_gains_nothing_is_refused(void** state) {
  for (uint32_t seed = 0; seed < 50; seed++) {
    stage_t stage = stage_of(1);
    stage.state = seed * 7919;
    const ending_t ending = confirm(&stage, promising, INFINITY);
    assert_ok(ending.status);
    assert_int_equal(ending.verdicts[0], HONE_VERDICT_REFUSED);
  }
}

static void the_bad_ones_of_a_group_are_found(void** state) {
  stage_t stage = stage_of(8);
  for (int i = 0; i < 8; i++) stage.effect[i] = i == 1 || i == 6 ? 0.2 : -0.03;
  const ending_t ending = confirm(&stage, promising, INFINITY);
  assert_ok(ending.status);
  for (int i = 0; i < 8; i++)
    assert_int_equal(ending.verdicts[i],
                     i == 1 || i == 6 ? HONE_VERDICT_REFUSED : HONE_VERDICT_CONFIRMED);
  assert_true(fabs(ending.report.gain - 1 / 0.82) < 0.02);
}

static void what_was_confirmed_before_has_to_do_harm(void** state) {
  static const hone_confirm_item_t items[] = {{0.5, false}, {0.1, true}, {0.2, true}};
  stage_t stage = stage_of(3);
  stage.effect[2] = 0.05;
  const ending_t ending = confirm(&stage, items, INFINITY);
  assert_ok(ending.status);
  assert_int_equal(ending.verdicts[0], HONE_VERDICT_REFUSED);
  assert_int_equal(ending.verdicts[1], HONE_VERDICT_CONFIRMED);
  assert_int_equal(ending.verdicts[2], HONE_VERDICT_REFUSED);
}

static void the_deadline_is_kept_and_leaves_the_rest_open(void** state) {
  for (int tenths = 10; tenths < 4000; tenths += tenths / 2) {
    const double deadline = tenths / 10.0;
    stage_t stage = stage_of(8);
    for (int i = 0; i < 8; i++) stage.effect[i] = i % 2 ? 0.2 : -0.05;
    const ending_t ending = confirm(&stage, promising, deadline);
    assert_ok(ending.status);
    assert_true(stage.now <= deadline * 1.05);
    for (int i = 0; i < 8; i++)
      assert_true(ending.verdicts[i] != (i % 2 ? HONE_VERDICT_CONFIRMED : HONE_VERDICT_REFUSED));
  }
}

/* Wholes take far longer to make than was thought: one is made, not two. */
static void the_deadline_is_kept_where_wholes_take_long_to_make(void** state) {
  stage_t stage = stage_of(2);
  stage.effect[0] = stage.effect[1] = -0.1;
  stage.making = 40;
  const ending_t ending = confirm(&stage, promising, 60);
  assert_ok(ending.status);
  assert_int_equal(stage.opened, 1);
  assert_true(stage.now <= 60 && stage.decisions == 0);
  assert_int_equal(ending.verdicts[0], HONE_VERDICT_NONE);
}

static void a_whole_that_fails_with_a_group_counts_against_it(void** state) {
  stage_t stage = stage_of(2);
  stage.effect[0] = stage.effect[1] = -0.1;
  stage.fails_with = 1;
  const ending_t ending = confirm(&stage, promising, INFINITY);
  assert_ok(ending.status);
  assert_int_equal(ending.verdicts[0], HONE_VERDICT_CONFIRMED);
  assert_int_equal(ending.verdicts[1], HONE_VERDICT_REFUSED);
  assert_true(stage.gain == 0); /* of what fails there is none */
  assert_true(fabs(ending.report.gain - 1 / 0.9) < 0.01);
}

static void wholes_that_cannot_run_at_all_are_an_error(void** state) {
  stage_t stage = stage_of(2);
  stage.fails = true;
  const ending_t ending = confirm(&stage, promising, INFINITY);
  assert_code(ending.status, HONE_UNSUPPORTED);
  assert_int_equal(ending.verdicts[0], HONE_VERDICT_NONE);
  assert_int_equal(stage.decisions, 0);
}

static void groups_that_promise_little_are_refused_whole(void** state) {
  static const hone_confirm_item_t items[4] = {
      {1e-3, false}, {1e-3, false}, {1e-3, false}, {1e-3, false}};
  stage_t stage = stage_of(4);
  const ending_t ending = confirm(&stage, items, INFINITY);
  assert_ok(ending.status);
  assert_int_equal(stage.decisions, 1);
  for (int i = 0; i < 4; i++) assert_int_equal(ending.verdicts[i], HONE_VERDICT_REFUSED);
}

static void it_stops_when_no_more_is_wanted(void** state) {
  stage_t stage = stage_of(4);
  for (int i = 0; i < 4; i++) stage.effect[i] = 0.1;
  stage.until = 1;
  const ending_t ending = confirm(&stage, promising, INFINITY);
  assert_ok(ending.status);
  assert_int_equal(stage.decisions, 1);
  assert_int_equal(ending.verdicts[0], HONE_VERDICT_REFUSED);
  assert_int_equal(ending.verdicts[1], HONE_VERDICT_NONE);
}

static void running_out_of_memory_is_an_error(void** state) {
  stage_t stage = stage_of(1);
  hone_confirm_report_t report;
  hone_verdict_t verdict;
  const hone_confirm_driver_t driver = {&stage, open_fake, run_fake, close_fake};
  const hone_confirm_options_t options = {.deadline = INFINITY};
  hone_fault_t fault;
  hone_fault_init(&fault, 1, true);
  assert_code(hone_confirm(&fault.allocator, 1, promising, &driver, &options, &verdict, &report),
              HONE_OUT_OF_MEMORY);
}

static void few_pairs_decide_nothing(void** state) {
  double speed[HONE_CONFIRM_MOST_PAIRS];
  for (int i = 0; i < HONE_CONFIRM_MOST_PAIRS; i++) speed[i] = 2;
  assert_int_equal(hone_confirm_compare(9, speed), HONE_COMPARED_UNDECIDED);
  assert_int_equal(hone_confirm_compare(10, speed), HONE_COMPARED_FASTER);
  speed[3] = 0.5;
  assert_int_equal(hone_confirm_compare(10, speed), HONE_COMPARED_UNDECIDED);
  assert_int_equal(hone_confirm_compare(16, speed), HONE_COMPARED_FASTER);
  for (int i = 0; i < HONE_CONFIRM_MOST_PAIRS; i++) speed[i] = 0.99;
  assert_int_equal(hone_confirm_compare(10, speed), HONE_COMPARED_NOT_FASTER);
  /* Faster, but by less than counts. */
  for (int i = 0; i < HONE_CONFIRM_MOST_PAIRS; i++) speed[i] = 1 + HONE_CONFIRM_LEAST / 2;
  assert_int_equal(hone_confirm_compare(16, speed), HONE_COMPARED_NOT_FASTER);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_real_gain_is_kept),
      cmocka_unit_test(a_loss_in_the_whole_is_refused_whatever_the_kernel_gains),
      cmocka_unit_test(what_gains_nothing_is_refused),
      cmocka_unit_test(the_bad_ones_of_a_group_are_found),
      cmocka_unit_test(what_was_confirmed_before_has_to_do_harm),
      cmocka_unit_test(the_deadline_is_kept_and_leaves_the_rest_open),
      cmocka_unit_test(the_deadline_is_kept_where_wholes_take_long_to_make),
      cmocka_unit_test(a_whole_that_fails_with_a_group_counts_against_it),
      cmocka_unit_test(wholes_that_cannot_run_at_all_are_an_error),
      cmocka_unit_test(groups_that_promise_little_are_refused_whole),
      cmocka_unit_test(it_stops_when_no_more_is_wanted),
      cmocka_unit_test(running_out_of_memory_is_an_error),
      cmocka_unit_test(few_pairs_decide_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
