#include "codegen/declarations.h"

#include <string.h>

#include "base/testing/fault.h"

static const char text[] =
    "#define LANES 8\n"
    "#define GONE 1\n"
    "#undef GONE\n"
    "typedef float real;\n"
    "typedef real wide __attribute__((vector_size(32)));\n"
    "union bits { int i; real f; };\n"
    "double sin(double), cos(double);\n"
    "static const real table[2] = {1, 2}, half = 0x1p-1f;\n"
    "static inline __attribute__((always_inline, unused)) real twice(real x) { return x + x; }\n"
    "static real sum(wide x) {\n"
    "#pragma GCC unroll 16\n"
    "  for (int i = 0; i < 8; i++) { x[0] += twice(x[i]); }\n"
    "  return x[0] * half;\n"
    "}\n"
    "static const char* text(void) { return \"sum(\" \"\\\"}\"; }\n"
    "static real wave(real x) { return (real)sin(x); }\n";

static char* needed(const char* user) {
  static char copy[4096];
  hone_arena_t* arena;
  hone_declarations_t declarations;
  hone_str_t out;
  assert_ok(hone_arena_create(NULL, &arena));
  hone_str_init(&out, hone_allocator_system());
  assert_ok(hone_declarations_read(arena, text, &declarations));
  assert_ok(hone_declarations_append(&declarations, user, &out));
  assert_true(out.size < sizeof copy);
  memcpy(copy, hone_str_text(&out), out.size + 1);
  hone_str_free(&out);
  hone_arena_destroy(arena);
  return copy;
}

static void what_is_not_named_is_left_out(void** state) {
  (void)state;
  assert_string_equal(needed("int x;"), "");
  assert_string_equal(needed("LANES"), "#define LANES 8\n");
  assert_string_equal(needed("GONE"), "");
  assert_string_equal(needed("cos(1)"), "double sin(double), cos(double);\n");
  assert_string_equal(needed("table"),
                      "typedef float real;\n"
                      "static const real table[2] = {1, 2}, half = 0x1p-1f;\n");
}

static void what_is_named_brings_what_it_names(void** state) {
  (void)state;
  const char* sum = needed("sum(x)");
  assert_ptr_equal(strstr(sum, "typedef float real;\ntypedef real wide"), sum);
  assert_non_null(strstr(sum, "twice(real x)"));
  assert_non_null(strstr(sum, "half = "));
  assert_non_null(strstr(sum, "#pragma GCC unroll"));
  assert_null(strstr(sum, "wave"));
  assert_null(strstr(sum, "text(void)"));
  assert_non_null(strstr(needed("wave(1)"), "sin(double)"));
}

static void texts_in_quotes_name_nothing(void** state) {
  (void)state;
  const char* alone = needed("text()");
  assert_non_null(strstr(alone, "\"\\\"}\"; }"));
  assert_null(strstr(alone, "unroll"));
}

static hone_status_t read_and_append(const hone_allocator_t* allocator, void* context) {
  (void)context;
  hone_arena_t* arena;
  hone_declarations_t declarations;
  hone_str_t out;
  HONE_TRY(hone_arena_create(allocator, &arena));
  hone_str_init(&out, allocator);
  hone_status_t status = hone_declarations_read(arena, text, &declarations);
  if (!status) status = hone_declarations_append(&declarations, "sum text wave", &out);
  hone_str_free(&out);
  hone_arena_destroy(arena);
  return status;
}

static void failing_allocations(void** state) {
  (void)state;
  assert_survives_faults(read_and_append, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_not_named_is_left_out),
      cmocka_unit_test(what_is_named_brings_what_it_names),
      cmocka_unit_test(texts_in_quotes_name_nothing),
      cmocka_unit_test(failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
