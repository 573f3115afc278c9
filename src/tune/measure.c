/* Measuring: build, check, a first run that sets how many make a repeat, repeats. */
#include "tune/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_RUNS = 1000000 };

double hone_clock_now(const hone_clock_t* clock) {
  if (clock && clock->now) return clock->now(clock->context);
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void* left, const void* right) {
  double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

double hone_median(int count, double* values) {
  if (count == 0) return 0;
  qsort(values, (size_t)count, sizeof *values, compare);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double hone_deviation(int count, double* values, double center) {
  for (int i = 0; i < count; i++) values[i] = fabs(values[i] - center);
  return hone_median(count, values);
}

typedef struct measuring {
  const hone_measurer_t* measurer;
  hone_measure_options_t options;
  const hone_clock_t* clock;
  double best, deadline;
  hone_measurement_t* result;
  hone_status_t error; /* what the driver called fatal */
} measuring_t;

static hone_measure_options_t with_defaults(const hone_measure_options_t* given) {
  hone_measure_options_t options = {0};
  if (given) options = *given;
  if (options.repeats <= 0) options.repeats = 3;
  if (options.repeats > HONE_MEASURE_MOST_REPEATS) options.repeats = HONE_MEASURE_MOST_REPEATS;
  if (options.runs <= 0) options.runs = 1;
  if (!(options.min_repeat_seconds > 0)) options.min_repeat_seconds = 0.02;
  if (!(options.build_limit_seconds > 0)) options.build_limit_seconds = 10;
  if (!(options.run_limit_seconds > 0)) options.run_limit_seconds = 4;
  if (options.hopeless == 0) options.hopeless = 2;
  return options;
}

static double time_left(const measuring_t* m) { return m->deadline - hone_clock_now(m->clock); }

/* A limit, or what is left of the time when that is less. */
static double shorten(measuring_t* m, double limit) {
  double left = time_left(m);
  if (left >= limit) return limit;
  m->result->cut = true;
  return left > 0 ? left : 0;
}

/* Takes down how a call of the driver ended; whether to go on. */
static bool note(measuring_t* m, hone_outcome_t outcome, bool fatal, hone_status_t why) {
  if (fatal) {
    if (!why) why = hone_status_make(HONE_INTERNAL, "the driver of the measurement gave up");
    m->error = why;
    return false;
  }
  m->result->outcome = outcome;
  if (outcome != HONE_OUTCOME_OK)
    snprintf(m->result->message, sizeof m->result->message, "%s", hone_status_message(why));
  hone_status_free(why);
  return outcome == HONE_OUTCOME_OK;
}

/* One repeat; the mean time of a run. */
static bool repeat(measuring_t* m, void* built, int runs, double* out_seconds) {
  bool fatal = false;
  hone_status_t why = NULL;
  double total = 0, limit = shorten(m, m->options.run_limit_seconds);
  hone_outcome_t outcome =
      m->measurer->run(m->measurer->context, built, runs, limit, &total, &fatal, &why);
  if (!note(m, outcome, fatal, why)) return false;
  /* A clock that did not move counts as the least that one can tell. */
  *out_seconds = (total > 1e-9 ? total : 1e-9) / runs;
  return true;
}

/* How many runs of that length make a repeat: neither too short to time nor
 * longer than the limit. */
static int find_runs(const measuring_t* m, double seconds) {
  double runs = ceil(m->options.min_repeat_seconds / seconds);
  if (runs < m->options.runs) runs = m->options.runs;
  double most = m->options.run_limit_seconds / 2 / seconds;
  if (runs > most) runs = most;
  if (runs > MOST_RUNS) runs = MOST_RUNS;
  return runs < 1 ? 1 : (int)runs;
}

/* Whether there is time for so many runs of that length. */
static bool fits(const measuring_t* m, int runs, double seconds) {
  return time_left(m) >= runs * seconds;
}

/* The first run warms caches and says how many make a repeat; where it was
 * slow only because it was the first, the repeat after it corrects that. Gives
 * the first time to count, and the number of runs; false when that is all. */
static bool calibrate(measuring_t* m, void* built, double worst, double* out_seconds,
                      int* out_runs) {
  double seconds;
  if (!repeat(m, built, 1, &seconds)) return false;
  m->result->repeats = 1;
  *out_seconds = seconds;
  /* One run that is long enough to be timed, and hopeless, must do. */
  if (seconds >= m->options.min_repeat_seconds && seconds > worst) return false;
  for (int more = 0; more < 2; more++) {
    int runs = find_runs(m, *out_seconds);
    bool is_enough = more && runs <= 2 * *out_runs;
    if (!is_enough) *out_runs = runs;
    if (is_enough) break;
    if (!fits(m, runs, *out_seconds) || !repeat(m, built, runs, out_seconds)) return false;
  }
  return *out_seconds <= worst;
}

static void time_it(measuring_t* m, void* built) {
  double times[HONE_MEASURE_MOST_REPEATS];
  double worst = m->options.hopeless > 0 ? m->options.hopeless * m->best : INFINITY;
  int runs = 1;
  bool goes_on = calibrate(m, built, worst, &times[0], &runs);
  for (int i = 1; i < m->options.repeats && goes_on; i++) {
    goes_on = fits(m, runs, times[i - 1]) && repeat(m, built, runs, &times[i]);
    m->result->repeats += goes_on;
  }
  if (m->result->outcome != HONE_OUTCOME_OK || m->error) return;
  m->result->seconds = hone_median(m->result->repeats, times);
  m->result->spread = hone_deviation(m->result->repeats, times, m->result->seconds);
}

static bool check_it(measuring_t* m, void* built) {
  if (!m->measurer->check) return true;
  bool fatal = false;
  hone_status_t why = NULL;
  double limit = shorten(m, m->options.run_limit_seconds);
  hone_outcome_t outcome = m->measurer->check(m->measurer->context, built, limit, &fatal, &why);
  return note(m, outcome, fatal, why);
}

hone_status_t hone_measure(const hone_measurer_t* measurer, const hone_measure_options_t* options,
                           const hone_clock_t* clock, const hone_space_t* space,
                           const hone_candidate_t* candidate, double best, double deadline,
                           hone_measurement_t* out_measurement) {
  measuring_t m = {.measurer = measurer,
                   .options = with_defaults(options),
                   .clock = clock,
                   .best = best,
                   .deadline = deadline,
                   .result = out_measurement};
  *out_measurement = (hone_measurement_t){.outcome = HONE_OUTCOME_OK};
  double start = hone_clock_now(clock);
  bool fatal = false;
  hone_status_t why = NULL;
  void* built = NULL;
  double limit = shorten(&m, m.options.build_limit_seconds);
  hone_outcome_t outcome =
      measurer->build(measurer->context, space, candidate, limit, &built, &fatal, &why);
  bool is_built = note(&m, outcome, fatal, why);
  out_measurement->build_seconds = hone_clock_now(clock) - start;
  if (is_built && check_it(&m, built)) time_it(&m, built);
  if (is_built && measurer->release) measurer->release(measurer->context, built);
  out_measurement->total_seconds = hone_clock_now(clock) - start;
  return m.error;
}
