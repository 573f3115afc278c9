/* Thread pool: splits ranges of independent work among threads.
 *
 * The calling thread works too. Several callers may use a pool at once: each
 * has a job, idle workers join the job that has the fewest of them, and no
 * more threads work than the pool has, as far as callers leave it the choice.
 * Workers that run out of work spin for a moment, since the next call often
 * follows at once, and then sleep. A call from inside a pool's work runs inline
 * on its caller: nothing ever waits for a worker to become free. */
#ifndef HONE_BASE_THREAD_POOL_H
#define HONE_BASE_THREAD_POOL_H

#include <pthread.h>

#include "hone/allocator.h"

/* A thread that takes no signals: those belong to the program's own threads. False where there
 * can be none. It is to be joined. */
bool hone_thread_start(pthread_t* thread, void* (*run)(void* self), void* self);

typedef struct hone_thread_pool hone_thread_pool_t;

/* A pool of `threads` threads, the caller's among them; 0: as many as there
 * are usable CPUs. Threads that cannot be started are done without.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_thread_pool_create(const hone_allocator_t* allocator, int threads,
                                                    hone_thread_pool_t** out_pool);
/* No work may be running. Joins all workers. NULL is allowed. */
void hone_thread_pool_destroy(hone_thread_pool_t* pool);

/* The pool of the process, made at first use and ended with the process; a
 * forked child makes its own. NULL when there is no memory for one.
 * Thread-safe. */
hone_thread_pool_t* hone_thread_pool_shared(void);

/* Between the two the calling thread counts as one at work, also between its calls: a run does one
 * call after another, and workers that it leaves no room for would come and go in the gaps. They
 * nest; a thread is the guest of one pool at a time, and nothing happens in another or inside a
 * pool's work. NULL is allowed. */
void hone_thread_pool_enter(hone_thread_pool_t* pool);
void hone_thread_pool_leave(hone_thread_pool_t* pool);

/* Threads that work on a call, the caller's included; 1 for NULL. */
int hone_thread_pool_size(const hone_thread_pool_t* pool);

/* Lets a moment pass between two looks at what another thread is about to write: `looks` counts
 * them, 0 at first. After many others get the CPU. */
void hone_thread_relax(int* looks);

/* Does the items begin … end - 1. */
typedef void (*hone_parallel_fn_t)(void* context, int64_t begin, int64_t end);

/* Calls fn on ranges that cover 0 … n - 1 exactly once, each of at least
 * `grain` items (but the last), and returns when all are done. `pool` NULL runs
 * inline. What fn wrote can be seen by the caller. Thread-safe. */
void hone_parallel_for(hone_thread_pool_t* pool, int64_t n, int64_t grain, hone_parallel_fn_t fn,
                       void* context);
/* The same on at most `threads` threads, the caller among them; 0: all. */
void hone_parallel_for_on(hone_thread_pool_t* pool, int threads, int64_t n, int64_t grain,
                          hone_parallel_fn_t fn, void* context);
/* Whether cores seem so far from each other that small work is better done by one: a line takes
 * several times as long from one to the other as within a cluster. Seen as jobs are handed over;
 * false now and then all the same, so that they may be seen to be near again. Thread-safe. */
bool hone_thread_pool_is_far(hone_thread_pool_t* pool);
/* Has memory that nobody has written to yet come from the system, each large page on one thread:
 * threads that are the first to write to the same page at once both have it cleared. What is in it
 * is lost. */
void hone_parallel_touch(hone_thread_pool_t* pool, void* memory, size_t bytes);
/* Has memory that lies in a file come from there, on all threads and not on the first to read it.
 */
void hone_parallel_read_ahead(hone_thread_pool_t* pool, const void* memory, size_t bytes);

#endif
