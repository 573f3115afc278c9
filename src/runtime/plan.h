/* Memory plan: where in one block each value of a program lies, so that values
 * that are never needed at the same time share bytes.
 *
 * A value lives from the step that makes it to the last that reads it. A view
 * shares the bytes of another value. An output may take the place of an input
 * that dies in the same step, where the step can work in place.
 *
 * Placing is packing rectangles (bytes by steps), for which only trial helps:
 * several orders and two ways to choose a gap are tried, from Y. Pisarchyk and
 * J. Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020),
 * and the smallest result is kept. Steps hold at most the lower bound alive at
 * once, so nothing can be smaller than that.
 *
 * Threads that share out kernels write each its own part of a buffer. Where buffers of
 * different sizes share bytes, those parts are others, and each line that a thread writes
 * comes from the cache of another. Who has bytes to spare gets a plan in which buffers
 * share bytes only with others of their size.
 *
 * Not thread-safe while it is being made. */
#ifndef HONE_RUNTIME_PLAN_H
#define HONE_RUNTIME_PLAN_H

#include "base/str.h"

typedef struct hone_plan_value {
  const char* name; /* for reports; may be NULL */
  size_t bytes;
  int first, last; /* steps, inclusive; first <= last */
  /* Index of the value whose bytes this is a view of, with where in it; -1: none.
   * A view lies inside of its base, and both may have views of their own. */
  int view_of;
  size_t view_offset;
  int in_place_of; /* index of an input whose place this may take; -1: none */
  /* Results. */
  size_t offset;   /* in the block */
  bool took_place; /* of in_place_of */
} hone_plan_value_t;

typedef struct hone_plan {
  size_t alignment; /* of every offset; a power of two, 0 means 64 */
  int n_values;
  hone_plan_value_t* values; /* the caller's */
  size_t spare; /* bytes that it may take beyond the least found, for sizes that do not share */
  /* Results. Sizes count every value rounded up to the alignment. */
  size_t bytes;          /* of the block: the peak */
  size_t lower_bound;    /* most bytes alive at once */
  size_t unshared_bytes; /* what it would take without reuse (views share even so) */
  int n_in_place;
  const char* method; /* the order and choice that won: "by size, tightest gap" */
  bool keeps_apart;   /* bytes are shared by values of one size only */
} hone_plan_t;

/* Sets the results. Errors: OUT_OF_RANGE (sizes beyond what can be addressed),
 * INVALID_ARGUMENT (a lifetime or a view that makes no sense), OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_plan_make(hone_plan_t* plan, const hone_allocator_t* allocator);

/* Share of unshared_bytes that reuse saves, 0 … 1. */
double hone_plan_savings(const hone_plan_t* plan);
/* The savings as text, then a row for each value: bytes, lifetime, offset, and
 * whose place it takes or shares. */
void hone_plan_print(const hone_plan_t* plan, hone_str_t* out);

#endif
