#include "base/arena.h"

#include <string.h>

#include "base/memory.h"
#include "base/testing/fault.h"

static hone_arena_t* arena;

static int set_up(void** state) {
  (void)state;
  assert_ok(hone_arena_create(NULL, &arena));
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  hone_arena_destroy(arena);
  return 0;
}

static void pieces_are_zeroed_aligned_and_apart(void** state) {
  (void)state;
  enum { PIECES = 500 };
  unsigned char* pieces[PIECES];
  for (size_t i = 0; i < PIECES; i++) {
    pieces[i] = hone_arena_alloc(arena, i);
    assert_non_null(pieces[i]);
    assert_int_equal((uintptr_t)pieces[i] % 16, 0);
    for (size_t j = 0; j < i; j++) assert_int_equal(pieces[i][j], 0);
    memset(pieces[i], (int)(i % 255 + 1), i);
  }
  for (size_t i = 0; i < PIECES; i++)
    for (size_t j = 0; j < i; j++) assert_int_equal(pieces[i][j], i % 255 + 1);
}

static void a_large_piece_fits(void** state) {
  (void)state;
  enum { LARGE = 5 << 20 };
  size_t before = hone_arena_bytes(arena);
  unsigned char* piece = hone_arena_alloc(arena, LARGE);
  assert_non_null(piece);
  piece[LARGE - 1] = 1;
  assert_true(hone_arena_bytes(arena) >= before + LARGE);
}

static void absurd_sizes_are_refused(void** state) {
  (void)state;
  assert_null(hone_arena_alloc(arena, SIZE_MAX));
  assert_null(hone_arena_alloc(arena, SIZE_MAX - 20));
  assert_null(hone_arena_array(arena, SIZE_MAX / 2, 3));
  assert_null(hone_arena_strndup(arena, "a", SIZE_MAX));
  assert_non_null(hone_arena_array(arena, 0, SIZE_MAX));
}

static void copies_are_copies(void** state) {
  (void)state;
  char text[] = "some text";
  char* whole = hone_arena_strdup(arena, text);
  char* part = hone_arena_strndup(arena, text, 4);
  char* bytes = hone_arena_memdup(arena, "a\0b", 3);
  memset(text, 'x', sizeof text - 1);
  assert_string_equal(whole, "some text");
  assert_string_equal(part, "some");
  assert_memory_equal(bytes, "a\0b", 3);
  assert_string_equal(hone_arena_strndup(arena, NULL, 0), "");
  assert_non_null(hone_arena_memdup(arena, NULL, 0));
  assert_string_equal(hone_arena_format(arena, "%s-%d", "n", 5), "n-5");
}

static hone_status_t fill(const hone_allocator_t* allocator, void* context) {
  (void)context;
  hone_arena_t* own;
  hone_status_t status = NULL;
  HONE_TRY(hone_arena_create(allocator, &own));
  for (int i = 0; i < 100 && !status; i++)
    if (!hone_arena_format(own, "%1000d", i)) status = hone_oom();
  hone_arena_destroy(own);
  return status;
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  assert_true(assert_survives_faults(fill, NULL) >= 4);
  hone_arena_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
      cmocka_unit_test(a_large_piece_fits),
      cmocka_unit_test(absurd_sizes_are_refused),
      cmocka_unit_test(copies_are_copies),
      cmocka_unit_test(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
