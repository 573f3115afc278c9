/* Dependences: whether loops may be moved, cut and put together.
 *
 * The test is simple and errs on the safe side. Two accesses to one buffer, of
 * which one stores, depend on one another in the same round of a loop only, if
 * along some axis of the buffer both indices are factor * variable + rest with
 * rests that differ by less than the factor; then different rounds never meet.
 * Variables that were found equal help with the next ones. Axes are also taken
 * together, as n * one + other, which undoes quotients and remainders of a
 * fused loop.
 *
 * Two stores that combine in the same way (sums, products, minima, maxima) may
 * change places. Scratch buffers that live in one round of the loop do not
 * count. */
#ifndef HONE_SCHED_COMMON_DEPEND_H
#define HONE_SCHED_COMMON_DEPEND_H

#include "loop/access.h"

/* Each gives in *out the buffer that stands in the way; NULL when nothing does. */

/* Of running the rounds of the loop in any order and at once; `sums`: stores
 * that combine alike do not count either. */
HONE_MUST_USE hone_status_t hone_depend_rounds(hone_kernel_t* kernel, hone_stmt_t* loop, bool sums,
                                               const hone_buffer_t** out);
/* Of changing the places of two loops, one perfectly in the other. */
HONE_MUST_USE hone_status_t hone_depend_swap(hone_kernel_t* kernel, hone_stmt_t* outer,
                                             hone_stmt_t* inner, const hone_buffer_t** out);
/* Of running all rounds of the first `at` statements of the loop before all of
 * the others. Scratch buffers that live in one round do not count. */
HONE_MUST_USE hone_status_t hone_depend_cut(hone_kernel_t* kernel, hone_stmt_t* loop, int at,
                                            const hone_buffer_t** out);
/* Of making one loop of two that follow one another. */
HONE_MUST_USE hone_status_t hone_depend_join(hone_kernel_t* kernel, hone_stmt_t* first,
                                             hone_stmt_t* second, const hone_buffer_t** out);
/* Of running two statements at once, one of them or both being loops whose rounds do so too. */
HONE_MUST_USE hone_status_t hone_depend_apart(hone_kernel_t* kernel, hone_stmt_t* first,
                                              hone_stmt_t* second, const hone_buffer_t** out);

#endif
