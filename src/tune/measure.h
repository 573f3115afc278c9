/* Measure: how long a candidate takes, or why it cannot be had.
 *
 * A driver knows how to build and run; here is decided how often, and when to
 * give up. A candidate is run in repeats of so many runs that one repeat is
 * long enough to be timed; its time is the median over repeats of the mean of
 * a run. One whose first repeat is hopeless is not measured further. */
#ifndef HONE_TUNE_MEASURE_H
#define HONE_TUNE_MEASURE_H

#include "tune/outcome.h"
#include "tune/space.h"

/* A zero means the default. */
typedef struct hone_measure_options {
  int repeats;                /* 3 */
  int runs;                   /* in a repeat, at least: 1 */
  double min_repeat_seconds;  /* more runs are made until a repeat takes this: 0.02 */
  double build_limit_seconds; /* kept by the driver: 10 */
  double run_limit_seconds;   /* for one repeat; kept by the driver: 4 */
  double hopeless;            /* give up when the first repeat is so many times the best: 2;
                                 negative: never */
} hone_measure_options_t;

/* Time as seconds from some start; NULL in place of the function: the system's
 * monotonic clock. */
typedef struct hone_clock {
  double (*now)(void* context);
  void* context;
} hone_clock_t;

double hone_clock_now(const hone_clock_t* clock);

/* What a driver gives. A call ends with an outcome; when that is not ok,
 * `*out_why` may say why (it is NULL before the call, and the caller frees
 * it). A driver that cannot go on at all (out of memory, a device that is
 * lost) sets `*fatal`, and `*out_why` then ends the tuning. Limits are in
 * seconds; a call that reaches its limit gives HONE_OUTCOME_TIMEOUT. */
typedef struct hone_measurer {
  void* context;
  hone_outcome_t (*build)(void* context, const hone_space_t* space,
                          const hone_candidate_t* candidate, double limit, void** out_built,
                          bool* fatal, hone_status_t* out_why);
  /* Runs it `runs` times; how long they took together. */
  hone_outcome_t (*run)(void* context, void* built, int runs, double limit, double* out_seconds,
                        bool* fatal, hone_status_t* out_why);
  /* Optional: compares what a run computes with what is right, before it is timed. */
  hone_outcome_t (*check)(void* context, void* built, double limit, bool* fatal,
                          hone_status_t* out_why);
  /* Optional: candidates that will be built soon, so that a driver that keeps
   * what it builds can build several at once. Not to take longer than `limit`. */
  void (*prepare)(void* context, const hone_space_t* space, int count,
                  const hone_candidate_t* candidates, double limit);
  /* Frees what was built; optional. */
  void (*release)(void* context, void* built);
} hone_measurer_t;

enum { HONE_MEASURE_MOST_REPEATS = 100 };

typedef struct hone_measurement {
  hone_outcome_t outcome;
  double seconds; /* of one run; the median over repeats */
  double spread;  /* median absolute deviation from it */
  int repeats;    /* that were made; fewer than asked for when hopeless or out of time */
  bool cut;       /* a limit was shortened because time was short: a timeout then says nothing */
  double build_seconds, total_seconds; /* what measuring took, by the clock */
  char message[256];                   /* why it failed; "" */
} hone_measurement_t;

/* Measures a candidate. `best` is the time to beat (INFINITY: none yet),
 * `deadline` the time by the clock after which nothing new is begun (INFINITY:
 * none). Errors: those that the driver calls fatal. */
HONE_MUST_USE hone_status_t hone_measure(const hone_measurer_t* measurer,
                                         const hone_measure_options_t* options,
                                         const hone_clock_t* clock, const hone_space_t* space,
                                         const hone_candidate_t* candidate, double best,
                                         double deadline, hone_measurement_t* out_measurement);

/* The median; of an even number the mean of the middle two. Sorts `values`; 0 for none. */
double hone_median(int count, double* values);
/* The median absolute deviation from `center`. Overwrites `values`. */
double hone_deviation(int count, double* values, double center);

#endif
