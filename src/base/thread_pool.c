/* A call is a job on its caller's stack. Workers that spin for want of work are handed it, each in
 * its own seat, without the mutex: small kernels take no longer than a few moves of a line between
 * caches. Where those are too few, the job is in the pool's list too while it has chunks
 * that nobody took, and workers join it under the mutex. The range falls into as many
 * equal shares as threads can be at work; a thread takes the chunks of its own share
 * first, then those that others left, so that in one call after the other it has the same
 * part of the range, and finds in its cache what it made before. The caller takes
 * the job out of the list when the chunks are gone and waits for those who joined,
 * never for sleepers. Callers go before workers: those join nothing, and leave after a chunk, where
 * they would be more than there are CPUs, counting guests and a caller that has just left. */
#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/cpu_count.h"
#include "base/memory.h"
#include "base/trace.h"

enum {
  MOST_THREADS = 1024,
  SPIN_NS = 60000,       /* before sleeping: waking takes a virtual machine some 20 us */
  STAY_NS = 500000,      /* a caller that left comes back within: a program between two runs */
  LOOKS = 16,            /* between two looks at the clock: a pause takes 10 to 50 ns */
  CHUNKS_PER_THREAD = 4, /* leaves something to share when threads are not equally fast */
  MOST_SHARES = 64,
  FAR_NS = 330,     /* until a worker that spins sees what it was handed, where cores are far:
                       400 to 1000; else 100 to 280 */
  SAMPLES = 8,      /* of that, which must all be far */
  SAMPLE_EVERY = 8, /* jobs */
  TRY_EVERY = 64,   /* small jobs, where cores are far: they may be near again */
  LINE = 64         /* bytes that two threads should not both write */
};

/* Items of the job from `next` to before `end`, of which a chunk at a time is taken. */
typedef struct share {
  _Alignas(LINE) atomic_llong next; /* may go beyond the end */
  int64_t end;
} share_t;

typedef struct job {
  struct job *next, **link; /* in the pool's list; link is what points here */
  hone_parallel_fn_t fn;
  void* context;
  int64_t chunk;
  int room;            /* workers that may still join from the list; guarded by the mutex */
  bool is_short;       /* all threads were at work when it was listed; the caller's */
  atomic_int joined;   /* workers in it, and those that it was handed to */
  atomic_int accepted; /* by workers that it was handed to */
  int64_t handed;      /* by the clock; 0: nobody wants to know */
  int n_shares;
  share_t shares[MOST_SHARES];
} job_t;

/* Where a worker is handed a job: NULL while it wants none, `no_job` while it spins. A worker that
 * others keep from its CPU does not take what it was handed, so that its caller takes it back. */
typedef struct seat {
  _Alignas(LINE) _Atomic(job_t*) job;
} seat_t;

static job_t no_job;

struct hone_thread_pool {
  const hone_allocator_t* allocator;
  int threads;  /* workers that run, and one caller */
  int capacity; /* threads that may work at once */
  pthread_t* workers;
  seat_t* seats;         /* of workers */
  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t wake, done;
  job_t* jobs; /* that may be joined */
  int sleepers;
  int caller_cpu; /* where the last caller was */
  atomic_uint jobs_shared;
  atomic_uint small_jobs; /* that came while cores were far */
  atomic_int far_samples; /* one after the other; SAMPLES: cores are far from each other */
  bool stop;              /* workers must end */
  atomic_int active;      /* threads at work: callers and workers */
  atomic_int callers;     /* of those */
  atomic_llong kept; /* by the clock: until then the place of a caller that left is kept; 0: none */
  atomic_int waiting; /* callers that may sleep until `done` */
  /* Changed under the mutex, read without it too. */
  atomic_uint generation; /* raised whenever there may be something to join */
  atomic_int numbered;    /* workers that have a number */
};

/* Set while this thread runs some pool's work. */
static _Thread_local bool inside_work;
/* Of which pool this thread is a guest, and how many times over. */
static _Thread_local hone_thread_pool_t* host;
static _Thread_local int stays;

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

