/* Statements that ask for lines of a buffer ahead, and how many they ask for. */
#ifndef HONE_SCHED_COMMON_ASKS_H
#define HONE_SCHED_COMMON_ASKS_H

#include "loop/kernel.h"

/* Lines of the cache in what lies at one index of the axes up to `axis`; 0: only a run knows, or
 * less than one. */
int64_t hone_asks_lines(const hone_kernel_t* kernel, const hone_buffer_t* buffer, int axis);

/* The axis in front of the last whose index is one more with each round of the loop; -1: none. */
int hone_asks_axis(const hone_kernel_t* kernel, const hone_buffer_t* buffer,
                   const hone_dim_t* index, const hone_stmt_t* loop);

/* Lines of the buffer that are asked for in the statement. */
hone_dim_t hone_asks_in(const hone_kernel_t* kernel, const hone_stmt_t* stmt,
                        const hone_buffer_t* buffer);

/* Has the statement, which asks for one along `axis` for the next round of the loop around it, ask
 * for the first that no other asked for before in this round; when all were, for the last, or,
 * where it `runs_on`, which takes less, for what lies behind. False: no memory. */
bool hone_asks_number(hone_kernel_t* kernel, hone_stmt_t* stmt, const hone_stmt_t* loop, int axis,
                      bool runs_on);

/* Has the statement ask for what lies so many lines behind, unless that is too long an expression.
 * False: no memory. */
bool hone_asks_add(hone_kernel_t* kernel, hone_stmt_t* stmt, hone_dim_t lines);

#endif
