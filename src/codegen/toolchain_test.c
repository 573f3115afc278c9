/* Real compilers, and scripts that play broken ones. */
#include "codegen/toolchain.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/testing/fault.h"
#include "base/testing/folder.h"
#include "codegen/prelude.h"

static hone_arena_t* arena;
static hone_target_t target;
static test_folder_t folder;

static int set_up(void** state) {
  (void)state;
  unsetenv("HONE_CC");
  test_folder_make(&folder);
  assert_ok(hone_arena_create(NULL, &arena));
  assert_ok(hone_target_parse(NULL, &target));
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  unsetenv("HONE_CC");
  hone_arena_destroy(arena);
  test_folder_remove(&folder);
  return 0;
}

#define ANSWER(name) HONE_KERNEL_EXPORT " int " name "(void) { return 42; }"

static const hone_unit_t two[] = {{"one", NULL, ANSWER("one")}, {"two", NULL, ANSWER("two")}};

/* Builds with the compiler that is in force. */
static hone_status_t build(const hone_allocator_t* allocator, hone_cache_t* cache, int count,
                           const hone_unit_t* units, int64_t limit_ms, char** out_bytes,
                           size_t* out_size, hone_build_report_t* out_report) {
  hone_compiler_t compiler;
  HONE_TRY(hone_compiler_find(arena, &target, &compiler));
  hone_build_options_t options = {
      .target = &target, .compiler = &compiler, .cache = cache, .time_limit_ms = limit_ms};
  return hone_toolchain_build(allocator, &options, count, units, out_bytes, out_size, out_report);
}

/* The same with a script as the compiler. `body` sees the file it should write as $out. */
static hone_status_t build_with_script(const char* body, int64_t limit_ms) {
  char text[2048];
  snprintf(text, sizeof text,
           "#!/bin/sh\n"
           "[ \"$1\" = --version ] && { echo fake compiler 1; exit; }\n"
           "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n%s\n",
           body);
  test_folder_write(&folder, "cc", text);
  const char* path = test_folder_file(&folder, "cc");
  assert_int_equal(chmod(path, 0755), 0);
  assert_int_equal(setenv("HONE_CC", path, 1), 0);
  char* bytes;
  size_t size;
  hone_status_t status =
      build(hone_allocator_system(), NULL, 2, two, limit_ms, &bytes, &size, NULL);
  if (!status) hone_free(NULL, bytes, size);
  return status;
}

static void assert_says(hone_status_t status, hone_code_t code, const char* words) {
  assert_int_equal(hone_status_code(status), code);
  if (!strstr(hone_status_message(status), words))
    fail_msg("'%s' does not say '%s'", hone_status_message(status), words);
  hone_status_free(status);
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
  hone_unit_t units[] = {{"triple", prelude, text}, {"answer", NULL, ANSWER("answer")}};
  hone_build_report_t report;
  assert_ok(build(hone_allocator_system(), NULL, 2, units, 0, &bytes, &size, &report));
  assert_int_equal(report.compiled, 2);
  assert_true(report.linked);
  hone_library_t* library;
  assert_ok(hone_library_open(NULL, bytes, size, &library));
  hone_free(NULL, bytes, size);
  void *symbol, *absent;
  void (*triple)(const float*, float*);
  int (*answer)(void);
  assert_ok(hone_library_symbol(library, "triple", &symbol));
  memcpy(&triple, &symbol, sizeof symbol);
  assert_ok(hone_library_symbol(library, "answer", &symbol));
  memcpy(&answer, &symbol, sizeof symbol);
  assert_code(hone_library_symbol(library, "absent", &absent), HONE_NOT_FOUND);
  float in[16], out[16];
  for (int i = 0; i < 16; i++) in[i] = (float)i;
  triple(in, out);
  for (int i = 0; i < target.vector_bytes / 4; i++) assert_true(out[i] == 3 * in[i]);
  assert_int_equal(answer(), 42);
  hone_library_close(library);
}

/* Builds through the cache; gives how many units were compiled. */
static int compiled_with(hone_cache_t* cache, const hone_unit_t* units, bool* out_linked) {
  char* bytes;
  size_t size;
  hone_build_report_t report;
  assert_ok(build(hone_allocator_system(), cache, 2, units, 0, &bytes, &size, &report));
  hone_library_t* library;
  assert_ok(hone_library_open(NULL, bytes, size, &library));
  hone_library_close(library);
  hone_free(NULL, bytes, size);
  *out_linked = report.linked;
  return report.compiled;
}