void hone_thread_relax(int* looks) {
  enum { MANY = 1024 };
  relax();
  if (++*looks % MANY == 0) sched_yield();
}

/* Threads at work, and one that will soon be. Where several callers do one run after another, a
 * worker that took the place of one between two runs would soon keep it from its CPU, and the other
 * from the part that it took. */
static int at_work(hone_thread_pool_t* pool) {
  int active = atomic_load(&pool->active);
  long long kept = atomic_load_explicit(&pool->kept, memory_order_relaxed);
  if (!kept) return active;
  if (hone_clock_ns() < kept) return active + 1;
  atomic_compare_exchange_strong(&pool->kept, &kept, 0);
  return active;
}

/* Whether all threads that may work at once do. */
static bool is_full(hone_thread_pool_t* pool) { return at_work(pool) >= pool->capacity; }

/* A thread that looks at a counter before it sleeps. */
typedef struct spin {
  bool is_active; /* it is counted among those at work */
  int looks;
  int64_t end; /* by the clock; 0: not looked at yet */
} spin_t;

/* Lets a moment pass; false when it is time to sleep: where others take all CPUs, spinning would
 * take theirs, and what is waited for may be waiting for this one. */
static bool may_spin(const hone_thread_pool_t* pool, spin_t* spin) {
  relax();
  if (++spin->looks % LOOKS) return true;
  int64_t now = hone_clock_ns();
  if (!spin->end) spin->end = now + SPIN_NS;
  int others = atomic_load(&pool->active) - spin->is_active;
  return others < pool->capacity && now < spin->end;
}

static bool has_chunks(const job_t* job) {
  for (int i = 0; i < job->n_shares; i++)
    if (atomic_load(&job->shares[i].next) < job->shares[i].end) return true;
  return false;
}

/* A worker goes early when callers have come that make it one thread too many. */
static bool is_too_many(const hone_thread_pool_t* pool, bool is_worker) {
  return is_worker && atomic_load(&pool->active) > pool->capacity;
}

/* Others' places may be free by now. */
static void call_worker(hone_thread_pool_t* pool, job_t* job) {
  if (is_full(pool)) return;
  job->is_short = false;
  pthread_mutex_lock(&pool->mutex);
  atomic_fetch_add(&pool->generation, 1);
  if (pool->sleepers) pthread_cond_signal(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
}

/* `number` tells threads apart, 0 is the caller. */
static void run_chunks(hone_thread_pool_t* pool, job_t* job, int number) {
  inside_work = true;
  for (int i = 0; i < job->n_shares; i++) {
    share_t* share = &job->shares[job->n_shares - 1 - (number + i) % job->n_shares];
    while (!is_too_many(pool, number > 0)) {
      int64_t begin = atomic_fetch_add_explicit(&share->next, job->chunk, memory_order_relaxed);
      if (begin >= share->end) break;
      if (number == 0 && job->is_short) call_worker(pool, job);
      int64_t left = share->end - begin;
      job->fn(job->context, begin, begin + (left < job->chunk ? left : job->chunk));
    }
  }
  inside_work = false;
}

/* ---- workers; functions that say so are called with the mutex held ---- */

/* Takes the worker into the job with the most room left; NULL: none. Mutex. */
static job_t* join_job(hone_thread_pool_t* pool) {
  if (is_full(pool)) return NULL;
  job_t* best = NULL;
  for (job_t* job = pool->jobs; job; job = job->next) {
    bool open = job->room > 0 && has_chunks(job);
    if (open && (!best || job->room > best->room)) best = job;
  }
  if (!best) return NULL;
  best->room--;
  atomic_fetch_add(&best->joined, 1);
  atomic_fetch_add(&pool->active, 1);
  return best;
}

/* Once `joined` is zero the job may be gone. */
static void leave_job(hone_thread_pool_t* pool, job_t* job, bool from_list) {
  if (from_list) {
    pthread_mutex_lock(&pool->mutex);
    job->room++;
    pthread_mutex_unlock(&pool->mutex);
  }
  atomic_fetch_sub(&pool->active, 1);
  if (atomic_fetch_sub(&job->joined, 1) > 1 || !atomic_load(&pool->waiting)) return;
  pthread_mutex_lock(&pool->mutex);
  pthread_cond_broadcast(&pool->done);
  pthread_mutex_unlock(&pool->mutex);
}

/* Goes to another CPU than the caller's, where it has work to do too. Linux wakes threads there
 * that slept for some milliseconds, and would not move them before its next look at the balance,
 * some milliseconds later. */
static void leave_cpu(int cpu) {
  cpu_set_t all, others;
  if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getcpu() != cpu ||
      sched_getaffinity(0, sizeof all, &all))
    return;
  others = all;
  CPU_CLR(cpu, &others);
  if (CPU_COUNT(&others) && !sched_setaffinity(0, sizeof others, &others))
    sched_setaffinity(0, sizeof all, &all);
}

