#include "base/memory.h"

#include <malloc.h>
#include <pthread.h>
#include <string.h>

#include "base/testing/fault.h"

static void memory_is_zeroed_and_aligned(void** state) {
  (void)state;
  for (size_t size = 0; size < 300; size += 37) {
    unsigned char* block = hone_alloc(NULL, size);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % 64, 0);
    for (size_t i = 0; i < size; i++) assert_int_equal(block[i], 0);
    hone_free(NULL, block, size);
  }
  hone_free(NULL, NULL, 10);
}

/* Where large pages begin, so that they are used from the first byte on. */
static void large_blocks_begin_with_large_pages(void** state) {
  (void)state;
  enum { PAGE = 2 << 20, SIZE = PAGE + 12345 };
  unsigned char* blocks[4];
  for (int i = 0; i < 4; i++) {
    blocks[i] = hone_realloc(NULL, NULL, 0, SIZE);
    assert_non_null(blocks[i]);
    assert_int_equal((uintptr_t)blocks[i] % PAGE, 0);
    memset(blocks[i], i, SIZE);
  }
  for (int i = 0; i < 4; i++) {
    assert_int_equal(blocks[i][0], i);
    assert_int_equal(blocks[i][SIZE - 1], i);
    hone_free(NULL, blocks[i], SIZE);
  }
}

/* Small and large blocks come from different places; all sizes around the border stay apart. */
static void blocks_of_all_sizes_grow_and_shrink(void** state) {
  (void)state;
  enum { BLOCKS = 40 };
  unsigned char* blocks[BLOCKS] = {NULL};
  size_t sizes[BLOCKS] = {0};
  for (size_t round = 0; round < 400; round++) {
    size_t i = round * 17 % BLOCKS, size = 1 + round * 7919 % 2000, old = sizes[i];
    blocks[i] = hone_realloc(NULL, blocks[i], old, size);
    assert_non_null(blocks[i]);
    assert_int_equal((uintptr_t)blocks[i] % 64, 0);
    for (size_t k = 0; k < old && k < size; k++) assert_int_equal(blocks[i][k], i);
    memset(blocks[i], (int)i, size);
    sizes[i] = size;
  }
  for (int i = 0; i < BLOCKS; i++) hone_free(NULL, blocks[i], sizes[i]);
}

static void resizing_keeps_the_content(void** state) {
  (void)state;
  char* block = hone_alloc(NULL, 4);
  for (int i = 0; i < 4; i++) block[i] = (char)('a' + i);
  block = hone_realloc(NULL, block, 4, 1000);
  assert_memory_equal(block, "abcd", 4);
  block = hone_realloc(NULL, block, 1000, 2);
  assert_memory_equal(block, "ab", 2);
  hone_free(NULL, block, 2);
}

static void absurd_sizes_are_refused(void** state) {
  (void)state;
  const hone_allocator_t* system = hone_allocator_system();
  assert_null(system->resize(system->self, NULL, 0, SIZE_MAX));
  assert_null(system->resize(system->self, NULL, 0, SIZE_MAX - 64));
}

static void a_limit_is_kept(void** state) {
  (void)state;
  hone_limit_allocator_t* limit;
  assert_ok(hone_limit_allocator_create(NULL, 1000, &limit));
  const hone_allocator_t* allocator = hone_limit_allocator_get(limit);
  void* a = hone_alloc(allocator, 600);
  assert_non_null(a);
  assert_null(hone_alloc(allocator, 401));
  void* b = hone_alloc(allocator, 400);
  assert_non_null(b);
  assert_int_equal(hone_limit_allocator_in_use(limit), 1000);
  hone_free(allocator, a, 600);
  assert_int_equal(hone_limit_allocator_in_use(limit), 400);
  assert_int_equal(hone_limit_allocator_peak(limit), 1000);
  assert_null(hone_realloc(allocator, b, 400, 601)); /* old and new exist together */
  assert_int_equal(hone_limit_allocator_in_use(limit), 400);
  b = hone_realloc(allocator, b, 400, 600);
  assert_non_null(b);
  assert_int_equal(hone_limit_allocator_in_use(limit), 600);
  hone_free(allocator, b, 600);
  assert_int_equal(hone_limit_allocator_in_use(limit), 0);
  assert_null(hone_alloc(allocator, SIZE_MAX));
  hone_limit_allocator_destroy(limit);
  hone_limit_allocator_destroy(NULL);
}

static void* allocate_often(void* argument) {
  const hone_allocator_t* allocator = argument;
  for (size_t i = 0; i < 1000; i++) hone_free(allocator, hone_alloc(allocator, i), i);
  return NULL;
}

static void counting_is_atomic(void** state) {
  (void)state;
  pthread_t threads[3];
  hone_limit_allocator_t* limit;
  assert_ok(hone_limit_allocator_create(NULL, 0, &limit));
  void* allocator = (void*)(uintptr_t)hone_limit_allocator_get(limit);
  for (int i = 0; i < 3; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, allocate_often, allocator), 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  assert_int_equal(hone_limit_allocator_in_use(limit), 0);
  assert_in_range(hone_limit_allocator_peak(limit), 999, 3 * 999);
  hone_limit_allocator_destroy(limit);
}

