#include "base/thread_pool.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing/fault.h"

enum { MOST_ITEMS = 5000 };

typedef struct tally {
  unsigned char hits[MOST_ITEMS]; /* plain: a range must belong to one thread alone */
  int64_t smallest;               /* range seen that is not the last */
  int64_t n;
  hone_thread_pool_t* pool;
  atomic_int nested;
} tally_t;

static void count_hits(void* context, int64_t begin, int64_t end) {
  tally_t* tally = context;
  for (int64_t i = begin; i < end; i++) tally->hits[i]++;
}

static void assert_each_once(const tally_t* tally, int64_t n) {
  for (int64_t i = 0; i < MOST_ITEMS; i++) assert_int_equal(tally->hits[i], i < n);
}

static void every_item_is_done_once(void** state) {
  (void)state;
  static const int64_t sizes[] = {0, 1, 2, 3, 7, 64, 999, MOST_ITEMS};
  static const int64_t grains[] = {0, 1, 3, 100, INT64_MAX};
  for (int threads = 1; threads <= 4; threads++) {
    hone_thread_pool_t* pool;
    assert_ok(hone_thread_pool_create(NULL, threads, &pool));
    assert_int_equal(hone_thread_pool_size(pool), threads);
    for (size_t i = 0; i < TEST_COUNT(sizes); i++)
      for (size_t j = 0; j < TEST_COUNT(grains); j++) {
        tally_t tally = {0};
        hone_parallel_for(pool, sizes[i], grains[j], count_hits, &tally);
        assert_each_once(&tally, sizes[i]);
      }
    hone_thread_pool_destroy(pool);
  }
}

static void no_pool_runs_inline(void** state) {
  (void)state;
  tally_t tally = {0};
  hone_parallel_for(NULL, 10, 1, count_hits, &tally);
  assert_each_once(&tally, 10);
  hone_parallel_for(NULL, -3, 1, count_hits, &tally);
  assert_each_once(&tally, 10);
  assert_int_equal(hone_thread_pool_size(NULL), 1);
  hone_thread_pool_destroy(NULL);
}

static void check_grain(void* context, int64_t begin, int64_t end) {
  tally_t* tally = context;
  if (end - begin < 7 && end != 1000) tally->hits[0] = 1;
}

static void ranges_are_at_least_a_grain(void** state) {
  (void)state;
  tally_t tally = {0};
  hone_thread_pool_t* pool;
  assert_ok(hone_thread_pool_create(NULL, 4, &pool));
  hone_parallel_for(pool, 1000, 7, check_grain, &tally);
  assert_int_equal(tally.hits[0], 0);
  hone_thread_pool_destroy(pool);
}

/* Marks ranges that reach across the middle. */
static void check_halves(void* context, int64_t begin, int64_t end) {
  tally_t* tally = context;
  if (begin < tally->n && end > tally->n) tally->hits[0] = 1;
}

static void threads_get_equal_shares(void** state) {
  (void)state;
  tally_t tally = {0};
  hone_thread_pool_t* pool;
  assert_ok(hone_thread_pool_create(NULL, 2, &pool));
  for (int64_t n = 2; n <= 40; n += 2)
    for (int64_t grain = 1; grain <= 3; grain++) {
      tally.n = n / 2 * grain;
      hone_parallel_for(pool, n * grain, grain, check_halves, &tally);
    }
  assert_int_equal(tally.hits[0], 0);
  hone_thread_pool_destroy(pool);
}

static void inner(void* context, int64_t begin, int64_t end) {
  atomic_fetch_add((atomic_int*)context, (int)(end - begin));
}

static void outer(void* context, int64_t begin, int64_t end) {
  tally_t* tally = context;
  for (int64_t i = begin; i < end; i++)
    hone_parallel_for(tally->pool, 10, 1, inner, &tally->nested);
}