/* Gives the texts of two units. */
static hone_status_t assemble(const hone_unit_t* units, const char* texts[2]) {
  hone_compiler_t compiler;
  HONE_TRY(hone_compiler_find(arena, &target, &compiler));
  hone_build_options_t options = {.target = &target, .compiler = &compiler};
  return hone_toolchain_assembly(hone_allocator_system(), &options, 2, units, arena, texts);
}

static void units_have_assembly_of_their_own(void** state) {
  (void)state;
  const hone_unit_t wrong[] = {{"one", NULL, ANSWER("one")}, {"odd", NULL, "int f(void) {"}};
  const char* texts[2];
  assert_ok(assemble(two, texts));
  assert_non_null(strstr(texts[0], "one:"));
  assert_null(strstr(texts[0], "two:"));
  assert_non_null(strstr(texts[1], "two:"));
  assert_says(assemble(wrong, texts), HONE_INTERNAL, "kernel odd");
}

static void what_is_known_is_not_compiled_again(void** state) {
  (void)state;
  hone_cache_t* cache;
  bool linked;
  hone_unit_t other[] = {two[0], {"three", NULL, ANSWER("three")}};
  assert_ok(
      hone_cache_open(NULL, HONE_CACHE_KERNELS, test_folder_file(&folder, "cache"), 0, &cache));
  assert_int_equal(compiled_with(cache, two, &linked), 2);
  assert_true(linked);
  assert_int_equal(compiled_with(cache, two, &linked), 0);
  assert_false(linked);
  assert_int_equal(compiled_with(cache, other, &linked), 1);
  assert_true(linked);
  hone_cache_close(cache);
}

static void errors_of_the_source_are_quoted(void** state) {
  (void)state;
  char* bytes;
  size_t size;
  hone_unit_t unit = {"broken", NULL, "int f( {"};
  hone_status_t status = build(hone_allocator_system(), NULL, 1, &unit, 0, &bytes, &size, NULL);
  assert_non_null(strstr(hone_status_message(status), "broken"));
  assert_says(status, HONE_INTERNAL, "error");
  assert_null(bytes);
}

/* Whether the process whose number is in the file has ended. */
static bool has_ended(const char* pid_file) {
  char *text, path[64], state = 0;
  size_t size;
  assert_ok(hone_file_read(NULL, pid_file, 0, &text, &size));
  snprintf(path, sizeof path, "/proc/%d/stat", atoi(text));
  hone_free(NULL, text, size + 1);
  FILE* file = fopen(path, "r");
  bool ended = !file || fscanf(file, "%*d %*s %c", &state) != 1 || state == 'Z' || state == 'X';
  if (file) fclose(file);
  return ended;
}

static void a_compiler_that_hangs_is_stopped_with_all_it_started(void** state) {
  (void)state;
  char body[PATH_MAX + 64];
  snprintf(body, sizeof body, "sleep 1000 & echo $! > %s; wait", test_folder_file(&folder, "pid"));
  assert_says(build_with_script(body, 1500), HONE_UNAVAILABLE, "did not finish");
  for (int i = 0; i < 500 && !has_ended(test_folder_file(&folder, "pid")); i++) usleep(10000);
  assert_true(has_ended(test_folder_file(&folder, "pid")));
}

static void broken_compilers_are_named(void** state) {
  (void)state;
  assert_says(build_with_script("echo 'x.c:1: error: no such thing' >&2; exit 1", 0), HONE_INTERNAL,
              "no such thing");
  assert_says(build_with_script("echo garbage > $out", 0), HONE_UNAVAILABLE, "no ELF file");
  assert_says(build_with_script("exit 0", 0), HONE_NOT_FOUND, "made nothing");
  assert_says(build_with_script("kill -SEGV $$", 0), HONE_UNAVAILABLE, "signal");
}

static void a_compiler_that_floods_is_read(void** state) {
  (void)state;
  assert_says(build_with_script("yes 'x.c:1: error: again' | head -c 1000000; exit 1", 0),
              HONE_INTERNAL, "again");
}

