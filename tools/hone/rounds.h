/* Rounds: contestants are timed by turns, one run each a round, so that whatever
 * else the machine does meets all of them alike. A contestant is a function; what
 * it runs is its own business. */
#ifndef HONE_TOOLS_ROUNDS_H
#define HONE_TOOLS_ROUNDS_H

#include "hone/status.h"

typedef struct hone_contestant {
  hone_status_t (*run)(void* self); /* once */
  void (*after)(void* self);        /* puts away what a run made, untimed; may be NULL */
  void* self;
  double first_ms; /* of its very first run */
  int64_t n_runs;  /* timed ones */
  double* milliseconds;
} hone_contestant_t;

typedef struct hone_rounds_options {
  int64_t warmup; /* untimed runs, the first of all included */
  int64_t runs;   /* rounds; 0: as many as fit in the time */
  double seconds; /* of timed runs of each contestant; 0: no limit but `runs` */
  void (*progress)(void* self, double part, int64_t round); /* may be NULL */
  void* progress_self;
} hone_rounds_options_t;

enum { HONE_MOST_ROUNDS = 100000 };

/* Fills the contestants. Their times are to be freed with hone_rounds_free. At least
 * one round is run. Errors: those of the contestants, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_rounds_run(int count, hone_contestant_t* contestants,
                                            const hone_rounds_options_t* options);
void hone_rounds_free(int count, hone_contestant_t* contestants);

/* What many times say. */
typedef struct hone_times {
  int64_t runs;
  double min, median, mean, p90, p99, max;
} hone_times_t;

/* Of at least one number; sorts them. */
hone_times_t hone_times_find(int64_t count, double* numbers);

#endif
