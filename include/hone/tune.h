/* Tuning: finds faster ways to build a model's kernels by trying them on the
 * device, within a budget of time.
 *
 * What was found is kept in a database that compiling asks from then on: the
 * next session or engine of the model is faster, and so are those of other
 * models with the same kernels. Tuning may be stopped or killed at any time;
 * another one goes on where it was. At its end whole runs of the model, with and
 * without what was found, decide what compiling may use: nothing gets slower by
 * tuning.
 *
 * Thread-safety: one tuning of a machine at a time measures right. */
#ifndef HONE_TUNE_H
#define HONE_TUNE_H

#include "hone/dim_option.h"
#include "hone/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_tuning hone_tuning_t; /* what came of it */

/* Told after each trial, and after each group of candidates that whole runs decided over:
 * `kernel` is then "whole runs", `outcome` "confirmed" or "refused", `message` the gain, and
 * `parameters` "". */
typedef struct hone_tuning_progress {
  const char* kernel;     /* "conv_relu_3" */
  const char* parameters; /* what was tried: "tactic=contract contract.rows=4 …" */
  const char* outcome;    /* "ok", "build failed", "run failed", "wrong result", "timeout"; or the
                             verdict */
  const char* message;    /* why it failed; "" */
  double seconds;         /* of one run; 0: it failed, or is a verdict */
  bool is_gain;           /* it is the fastest of its kernel so far */
  int64_t trials;         /* so far, of all kernels */
  double whole;           /* seconds of a run of the model, the fastest of each kernel; 0: some
                             kernel was not measured yet */
  double untuned;         /* the same, with the default of each */
  double spent, left;     /* seconds of the budget */
} hone_tuning_progress_t;

/* All zeros is the default, and a budget of zero: nothing is measured then. */
typedef struct hone_tuning_options {
  size_t struct_size;                /* sizeof(hone_tuning_options_t), or 0 */
  const hone_allocator_t* allocator; /* NULL: the system's */
  const char* device;                /* "cpu", "opencl:0"; NULL: "cpu" */
  int n_dims;
  const hone_dim_option_t* dims; /* sizes that vary are tried at the upper end of their range */
  int threads;                   /* as runs will use; 0: all */
  bool deterministic;            /* as runs will be */
  const char* precision;         /* as hone_session_options_t; NULL: "fp32" */
  const char* database;          /* NULL: the usual file */
  double budget_seconds;         /* for all of it, compiling included; 0: only what the database
                                    has; HUGE_VAL: no limit */
  int64_t trials;                /* of each kernel, at most; 0: no limit */
  int64_t early_stopping;        /* a kernel ends after so many trials without a gain; 0: never */
  const char* strategy;          /* "learned", "evolve", "grid", "random"; NULL: "learned" */
  uint64_t seed;
  int repeats;               /* of a measurement, the median of which counts; 0: 3 */
  int runs;                  /* in a repeat, at least; 0: 1 */
  double min_repeat_seconds; /* more runs are made until a repeat takes this; 0: 0.02, and
                                0.012 of whole runs */
  double build_timeout;      /* seconds, for one candidate; 0: 10 */
  double run_timeout;        /* seconds, for one repeat; 0: 4 */
  bool retry_failures;       /* tries again what the database says failed or was refused */
  const char* log; /* a line for each trial and verdict is appended here, which `hone tune import`
                      reads; NULL: none */
  bool (*progress)(void* self, const hone_tuning_progress_t* progress); /* false: stop */
  void* progress_self;
  bool exact; /* as hone_session_options_t */
} hone_tuning_options_t;

/* One kernel of the model. Texts live as long as the tuning. */
typedef struct hone_tuning_kernel {
  const char* name;       /* "conv_relu_3" */
  const char* origin;     /* the model's nodes */
  const char* tactic;     /* that compiling will use */
  const char* parameters; /* of it */
  const char* skipped;    /* why it was not tuned; "" */
  int count;              /* launches in a run of the model */
  int64_t trials;         /* measured now */
  int64_t known;          /* from the database */
  int64_t failed;         /* of the trials */
  double default_seconds; /* of one launch, untuned; 0: not measured */
  double best_seconds;    /* as it will be compiled; 0: not measured */
} hone_tuning_kernel_t;

typedef struct hone_tuning_report {
  int n_kernels;
  const hone_tuning_kernel_t* kernels; /* those that take longest first */
  int64_t trials;
  double seconds;                       /* that all of it took */
  double default_seconds, best_seconds; /* of a run, over the kernels that were measured */
  const char* stop;                     /* why it ended: "the budget is spent" */
  const char* database;                 /* its path */
  const char* database_error;           /* "" unless it failed; what was found is then not kept */
  /* Of what is faster alone by enough to be tried in whole runs, candidates that these
   * confirmed and refused, and those for which there was no time: a later tuning tries them. */
  int n_confirmed, n_refused, n_untested;
  double whole_gain;       /* how many times as fast a run became, measured; 0: there was none */
  const char* whole_error; /* "" unless whole runs failed: what was not decided by then
                              is not used */
} hone_tuning_report_t;

/* Tunes a model's kernels for a device. `options` may be NULL. What the
 * database lacks or cannot keep is no error: see the report. Errors: as
 * hone_engine_compile; INVALID_ARGUMENT (options that make no sense), NOT_FOUND
 * (the strategy), IO (the log). */
HONE_API HONE_MUST_USE hone_status_t hone_model_tune(const hone_model_t* model,
                                                     const hone_tuning_options_t* options,
                                                     hone_tuning_t** out_tuning);
HONE_API void hone_tuning_destroy(hone_tuning_t* tuning); /* NULL is allowed */
/* Valid as long as the tuning. */
HONE_API const hone_tuning_report_t* hone_tuning_report(const hone_tuning_t* tuning);

/* The strategies there are, by index from 0: names and what each does; NULL past the last. */
HONE_API const char* hone_tuning_strategy(int index);
HONE_API const char* hone_tuning_strategy_summary(int index);

#ifdef __cplusplus
}
#endif
#endif
