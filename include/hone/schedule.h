/* Schedules: how the loops of a kernel run. A kernel says what is computed;
 * these primitives change the order, the place and the kind of its loops and
 * never what comes out, but for the order of sums, products, minima and maxima.
 *
 * Each primitive names loops by their variable and either does all it says or
 * refuses with the reason (INVALID_ARGUMENT, NOT_FOUND) and leaves the kernel
 * as it was. After OUT_OF_MEMORY a kernel can only be destroyed. What was done
 * is noted in the kernel as one line of text, the primitive's name and its
 * arguments as they stand here; hone_schedule_apply does it again on another
 * copy. Which primitives there are: hone_schedule_help.
 *
 * A kernel belongs to one thread at a time. */
#ifndef HONE_SCHEDULE_H
#define HONE_SCHEDULE_H

#include "hone/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of rounds that are left over when the factor does not divide the extent. */
typedef enum hone_tail {
  HONE_TAIL_EXACT, /* refuse: the factor must divide */
  HONE_TAIL_GUARD, /* a condition inside */
  HONE_TAIL_PEEL,  /* a loop of their own behind, NAME.t */
  HONE_TAIL_LONG,  /* such a loop of them and the last `factor` rounds: it is no short one */
} hone_tail_t;

/* Cuts a loop into NAME.o around NAME.i, which has `factor` rounds:
 * NAME = factor * NAME.o + NAME.i. Text: split i 8 peel */
HONE_API HONE_MUST_USE hone_status_t hone_sched_split(hone_kernel_t* kernel, const char* loop,
                                                      int64_t factor, hone_tail_t tail);
/* Cuts a loop into as few runs of at most `most` rounds as there can be, whose lengths differ
 * by one at most: NAME.b6.o around NAME.b6.i for those of 6 rounds, behind it one for those of
 * 5, and so on. Text: balance i 6 */
HONE_API HONE_MUST_USE hone_status_t hone_sched_balance(hone_kernel_t* kernel, const char* loop,
                                                        int64_t most);
/* Cuts a loop into blocks of `factor` rounds, NAME.w.o around NAME.w.i, of which the last one
 * begins earlier rather than be shorter: some rounds run twice. Where there are fewer rounds
 * than that, they are in a loop NAME.t behind. Text: overlap i 16 */
HONE_API HONE_MUST_USE hone_status_t hone_sched_overlap(hone_kernel_t* kernel, const char* loop,
                                                        int64_t factor);
/* Makes one loop OUTER_INNER of a loop and the only one in it. Text: fuse i j */
HONE_API HONE_MUST_USE hone_status_t hone_sched_fuse(hone_kernel_t* kernel, const char* outer,
                                                     const char* inner);
/* Gives perfectly nested loops the order of the list, outermost first; loops
 * between them that are not in the list stay where they are. Text: reorder k i j */
HONE_API HONE_MUST_USE hone_status_t hone_sched_reorder(hone_kernel_t* kernel, int n,
                                                        const char* const* loops);
/* Splits two loops, one directly in the other, and orders the parts outer.o
 * inner.o outer.i inner.i. Text: tile i j 8 16 guard */
HONE_API HONE_MUST_USE hone_status_t hone_sched_tile(hone_kernel_t* kernel, const char* outer,
                                                     const char* inner, int64_t outer_factor,
                                                     int64_t inner_factor, hone_tail_t tail);
/* Gives each statement of a loop's body a loop of its own, NAME.0, NAME.1, …
 * Scratch buffers that carry values from one to the next get an axis more.
 * Text: distribute i */
HONE_API HONE_MUST_USE hone_status_t hone_sched_distribute(hone_kernel_t* kernel, const char* loop);
/* What is the same in each round, looked-up places and checks of them, is found out
 * in front of the loop. Text: hoist j */
HONE_API HONE_MUST_USE hone_status_t hone_sched_hoist(hone_kernel_t* kernel, const char* loop);
/* Makes one loop of two of equal extents that follow one another; it has the
 * first one's name. Text: merge i j */
HONE_API HONE_MUST_USE hone_status_t hone_sched_merge(hone_kernel_t* kernel, const char* first,
                                                      const char* second);
/* The rounds become lanes of vectors; where they only add to one element, the lanes are added up
 * first. Text: vectorize j.i */
HONE_API HONE_MUST_USE hone_status_t hone_sched_vectorize(hone_kernel_t* kernel, const char* loop);
/* The rounds are written out. Text: unroll j.i */
HONE_API HONE_MUST_USE hone_status_t hone_sched_unroll(hone_kernel_t* kernel, const char* loop);
/* The rounds are shared out among threads. Text: parallel i.o */
HONE_API HONE_MUST_USE hone_status_t hone_sched_parallel(hone_kernel_t* kernel, const char* loop);

typedef enum hone_binding {
  HONE_BIND_GROUP, /* groups of a device */
  HONE_BIND_ITEM,  /* the work-items of a group */
} hone_binding_t;
/* The rounds become groups, or work-items. Text: bind i.o group */
HONE_API HONE_MUST_USE hone_status_t hone_sched_bind(hone_kernel_t* kernel, const char* loop,
                                                     hone_binding_t binding);
/* Gives each round of a loop that adds to one element an element of its own to
 * add to; what they add up to is added to the first one behind the outermost
 * loop that can be. Its loops: NAME.z sets the elements to zero, NAME.c
 * combines them. Text: rfactor k.i */
