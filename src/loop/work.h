/* Work: how much a kernel computes and how much memory it has to touch, as
 * dimension expressions over its run-time sizes. What a roofline is drawn from,
 * and what a kernel's time is first guessed from.
 *
 * Counted once for each round of the loops around it:
 * - arithmetic: an elementwise primitive of one element is 1, so that a
 *   multiply-add is 2. Casts, selections, and what only computes indices or
 *   conditions of statements are 0.
 * - bf16, int8: of the arithmetic, what adds up products of two numbers of bf16, or of two integers
 *   of 16 bits and fewer, for which devices have instructions of their own.
 * - transcendental: exp, tanh and their like, apart from the above, since they
 *   cost many times as much.
 * - single: what is done one element at a time, of any kind, loads and stores too: outside of
 *   loops over the lanes of a vector, so only a schedule tells.
 * - read, written: bytes of the parameters, if what is touched is touched once:
 *   accesses in rounds of loops that the index does not depend on are the same
 *   element, and no buffer counts for more than it has. Scratch buffers and
 *   error words are 0.
 *
 * Conditions count as if they always held, but of a walk (walk.h) the steps that a usual round
 * takes. The rounds of a loop whose extent depends on loops around it count as the mean of the
 * first and the last round outside, which is exact for a triangle. Extents that hang on what a
 * kernel reads count as their upper bound. */
#ifndef HONE_LOOP_WORK_H
#define HONE_LOOP_WORK_H

#include "loop/kernel.h"

/* An exp or tanh of one element counts as so many operations. */
enum { HONE_TRANSCENDENTAL_COST = 16 };

typedef struct hone_work {
  hone_dim_t arithmetic;
  hone_dim_t bf16, int8; /* of those */
  hone_dim_t transcendental;
  hone_dim_t single;
  hone_dim_t read, written; /* bytes */
} hone_work_t;              /* 0 stands for counts beyond 2^63 too */

typedef struct hone_work_amount {
  double arithmetic, bf16, int8, transcendental, single;
  double read, written; /* bytes */
} hone_work_amount_t;

/* The work of a kernel, scheduled or not: before its schedule there are no tails
 * to overcount. Expressions are made in kernel->dims, the kernel stays as it is.
 * Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_kernel_work(hone_kernel_t* kernel, hone_work_t* out_work);
/* Sets the work's `single`, which the above leaves 0, by the kernel as scheduled. Errors:
 * OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_kernel_count_singles(hone_kernel_t* kernel, hone_work_t* work);
/* With symbol i replaced by to[i], in other dims. */
hone_work_t hone_work_replace(hone_dims_t* dims, const hone_work_t* work, int n,
                              const hone_dim_t* to);
/* For symbol values by id. */
hone_work_amount_t hone_work_eval(const hone_work_t* work, const int64_t* symbols);
/* Arithmetic and transcendental together. */
double hone_work_operations(const hone_work_amount_t* work);

#endif
