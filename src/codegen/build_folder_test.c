/* Folders of builds: private, removed, and what killed processes leave is removed too. */
#include "codegen/build_folder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing/folder.h"

enum { PROCESSES = 8, ROUNDS = 50 };

static test_folder_t base;

static int set_up(void** state) {
  (void)state;
  test_folder_make(&base);
  return setenv("TMPDIR", base.path, 1);
}

static int tear_down(void** state) {
  (void)state;
  test_folder_remove(&base);
  return unsetenv("TMPDIR");
}

static void put_file(const hone_build_folder_t* folder) {
  char path[PATH_MAX + 8];
  snprintf(path, sizeof path, "%s/0.c", folder->path);
  FILE* file = fopen(path, "w");
  assert_non_null(file);
  fclose(file);
}

static void a_folder_goes_with_its_files(void** state) {
  (void)state;
  hone_build_folder_t a = {0}, b = {0};
  assert_ok(hone_build_folder_make(&a));
  assert_ok(hone_build_folder_make(&b));
  assert_string_not_equal(a.path, b.path);
  put_file(&a);
  put_file(&b);
  assert_int_equal(test_folder_entries(&base), 2);
  hone_build_folder_remove(&a);
  hone_build_folder_remove(&a);
  hone_build_folder_remove(&b);
  assert_int_equal(test_folder_entries(&base), 0);
}

/* A process that makes a folder, tells that it is there, and waits to be killed. */
static pid_t start_holder(void) {
  int ends[2];
  char byte;
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    hone_build_folder_t folder = {0};
    if (hone_build_folder_make(&folder)) _exit(1);
    put_file(&folder);
    if (write(ends[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(ends[1]);
  assert_int_equal(read(ends[0], &byte, 1), 1);
  close(ends[0]);
  return child;
}

static void what_a_killed_process_left_is_removed_by_the_next(void** state) {
  (void)state;
  pid_t killed = start_holder(), alive = start_holder();
  assert_int_equal(test_folder_entries(&base), 2);
  kill(killed, SIGKILL);
  waitpid(killed, NULL, 0);
  hone_build_folder_t folder = {0};
  assert_ok(hone_build_folder_make(&folder));
  assert_int_equal(test_folder_entries(&base), 2); /* this one, and that of the living */
  hone_build_folder_remove(&folder);
  kill(alive, SIGKILL);
  waitpid(alive, NULL, 0);
  assert_ok(hone_build_folder_make(&folder));
  hone_build_folder_remove(&folder);
  assert_int_equal(test_folder_entries(&base), 0);
}

/* Makes and removes; nobody else may touch what is in the folder meanwhile. */
static void work(void) {
  for (int i = 0; i < ROUNDS; i++) {
    hone_build_folder_t folder = {0};
    struct stat info;
    char path[PATH_MAX + 8];
    if (hone_build_folder_make(&folder)) _exit(1);
    put_file(&folder);
    snprintf(path, sizeof path, "%s/0.c", folder.path);
    usleep(200);
    if (stat(path, &info)) _exit(2);
    hone_build_folder_remove(&folder);
  }
  _exit(0);
}

static void nobody_removes_what_is_in_use(void** state) {
  (void)state;
  pid_t children[PROCESSES];
  for (int i = 0; i < PROCESSES; i++) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i] == 0) work();
  }
  for (int i = 0; i < PROCESSES; i++) {
    int result = -1;
    waitpid(children[i], &result, 0);
    assert_int_equal(result, 0);
  }
  assert_int_equal(test_folder_entries(&base), 0);
}

/* What only looks like one, and what is no folder, stays. */
static void other_files_stay(void** state) {
  (void)state;
  test_folder_write(&base, "hone-build-file", "");
  assert_int_equal(symlink("/", test_folder_file(&base, "hone-build-link")), 0);
  hone_build_folder_t folder = {0};
  assert_ok(hone_build_folder_make(&folder));
  hone_build_folder_remove(&folder);
  assert_int_equal(test_folder_entries(&base), 2);
}

static void a_place_that_is_not_there_is_named(void** state) {
  (void)state;
  setenv("TMPDIR", "/no/such/folder", 1);
  hone_build_folder_t folder = {0};
  hone_status_t status = hone_build_folder_make(&folder);
  assert_non_null(status);
  assert_non_null(strstr(hone_status_message(status), "/no/such/folder"));
  hone_status_free(status);
  hone_build_folder_remove(&folder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_folder_goes_with_its_files),
      TEST(what_a_killed_process_left_is_removed_by_the_next),
      TEST(nobody_removes_what_is_in_use),
      TEST(other_files_stay),
      TEST(a_place_that_is_not_there_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
