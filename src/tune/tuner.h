/* Tuner: finds fast candidates for several kernels within one budget.
 *
 * It can be stopped at any time and has then kept the best so far: the budget
 * ends it (a measurement that would not end in time by what others took is
 * not begun), or the number of trials, or a callback. Everything measured goes
 * into the database within a second, and what is found there is not measured
 * again, so that a tuning that was killed goes on where it was.
 *
 * Which kernel is tried next is decided anew for each trial, by the time that
 * can be hoped for: its share of the whole, what its last trials gained, and
 * how much has been tried, as in L. Zheng et al., "Ansor: Generating
 * High-Performance Tensor Programs for Deep Learning" (OSDI 2020). */
#ifndef HONE_TUNE_TUNER_H
#define HONE_TUNE_TUNER_H

#include "tune/database.h"
#include "tune/measure.h"
#include "tune/search.h"

/* One kernel to tune. */
typedef struct hone_tune_task {
  const char* label;   /* for people; NULL: the kernel of the key */
  hone_tune_key_t key; /* `hone` NULL: this version */
  const hone_space_t* space;
  hone_measurer_t measurer;
  double weight; /* how often a run of the model runs it; 0: once */
  /* What is known of candidates beside their choices; see search.h. */
  int n_features;
  void (*features)(void* context, const hone_space_t* space, const hone_candidate_t* candidate,
                   double* out_features);
  double (*predict)(void* context, const hone_space_t* space, const hone_candidate_t* candidate);
  void* features_context;
} hone_tune_task_t;

typedef enum hone_tune_stop {
  HONE_TUNE_STOP_BUDGET,    /* no time for another measurement */
  HONE_TUNE_STOP_TRIALS,    /* as many as were asked for */
  HONE_TUNE_STOP_NO_GAIN,   /* early stopping */
  HONE_TUNE_STOP_EXHAUSTED, /* every candidate was measured */
  HONE_TUNE_STOP_ASKED,     /* by the progress callback */
} hone_tune_stop_t;

/* "the budget is spent" and so on. */
const char* hone_tune_stop_text(hone_tune_stop_t stop);

/* What is told after each trial. */
typedef struct hone_tune_progress {
  int task; /* index; the trial was of this one */
  const char* label;
  const hone_candidate_t* candidate;
  const hone_measurement_t* measurement;
  bool is_gain;        /* it is the fastest of its task so far */
  int64_t trials;      /* measured so far, all tasks */
  int64_t task_trials; /* of this task */
  double best;         /* of this task, seconds; INFINITY: none yet */
  double whole;        /* sum over tasks of weight * best; INFINITY while one has none */
  double spent, left;  /* seconds; `left` is INFINITY without a budget */
} hone_tune_progress_t;

/* A zero means the default. */
typedef struct hone_tune_options {
  double budget_seconds;  /* 0: nothing is measured, and what the database has is the result;
                             INFINITY: no limit */
  int64_t trials;         /* of each task, at most, known ones not counted; 0: no limit */
  int64_t early_stopping; /* a task ends after so many trials without a gain; 0: never */
  const char* strategy;   /* "learned" */
  uint64_t seed;
  int batch; /* candidates that a search proposes at once: 8; at most 64 */
  hone_measure_options_t measure;
  hone_tune_db_t* database; /* borrowed; NULL: nothing is kept */
  bool retry_failures;      /* measure again what the database says failed */
  hone_clock_t clock;
  bool (*progress)(void* context, const hone_tune_progress_t* progress); /* false: stop */
  void* progress_context;
} hone_tune_options_t;

typedef struct hone_tune_result {
  bool found; /* whether any candidate was measured well, now or before */
  hone_candidate_t best;
  double seconds; /* of one run of it */
  int64_t trials; /* measured now */
  int64_t known;  /* taken from the database */
  int64_t failed; /* of the trials */
  hone_tune_stop_t stop;
} hone_tune_result_t;

typedef struct hone_tune_report {
  double seconds; /* that it took */
  int64_t trials;
  hone_tune_stop_t stop;    /* of the whole: budget or asked; else that of the last task to end */
  char database_error[512]; /* "" unless the database failed; tuning went on without it */
} hone_tune_report_t;

/* Tunes `n_tasks` tasks; `out_results` [n_tasks], `out_report` may be NULL.
 * Errors: INVALID_ARGUMENT (options or tasks that make no sense), NOT_FOUND
 * (the strategy), OUT_OF_MEMORY, and what a driver calls fatal. Results then
 * hold the best so far all the same. A database that fails is no error: see
 * the report. */
HONE_MUST_USE hone_status_t hone_tune(const hone_allocator_t* allocator, int n_tasks,
                                      const hone_tune_task_t* tasks,
                                      const hone_tune_options_t* options,
                                      hone_tune_result_t* out_results,
                                      hone_tune_report_t* out_report);

#endif