HONE_API HONE_MUST_USE hone_status_t hone_sched_rfactor(hone_kernel_t* kernel, const char* loop);
/* Gives each run of a loop that adds to some elements parts of its own to add
 * to, which are added up behind it: long sums lose less that way. Its loops:
 * NAME.z sets the parts to zero, NAME.c adds them. Text: subtotal k.i */
HONE_API HONE_MUST_USE hone_status_t hone_sched_subtotal(hone_kernel_t* kernel, const char* loop);
/* Gives a sum of products so many rounds, more than it has, of which the new ones add nothing: its
 * two factors, scratch that is as long along the loop, get zeros behind them. Its loops:
 * BUFFER.z. Text: lengthen k 8 */
HONE_API HONE_MUST_USE hone_status_t hone_sched_lengthen(hone_kernel_t* kernel, const char* loop,
                                                         int64_t rounds);
/* Cuts a loop at points into loops that follow one another, NAME.p0, NAME.p1,
 * …, in each of which conditions may be decided. Without points they are
 * looked for in the conditions inside. Text: partition y 1 8, partition y auto */
HONE_API HONE_MUST_USE hone_status_t hone_sched_partition(hone_kernel_t* kernel, const char* loop,
                                                          int n, const int64_t* points);

typedef enum hone_stage_space {
  HONE_STAGE_LOCAL,  /* of each thread: registers, cache */
  HONE_STAGE_SHARED, /* of a group */
} hone_stage_space_t;
/* Copies the part of a buffer that a round of the loop uses to a scratch buffer
 * at the start of the round, and back at its end where it was stored to; what is
 * inside uses the copy, BUFFER.s. Text: stage a k.o local */
HONE_API HONE_MUST_USE hone_status_t hone_sched_stage(hone_kernel_t* kernel, const char* buffer,
                                                      const char* loop, hone_stage_space_t space);
/* The same for one load only, where several look at different parts of the buffer: for the
 * number-th, from 1 on, of the loads in the loop that differ. Text: stage qkv i.o local 1 */
HONE_API HONE_MUST_USE hone_status_t hone_sched_stage_load(hone_kernel_t* kernel,
                                                           const char* buffer, const char* loop,
                                                           hone_stage_space_t space, int number);
/* Lays a constant input, or a scratch buffer, out anew. Each word of the layout is an axis of the
 * new array: "1" is axis 1 of the old one, "1/24" its quotient, "1%24" the
 * remainder, "1/24%4" the remainder of the quotient; all that is of one axis must
 * make up that axis. Zeros fill what a factor does not divide.
 * Text: pack w 1/24 0 1%24 */
HONE_API HONE_MUST_USE hone_status_t hone_sched_pack(hone_kernel_t* kernel, const char* buffer,
                                                     int n, const char* const* layout);

/* Each round of `inner`, a loop in `loop`, asks for a line of the cache of what the next
 * round of `loop` will read of the buffer, one of whose axes that loop goes along, with
 * loops outside of it in front of that axis and those inside behind it. Only a hint, which devices
 * without caches of that kind ignore: into the second cache, or, near, into the first one.
 * Text: prefetch w j.o k.o [near] */
HONE_API HONE_MUST_USE hone_status_t hone_sched_prefetch(hone_kernel_t* kernel, const char* buffer,
                                                         const char* loop, const char* inner,
                                                         bool is_near);

/* Rounds of the loop, whose number is known, ask for the lines of the cache that what stands behind
 * it in the same body will write to the buffer, as the last of its statements that do, and which
 * are few. Only a hint. Text: claim out k */
HONE_API HONE_MUST_USE hone_status_t hone_sched_claim(hone_kernel_t* kernel, const char* buffer,
                                                      const char* loop);

/* Where rounds of the loop ask for lines of the buffer for its next round, and for fewer than that
 * reads, each asks for as many as it takes: at most `most`, or none where it is more and
 * `gives_up` is true. Text: hasten w j.o 8, hasten w j.o 8 none */
HONE_API HONE_MUST_USE hone_status_t hone_sched_hasten(hone_kernel_t* kernel, const char* buffer,
                                                       const char* loop, int64_t most,
                                                       bool gives_up);

/* Marks a loop, with all that is in it, as what an intrinsic of some devices
 * computes: those that have it do it in one instruction. Comes last: what
 * changes the loop later takes the mark away.
 * Text: tensorize j.i dot4_u8_i8_x16 */
HONE_API HONE_MUST_USE hone_status_t hone_sched_tensorize(hone_kernel_t* kernel, const char* loop,
                                                          const char* intrinsic);

/* Applies a schedule: lines as the primitives note them; "#" starts a comment.
 * A line that is refused ends it with a status that has the line's number;
 * what is before it was done. */
HONE_API HONE_MUST_USE hone_status_t hone_schedule_apply(hone_kernel_t* kernel, const char* text);
/* The lines of what was done so far; valid until the kernel changes. */
HONE_API const char* hone_schedule_text(const hone_kernel_t* kernel);
/* How primitive `index` is written, "split LOOP FACTOR [exact|guard|peel|long]"; NULL
 * behind the last. */
HONE_API const char* hone_schedule_help(int index);

#ifdef __cplusplus
}
#endif
#endif
