#include "codegen/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/testing/fault.h"
#include "base/testing/folder.h"

enum { PLENTY_MS = 100000 };

static hone_process_t run_shell(const char* script, int64_t limit_ms) {
  const char* const argv[] = {"/bin/sh", "-c", script, NULL};
  hone_process_t process = {.argv = argv};
  assert_ok(hone_process_run(hone_allocator_system(), 1, &process, 1, limit_ms));
  process.argv = NULL;
  return process;
}

static void ends_are_told_apart(void** state) {
  (void)state;
  char buffer[128];
  hone_process_t process = run_shell("echo out; echo err >&2", PLENTY_MS);
  assert_true(hone_process_ok(&process));
  assert_string_equal(process.output, "out\nerr\n");
  process = run_shell("exit 3", PLENTY_MS);
  assert_int_equal(process.exit_code, 3);
  assert_string_equal(hone_process_outcome(&process, buffer, sizeof buffer),
                      "ended with exit code 3");
  process = run_shell("kill -KILL $$", PLENTY_MS);
  assert_int_equal(process.signal, 9);
  assert_false(process.timed_out);
  process = run_shell("sleep 1000", 100);
  assert_true(process.timed_out);
  assert_false(hone_process_ok(&process));
}

static void what_cannot_be_started(void** state) {
  (void)state;
  const char* const argv[] = {"/no/such/program", NULL};
  hone_process_t process = {.argv = argv};
  assert_ok(hone_process_run(hone_allocator_system(), 1, &process, 1, PLENTY_MS));
  assert_int_equal(process.exit_code, 127);
  assert_true(process.output_size > 0);
}

static void long_output_is_cut(void** state) {
  (void)state;
  hone_process_t process = run_shell("yes | head -c 100000", PLENTY_MS);
  assert_true(hone_process_ok(&process));
  assert_int_equal(process.output_size, HONE_PROCESS_OUTPUT_SIZE - 1);
  assert_int_equal(strlen(process.output), process.output_size);
}

static void input_is_empty_and_english_spoken(void** state) {
  (void)state;
  setenv("LC_ALL", "de_DE.UTF-8", 1);
  hone_process_t process = run_shell("cat; echo $LC_ALL", PLENTY_MS);
  unsetenv("LC_ALL");
  assert_string_equal(process.output, "C\n");
}

static void a_program_left_behind_is_ended(void** state) {
  (void)state;
  char path[64], kind = 'Z';
  hone_process_t process = run_shell("sleep 1000 & echo $!", PLENTY_MS);
  assert_true(hone_process_ok(&process));
  snprintf(path, sizeof path, "/proc/%ld/stat", strtol(process.output, NULL, 10));
  for (int i = 0; i < 1000; i++) {
    FILE* file = fopen(path, "r");
    if (!file || fscanf(file, "%*d %*s %c", &kind) != 1) kind = 'Z';
    if (file) fclose(file);
    if (kind == 'Z') break; /* gone, or waiting to be reaped by its new parent */
    usleep(10000);
  }
  assert_int_equal(kind, 'Z');
}

/* Each holds a lock while it runs, and fails when another has it. */
/* Whether the process with that number, an orphan that comes to us, ends soon. */
static bool ends_soon(pid_t pid) {
  for (int i = 0; i < 1000; i++, usleep(10000))
    if (waitpid(pid, NULL, WNOHANG) == pid) return true;
  return false;
}

static void programs_end_with_who_is_killed(void** state) {
  (void)state;
  int ends[2];
  pid_t pids[2];
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
  pid_t owner = fork();
  if (owner == 0) {
    char script[128];
    snprintf(script, sizeof script, "sleep 1000 & echo $$ $! >/proc/%ld/fd/%d; wait",
             (long)getpid(), ends[1]);
    run_shell(script, PLENTY_MS);
    _exit(1);
  }
  FILE* line = fdopen(ends[0], "r");
  assert_int_equal(fscanf(line, "%d %d", &pids[0], &pids[1]), 2);
  usleep(100000); /* until the keeper knows: the program was faster than its owner */
  kill(owner, SIGKILL);
  waitpid(owner, NULL, 0);
  assert_true(ends_soon(pids[0]));
  assert_true(ends_soon(pids[1]));
  fclose(line);
  close(ends[1]);
}

static void not_more_than_asked_for_at_once(void** state) {
  (void)state;
  enum { COUNT = 6 };
  test_folder_t folder;
  char script[PATH_MAX + 64];
  hone_process_t* processes = calloc(COUNT, sizeof *processes);
  assert_non_null(processes);
  test_folder_make(&folder);
  snprintf(script, sizeof script, "cd %s && mkdir lock && sleep 0.02 && rmdir lock", folder.path);
  const char* const argv[] = {"/bin/sh", "-c", script, NULL};
  for (int i = 0; i < COUNT; i++) processes[i].argv = argv;
  assert_ok(hone_process_run(hone_allocator_system(), COUNT, processes, 1, PLENTY_MS));
  for (int i = 0; i < COUNT; i++) assert_true(hone_process_ok(&processes[i]));
  assert_int_equal(test_folder_entries(&folder), 0);
  test_folder_remove(&folder);
  free(processes);
}

static hone_status_t run_true(const hone_allocator_t* allocator, void* context) {
  (void)context;
  const char* const argv[] = {"/bin/sh", "-c", "true", NULL};
  hone_process_t process = {.argv = argv};
  return hone_process_run(allocator, 1, &process, 1, PLENTY_MS);
}

static void failing_allocations(void** state) {
  (void)state;
  assert_survives_faults(run_true, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ends_are_told_apart),
      cmocka_unit_test(what_cannot_be_started),
      cmocka_unit_test(long_output_is_cut),
      cmocka_unit_test(input_is_empty_and_english_spoken),
      cmocka_unit_test(a_program_left_behind_is_ended),
      cmocka_unit_test(programs_end_with_who_is_killed),
      cmocka_unit_test(not_more_than_asked_for_at_once),
      cmocka_unit_test(failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