/* Until there may be something in the list. */
static void sleep_until(hone_thread_pool_t* pool, unsigned seen) {
  bool has_slept = false;
  pthread_mutex_lock(&pool->mutex);
  pool->sleepers++;
  while (!pool->stop && atomic_load(&pool->generation) == seen) {
    pthread_cond_wait(&pool->wake, &pool->mutex);
    has_slept = true;
  }
  pool->sleepers--;
  int cpu = has_slept && !pool->stop ? pool->caller_cpu : -1;
  pthread_mutex_unlock(&pool->mutex);
  leave_cpu(cpu);
}

/* How long it took to hand over a job: as long as a line goes from one core to another, which on
 * some machines is five times as long as on others, or as at other times. */
static void note_way(hone_thread_pool_t* pool, const job_t* job) {
  if (!job->handed) return;
  int before = atomic_load_explicit(&pool->far_samples, memory_order_relaxed);
  bool is_far = hone_clock_ns() - job->handed > FAR_NS;
  int now = !is_far ? 0 : before < SAMPLES ? before + 1 : SAMPLES;
  if (now != before) atomic_store_explicit(&pool->far_samples, now, memory_order_relaxed);
}

/* Spins until the worker is handed a job; NULL: there may be something in the list, or it is time
 * to sleep. */
static job_t* await_job(hone_thread_pool_t* pool, seat_t* seat, unsigned seen) {
  atomic_store(&seat->job, &no_job);
  for (spin_t spin = {0}; atomic_load(&pool->generation) == seen;) {
    if (atomic_load(&seat->job) != &no_job) break;
    if (!may_spin(pool, &spin)) break;
  }
  job_t* job = atomic_exchange(&seat->job, NULL);
  if (job == &no_job) return NULL;
  note_way(pool, job);
  atomic_fetch_add(&job->accepted, 1);
  return job;
}

/* From the list; false when the pool ends. */
static bool look_in_list(hone_thread_pool_t* pool, job_t** out_job) {
  pthread_mutex_lock(&pool->mutex);
  bool stop = pool->stop;
  *out_job = stop ? NULL : join_job(pool);
  pthread_mutex_unlock(&pool->mutex);
  return !stop;
}

static void* worker_main(void* argument) {
  hone_thread_pool_t* pool = argument;
  int number = 1 + atomic_fetch_add(&pool->numbered, 1);
  seat_t* seat = &pool->seats[number - 1];
  for (;;) {
    job_t* job;
    unsigned seen = atomic_load(&pool->generation);
    if (!look_in_list(pool, &job)) return NULL;
    bool from_list = job != NULL;
    if (!job) job = await_job(pool, seat, seen);
    if (!job) sleep_until(pool, seen);
    while (job) {
      run_chunks(pool, job, number);
      leave_job(pool, job, from_list);
      bool is_same = !from_list && atomic_load(&pool->generation) == seen;
      job = is_same ? await_job(pool, seat, seen) : NULL;
    }
  }
}

bool hone_thread_start(pthread_t* thread, void* (*run)(void* self), void* self) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = pthread_create(thread, NULL, run, self) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