/* What it gave keeps it alive: leaks and use after free are for the sanitizer to see. */
static void a_limit_goes_with_its_last_block(void** state) {
  (void)state;
  hone_limit_allocator_t *base, *limit;
  assert_ok(hone_limit_allocator_create(NULL, 0, &base));
  assert_ok(hone_limit_allocator_create(hone_limit_allocator_get(base), 1000, &limit));
  size_t alone = hone_limit_allocator_in_use(base);
  const hone_allocator_t* allocator = hone_limit_allocator_get(limit);
  char* first = hone_alloc(allocator, 10);
  char* second = hone_alloc(allocator, 20);
  hone_limit_allocator_destroy(limit);
  hone_free(allocator, first, 10);
  second = hone_realloc(allocator, second, 20, 900);
  assert_non_null(second);
  assert_null(hone_alloc(allocator, 200));
  assert_int_equal(hone_limit_allocator_in_use(base), alone + 900);
  hone_free(allocator, second, 900);
  assert_int_equal(hone_limit_allocator_in_use(base), 0);
  hone_limit_allocator_destroy(base);
}

static hone_status_t use_a_limit(const hone_allocator_t* allocator, void* context) {
  (void)context;
  hone_limit_allocator_t* limit;
  HONE_TRY(hone_limit_allocator_create(allocator, 100, &limit));
  const hone_allocator_t* limited = hone_limit_allocator_get(limit);
  void* block = hone_alloc(limited, 50);
  void* grown = block ? hone_realloc(limited, block, 50, 20) : NULL;
  hone_free(limited, grown ? grown : block, grown ? 20 : 50);
  bool balanced = hone_limit_allocator_in_use(limit) == 0;
  hone_limit_allocator_destroy(limit);
  if (!balanced) return hone_status_make(HONE_INTERNAL, "the count is off");
  return grown ? NULL : hone_oom();
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  assert_int_equal(assert_survives_faults(use_a_limit, NULL), 3);
}

static void sizes_do_not_overflow(void** state) {
  (void)state;
  size_t size = 7;
  int64_t number = 7;
  assert_false(hone_size_add(SIZE_MAX, 1, &size));
  assert_false(hone_size_mul(SIZE_MAX / 2 + 1, 2, &size));
  assert_true(hone_size_add(SIZE_MAX - 1, 1, &size) && size == SIZE_MAX);
  assert_true(hone_size_mul(SIZE_MAX / 2, 2, &size) && size == SIZE_MAX - 1);
  assert_false(hone_i64_add(INT64_MAX, 1, &number));
  assert_false(hone_i64_sub(INT64_MIN, 1, &number));
  assert_false(hone_i64_mul(INT64_MIN, -1, &number));
  assert_true(hone_i64_add(-3, 1, &number) && number == -2);
  assert_true(hone_i64_sub(-3, 1, &number) && number == -4);
  assert_true(hone_i64_mul(INT64_MIN, 1, &number) && number == INT64_MIN);
  assert_int_equal(hone_u64_gcd(12, 18), 6);
  assert_int_equal(hone_u64_gcd(7, 0), 7);
}

static void shapes_are_counted(void** state) {
  (void)state;
  int64_t count = 7;
  assert_true(hone_dims_count(0, NULL, &count) && count == 1);
  assert_true(hone_dims_count(3, (int64_t[]){2, 3, 4}, &count) && count == 24);
  assert_true(hone_dims_count(2, (int64_t[]){INT64_MAX, 0}, &count) && count == 0);
  assert_false(hone_dims_count(2, (int64_t[]){INT64_MAX, 2}, &count));
  assert_false(hone_dims_count(2, (int64_t[]){0, -1}, &count));
}

static void options_of_older_callers_are_filled_up(void** state) {
  (void)state;
  struct {
    size_t struct_size;
    int a, b;
  } given = {sizeof(size_t) + sizeof(int), 5, 6}, taken;
  hone_options_take(&given, sizeof taken, &taken);
  assert_true(taken.a == 5 && taken.b == 0);
  given.struct_size = 0;
  hone_options_take(&given, sizeof taken, &taken);
  assert_true(taken.a == 5 && taken.b == 6);
  given.struct_size = 1000;
  hone_options_take(&given, sizeof taken, &taken);
  assert_true(taken.a == 5 && taken.b == 6);
  hone_options_take(NULL, sizeof taken, &taken);
  assert_true(taken.struct_size == 0 && taken.a == 0 && taken.b == 0);
}

/* Blocks of a megabyte then come from what the C library keeps, not from the system each time. */
static void large_blocks_are_expected(void** state) {
  enum { LARGE = 1 << 20 };
  (void)state;
  hone_expect_large_blocks();
  size_t mapped = mallinfo2().hblks;
  void* block = hone_alloc(NULL, LARGE);
  assert_non_null(block);
  assert_int_equal(mallinfo2().hblks, mapped);
  hone_free(NULL, block, LARGE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_zeroed_and_aligned),
      cmocka_unit_test(large_blocks_begin_with_large_pages),
      cmocka_unit_test(blocks_of_all_sizes_grow_and_shrink),
      cmocka_unit_test(resizing_keeps_the_content),
      cmocka_unit_test(absurd_sizes_are_refused),
      cmocka_unit_test(a_limit_is_kept),
      cmocka_unit_test(a_limit_goes_with_its_last_block),
      cmocka_unit_test(counting_is_atomic),
      cmocka_unit_test(survives_running_out_of_memory),
      cmocka_unit_test(sizes_do_not_overflow),
      cmocka_unit_test(shapes_are_counted),
      cmocka_unit_test(options_of_older_callers_are_filled_up),
      cmocka_unit_test(large_blocks_are_expected),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
