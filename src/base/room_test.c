#include "base/room.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/testing/test.h"

enum { BLOCKS = 40, SIZE = 300 * 1000 };

static void* take(const hone_allocator_t* allocator, size_t size, int fill) {
  void* block = allocator->resize(allocator->self, NULL, 0, size);
  assert_non_null(block);
  assert_int_equal((uintptr_t)block % 64, 0);
  memset(block, fill, size);
  return block;
}

static void assert_filled(const unsigned char* block, size_t size, int fill) {
  for (size_t i = 0; i < size; i++)
    if (block[i] != fill) fail_msg("byte %zu is %d, not %d", i, block[i], fill);
}

static void blocks_lie_apart_and_all_is_given_back(void** state) {
  (void)state;
  hone_limit_allocator_t* limit;
  hone_room_t* room;
  void* blocks[BLOCKS];
  assert_ok(hone_limit_allocator_create(NULL, 0, &limit));
  assert_ok(hone_room_create(hone_limit_allocator_get(limit), &room));
  const hone_allocator_t* allocator = hone_room_allocator(room);
  for (int i = 0; i < BLOCKS; i++) blocks[i] = take(allocator, SIZE + (size_t)i, i);
  for (int i = 0; i < BLOCKS; i++) assert_filled(blocks[i], SIZE + (size_t)i, i);
  for (int i = 0; i < BLOCKS; i += 2) hone_free(allocator, blocks[i], SIZE + (size_t)i);
  hone_room_destroy(room); /* blocks that are out stay good */
  for (int i = 1; i < BLOCKS; i += 2) {
    assert_filled(blocks[i], SIZE + (size_t)i, i);
    hone_free(allocator, blocks[i], SIZE + (size_t)i);
  }
  assert_int_equal(hone_limit_allocator_in_use(limit), 0);
  hone_limit_allocator_destroy(limit);
}

/* From some megabytes on blocks lie side by side; what is little altogether takes what it needs. */
static void many_share_slabs_and_few_take_no_more_than_they_need(void** state) {
  (void)state;
  hone_limit_allocator_t* limit;
  hone_room_t* room;
  char* blocks[BLOCKS];
  int n_beside = 0;
  assert_ok(hone_limit_allocator_create(NULL, 0, &limit));
  assert_ok(hone_room_create(hone_limit_allocator_get(limit), &room));
  const hone_allocator_t* allocator = hone_room_allocator(room);
  size_t before = hone_limit_allocator_in_use(limit);
  blocks[0] = take(allocator, SIZE, 0);
  assert_int_equal(hone_limit_allocator_in_use(limit), before + SIZE);
  for (int i = 1; i < BLOCKS; i++) {
    blocks[i] = take(allocator, SIZE, 0);
    n_beside += blocks[i] == blocks[i - 1] + (SIZE + 63) / 64 * 64;
  }
  assert_true(n_beside > BLOCKS / 2);
  assert_true(hone_limit_allocator_in_use(limit) < before + (size_t)BLOCKS * SIZE * 3 / 2);
  for (int i = 0; i < BLOCKS; i++) hone_free(allocator, blocks[i], SIZE);
  hone_room_destroy(room);
  hone_limit_allocator_destroy(limit);
}

/* A large block takes whole pages, and small ones what it leaves of the last. */
static void what_large_blocks_leave_is_used(void** state) {
  enum { PAGE = 2 << 20, LARGE = 9 * PAGE / 2 };
  (void)state;
  hone_limit_allocator_t* limit;
  hone_room_t* room;
  assert_ok(hone_limit_allocator_create(NULL, 0, &limit));
  assert_ok(hone_room_create(hone_limit_allocator_get(limit), &room));
  const hone_allocator_t* allocator = hone_room_allocator(room);
  size_t before = hone_limit_allocator_in_use(limit);
  char* large = take(allocator, LARGE, 1);
  size_t after = hone_limit_allocator_in_use(limit);
  assert_true(after >= before + 5 * PAGE && after < before + 5 * PAGE + 256);
  char* small = take(allocator, SIZE, 2);
  assert_ptr_equal(small, large + LARGE);
  assert_int_equal(hone_limit_allocator_in_use(limit), after);
  assert_filled((unsigned char*)large, LARGE, 1);
  hone_free(allocator, large, LARGE);
  hone_free(allocator, small, SIZE);
  hone_room_destroy(room);
  assert_int_equal(hone_limit_allocator_in_use(limit), 0);
  hone_limit_allocator_destroy(limit);
}

static void a_block_grows_with_what_it_has(void** state) {
  (void)state;
  hone_room_t* room;
  assert_ok(hone_room_create(NULL, &room));
  const hone_allocator_t* allocator = hone_room_allocator(room);
  char* block = take(allocator, 5 << 20, 7);
  block = hone_realloc(allocator, block, 5 << 20, 6 << 20);
  assert_non_null(block);
  assert_filled((unsigned char*)block, 5 << 20, 7);
  hone_free(allocator, block, 6 << 20);
  hone_room_destroy(room);
}

/* Where memory is short for slabs, blocks are what they would be without a room. */
static void short_memory_has_blocks_but_no_slabs(void** state) {
  (void)state;
  hone_limit_allocator_t* limit;
  hone_room_t* room;
  void* blocks[9];
  assert_ok(hone_limit_allocator_create(NULL, 3 << 20, &limit));
  assert_ok(hone_room_create(hone_limit_allocator_get(limit), &room));
  const hone_allocator_t* allocator = hone_room_allocator(room);
  for (int i = 0; i < 9; i++) blocks[i] = take(allocator, SIZE, i);
  assert_null(allocator->resize(allocator->self, NULL, 0, SIZE * 4));
  assert_null(allocator->resize(allocator->self, NULL, 0, SIZE_MAX));
  for (int i = 0; i < 9; i++) hone_free(allocator, blocks[i], SIZE);
  hone_room_destroy(room);
  assert_int_equal(hone_limit_allocator_in_use(limit), 0);
  hone_limit_allocator_destroy(limit);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_lie_apart_and_all_is_given_back),
      cmocka_unit_test(many_share_slabs_and_few_take_no_more_than_they_need),
      cmocka_unit_test(what_large_blocks_leave_is_used),
      cmocka_unit_test(a_block_grows_with_what_it_has),
      cmocka_unit_test(short_memory_has_blocks_but_no_slabs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