static void start_workers(hone_thread_pool_t* pool, int wanted) {
  while (pool->threads < wanted) {
    pthread_t* worker = &pool->workers[pool->threads - 1];
    if (!hone_thread_start(worker, worker_main, pool)) break;
    char name[16];
    snprintf(name, sizeof name, "hone-%d", pool->threads);
    pthread_setname_np(*worker, name);
    pool->threads++;
  }
}

static void free_pool(hone_thread_pool_t* pool, int threads) {
  hone_free(pool->allocator, pool->seats, (size_t)threads * sizeof *pool->seats);
  hone_free(pool->allocator, pool->workers, (size_t)threads * sizeof *pool->workers);
  hone_free(pool->allocator, pool, sizeof *pool);
}

hone_status_t hone_thread_pool_create(const hone_allocator_t* allocator, int threads,
                                      hone_thread_pool_t** out_pool) {
  *out_pool = NULL;
  if (threads < 0 || threads > MOST_THREADS)
    return hone_status_make(HONE_INVALID_ARGUMENT, "%d threads are not in 0 (all) to %d", threads,
                            MOST_THREADS);
  if (!threads) threads = hone_cpu_count();
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  hone_thread_pool_t* pool = hone_alloc(allocator, sizeof *pool);
  if (!pool) return hone_oom();
  pool->allocator = allocator;
  pool->workers = hone_alloc(allocator, (size_t)threads * sizeof *pool->workers);
  pool->seats = hone_alloc(allocator, (size_t)threads * sizeof *pool->seats);
  if (!pool->workers || !pool->seats) {
    free_pool(pool, threads);
    return hone_oom();
  }
  pool->threads = 1;
  pool->capacity = threads;
  pool->caller_cpu = -1;
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->wake, NULL);
  pthread_cond_init(&pool->done, NULL);
  start_workers(pool, threads);
  *out_pool = pool;
  return NULL;
}

void hone_thread_pool_destroy(hone_thread_pool_t* pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->mutex);
  pool->stop = true;
  atomic_fetch_add(&pool->generation, 1);
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
  for (int i = 0; i < pool->threads - 1; i++) pthread_join(pool->workers[i], NULL);
  pthread_cond_destroy(&pool->done);
  pthread_cond_destroy(&pool->wake);
  pthread_mutex_destroy(&pool->mutex);
  free_pool(pool, pool->capacity);
}

int hone_thread_pool_size(const hone_thread_pool_t* pool) { return pool ? pool->threads : 1; }

/* ---- callers ---- */

static int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b != 0); }

static bool seems_far(const hone_thread_pool_t* pool) {
  return atomic_load_explicit(&pool->far_samples, memory_order_relaxed) == SAMPLES;
}

bool hone_thread_pool_is_far(hone_thread_pool_t* pool) {
  if (!pool || !seems_far(pool)) return false;
  unsigned count = atomic_fetch_add_explicit(&pool->small_jobs, 1, memory_order_relaxed);
  return count % TRY_EVERY != 0;
}

/* Whether the way of this job is to be timed: always while cores are far. */
static bool wants_sample(hone_thread_pool_t* pool) {
  unsigned count = atomic_fetch_add_explicit(&pool->jobs_shared, 1, memory_order_relaxed);
  return count % SAMPLE_EVERY == 0 || seems_far(pool);
}

/* Hands the job to workers that spin, at most `wanted`; gives how many. */
static int hand_out(hone_thread_pool_t* pool, job_t* job, int wanted) {
  int handed = 0;
  for (int i = 0; i < pool->threads - 1 && handed < wanted && !is_full(pool); i++) {
    seat_t* seat = &pool->seats[i];
    job_t* idle = &no_job;
    if (atomic_load(&seat->job) != idle) continue;
    atomic_fetch_add(&job->joined, 1);
    atomic_fetch_add(&pool->active, 1);
    if (atomic_compare_exchange_strong(&seat->job, &idle, job)) {
      handed++;
    } else {
      atomic_fetch_sub(&pool->active, 1);
      atomic_fetch_sub(&job->joined, 1);
    }
  }
  return handed;
}

