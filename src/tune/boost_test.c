#include "tune/boost.h"

#include <math.h>
#include <string.h>

#include "base/testing/fault.h"
#include "tune/draw.h"

enum { ROWS = 400, FEATURES = 5 };

typedef double (*truth_t)(const double* x);

static double step(const double* x) { return (x[0] > 0.5 ? 3.0 : 1.0) + (x[3] > 0.25 ? 0.5 : 0); }
static double wave(const double* x) { return sin(6 * x[0]) + x[1] * x[2] + 0.2 * x[4]; }
static double cliff(const double* x) { return exp(8 * x[1]) * (x[2] > 0.7 ? 100 : 1); }

static void draw_examples(uint64_t seed, truth_t truth, double* x, double* y) {
  hone_draw_t draw = {.seed = seed};
  for (int row = 0; row < ROWS; row++) {
    for (int f = 0; f < FEATURES; f++) x[row * FEATURES + f] = hone_draw_unit(&draw);
    y[row] = truth(x + row * FEATURES);
  }
}

static double predictions[ROWS];

static void fit_and_predict(const hone_boost_options_t* options, truth_t truth, double* unseen,
                            double* unseen_y) {
  static double x[ROWS * FEATURES], y[ROWS];
  draw_examples(1, truth, x, y);
  draw_examples(2, truth, unseen, unseen_y);
  hone_boost_t* boost;
  assert_ok(hone_boost_fit(NULL, options, ROWS, FEATURES, x, y, &boost));
  for (int row = 0; row < ROWS; row++)
    predictions[row] = hone_boost_predict(boost, unseen + row * FEATURES);
  hone_boost_destroy(boost);
}

/* Share of pairs that two lists order alike, from -1 to 1 (Kendall's tau). */
static double agreement(const double* a, const double* b) {
  int sum = 0, pairs = 0;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < i; j++) {
      if (b[i] == b[j]) continue;
      double product = (a[i] - a[j]) * (b[i] - b[j]);
      sum += product > 0 ? 1 : product < 0 ? -1 : 0;
      pairs++;
    }
  return (double)sum / pairs;
}

static double mean_error(const double* a, const double* b) {
  double sum = 0;
  for (int i = 0; i < ROWS; i++) sum += fabs(a[i] - b[i]);
  return sum / ROWS;
}

static double x[ROWS * FEATURES], y[ROWS];

static void squares_learn_functions(void** state) {
  hone_boost_options_t options = {.loss = HONE_BOOST_SQUARED, .trees = 100};
  fit_and_predict(&options, step, x, y);
  assert_true(mean_error(predictions, y) < 0.05);
  fit_and_predict(&options, wave, x, y);
  assert_true(mean_error(predictions, y) < 0.1);
}

static void ranks_learn_the_order(void** state) {
  hone_boost_options_t options = {.loss = HONE_BOOST_RANK};
  fit_and_predict(&options, wave, x, y);
  assert_true(agreement(predictions, y) > 0.85);
  fit_and_predict(&options, cliff, x, y);
  assert_true(agreement(predictions, y) > 0.85);
}

static void noise_is_not_learned(void** state) {
  static double noise[ROWS], there[ROWS];
  hone_draw_t draw = {.seed = 9};
  draw_examples(1, step, x, y);
  for (int i = 0; i < ROWS; i++) noise[i] = hone_draw_unit(&draw);
  hone_boost_t* boost;
  assert_ok(hone_boost_fit(NULL, NULL, ROWS, FEATURES, x, noise, &boost));
  for (int i = 0; i < ROWS; i++) there[i] = hone_boost_predict(boost, x + i * FEATURES);
  draw_examples(3, step, x, y);
  for (int i = 0; i < ROWS; i++) predictions[i] = hone_boost_predict(boost, x + i * FEATURES);
  assert_true(fabs(agreement(predictions, noise)) < 0.1);
  assert_true(agreement(there, noise) > 0.3); /* while what it saw it does know */
  hone_boost_destroy(boost);
}

static void the_seed_decides(void** state) {
  static double first[ROWS];
  hone_boost_options_t options = {.seed = 5};
  fit_and_predict(&options, wave, x, y);
  memcpy(first, predictions, sizeof first);
  fit_and_predict(&options, wave, x, y);
  assert_memory_equal(first, predictions, sizeof first);
  options.seed = 6;
  fit_and_predict(&options, wave, x, y);
  assert_memory_not_equal(first, predictions, sizeof first);
}

static void few_and_strange_examples_do(void** state) {
  const double odd[] = {NAN, INFINITY, -INFINITY, 0, 1e308, -1e308, 5, 5};
  const double targets[] = {4, 3, 1, 2};
  for (int rows = 1; rows <= 4; rows++) {
    for (int loss = 0; loss <= HONE_BOOST_SQUARED; loss++) {
      hone_boost_options_t options = {.loss = loss, .min_leaf = 1, .sample = 1, .depth = 99};
      hone_boost_t* boost;
      assert_ok(hone_boost_fit(NULL, &options, rows, 2, odd, targets, &boost));
      for (int row = 0; row < rows; row++)
        assert_true(isfinite(hone_boost_predict(boost, odd + 2 * row)));
      hone_boost_destroy(boost);
    }
  }
  hone_boost_options_t options = {
      .loss = HONE_BOOST_SQUARED, .min_leaf = 1, .sample = 1, .trees = 200};
  hone_boost_t* boost;
  assert_ok(hone_boost_fit(NULL, &options, 4, 2, odd, targets, &boost));
  for (int row = 0; row < 4; row++)
    assert_true(fabs(hone_boost_predict(boost, odd + 2 * row) - targets[row]) < 0.1);
  hone_boost_destroy(boost);
}

static void bad_examples_are_refused(void** state) {
  hone_boost_t* boost;
  const double one[] = {1}, none[] = {NAN};
  assert_code(hone_boost_fit(NULL, NULL, 0, 1, one, one, &boost), HONE_INVALID_ARGUMENT);
  assert_code(hone_boost_fit(NULL, NULL, 1, 0, one, one, &boost), HONE_INVALID_ARGUMENT);
  assert_code(hone_boost_fit(NULL, NULL, 1, 1, one, none, &boost), HONE_INVALID_ARGUMENT);
  assert_null(boost);
}

static hone_status_t fit_some(const hone_allocator_t* allocator, void* context) {
  hone_boost_t* boost;
  HONE_TRY(hone_boost_fit(allocator, NULL, 50, FEATURES, x, y, &boost));
  hone_boost_destroy(boost);
  return NULL;
}

static void memory_may_run_out(void** state) {
  draw_examples(1, step, x, y);
  assert_int_equal(assert_survives_faults(fit_some, NULL), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(squares_learn_functions),     cmocka_unit_test(ranks_learn_the_order),
      cmocka_unit_test(noise_is_not_learned),        cmocka_unit_test(the_seed_decides),
      cmocka_unit_test(few_and_strange_examples_do), cmocka_unit_test(bad_examples_are_refused),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
