#include "codegen/target.h"

#include <string.h>

#include "base/testing/folder.h"
#include "codegen/target_host.h"

static void names_and_what_they_mean(void** state) {
  (void)state;
  static const struct {
    const char *name, *is;
    int vector_bytes;
    bool fma, vnni;
    const char* flag;
  } cases[] = {
      {"x86-64", "x86-64", 16, false, false, "-march=x86-64"},
      {"avx2", "x86-64-v3", 32, true, false, "-march=x86-64-v3"},
      {"x86-64-v3", "x86-64-v3", 32, true, false, "-march=x86-64-v3"},
      {"x86-64-v3+vnni", "x86-64-v3+vnni", 32, true, true, "-mavxvnni"},
      {"avx512+vnni+bf16", "x86-64-v4+vnni+bf16", 64, true, true, "-mavx512bf16"},
      {"avx512+vnni+vbmi", "x86-64-v4+vnni+vbmi", 64, true, true, "-mavx512vbmi"},
      {"avx512+vnni+bf16+amx", "x86-64-v4+vnni+bf16+amx", 64, true, true, "-DHONE_AMX"},
      {"aarch64-dotprod+i8mm", "aarch64-dotprod+i8mm", 16, true, true,
       "-march=armv8.2-a+dotprod+i8mm"},
      {"aarch64-dotprod+i8mm+bf16", "aarch64-dotprod+i8mm+bf16", 16, true, true,
       "-march=armv8.2-a+dotprod+bf16+i8mm"},
      {"aarch64-dotprod+bf16+i8mm", "aarch64-dotprod+bf16+i8mm", 16, true, true,
       "-march=armv8.2-a+dotprod+bf16+i8mm"},
      {"neon", "aarch64", 16, true, false, "-march=armv8-a"},
      {"aarch64-dotprod", "aarch64-dotprod", 16, true, true, "-march=armv8.2-a+dotprod"},
  };
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    hone_target_t target;
    assert_ok(hone_target_parse(cases[i].name, &target));
    assert_string_equal(target.name, cases[i].is);
    assert_int_equal(target.vector_bytes, cases[i].vector_bytes);
    assert_int_equal(target.has_fma, cases[i].fma);
    assert_int_equal(target.has_vnni, cases[i].vnni);
    assert_string_equal(target.flags[target.n_flags - 1], cases[i].flag);
    assert_true(target.l1_bytes > 0 && target.l2_bytes > 0 && target.line_bytes > 0);
  }
}

static void names_that_are_none(void** state) {
  (void)state;
  static const char* const names[] = {"",
                                      "x86",
                                      "avx2+",
                                      "avx2+bf16",
                                      "avx2+vnni+vnni",
                                      "native+vnni",
                                      "neon+i8mm",
                                      "avx512+amx",
                                      "avx512+vnni+amx",
                                      "avx512+i8mm",
                                      "aarch64-dotprod+amx",
                                      "neon+bf16",
                                      "x86-64+vnni",
                                      "avx2+vbmi",
                                      "avx512+vb",
                                      "avx512+vbmi2"};
  for (size_t i = 0; i < TEST_COUNT(names); i++) {
    hone_target_t target;
    assert_code(hone_target_parse(names[i], &target), HONE_INVALID_ARGUMENT);
  }
}

static void all_listed_names_parse(void** state) {
  (void)state;
  int count = 0;
  for (const char* name; (name = hone_target_name_at(count)); count++) {
    hone_target_t target, again;
    hone_str_t text;
    assert_ok(hone_target_parse(name, &target));
    assert_ok(hone_target_parse(target.name, &again));
    assert_string_equal(target.name, again.name);
    hone_str_init(&text, hone_allocator_system());
    hone_target_describe(&target, &text);
    assert_ptr_equal(strstr(hone_str_text(&text), target.name), hone_str_text(&text));
    hone_str_free(&text);
  }
  assert_true(count >= 4);
}

static void native_and_generic_run_here(void** state) {
  (void)state;
  hone_target_t target;
  assert_ok(hone_target_parse(NULL, &target));
  assert_true(target.runs_here);
  assert_null(target.cross_compiler);
  hone_host_cpu_t host = hone_host_cpu();
  assert_int_equal(target.has_bf16, host.bf16 && (!host.slow_bf16 || host.amx));
  assert_ok(hone_target_parse("generic", &target));
  assert_true(target.runs_here);
}

static void caches_are_read(void** state) {
  (void)state;
  test_folder_t folder;
  test_folder_make(&folder);
#define CACHE(n, file) "sys/devices/system/cpu/cpu0/cache/index" n "/" file
  test_folder_write(&folder, CACHE("0", "level"), "1\n");
  test_folder_write(&folder, CACHE("0", "type"), "Data\n");
  test_folder_write(&folder, CACHE("0", "size"), "48K\n");
  test_folder_write(&folder, CACHE("0", "coherency_line_size"), "128\n");
  test_folder_write(&folder, CACHE("1", "level"), "1\n");
  test_folder_write(&folder, CACHE("1", "type"), "Instruction\n");
  test_folder_write(&folder, CACHE("1", "size"), "32K\n");
  test_folder_write(&folder, CACHE("2", "level"), "2\n");
  test_folder_write(&folder, CACHE("2", "type"), "Unified\n");
  test_folder_write(&folder, CACHE("2", "size"), "2M\n");
  hone_host_caches_t caches = hone_host_caches(folder.path);
  assert_int_equal(caches.level[0], 48 << 10);
  assert_int_equal(caches.level[1], 2 << 20);
  assert_int_equal(caches.level[2], 0);
  assert_int_equal(caches.line, 128);
  test_folder_write(&folder, CACHE("2", "size"), "99999999999999999999G\n");
  assert_int_equal(hone_host_caches(folder.path).level[1], 0);
  test_folder_remove(&folder);
  assert_int_equal(hone_host_caches("/no/such/root").level[0], 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_and_what_they_mean), cmocka_unit_test(names_that_are_none),
      cmocka_unit_test(all_listed_names_parse),   cmocka_unit_test(native_and_generic_run_here),
      cmocka_unit_test(caches_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