/* Puts the job into the list and wakes as many workers as can be of use. */
static void list_job(hone_thread_pool_t* pool, job_t* job) {
  pthread_mutex_lock(&pool->mutex);
  pool->caller_cpu = sched_getcpu();
  job->next = pool->jobs;
  job->link = &pool->jobs;
  if (job->next) job->next->link = &job->next;
  pool->jobs = job;
  int idle = pool->threads - at_work(pool);
  job->is_short = idle <= 0;
  atomic_fetch_add(&pool->generation, 1);
  int wanted = idle < job->room ? idle : job->room;
  if (idle > pool->sleepers) wanted -= idle - pool->sleepers; /* those are still spinning */
  for (int i = 0; i < wanted && i < pool->sleepers; i++) pthread_cond_signal(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
}

/* Nobody joins any more. */
static void unlist_job(hone_thread_pool_t* pool, job_t* job) {
  pthread_mutex_lock(&pool->mutex);
  *job->link = job->next;
  if (job->next) job->next->link = job->link;
  pthread_mutex_unlock(&pool->mutex);
}

static void go_to_work(hone_thread_pool_t* pool) {
  atomic_fetch_add(&pool->active, 1);
  atomic_fetch_add(&pool->callers, 1);
  if (atomic_load_explicit(&pool->kept, memory_order_relaxed)) atomic_store(&pool->kept, 0);
}

static void end_work(hone_thread_pool_t* pool) {
  if (atomic_fetch_sub(&pool->callers, 1) > 1) atomic_store(&pool->kept, hone_clock_ns() + STAY_NS);
  atomic_fetch_sub(&pool->active, 1);
}

/* From workers that have not begun. */
static void take_back(hone_thread_pool_t* pool, job_t* job, int handed) {
  if (atomic_load(&job->accepted) == handed) return;
  for (int i = 0; i < pool->threads - 1; i++) {
    job_t* mine = job;
    if (!atomic_compare_exchange_strong(&pool->seats[i].job, &mine, &no_job)) continue;
    atomic_fetch_sub(&pool->active, 1);
    atomic_fetch_sub(&job->joined, 1);
  }
}

static void await_workers(hone_thread_pool_t* pool, job_t* job) {
  for (spin_t spin = {.is_active = host == pool};
       atomic_load(&job->joined) && may_spin(pool, &spin);) {
  }
  if (!atomic_load(&job->joined)) return;
  atomic_fetch_add(&pool->waiting, 1); /* before the look that decides */
  pthread_mutex_lock(&pool->mutex);
  while (atomic_load(&job->joined)) pthread_cond_wait(&pool->done, &pool->mutex);
  pthread_mutex_unlock(&pool->mutex);
  atomic_fetch_sub(&pool->waiting, 1);
}

/* Shares are whole numbers of grains, as nearly equal as can be: a thread with one chunk more
 * than another would have that one wait. The caller, who is there first, has the last, which is
 * the largest. */
static void share_out(job_t* job, int64_t n, int64_t grain, int threads) {
  int64_t grains = divide_up(n, grain), begin = 0;
  job->n_shares = threads < MOST_SHARES ? threads : MOST_SHARES;
  int64_t most = divide_up(grains, job->n_shares);
  job->chunk = grain * divide_up(most, CHUNKS_PER_THREAD);
  for (int i = 0; i < job->n_shares; i++) {
    atomic_init(&job->shares[i].next, begin * grain);
    begin += (grains - begin) / (job->n_shares - i);
    job->shares[i].end = begin == grains ? n : begin * grain;
  }
}

void hone_parallel_for_on(hone_thread_pool_t* pool, int threads, int64_t n, int64_t grain,
                          hone_parallel_fn_t fn, void* context) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  int size = hone_thread_pool_size(pool);
  if (threads <= 0 || threads > size) threads = size;
  if (threads == 1 || inside_work || n <= grain) {
    fn(context, 0, n);
    return;
  }
  int64_t grains = divide_up(n, grain);
  if (grains < threads) threads = (int)grains;
  job_t job;
  job.fn = fn;
  job.context = context;
  job.is_short = false;
  job.handed = wants_sample(pool) ? hone_clock_ns() : 0;
  atomic_init(&job.joined, 0);
  atomic_init(&job.accepted, 0);
  share_out(&job, n, grain, threads);
  if (host != pool) go_to_work(pool);
  int handed = hand_out(pool, &job, threads - 1);
  job.room = threads - 1 - handed;
  bool is_listed = job.room > 0;
  if (is_listed) list_job(pool, &job);
  run_chunks(pool, &job, 0);
  if (is_listed) unlist_job(pool, &job);
  take_back(pool, &job, handed);
  if (host != pool) end_work(pool);
  await_workers(pool, &job);
}