/* One byte of each large page that begins in the memory, and none beside it. */
static void touching_stays_within(void** state) {
  (void)state;
  enum { PAGE = 2 << 20, PAGES = 3 };
  hone_thread_pool_t* pool;
  assert_ok(hone_thread_pool_create(NULL, 2, &pool));
  char* block;
  assert_int_equal(posix_memalign((void**)&block, PAGE, (size_t)PAGES * PAGE), 0);
  static const struct {
    size_t begin, bytes;
    int touched;
  } cases[] = {
      {0, (size_t)PAGES * PAGE, 3},
      {1, (size_t)PAGES * PAGE - 1, 2},
      {PAGE, PAGE, 1},
      {1, PAGE - 1, 0},
      {1, PAGE, 1},
      {PAGE, 0, 0},
  };
  for (size_t c = 0; c < TEST_COUNT(cases); c++) {
    memset(block, 1, (size_t)PAGES * PAGE);
    hone_parallel_touch(pool, block + cases[c].begin, cases[c].bytes);
    int touched = 0, inside = 0;
    for (size_t i = 0; i < (size_t)PAGES * PAGE; i++) {
      touched += !block[i];
      inside += !block[i] && i - cases[c].begin < cases[c].bytes;
    }
    assert_int_equal(touched, cases[c].touched);
    assert_int_equal(inside, touched);
  }
  free(block);
  hone_thread_pool_destroy(pool);
}

/* Whether the process has a page in its tables, after Linux' pagemap. */
static bool is_mapped(int pagemap, const char* at, size_t page) {
  uint64_t entry = 0;
  off_t where = (off_t)((uintptr_t)at / page * sizeof entry);
  assert_int_equal(pread(pagemap, &entry, sizeof entry, where), sizeof entry);
  return entry >> 63;
}

