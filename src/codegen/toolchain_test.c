/* Real compilers, and scripts that play broken ones. */
#include "codegen/toolchain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/testing/folder.h"
#include "codegen/prelude.h"

static hone_arena_t* arena;
static hone_target_t target;
static hone_compiler_t compiler;

static int set_up(void** state) {
  (void)state;
  assert_ok(hone_arena_create(NULL, &arena));
  assert_ok(hone_target_parse(NULL, &target));
  assert_ok(hone_compiler_find(arena, &target, &compiler));
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  hone_arena_destroy(arena);
  return 0;
}

static void kernels_compile_and_run(void** state) {
  (void)state;
  const char* prelude;
  char *bytes, text[512];
  size_t size;
  assert_ok(hone_prelude_make(arena, "cpu.inc", target.vector_bytes / 4, &prelude));
  snprintf(text, sizeof text,
           "%s void triple(const float* in, float* out) { hone_store_f32v(out, "
           "hone_mul_f32v(hone_load_f32v(in), hone_splat_f32v(3))); }",
           HONE_KERNEL_EXPORT);
  hone_unit_t units[] = {
      {"triple", prelude, text},
      {"answer", NULL, HONE_KERNEL_EXPORT " int answer(void) { return 42; }"},
  };
  hone_build_options_t options = {.target = &target, .compiler = &compiler};
  hone_build_report_t report;
  assert_ok(
      hone_toolchain_build(hone_allocator_system(), &options, 2, units, &bytes, &size, &report));
  assert_int_equal(report.compiled, 2);
  hone_library_t* library;
  assert_ok(hone_library_open(NULL, bytes, size, &library));
  hone_free(NULL, bytes, size);
  void *triple, *answer, *absent;
  assert_ok(hone_library_symbol(library, "triple", &triple));
  assert_ok(hone_library_symbol(library, "answer", &answer));
  assert_code(hone_library_symbol(library, "absent", &absent), HONE_NOT_FOUND);
  float in[16], out[16];
  for (int i = 0; i < 16; i++) in[i] = (float)i;
  ((void (*)(const float*, float*))triple)(in, out);
  for (int i = 0; i < target.vector_bytes / 4; i++) assert_true(out[i] == 3 * in[i]);
  assert_int_equal(((int (*)(void))answer)(), 42);
  hone_library_close(library);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_compile_and_run),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
