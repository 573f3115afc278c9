#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/testing/fault.h"
#include "base/testing/folder.h"

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

static void joining(void** state) {
  (void)state;
  static const char* const cases[][3] = {
      {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}, {"a", "/b", "/b"}};
  for (size_t i = 0; i < TEST_COUNT(cases); i++)
    assert_string_equal(hone_path_join(arena, cases[i][0], cases[i][1]), cases[i][2]);
}

static void taking_apart(void** state) {
  (void)state;
  static const char* const cases[][3] = {{"a/b/c", "a/b", "c"}, {"c", ".", "c"}, {"/c", "/", "c"},
                                         {"a//c", "a", "c"},    {"a/", "a", ""}, {"", ".", ""}};
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    assert_string_equal(hone_path_dirname(arena, cases[i][0]), cases[i][1]);
    assert_string_equal(hone_path_basename(cases[i][0]), cases[i][2]);
  }
}

/* outer/model is the folder; outer/secret lies beside it. */
static void make_folders(test_folder_t* outer) {
  test_folder_make(outer);
  test_folder_write(outer, "secret", "s");
  test_folder_write(outer, "model/w.bin", "w");
  test_folder_write(outer, "model/..data", "d");
  test_folder_write(outer, "model/deep/v.bin", "v");
  test_folder_write(outer, "model2/x.bin", "x");
  assert_int_equal(symlink("deep/v.bin", test_folder_file(outer, "model/inside")), 0);
  assert_int_equal(symlink("../secret", test_folder_file(outer, "model/outside")), 0);
  assert_int_equal(symlink("../model2", test_folder_file(outer, "model/sibling")), 0);
}

static void what_lies_inside_is_found(void** state) {
  (void)state;
  static const char* const names[] = {"w.bin", "./w.bin", "deep//v.bin", "..data", "inside"};
  test_folder_t outer;
  make_folders(&outer);
  for (size_t i = 0; i < TEST_COUNT(names); i++) {
    char* path = NULL;
    assert_ok(hone_path_confine(arena, test_folder_file(&outer, "model"), names[i], &path));
    assert_int_equal(access(path, R_OK), 0);
    assert_non_null(strstr(path, "/model/"));
  }
  test_folder_remove(&outer);
}

static void what_leads_outside_is_refused(void** state) {
  (void)state;
  static const char* const names[] = {
      "",        "/etc/passwd", "../secret",     "deep/../../secret",
      "..",      "deep/..",     "outside",       "sibling/x.bin",
      "a/../..", ".",           "deep/../w.bin", "../model/w.bin"};
  test_folder_t outer;
  make_folders(&outer);
  for (size_t i = 0; i < TEST_COUNT(names); i++) {
    char* path = (char*)1;
    assert_code(hone_path_confine(arena, test_folder_file(&outer, "model"), names[i], &path),
                HONE_INVALID_MODEL);
    assert_null(path);
  }
  test_folder_remove(&outer);
}

static void what_is_absent_is_named(void** state) {
  (void)state;
  test_folder_t outer;
  make_folders(&outer);
  char* path;
  hone_status_t status = hone_path_confine(arena, outer.path, "nothing.bin", &path);
  assert_int_equal(hone_status_code(status), HONE_NOT_FOUND);
  assert_non_null(strstr(hone_status_message(status), "nothing.bin"));
  hone_status_free(status);
  assert_code(hone_path_confine(arena, test_folder_file(&outer, "no"), "w", &path), HONE_NOT_FOUND);
  test_folder_remove(&outer);
}

static hone_status_t confine(const hone_allocator_t* allocator, void* context) {
  hone_arena_t* own;
  char* path;
  HONE_TRY(hone_arena_create(allocator, &own));
  hone_status_t status = hone_path_confine(own, context, "secret", &path);
  if (!status && !hone_path_dirname(own, path)) status = hone_oom();
  hone_arena_destroy(own);
  return status;
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  test_folder_t outer;
  make_folders(&outer);
  assert_true(assert_survives_faults(confine, outer.path) >= 2);
  test_folder_remove(&outer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(joining),
      cmocka_unit_test(taking_apart),
      cmocka_unit_test(what_lies_inside_is_found),
      cmocka_unit_test(what_leads_outside_is_refused),
      cmocka_unit_test(what_is_absent_is_named),
      cmocka_unit_test(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
