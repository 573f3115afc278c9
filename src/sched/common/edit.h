/* What schedule primitives share: finding loops, refusing, noting what was
 * done, and changes to the tree that several of them make. */
#ifndef HONE_SCHED_COMMON_EDIT_H
#define HONE_SCHED_COMMON_EDIT_H

#include "loop/access.h"
#include "sched/primitive.h"

/* A primitive begins with hone_sched_begin and ends with hone_sched_end, which
 * notes it: what was noted in between, by primitives that it used, goes. Gives
 * OUT_OF_MEMORY when memory ran out in between. */
size_t hone_sched_begin(const hone_kernel_t* kernel);
HONE_MUST_USE hone_status_t hone_sched_end(hone_kernel_t* kernel, size_t begin, const char* format,
                                           ...) HONE_PRINTF(3, 4);
/* The status of a refusal. */
HONE_MUST_USE hone_status_t hone_sched_refuse(const char* format, ...) HONE_PRINTF(1, 2);
/* INVALID_ARGUMENT for a buffer that stands in the way, NULL for none. */
HONE_MUST_USE hone_status_t hone_sched_conflict(const hone_buffer_t* buffer, const char* what,
                                                const char* loop);

/* Errors: NOT_FOUND. */
HONE_MUST_USE hone_status_t hone_sched_find(const hone_kernel_t* kernel, const char* name,
                                            hone_stmt_t** out_loop);
HONE_MUST_USE hone_status_t hone_sched_find_buffer(const hone_kernel_t* kernel, const char* name,
                                                   hone_buffer_t** out_buffer);
/* Refuses a loop that already has a kind. */
HONE_MUST_USE hone_status_t hone_sched_want_serial(const hone_stmt_t* loop);
/* Refuses a loop over threads that uses scratch memory which is not of a thread
 * (a group, where `shared`) but lives around the loop. */
HONE_MUST_USE hone_status_t hone_sched_want_own_scratch(hone_kernel_t* kernel, hone_stmt_t* loop,
                                                        bool shared);
/* Refuses to put statements that follow one another at the top, beside parallel
 * loops: they would run at the same time. `stmt` is what makes way for them. */
HONE_MUST_USE hone_status_t hone_sched_want_order(const hone_kernel_t* kernel,
                                                  const hone_stmt_t* stmt);
/* The only statement in the loop, when that is a loop; else NULL. */
hone_stmt_t* hone_sched_only_loop(const hone_stmt_t* loop);

/* Gives the loop another variable, extent and name (made unique), and puts `to`,
 * an expression that may use the new variable, in place of the old one.
 * NULL `to`: the new variable itself. */
bool hone_sched_retarget(hone_kernel_t* kernel, hone_stmt_t* loop, const char* name,
                         hone_dim_t extent, hone_dim_t (*to)(void*, hone_kernel_t*, hone_dim_t),
                         void* self);
/* A copy of the statement with scratch buffers of its own in place of those that
 * live inside of it. */
hone_stmt_t* hone_sched_copy(hone_kernel_t* kernel, hone_stmt_t* stmt);
/* Moves all of one body to the end of another. */
bool hone_sched_move_body(hone_kernel_t* kernel, hone_stmt_t* from, hone_stmt_t* to);
/* Drops conditions that are decided and loops that have no round, in the
 * body of the statement and deeper. */
bool hone_sched_prune(hone_kernel_t* kernel, hone_stmt_t* stmt);
/* "NAME.suffix" in the kernel's arena. */
const char* hone_sched_name(hone_kernel_t* kernel, const char* name, const char* suffix);
/* A number of an argument. */
HONE_MUST_USE hone_status_t hone_sched_parse_int(const char* text, int64_t* out);
/* "exact", "guard", "peel", "long"; `text` NULL: exact. */
HONE_MUST_USE hone_status_t hone_sched_parse_tail(const char* text, hone_tail_t* out);
const char* hone_sched_tail_name(hone_tail_t tail);

#endif