static void what_is_read_ahead_is_mapped(void** state) {
  (void)state;
  enum { PAGES = 300, BEGIN = 7, END = 290 };
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  int pagemap = open("/proc/self/pagemap", O_RDONLY);
  if (pagemap < 0) {
    print_message("skipped: this system has no /proc/self/pagemap\n");
    skip();
  }
  char* block = mmap(NULL, PAGES * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(block != MAP_FAILED);
  hone_thread_pool_t* pool;
  assert_ok(hone_thread_pool_create(NULL, 2, &pool));
  hone_parallel_read_ahead(pool, block, 0);
  assert_false(is_mapped(pagemap, block, page));
  hone_parallel_read_ahead(pool, block + BEGIN * page, (END - BEGIN) * page);
  for (int i = 0; i < PAGES; i++)
    assert_int_equal(is_mapped(pagemap, block + i * page, page), i >= BEGIN && i < END);
  hone_thread_pool_destroy(pool);
  munmap(block, PAGES * page);
  close(pagemap);
}

static void take_long_enough(void* context, int64_t begin, int64_t end) {
  for (volatile int i = 0; i < 200; i++) {
  }
}

/* Which cores are far is up to the machine, but then, too, some work is shared out. */
static void far_cores_are_tried_again(void** state) {
  (void)state;
  enum { JOBS = 2000, TRIES = 64 };
  hone_thread_pool_t* pool;
  assert_false(hone_thread_pool_is_far(NULL));
  assert_ok(hone_thread_pool_create(NULL, 2, &pool));
  assert_false(hone_thread_pool_is_far(pool));
  for (int i = 0; i < JOBS; i++) hone_parallel_for(pool, 2, 1, take_long_enough, NULL);
  int far = 0;
  for (int i = 0; i < TRIES; i++) far += hone_thread_pool_is_far(pool);
  assert_true(far == 0 || far == TRIES - 1);
  hone_thread_pool_destroy(pool);
}

static void nested_calls_run_inline(void** state) {
  (void)state;
  tally_t tally = {0};
  assert_ok(hone_thread_pool_create(NULL, 3, &tally.pool));
  hone_parallel_for(tally.pool, 100, 1, outer, &tally);
  assert_int_equal(atomic_load(&tally.nested), 1000);
  hone_thread_pool_destroy(tally.pool);
}

/* NULL, unless an item was not done exactly once. */
static void* call_often(void* argument) {
  hone_thread_pool_t* pool = argument;
  for (int i = 0; i < 200; i++) {
    tally_t tally = {0};
    hone_parallel_for(pool, 50, 1, count_hits, &tally);
    for (int j = 0; j < 50; j++)
      if (tally.hits[j] != 1) return pool;
  }
  return NULL;
}

static void many_callers_share_a_pool(void** state) {
  (void)state;
  enum { CALLERS = 4 };
  pthread_t callers[CALLERS];
  hone_thread_pool_t* pool;
  assert_ok(hone_thread_pool_create(NULL, 3, &pool));
  for (int i = 0; i < CALLERS; i++)
    assert_int_equal(pthread_create(&callers[i], NULL, call_often, pool), 0);
  for (int i = 0; i < CALLERS; i++) {
    void* failed = NULL;
    pthread_join(callers[i], &failed);
    assert_null(failed);
  }
  hone_thread_pool_destroy(pool);
}

typedef struct meeting {
  atomic_int present, most;
  atomic_bool met; /* as many as were awaited */
  int awaited;
} meeting_t;

/* Stays until enough threads are here, or a while has passed. */
static void meet(void* context, int64_t begin, int64_t end) {
  meeting_t* meeting = context;
  int present = atomic_fetch_add(&meeting->present, 1) + 1;
  for (int most = atomic_load(&meeting->most); present > most;)
    if (atomic_compare_exchange_weak(&meeting->most, &most, present)) break;
  if (present >= meeting->awaited) atomic_store(&meeting->met, true);
  for (int i = 0; i < 2000 && !atomic_load(&meeting->met); i++) usleep(1000);
  atomic_fetch_sub(&meeting->present, 1);
  (void)begin;
  (void)end;
}

static void at_most_the_threads_asked_for_work(void** state) {
  (void)state;
  hone_thread_pool_t* pool;
  assert_ok(hone_thread_pool_create(NULL, 4, &pool));
  meeting_t meeting = {.awaited = 2};
  hone_parallel_for_on(pool, 2, 64, 1, meet, &meeting);
  assert_true(atomic_load(&meeting.met));
  assert_int_equal(atomic_load(&meeting.most), 2);
  tally_t tally = {0};
  hone_parallel_for_on(pool, 100, 999, 1, count_hits, &tally); /* more than there are: all */
  assert_each_once(&tally, 999);
  hone_thread_pool_destroy(pool);
}

typedef struct meeting_caller {
  hone_thread_pool_t* pool;
  meeting_t* meeting;
} meeting_caller_t;

static void* call_to_meet(void* argument) {
  const meeting_caller_t* caller = argument;
  hone_parallel_for_on(caller->pool, 2, 8, 1, meet, caller->meeting);
  return NULL;
}

/* Two callers with a worker each are at work at the same time. */
static void idle_workers_join_a_second_caller(void** state) {
  (void)state;
  hone_thread_pool_t* pool;
  assert_ok(hone_thread_pool_create(NULL, 4, &pool));
  meeting_t meeting = {.awaited = 4};
  meeting_caller_t caller = {pool, &meeting};
  pthread_t second;
  assert_int_equal(pthread_create(&second, NULL, call_to_meet, &caller), 0);
  call_to_meet(&caller);
  pthread_join(second, NULL);
  assert_true(atomic_load(&meeting.met));
  assert_int_equal(atomic_load(&meeting.most), 4);
  hone_thread_pool_destroy(pool);
}

typedef struct stay {
  hone_thread_pool_t* pool;
  atomic_bool has_entered, may_leave, has_left;
  atomic_int calls, present;
  atomic_bool has_met; /* the caller and a worker */
  int too_many;        /* at work while the guest was there */
} stay_t;

static void* stay_a_while(void* argument) {
  stay_t* stay = argument;
  hone_thread_pool_enter(stay->pool);
  atomic_store(&stay->has_entered, true);
  while (!atomic_load(&stay->may_leave)) usleep(1000);
  hone_thread_pool_leave(stay->pool);
  atomic_store(&stay->has_left, true);
  return NULL;
}

/* Two calls beside the guest; it leaves in the third; those after it wait for the worker. */
static void work_beside_a_guest(void* context, int64_t begin, int64_t end) {
  enum { BESIDE = 2, PATIENCE_MS = 2000 };
  stay_t* stay = context;
  (void)begin;
  (void)end;
  int present = atomic_fetch_add(&stay->present, 1) + 1;
  int call = atomic_fetch_add(&stay->calls, 1);
  if (present == 2) atomic_store(&stay->has_met, true);
  if (!atomic_load(&stay->may_leave)) stay->too_many += present > 1;
  if (call == BESIDE) atomic_store(&stay->may_leave, true);
  while (call == BESIDE && !atomic_load(&stay->has_left)) usleep(1000);
  usleep(5000); /* longer than the guest's place is kept */
  for (int i = 0; call > BESIDE && i < PATIENCE_MS && !atomic_load(&stay->has_met); i++)
    usleep(1000);
  atomic_fetch_sub(&stay->present, 1);
}

static void workers_make_way_for_guests(void** state) {
  (void)state;
  pthread_t guest;
  stay_t stay = {.too_many = 0};
  assert_ok(hone_thread_pool_create(NULL, 2, &stay.pool));
  assert_int_equal(pthread_create(&guest, NULL, stay_a_while, &stay), 0);
  while (!atomic_load(&stay.has_entered)) usleep(1000);
  hone_parallel_for(stay.pool, 64, 1, work_beside_a_guest, &stay);
  pthread_join(guest, NULL);
  assert_int_equal(stay.too_many, 0);
  assert_true(atomic_load(&stay.has_met));
  hone_thread_pool_destroy(stay.pool);
}

/* A guest's own calls get workers, and nothing is left of a stay inside another or elsewhere. */
static void stays_nest(void** state) {
  (void)state;
  hone_thread_pool_t *pool, *other;
  assert_ok(hone_thread_pool_create(NULL, 2, &pool));
  assert_ok(hone_thread_pool_create(NULL, 2, &other));
  hone_thread_pool_enter(NULL);
  hone_thread_pool_enter(pool);
  hone_thread_pool_enter(other);
  hone_thread_pool_enter(pool);
  hone_thread_pool_leave(pool);
  for (int i = 0; i < 3; i++) {
    meeting_t here = {.awaited = 2}, there = {.awaited = 2};
    hone_parallel_for(pool, 64, 1, meet, &here);
    hone_parallel_for(other, 64, 1, meet, &there);
    assert_true(atomic_load(&here.met) && atomic_load(&there.met));
    if (i == 1) {
      hone_thread_pool_leave(other);
      hone_thread_pool_leave(pool);
    }
  }
  hone_thread_pool_leave(NULL);
  hone_thread_pool_destroy(other);
  hone_thread_pool_destroy(pool);
}

/* Workers that have gone to sleep between two calls must still be woken. */
static void sleepers_wake_up(void** state) {
  (void)state;
  hone_thread_pool_t* pool;
  assert_ok(hone_thread_pool_create(NULL, 2, &pool));
  for (int i = 0; i < 5; i++) {
    tally_t tally = {0};
    usleep(2000);
    hone_parallel_for(pool, 1000, 1, count_hits, &tally);
    assert_each_once(&tally, 1000);
  }
  hone_thread_pool_destroy(pool);
}

static void pools_come_and_go(void** state) {
  (void)state;
  for (int i = 0; i < 50; i++) {
    hone_thread_pool_t* pool;
    assert_ok(hone_thread_pool_create(NULL, 4, &pool));
    hone_thread_pool_destroy(pool);
  }
}

static void absurd_sizes_are_refused(void** state) {
  (void)state;
  hone_thread_pool_t* pool;
  assert_code(hone_thread_pool_create(NULL, -1, &pool), HONE_INVALID_ARGUMENT);
  assert_null(pool);
  assert_code(hone_thread_pool_create(NULL, 1 << 20, &pool), HONE_INVALID_ARGUMENT);
}

static void there_is_one_shared_pool(void** state) {
  (void)state;
  tally_t tally = {0};
  hone_thread_pool_t* pool = hone_thread_pool_shared();
  assert_non_null(pool);
  assert_ptr_equal(pool, hone_thread_pool_shared());
  hone_parallel_for(pool, MOST_ITEMS, 1, count_hits, &tally);
  assert_each_once(&tally, MOST_ITEMS);
}

static void a_forked_child_gets_its_own_pool(void** state) {
  (void)state;
  if (TEST_UNDER_TSAN) skip();
  assert_non_null(hone_thread_pool_shared());
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    tally_t tally = {0};
    alarm(20); /* a hang must not outlive the test */
    hone_parallel_for(hone_thread_pool_shared(), 100, 1, count_hits, &tally);
    _exit(tally.hits[0] == 1 && tally.hits[99] == 1 ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static hone_status_t use_a_pool(const hone_allocator_t* allocator, void* context) {
  hone_thread_pool_t* pool;
  HONE_TRY(hone_thread_pool_create(allocator, 2, &pool));
  hone_parallel_for(pool, 100, 1, count_hits, context);
  hone_thread_pool_destroy(pool);
  return NULL;
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  tally_t tally = {0};
  assert_int_equal(assert_survives_faults(use_a_pool, &tally), 3);
}

typedef struct pair {
  atomic_int arrived;
  int cpus[2];
} pair_t;

/* Each item says where it is done, once there are two at work. */
static void pair_up(void* context, int64_t begin, int64_t end) {
  enum { PATIENCE = 50 * 1000 * 1000 };
  pair_t* pair = context;
  for (int64_t i = begin; i < end; i++) {
    atomic_fetch_add(&pair->arrived, 1);
    for (int k = 0; k < PATIENCE && atomic_load(&pair->arrived) < 2; k++) {
    }
    pair->cpus[i] = sched_getcpu();
  }
}

/* A worker that has slept for long is not to share its caller's CPU, where Linux wakes it: on
 * most tries, since others may be at work here. */
static void workers_wake_beside_their_caller(void** state) {
  enum { TRIES = 10, LONG_US = 30000 };
  (void)state;
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) || CPU_COUNT(&cpus) < 2) {
    print_message("not run: there is one CPU\n");
    skip();
  }
  hone_thread_pool_t* pool;
  assert_ok(hone_thread_pool_create(NULL, 2, &pool));
  int apart = 0;
  for (int i = 0; i < TRIES; i++) {
    pair_t pair = {.arrived = 0};
    usleep(LONG_US);
    hone_parallel_for(pool, 2, 1, pair_up, &pair);
    apart += pair.cpus[0] != pair.cpus[1];
  }
  assert_in_range(apart, TRIES * 3 / 4, TRIES);
  hone_thread_pool_destroy(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_item_is_done_once),
      cmocka_unit_test(workers_wake_beside_their_caller),
      cmocka_unit_test(no_pool_runs_inline),
      cmocka_unit_test(ranges_are_at_least_a_grain),
      cmocka_unit_test(threads_get_equal_shares),
      cmocka_unit_test(touching_stays_within),
      cmocka_unit_test(what_is_read_ahead_is_mapped),
      cmocka_unit_test(far_cores_are_tried_again),
      cmocka_unit_test(nested_calls_run_inline),
      cmocka_unit_test(many_callers_share_a_pool),
      cmocka_unit_test(at_most_the_threads_asked_for_work),
      cmocka_unit_test(idle_workers_join_a_second_caller),
      cmocka_unit_test(workers_make_way_for_guests),
      cmocka_unit_test(stays_nest),
      cmocka_unit_test(sleepers_wake_up),
      cmocka_unit_test(pools_come_and_go),
      cmocka_unit_test(absurd_sizes_are_refused),
      cmocka_unit_test(there_is_one_shared_pool),
      cmocka_unit_test(a_forked_child_gets_its_own_pool),
      cmocka_unit_test(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
