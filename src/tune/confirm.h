/* Confirm: whether what makes single kernels faster makes the whole faster.
 *
 * A kernel that is measured alone has the caches, the threads and the memory to
 * itself; in a run of the whole it shares them, and what it gains may be lost
 * there. So the whole is run with and without what was found, by turns, and only
 * what makes it faster is confirmed.
 *
 * Items are tried in groups, all at first. A group is added to what was confirmed
 * before it, and the two wholes are run in pairs, which of them first by turns. It
 * is confirmed when a sign test over the pairs says that most are faster by more
 * than HONE_CONFIRM_LEAST, twice, with wholes that were made anew: where data
 * happens to lie decides over per cents. A group that is not is halved, unless it
 * is one item or promises too little for parts of it to be told apart: then it is
 * refused. Items that were confirmed before (`trusted`), by another whole perhaps,
 * have to be seen to do harm to be refused. */
#ifndef HONE_TUNE_CONFIRM_H
#define HONE_TUNE_CONFIRM_H

#include "hone/allocator.h"
#include "tune/measure.h"

/* The share of its time that a whole has to gain, that a group has to promise to be halved, and
 * the most pairs of one comparison. */
#define HONE_CONFIRM_LEAST 0.002
#define HONE_CONFIRM_DIVISIBLE 0.015
enum { HONE_CONFIRM_MOST_PAIRS = 54 };

typedef struct hone_confirm_item {
  double gain;  /* seconds of a run that the item promises */
  bool trusted; /* confirmed before */
} hone_confirm_item_t;

/* What a driver gives. `on` says which items the whole is made with. A whole that
 * cannot be made or run with a group, and can without, counts against the group. */
typedef struct hone_confirm_driver {
  void* context;
  hone_status_t (*open)(void* context, const bool* on, void** out_whole);
  /* A few runs; the seconds of one. */
  hone_status_t (*run)(void* context, void* whole, double* out_seconds);
  void (*close)(void* context, void* whole);
} hone_confirm_driver_t;

/* What is told after each group that was decided. */
typedef struct hone_confirm_decision {
  int count;
  const int* items; /* their indices */
  hone_verdict_t verdict;
  double gain; /* how many times as fast the whole became with them; 0: not known, or it failed */
} hone_confirm_decision_t;

typedef struct hone_confirm_options {
  double deadline; /* by the clock; nothing is begun that would not end by then. INFINITY: none */
  hone_clock_t clock;
  /* What making a whole, and `run`, are thought to take before any was seen to. */
  double open_seconds, run_seconds;
  /* Keeps the decision; `*out_more` false: no others are wanted. */
  hone_status_t (*decided)(void* context, const hone_confirm_decision_t* decision, bool* out_more);
  void* decided_context;
} hone_confirm_options_t;

typedef struct hone_confirm_report {
  double gain; /* how many times as fast the whole is with all that was confirmed */
  int64_t pairs;
} hone_confirm_report_t;

/* Decides over items; `out_verdicts` [n_items] are HONE_VERDICT_NONE for those that
 * there was no time for. Errors: what the driver meets without the group at hand,
 * OUT_OF_MEMORY, and those of `decided`; verdicts up to there hold. */
HONE_MUST_USE hone_status_t hone_confirm(const hone_allocator_t* allocator, int n_items,
                                         const hone_confirm_item_t* items,
                                         const hone_confirm_driver_t* driver,
                                         const hone_confirm_options_t* options,
                                         hone_verdict_t* out_verdicts,
                                         hone_confirm_report_t* out_report);

typedef enum hone_compared {
  HONE_COMPARED_UNDECIDED, /* more pairs are needed */
  HONE_COMPARED_FASTER,
  HONE_COMPARED_NOT_FASTER, /* it could not be shown, and more pairs will hardly show it */
} hone_compared_t;

/* Whether so many pairs show that one whole is faster than another. `speed`: of each pair, how
 * many times as fast it was. */
hone_compared_t hone_confirm_compare(int count, const double* speed);

#endif
