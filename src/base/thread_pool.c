/* One job at a time. Its caller publishes it by raising `generation`; workers
 * join while it is open and take chunks by a counter. The caller closes the job
 * when the chunks are gone and waits for those who joined, never for sleepers. */
#include "base/thread_pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/cpu_count.h"
#include "base/memory.h"

enum {
  MOST_THREADS = 1024,
  SPINS = 2000,         /* looks at the counter before sleeping, some 20 to 100 us */
  CHUNKS_PER_THREAD = 4 /* leaves something to share when threads are not equally fast */
};

struct hone_thread_pool {
  const hone_allocator_t* allocator;
  int threads;  /* workers that run, and the caller */
  int capacity; /* of `workers` */
  pthread_t* workers;
  pthread_mutex_t busy;  /* held by the caller whose job it is */
  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t wake, done;
  bool open;         /* workers may join the job */
  bool stop;         /* workers must end */
  atomic_int joined; /* workers in the job; changed under the mutex */
  atomic_uint generation;
  /* The job; constant while it is open or somebody has joined. */
  hone_parallel_fn_t fn;
  void* context;
  int64_t n, chunk, chunks;
  atomic_llong next; /* chunk to take */
};

/* Set while this thread runs some pool's work. */
static _Thread_local bool inside_work;

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void run_chunks(hone_thread_pool_t* pool) {
  inside_work = true;
  for (;;) {
    int64_t i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
    if (i >= pool->chunks) break;
    int64_t begin = i * pool->chunk;
    int64_t left = pool->n - begin;
    pool->fn(pool->context, begin, begin + (left < pool->chunk ? left : pool->chunk));
  }
  inside_work = false;
}

/* Waits for a generation other than `seen`; false when the pool ends. On true
 * this worker has joined the job if that is still open (*out_joined). */
static bool await_job(hone_thread_pool_t* pool, unsigned* seen, bool* out_joined) {
  for (int i = 0; i < SPINS && atomic_load(&pool->generation) == *seen; i++) relax();
  pthread_mutex_lock(&pool->mutex);
  while (!pool->stop && atomic_load(&pool->generation) == *seen)
    pthread_cond_wait(&pool->wake, &pool->mutex);
  bool stop = pool->stop;
  *seen = atomic_load(&pool->generation);
  *out_joined = !stop && pool->open;
  if (*out_joined) atomic_fetch_add(&pool->joined, 1);
  pthread_mutex_unlock(&pool->mutex);
  return !stop;
}

static void leave_job(hone_thread_pool_t* pool) {
  pthread_mutex_lock(&pool->mutex);
  if (atomic_fetch_sub(&pool->joined, 1) == 1) pthread_cond_signal(&pool->done);
  pthread_mutex_unlock(&pool->mutex);
}

static void* worker_main(void* argument) {
  hone_thread_pool_t* pool = argument;
  unsigned seen = 0;
  for (bool joined; await_job(pool, &seen, &joined);) {
    if (!joined) continue;
    run_chunks(pool);
    leave_job(pool);
  }
  return NULL;
}

/* Workers take no signals: those belong to the program's own threads. */
static void start_workers(hone_thread_pool_t* pool, int wanted) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool->threads < wanted) {
    pthread_t* worker = &pool->workers[pool->threads - 1];
    if (pthread_create(worker, NULL, worker_main, pool)) break;
    char name[16];
    snprintf(name, sizeof name, "hone-%d", pool->threads);
    pthread_setname_np(*worker, name);
    pool->threads++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
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
  pool->workers = hone_alloc(allocator, (size_t)threads * sizeof *pool->workers);
  if (!pool->workers) {
    hone_free(allocator, pool, sizeof *pool);
    return hone_oom();
  }
  pool->allocator = allocator;
  pool->threads = 1;
  pool->capacity = threads;
  pthread_mutex_init(&pool->busy, NULL);
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
  pthread_mutex_destroy(&pool->busy);
  hone_free(pool->allocator, pool->workers, (size_t)pool->capacity * sizeof *pool->workers);
  hone_free(pool->allocator, pool, sizeof *pool);
}

int hone_thread_pool_size(const hone_thread_pool_t* pool) { return pool ? pool->threads : 1; }

static int64_t divide_up(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* Publishes the job and wakes the workers. */
static void open_job(hone_thread_pool_t* pool, int64_t n, int64_t grain, hone_parallel_fn_t fn,
                     void* context) {
  int64_t chunk = divide_up(n, (int64_t)pool->threads * CHUNKS_PER_THREAD);
  pthread_mutex_lock(&pool->mutex);
  pool->fn = fn;
  pool->context = context;
  pool->n = n;
  pool->chunk = chunk > grain ? chunk : grain;
  pool->chunks = divide_up(n, pool->chunk);
  atomic_store(&pool->next, 0);
  pool->open = true;
  atomic_fetch_add(&pool->generation, 1);
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
}

static void close_job(hone_thread_pool_t* pool) {
  pthread_mutex_lock(&pool->mutex);
  pool->open = false;
  pthread_mutex_unlock(&pool->mutex);
  for (int i = 0; i < SPINS && atomic_load(&pool->joined); i++) relax();
  pthread_mutex_lock(&pool->mutex);
  while (atomic_load(&pool->joined)) pthread_cond_wait(&pool->done, &pool->mutex);
  pthread_mutex_unlock(&pool->mutex);
}

void hone_parallel_for(hone_thread_pool_t* pool, int64_t n, int64_t grain, hone_parallel_fn_t fn,
                       void* context) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  bool alone = !pool || pool->threads == 1 || inside_work || n <= grain;
  if (alone || pthread_mutex_trylock(&pool->busy)) {
    fn(context, 0, n);
    return;
  }
  open_job(pool, n, grain, fn, context);
  run_chunks(pool);
  close_job(pool);
  pthread_mutex_unlock(&pool->busy);
}

static pthread_mutex_t shared_mutex = PTHREAD_MUTEX_INITIALIZER;
static hone_thread_pool_t* shared_pool;

/* A forked child has none of the threads: it forgets the pool. */
static void lock_shared(void) { pthread_mutex_lock(&shared_mutex); }
static void unlock_shared(void) { pthread_mutex_unlock(&shared_mutex); }
static void forget_shared(void) {
  shared_pool = NULL;
  inside_work = false;
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
  if (!shared_pool || pthread_mutex_trylock(&shared_pool->busy)) return;
  pthread_mutex_unlock(&shared_pool->busy);
  hone_thread_pool_destroy(shared_pool);
  shared_pool = NULL;
}
