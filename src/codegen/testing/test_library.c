#include "codegen/testing/test_library.h"

#include "base/memory.h"
#include "codegen/prelude.h"
#include "codegen/toolchain.h"

hone_library_t* test_library_build(const hone_target_t* target, int lanes, const char* text) {
  hone_arena_t* arena;
  hone_compiler_t compiler;
  hone_unit_t unit = {.name = "test", .text = text};
  hone_library_t* library;
  char* bytes;
  size_t size;
  assert_ok(hone_arena_create(NULL, &arena));
  assert_ok(hone_compiler_find(arena, target, &compiler));
  assert_ok(hone_prelude_make(arena, "cpu.inc", lanes, &unit.prelude));
  const hone_build_options_t options = {.target = target, .compiler = &compiler};
  assert_ok(hone_toolchain_build(NULL, &options, 1, &unit, &bytes, &size, NULL));
  assert_ok(hone_library_open(NULL, bytes, size, &library));
  hone_free(NULL, bytes, size);
  hone_arena_destroy(arena);
  return library;
}
