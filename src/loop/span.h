/* Spans: how what a kernel touches of its parameters moves on from round to round of
 * its parallel loop. It tells which rounds of one kernel must be done before some of the next
 * one's can be, so that kernels can take turns (runtime/turns.h).
 *
 * A fill beside the parallel loop, the border of a padded output, goes with those rounds
 * that write next to it: what lies before everything they write with the first of them, what lies
 * behind with the last, and the rest in proportion. Whoever renders kernels keeps to that. */
#ifndef HONE_LOOP_SPAN_H
#define HONE_LOOP_SPAN_H

#include "loop/kernel.h"

/* Round r touches no bytes of the buffer but step * r + least … step * r + most - 1, and where it
 * is the first (last) one, any before (behind) those of all rounds. */
typedef struct hone_span {
  bool is_known;
  int64_t step; /* 0: every round may touch all */
  int64_t least, most;
} hone_span_t;

/* Whether it is one that hone_kernel_spans gives: sums and products of its numbers with rounds do
 * not overflow. */
bool hone_span_is_sound(const hone_span_t* span);
/* Of all accesses to each buffer, by id; `out` has room for kernel->n_buffers. Those of scratch
 * buffers are not known, and none are unless there is one parallel loop, over a known number of
 * rounds, with nothing but fills beside it. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_kernel_spans(hone_kernel_t* kernel, hone_span_t* out);

typedef enum hone_fill_place {
  HONE_FILL_ALONG, /* with each part of the rounds as large a part of the outermost loop */
  HONE_FILL_FIRST,
  HONE_FILL_LAST,
} hone_fill_place_t;

/* The only parallel loop of the kernel, at the top; NULL: there is none, or several. */
hone_stmt_t* hone_kernel_parallel_loop(const hone_kernel_t* kernel);
/* Rounds of a launch: those of each parallel loop at the top that goes by itself, one loop after
 * the other; then as many as the longest has of the loops that go together; and one where something
 * else is there to be done. What goes by itself may have long rounds: it is begun first. */
hone_dim_t hone_kernel_rounds(const hone_kernel_t* kernel);
/* Whether a parallel loop at the top goes together with others: with each part of the rounds of the
 * longest as large a part of its own, so that threads have equal work where one loop has long
 * rounds and another many. Of loops of about equal numbers each thread may be meant to have its
 * own. */
bool hone_loop_goes_along(const hone_kernel_t* kernel, const hone_stmt_t* loop);
/* Rounds of the longest of those; 0: there are none. */
int64_t hone_kernel_common_rounds(const hone_kernel_t* kernel);
/* Whether a loop beside them is a fill that can be done with parts of their rounds. */
bool hone_fill_goes_along(const hone_kernel_t* kernel, const hone_stmt_t* loop);
/* Where a store goes that is part of a fill beside the parallel loop. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_fill_place(hone_kernel_t* kernel, const hone_stmt_t* store,
                                            hone_fill_place_t* out);

/* Launches that take turns (hone/backend.h). Of a writer with so many rounds, those that rounds
 * begin … end - 1 of the reader need: from need_begin(begin) to before need_end(end), which rise.
 */
int64_t hone_need_begin(const hone_need_t* need, int64_t writers, int64_t begin);
int64_t hone_need_end(const hone_need_t* need, int64_t writers, int64_t end);
/* The other way round. The first round of the reader from which on none needs one before round
 * `writer`; it may be beyond the last. */
int64_t hone_need_first_without(const hone_need_t* need, int64_t writers, int64_t writer);
/* Rounds of the reader that need none from round `writer` on; it may be more than there are. */
int64_t hone_need_count_before(const hone_need_t* need, int64_t writer);

#endif
