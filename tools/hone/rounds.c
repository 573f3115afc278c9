#include "rounds.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/trace.h"

static hone_status_t run_once(hone_contestant_t* c, double* out_ms) {
  int64_t start = hone_clock_ns();
  hone_status_t status = c->run(c->self);
  *out_ms = (double)(hone_clock_ns() - start) / 1e6;
  if (!status && c->after) c->after(c->self);
  return status;
}

static hone_status_t warm_up(hone_contestant_t* c, int64_t runs) {
  double ms;
  HONE_TRY(run_once(c, &c->first_ms));
  for (int64_t i = 1; i < runs; i++) HONE_TRY(run_once(c, &ms));
  return NULL;
}

/* One run of each, each time another of them first. */
static hone_status_t run_round(int count, hone_contestant_t* contestants, int64_t round,
                               double* ms_left) {
  double slowest = 0;
  for (int i = 0; i < count; i++) {
    hone_contestant_t* c = &contestants[(i + round) % count];
    HONE_TRY(run_once(c, &c->milliseconds[round]));
    if (c->milliseconds[round] > slowest) slowest = c->milliseconds[round];
    c->n_runs++;
  }
  *ms_left -= slowest;
  return NULL;
}

static double part_done(const hone_rounds_options_t* options, int64_t round, double ms_left) {
  double of_runs = options->runs ? (double)round / (double)options->runs : 0;
  double of_time = options->seconds > 0 ? 1 - ms_left / (options->seconds * 1e3) : 0;
  return fmin(1, fmax(of_runs, of_time));
}

static hone_status_t run_rounds(int count, hone_contestant_t* contestants, int64_t most,
                                const hone_rounds_options_t* options) {
  double ms_left = options->seconds > 0 ? options->seconds * 1e3 : INFINITY;
  for (int64_t round = 0; round < most && (round == 0 || ms_left > 0); round++) {
    if (options->progress)
      options->progress(options->progress_self, part_done(options, round, ms_left), round);
    HONE_TRY(run_round(count, contestants, round, &ms_left));
  }
  return NULL;
}

static size_t room(void) { return HONE_MOST_ROUNDS * sizeof(double); }

hone_status_t hone_rounds_run(int count, hone_contestant_t* contestants,
                              const hone_rounds_options_t* options) {
  int64_t most = options->runs ? options->runs : HONE_MOST_ROUNDS;
  if (most > HONE_MOST_ROUNDS) most = HONE_MOST_ROUNDS;
  for (int i = 0; i < count; i++) {
    hone_contestant_t* c = &contestants[i];
    c->n_runs = 0;
    if (!c->milliseconds) c->milliseconds = hone_alloc(NULL, room());
    if (!c->milliseconds) return hone_oom();
    HONE_TRY(warm_up(c, options->warmup));
  }
  return run_rounds(count, contestants, most, options);
}

void hone_rounds_free(int count, hone_contestant_t* contestants) {
  for (int i = 0; i < count; i++) {
    hone_free(NULL, contestants[i].milliseconds, room());
    contestants[i].milliseconds = NULL;
  }
}

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* The smallest number that at least `part` of all are not above. */
static double percentile(int64_t count, const double* sorted, double part) {
  int64_t rank = (int64_t)ceil(part * (double)count);
  return sorted[rank < 1 ? 0 : rank - 1];
}

hone_times_t hone_times_find(int64_t count, double* numbers) {
  qsort(numbers, (size_t)count, sizeof *numbers, compare);
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += numbers[i];
  int64_t middle = count / 2;
  return (hone_times_t){
      .runs = count,
      .min = numbers[0],
      .median = count % 2 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2,
      .mean = sum / (double)count,
      .p90 = percentile(count, numbers, 0.9),
      .p99 = percentile(count, numbers, 0.99),
      .max = numbers[count - 1]};
}