void hone_thread_pool_enter(hone_thread_pool_t* pool) {
  if (!pool || inside_work || (host && host != pool)) return;
  host = pool;
  if (!stays++) go_to_work(pool);
}

void hone_thread_pool_leave(hone_thread_pool_t* pool) {
  if (!pool || inside_work || host != pool || --stays) return;
  host = NULL;
  end_work(pool);
}

void hone_parallel_for(hone_thread_pool_t* pool, int64_t n, int64_t grain, hone_parallel_fn_t fn,
                       void* context) {
  hone_parallel_for_on(pool, 0, n, grain, fn, context);
}

static pthread_mutex_t shared_mutex = PTHREAD_MUTEX_INITIALIZER;
static hone_thread_pool_t* shared_pool;

/* A forked child has none of the threads: it forgets the pool. */
static void lock_shared(void) { pthread_mutex_lock(&shared_mutex); }
static void unlock_shared(void) { pthread_mutex_unlock(&shared_mutex); }
static void forget_shared(void) {
  shared_pool = NULL;
  inside_work = false;
  host = NULL;
  stays = 0;
  pthread_mutex_unlock(&shared_mutex);
}

static void register_fork_handlers(void) {
  pthread_atfork(lock_shared, unlock_shared, forget_shared);
}

hone_thread_pool_t* hone_thread_pool_shared(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_fork_handlers);
  pthread_mutex_lock(&shared_mutex);
  if (!shared_pool) hone_status_free(hone_thread_pool_create(NULL, 0, &shared_pool));
  hone_thread_pool_t* pool = shared_pool;
  pthread_mutex_unlock(&shared_mutex);
  return pool;
}

/* Also when the library is unloaded, before its code is gone. A pool that some
 * thread is still using at exit is left as it is. */
__attribute__((destructor)) static void end_shared(void) {
  hone_thread_pool_t* pool = shared_pool;
  if (!pool || pthread_mutex_trylock(&pool->mutex)) return;
  bool busy = atomic_load(&pool->active) > 0;
  pthread_mutex_unlock(&pool->mutex);
  if (busy) return;
  hone_thread_pool_destroy(pool);
  shared_pool = NULL;
}

enum { SMALL_PAGE = 4096, READ_GRAIN = 64 /* such pages */ };

static void touch(void* context, int64_t begin, int64_t end) {
  volatile char* at = context;
  for (int64_t i = begin; i < end; i++) at[i * HONE_LARGE_PAGE] = 0;
}

void hone_parallel_touch(hone_thread_pool_t* pool, void* memory, size_t bytes) {
  size_t before = (HONE_LARGE_PAGE - (uintptr_t)memory % HONE_LARGE_PAGE) % HONE_LARGE_PAGE;
  if (bytes <= before) return;
  size_t pages = (bytes - before - 1) / HONE_LARGE_PAGE + 1;
  hone_parallel_for(pool, (int64_t)pages, 1, touch, (char*)memory + before);
}

/* A byte of each page is enough. */
static void read_one(void* context, int64_t begin, int64_t end) {
  const volatile char* at = context;
  for (int64_t i = begin; i < end; i++) (void)at[i * SMALL_PAGE];
}

void hone_parallel_read_ahead(hone_thread_pool_t* pool, const void* memory, size_t bytes) {
  hone_parallel_for(pool, (int64_t)(bytes / SMALL_PAGE), READ_GRAIN, read_one,
                    (void*)(uintptr_t)memory);
}
