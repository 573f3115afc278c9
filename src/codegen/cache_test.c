#include "codegen/cache.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/testing/fault.h"
#include "base/testing/folder.h"

static test_folder_t folder;
static hone_cache_t* cache;

static int set_up(void** state) {
  (void)state;
  test_folder_make(&folder);
  assert_ok(hone_cache_open(NULL, HONE_CACHE_KERNELS, test_folder_file(&folder, "a/b"), 0, &cache));
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  hone_cache_close(cache);
  test_folder_remove(&folder);
  return 0;
}

static hone_cache_key_t key_of(const char* text) {
  const void* parts[] = {text};
  const size_t sizes[] = {strlen(text)};
  return hone_cache_key(1, parts, sizes);
}

static void put_text(const char* key, const char* text) {
  hone_cache_put(cache, key_of(key), text, strlen(text));
}

/* Whether the entry is there; fails the test when it is not `text`. */
static bool has_text(const char* key, const char* text) {
  char* data;
  size_t size;
  if (!hone_cache_get(cache, key_of(key), NULL, &data, &size)) return false;
  assert_int_equal(size, strlen(text));
  assert_memory_equal(data, text, size);
  hone_free(NULL, data, size);
  return true;
}

static const char* path_of(const char* key) {
  static char path[PATH_MAX];
  hone_cache_key_t k = key_of(key);
  snprintf(path, sizeof path, "%s/%016llx%016llx.entry", hone_cache_folder(cache),
           (unsigned long long)k.high, (unsigned long long)k.low);
  return path;
}

static hone_cache_info_t info_of(void) {
  hone_cache_info_t info;
  assert_ok(hone_cache_info(cache, &info));
  return info;
}

static void what_is_put_is_found(void** state) {
  (void)state;
  assert_false(has_text("one", "first"));
  assert_int_equal(info_of().entries, 0);
  put_text("one", "first");
  put_text("two", "second");
  assert_true(has_text("one", "first"));
  assert_true(has_text("two", "second"));
  put_text("one", "changed");
  assert_true(has_text("one", "changed"));
  assert_int_equal(info_of().entries, 2);
  assert_int_equal(info_of().strays, 0);
}

static void keys_tell_lists_apart(void** state) {
  (void)state;
  const void* ab_c[] = {"ab", "c"};
  const void* a_bc[] = {"a", "bc"};
  const size_t two_one[] = {2, 1}, one_two[] = {1, 2};
  hone_cache_key_t keys[] = {hone_cache_key(2, ab_c, two_one), hone_cache_key(2, a_bc, one_two),
                             hone_cache_key(1, ab_c, two_one), hone_cache_key(0, NULL, NULL)};
  for (size_t i = 0; i < TEST_COUNT(keys); i++)
    for (size_t k = 0; k < i; k++) assert_memory_not_equal(&keys[i], &keys[k], sizeof *keys);
}

static void change_byte(const char* path, off_t at) {
  int fd = open(path, O_RDWR);
  char byte;
  assert_true(fd >= 0);
  assert_int_equal(pread(fd, &byte, 1, at), 1);
  byte = (char)~byte;
  assert_int_equal(pwrite(fd, &byte, 1, at), 1);
  close(fd);
}

static void a_change_of_any_byte_is_seen(void** state) {
  (void)state;
  struct stat info;
  put_text("k", "some bytes");
  assert_int_equal(stat(path_of("k"), &info), 0);
  for (off_t i = 0; i < info.st_size; i++) {
    put_text("k", "some bytes");
    change_byte(path_of("k"), i);
    assert_false(has_text("k", "some bytes"));
    assert_int_equal(access(path_of("k"), F_OK), -1);
  }
}

static void a_part_of_an_entry_is_none(void** state) {
  (void)state;
  struct stat info;
  put_text("k", "some bytes");
  assert_int_equal(stat(path_of("k"), &info), 0);
  for (off_t size = 0; size < info.st_size; size++) {
    put_text("k", "some bytes");
    assert_int_equal(truncate(path_of("k"), size), 0);
    assert_false(has_text("k", "some bytes"));
  }
}

