#include "codegen/prelude.h"

#include <string.h>

#include "codegen/testing/prelude_cases.h"

/* One of each kind; prelude_slow_test.c has them all. */
static const hone_dtype_t some[] = {HONE_F32, HONE_F64, HONE_BF16, HONE_I32, HONE_BOOL};

static void native_kernels_compute_what_the_scalars_do(void** state) {
  (void)state;
  test_prelude_cases("native", 0, TEST_COUNT(some), some);
}

static void texts_are_flat(void** state) {
  (void)state;
  hone_arena_t* arena;
  const char* text;
  assert_ok(hone_arena_create(NULL, &arena));
  assert_ok(hone_prelude_make(arena, "cpu.inc", 16, &text));
  assert_ptr_equal(strstr(text, "#define HONE_LANES 16\n"), text);
  assert_null(strstr(text, "#include"));
  assert_null(strstr(text, "/*"));
  assert_code(hone_prelude_make(arena, "no such text", 0, &text), HONE_NOT_FOUND);
  hone_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(native_kernels_compute_what_the_scalars_do),
      cmocka_unit_test(texts_are_flat),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