static void no_compiler_says_what_to_install(void** state) {
  (void)state;
  hone_compiler_t compiler;
  char* path = strdup(getenv("PATH"));
  setenv("HONE_CC", "/no/such/cc", 1);
  assert_says(hone_compiler_find(arena, &target, &compiler), HONE_UNAVAILABLE, "HONE_CC");
  unsetenv("HONE_CC");
  unsetenv("CC");
  setenv("PATH", folder.path, 1);
  assert_says(hone_compiler_find(arena, &target, &compiler), HONE_UNAVAILABLE, "install gcc");
  setenv("PATH", path, 1);
  free(path);
}

static void a_variable_may_hold_arguments(void** state) {
  (void)state;
  hone_compiler_t plain, with;
  assert_ok(hone_compiler_find(arena, &target, &plain));
  setenv("HONE_CC", "cc  -g0", 1);
  assert_ok(hone_compiler_find(arena, &target, &with));
  assert_int_equal(with.n_words, 2);
  assert_string_equal(with.words[1], "-g0");
  assert_true(plain.digest != with.digest);
}

static void what_is_no_library_is_refused(void** state) {
  (void)state;
  hone_library_t* library;
  assert_code(hone_library_open(NULL, "text", 4, &library), HONE_INVALID_DATA);
  assert_null(library);
  hone_library_close(NULL);
}

static void libraries_of_one_text_are_apart(void** state) {
  (void)state;
  char* bytes;
  size_t size;
  hone_unit_t unit = {"count", NULL,
                      "static int n; " HONE_KERNEL_EXPORT " int count(void) { return ++n; }"};
  assert_ok(build(hone_allocator_system(), NULL, 1, &unit, 0, &bytes, &size, NULL));
  for (int i = 0; i < 2; i++) {
    hone_library_t* libraries[2];
    for (int k = 0; k < 2; k++) {
      void* symbol;
      int (*count)(void);
      assert_ok(hone_library_open(NULL, bytes, size, &libraries[k]));
      assert_ok(hone_library_symbol(libraries[k], "count", &symbol));
      memcpy(&count, &symbol, sizeof symbol);
      assert_int_equal(count(), 1);
      assert_int_equal(count(), 2);
    }
    for (int k = 0; k < 2; k++) hone_library_close(libraries[k]);
  }
  hone_free(NULL, bytes, size);
}

/* Memory that is not there is no lack of a compiler. */
static hone_status_t find_once(const hone_allocator_t* allocator, void* context) {
  (void)context;
  hone_arena_t* own;
  hone_compiler_t compiler;
  HONE_TRY(hone_arena_create(allocator, &own));
  hone_status_t status = hone_compiler_find(own, &target, &compiler);
  hone_arena_destroy(own);
  return status;
}

static void finding_a_compiler_survives_failing_allocations(void** state) {
  (void)state;
  setenv("HONE_CC", "cc -g0", 1);
  assert_survives_faults(find_once, NULL);
  unsetenv("HONE_CC");
  assert_survives_faults(find_once, NULL);
}

static hone_status_t build_once(const hone_allocator_t* allocator, void* context) {
  (void)context;
  char* bytes;
  size_t size;
  HONE_TRY(build(allocator, NULL, 2, two, 0, &bytes, &size, NULL));
  hone_free(allocator, bytes, size);
  return NULL;
}

static void failing_allocations(void** state) {
  (void)state;
  hone_status_free(build_with_script("cp /bin/true $out", 0));
  assert_survives_faults(build_once, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(kernels_compile_and_run),
      TEST(units_have_assembly_of_their_own),
      TEST(what_is_known_is_not_compiled_again),
      TEST(errors_of_the_source_are_quoted),
      TEST(a_compiler_that_hangs_is_stopped_with_all_it_started),
      TEST(broken_compilers_are_named),
      TEST(a_compiler_that_floods_is_read),
      TEST(no_compiler_says_what_to_install),
      TEST(a_variable_may_hold_arguments),
      TEST(what_is_no_library_is_refused),
      TEST(libraries_of_one_text_are_apart),
      TEST(finding_a_compiler_survives_failing_allocations),
      TEST(failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