static void an_entry_is_not_another(void** state) {
  (void)state;
  char from[PATH_MAX];
  put_text("one", "first");
  snprintf(from, sizeof from, "%s", path_of("one"));
  assert_int_equal(rename(from, path_of("two")), 0);
  assert_false(has_text("two", "first"));
}

enum { LARGE = 1 << 20 };

/* Writes the same large entry again and again. */
static void write_forever(void) {
  char* data = calloc(LARGE, 1);
  for (int round = 0; data; round++) {
    memset(data, round, LARGE);
    hone_cache_put(cache, key_of("large"), data, LARGE);
  }
}

static bool large_is_whole(void) {
  char* data;
  size_t size;
  if (!hone_cache_get(cache, key_of("large"), NULL, &data, &size)) return false;
  assert_int_equal(size, LARGE);
  for (int i = 0; i < LARGE; i++) assert_int_equal(data[i], data[0]);
  hone_free(NULL, data, size);
  return true;
}

static pid_t start_writer(void) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    write_forever();
    _exit(1);
  }
  return child;
}

static void a_killed_writer_leaves_no_half_entry(void** state) {
  (void)state;
  for (int i = 0; i < 8; i++) {
    pid_t child = start_writer();
    struct timespec pause = {0, 3000000 + i * 2500000};
    nanosleep(&pause, NULL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    large_is_whole();
  }
  put_text("k", "after");
  assert_true(has_text("k", "after"));
}

static void processes_share_a_folder(void** state) {
  (void)state;
  pid_t first = start_writer(), second = start_writer();
  int found = 0;
  for (int i = 0; i < 2000 && found < 20; i++) {
    struct timespec pause = {0, 1000000};
    found += large_is_whole();
    nanosleep(&pause, NULL);
  }
  kill(first, SIGKILL);
  kill(second, SIGKILL);
  waitpid(first, NULL, 0);
  waitpid(second, NULL, 0);
  assert_true(found > 0);
}

static void set_age(const char* key, time_t seconds) {
  struct timespec times[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};
  assert_int_equal(utimensat(AT_FDCWD, path_of(key), times, 0), 0);
}

static void the_oldest_make_room(void** state) {
  (void)state;
  static const char* const names[] = {"a", "b", "c", "d"};
  char text[1001];
  memset(text, 'x', 1000);
  text[1000] = 0;
  hone_cache_close(cache);
  assert_ok(
      hone_cache_open(NULL, HONE_CACHE_KERNELS, test_folder_file(&folder, "small"), 4500, &cache));
  for (int i = 0; i < 4; i++) put_text(names[i], text);
  for (int i = 0; i < 4; i++) set_age(names[i], 400 - 100 * i);
  assert_true(has_text("a", text)); /* now the youngest */
  put_text("e", text);
  assert_false(has_text("b", text));
  assert_true(has_text("a", text));
  assert_true(has_text("e", text));
  assert_true(info_of().bytes <= 4500);
}

static void put_cut(const char* key, const char* first, const char* second) {
  const hone_piece_t pieces[] = {{first, strlen(first)}, {second, strlen(second)}};
  hone_cache_put_pieces(cache, key_of(key), 2, pieces);
}

static void pieces_are_mapped_whole(void** state) {
  (void)state;
  hone_file_map_t map;
  assert_false(hone_cache_map(cache, key_of("k"), &map));
  put_cut("k", "one", " and two");
  assert_true(hone_cache_map(cache, key_of("k"), &map));
  assert_int_equal(map.size, 11);
  assert_memory_equal(map.data, "one and two", 11);
  hone_cache_drop(cache, key_of("k"));
  assert_memory_equal(map.data, "one and two", 11); /* stays for who has it */
  hone_file_map_close(&map);
  assert_false(hone_cache_map(cache, key_of("k"), &map));
  hone_cache_drop(cache, key_of("k"));
  assert_int_equal(info_of().entries, 0);
}

static void what_would_fill_the_cache_is_not_kept(void** state) {
  (void)state;
  char text[2252];
  hone_file_map_t map;
  memset(text, 'x', sizeof text);
  text[2251] = 0;
  hone_cache_close(cache);
  assert_ok(
      hone_cache_open(NULL, HONE_CACHE_ENGINES, test_folder_file(&folder, "small"), 4500, &cache));
  put_cut("large", text, "");
  assert_int_equal(info_of().entries, 0);
  text[2250] = 0;
  for (int i = 0; i < 4; i++) put_cut((const char*[]){"a", "b", "c", "d"}[i], text, "");
  assert_true(info_of().bytes <= 4500);
  assert_true(hone_cache_map(cache, key_of("d"), &map));
  hone_file_map_close(&map);
}

static void expect_folder(hone_cache_kind_t kind, const char* folder_path) {
  hone_cache_t* usual;
  assert_ok(hone_cache_open(NULL, kind, NULL, 0, &usual));
  assert_string_equal(hone_cache_folder(usual), folder_path);
  hone_cache_close(usual);
}

static void variables_say_where(void** state) {
  static const char* const names[] = {"HONE_CACHE", "HONE_ENGINE_CACHE", "XDG_CACHE_HOME", "HOME"};
  (void)state;
  for (int i = 0; i < 4; i++) unsetenv(names[i]);
  setenv("HOME", "/who", 1);
  expect_folder(HONE_CACHE_KERNELS, "/who/.cache/hone/kernels");
  expect_folder(HONE_CACHE_ENGINES, "/who/.cache/hone/engines");
  setenv("XDG_CACHE_HOME", "/c", 1);
  expect_folder(HONE_CACHE_ENGINES, "/c/hone/engines");
  setenv("HONE_CACHE", "/k", 1);
  expect_folder(HONE_CACHE_KERNELS, "/k");
  expect_folder(HONE_CACHE_ENGINES, "/k/engines");
  assert_true(hone_cache_is_on(HONE_CACHE_ENGINES));
  setenv("HONE_ENGINE_CACHE", "/e", 1);
  expect_folder(HONE_CACHE_ENGINES, "/e");
  expect_folder(HONE_CACHE_KERNELS, "/k");
  assert_true(hone_cache_is_on(HONE_CACHE_ENGINES));
  setenv("HONE_ENGINE_CACHE", "off", 1);
  assert_false(hone_cache_is_on(HONE_CACHE_ENGINES));
  assert_true(hone_cache_is_on(HONE_CACHE_KERNELS));
  unsetenv("HONE_ENGINE_CACHE");
  unsetenv("HONE_CACHE");
}

static void what_dead_writers_left_goes(void** state) {
  (void)state;
  char path[PATH_MAX + 32];
  put_text("k", "text");
  snprintf(path, sizeof path, "%s.tmp-1-1", path_of("k"));
  assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
  assert_int_equal(info_of().strays, 1);
  struct timespec old[2] = {{time(NULL) - 100000, 0}, {time(NULL) - 100000, 0}};
  assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
  hone_cache_t* again;
  assert_ok(hone_cache_open(NULL, HONE_CACHE_KERNELS, hone_cache_folder(cache), 0, &again));
  hone_cache_put(again, key_of("other"), "x", 1);
  hone_cache_close(again);
  assert_int_equal(info_of().strays, 0);
  assert_int_equal(info_of().entries, 2);
}

static void clearing_leaves_other_files(void** state) {
  (void)state;
  uint64_t removed;
  put_text("one", "first");
  put_text("two", "second");
  test_folder_write(&folder, "a/b/notes.txt", "mine");
  assert_ok(hone_cache_clear(cache, &removed));
  assert_int_equal(removed, 2);
  assert_false(has_text("one", "first"));
  assert_int_equal(access(test_folder_file(&folder, "a/b/notes.txt"), F_OK), 0);
}

static void count_message(void* context, hone_log_level_t level, const char* message) {
  (void)level;
  if (strstr(message, "kernel cache")) ++*(int*)context;
}

static void a_folder_that_cannot_be_is_said_once(void** state) {
  (void)state;
  int messages = 0;
  hone_log_level_t before = hone_log_level();
  test_folder_write(&folder, "file", "no folder");
  hone_cache_close(cache);
  assert_ok(hone_cache_open(NULL, HONE_CACHE_KERNELS, test_folder_file(&folder, "file/below"), 0,
                            &cache));
  hone_log_set_sink(count_message, &messages);
  hone_log_set_level(HONE_LOG_WARNING);
  for (int i = 0; i < 3; i++) {
    put_text("k", "text");
    assert_false(has_text("k", "text"));
  }
  hone_log_set_level(before);
  hone_log_set_sink(NULL, NULL);
  assert_int_equal(messages, 1);
}

static void a_folder_others_may_write_to_is_not_used(void** state) {
  (void)state;
  put_text("k", "text");
  assert_int_equal(chmod(hone_cache_folder(cache), 0777), 0);
  assert_false(has_text("k", "text"));
  assert_int_equal(chmod(hone_cache_folder(cache), 0700), 0);
  assert_true(has_text("k", "text"));
}

/* A limit on the size of files stands for a disk that is full. */
static void a_full_disk_leaves_nothing(void** state) {
  (void)state;
  put_text("k", "text");
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    struct rlimit limit = {LARGE / 2, LARGE / 2};
    signal(SIGXFSZ, SIG_IGN);
    char* data = calloc(LARGE, 1);
    if (!data || setrlimit(RLIMIT_FSIZE, &limit)) _exit(2);
    hone_cache_put(cache, key_of("large"), data, LARGE);
    _exit(large_is_whole());
  }
  int result;
  waitpid(child, &result, 0);
  assert_int_equal(result, 0);
  assert_int_equal(info_of().strays, 0);
  assert_int_equal(info_of().entries, 1);
}

static hone_status_t use(const hone_allocator_t* allocator, void* context) {
  hone_cache_t* mine;
  char* data;
  size_t size;
  hone_cache_info_t info;
  HONE_TRY(hone_cache_open(allocator, HONE_CACHE_KERNELS, context, 0, &mine));
  hone_cache_put(mine, key_of("k"), "text", 4);
  bool found = hone_cache_get(mine, key_of("k"), allocator, &data, &size);
  if (found) hone_free(allocator, data, size);
  hone_status_t status = hone_cache_info(mine, &info);
  if (!status) status = hone_cache_clear(mine, NULL);
  hone_cache_close(mine);
  return !status && !found ? hone_oom() : status;
}

static void failing_allocations(void** state) {
  (void)state;
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s", test_folder_file(&folder, "faults"));
  assert_survives_faults(use, path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_is_put_is_found),
      TEST(keys_tell_lists_apart),
      TEST(a_change_of_any_byte_is_seen),
      TEST(a_part_of_an_entry_is_none),
      TEST(an_entry_is_not_another),
      TEST(a_killed_writer_leaves_no_half_entry),
      TEST(processes_share_a_folder),
      TEST(the_oldest_make_room),
      TEST(pieces_are_mapped_whole),
      TEST(what_would_fill_the_cache_is_not_kept),
      TEST(variables_say_where),
      TEST(what_dead_writers_left_goes),
      TEST(clearing_leaves_other_files),
      TEST(a_folder_that_cannot_be_is_said_once),
      TEST(a_folder_others_may_write_to_is_not_used),
      TEST(a_full_disk_leaves_nothing),
      TEST(failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
