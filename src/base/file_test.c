#include "base/file.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/testing/fault.h"
#include "base/testing/folder.h"

static test_folder_t folder;

static int set_up(void** state) {
  (void)state;
  test_folder_make(&folder);
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  test_folder_remove(&folder);
  return 0;
}

static const char* at(const char* name) { return test_folder_file(&folder, name); }

static void a_mapped_file_shows_its_bytes(void** state) {
  (void)state;
  hone_file_map_t map;
  test_folder_write(&folder, "a", "some bytes");
  assert_ok(hone_file_map_open(at("a"), &map));
  assert_int_equal(map.size, 10);
  assert_memory_equal(map.data, "some bytes", 10);
  hone_file_map_close(&map);
  assert_null(map.data);
  hone_file_map_close(&map);
}

/* Where large pages can be mapped whole, its last byte included. */
static void a_large_file_maps_aligned(void** state) {
  enum { LARGE_PAGE = 2 << 20, SIZE = 2 * LARGE_PAGE + 3 };
  (void)state;
  char* bytes = calloc(1, SIZE);
  assert_non_null(bytes);
  bytes[SIZE - 1] = 'z';
  assert_ok(hone_file_write(at("large"), bytes, SIZE));
  free(bytes);
  hone_file_map_t map;
  assert_ok(hone_file_map_open(at("large"), &map));
  assert_int_equal(map.size, SIZE);
  assert_int_equal((uintptr_t)map.data % LARGE_PAGE, 0);
  assert_int_equal(map.data[SIZE - 1], 'z');
  hone_file_map_close(&map);
}

static void an_empty_file_maps(void** state) {
  (void)state;
  hone_file_map_t map;
  test_folder_write(&folder, "a", "");
  assert_ok(hone_file_map_open(at("a"), &map));
  assert_int_equal(map.size, 0);
  assert_non_null(map.data);
  hone_file_map_close(&map);
}

static void what_cannot_be_mapped_says_so(void** state) {
  (void)state;
  hone_file_map_t map;
  assert_code(hone_file_map_open(at("absent"), &map), HONE_NOT_FOUND);
  assert_code(hone_file_map_open(folder.path, &map), HONE_IO);
  assert_code(hone_file_map_open("/dev/null", &map), HONE_IO);
  assert_int_equal(mkfifo(at("pipe"), 0600), 0);
  assert_code(hone_file_map_open(at("pipe"), &map), HONE_IO);
  hone_status_t status = hone_file_map_open(at("absent"), &map);
  assert_non_null(strstr(hone_status_message(status), "absent"));
  hone_status_free(status);
}

static void a_file_is_read_whole(void** state) {
  (void)state;
  char* data;
  size_t size;
  enum { LARGE = 100000 };
  char* text = hone_alloc(NULL, LARGE + 1);
  memset(text, 'x', LARGE);
  test_folder_write(&folder, "a", text);
  assert_ok(hone_file_read(NULL, at("a"), 0, &data, &size));
  assert_int_equal(size, LARGE);
  assert_string_equal(data, text);
  hone_free(NULL, data, size + 1);
  assert_ok(hone_file_read(NULL, at("a"), LARGE, &data, &size));
  hone_free(NULL, data, size + 1);
  assert_code(hone_file_read(NULL, at("a"), LARGE - 1, &data, &size), HONE_OUT_OF_RANGE);
  assert_null(data);
  assert_code(hone_file_read(NULL, at("b"), 0, &data, &size), HONE_NOT_FOUND);
  assert_code(hone_file_read(NULL, folder.path, 0, &data, &size), HONE_IO);
  hone_free(NULL, text, LARGE + 1);
}

static void a_file_without_a_size_is_read(void** state) {
  (void)state;
  char* data;
  size_t size;
  assert_ok(hone_file_read(NULL, "/proc/self/status", 0, &data, &size));
  assert_true(size > 0);
  assert_int_equal(strlen(data), size);
  hone_free(NULL, data, size + 1);
}

static void assert_content(const char* name, const char* expected) {
  char* data;
  size_t size;
  assert_ok(hone_file_read(NULL, at(name), 0, &data, &size));
  assert_string_equal(data, expected);
  hone_free(NULL, data, size + 1);
}

static void a_write_replaces_the_file(void** state) {
  (void)state;
  struct stat info;
  assert_ok(hone_file_write(at("a"), "one", 3));
  assert_content("a", "one");
  assert_int_equal(chmod(at("a"), 0640), 0);
  assert_ok(hone_file_write(at("a"), "two", 3));
  assert_content("a", "two");
  assert_int_equal(stat(at("a"), &info), 0);
  assert_int_equal(info.st_mode & 0777, 0640);
  assert_int_equal(test_folder_entries(&folder), 1);
}

static void a_link_keeps_leading_to_its_target(void** state) {
  (void)state;
  struct stat info;
  test_folder_write(&folder, "target", "old");
  assert_int_equal(symlink("target", at("link")), 0);
  assert_ok(hone_file_write(at("link"), "new", 3));
  assert_content("target", "new");
  assert_int_equal(lstat(at("link"), &info), 0);
  assert_true(S_ISLNK(info.st_mode));
}

static void large_writes_arrive_in_order(void** state) {
  (void)state;
  enum { PIECE = 50000, PIECES = 7 };
  char piece[PIECE];
  hone_file_writer_t* writer;
  hone_file_map_t map;
  assert_ok(hone_file_writer_create(NULL, at("a"), &writer));
  for (int i = 0; i < PIECES; i++) {
    memset(piece, 'a' + i, sizeof piece);
    hone_file_writer_write(writer, piece, i == 3 ? 1 : PIECE);
  }
  hone_file_writer_write(writer, NULL, 0);
  const size_t expected = (size_t)PIECE * (PIECES - 1) + 1;
  assert_int_equal(hone_file_writer_offset(writer), expected);
  assert_ok(hone_file_writer_commit(writer));
  assert_ok(hone_file_map_open(at("a"), &map));
  assert_int_equal(map.size, expected);
  for (size_t i = 0; i < expected; i++) {
    size_t k = i < 3 * PIECE ? i / PIECE : i == 3 * PIECE ? 3 : (i - 1) / PIECE + 1;
    assert_int_equal(map.data[i], 'a' + k);
  }
  hone_file_map_close(&map);
}

static void nothing_is_seen_before_commit(void** state) {
  (void)state;
  hone_file_writer_t* writer;
  test_folder_write(&folder, "a", "old");
  assert_ok(hone_file_writer_create(NULL, at("a"), &writer));
  hone_file_writer_write(writer, "new", 3);
  assert_content("a", "old");
  assert_int_equal(test_folder_entries(&folder), 2);
  hone_file_writer_abort(writer);
  assert_content("a", "old");
  assert_int_equal(test_folder_entries(&folder), 1);
  hone_file_writer_abort(NULL);
}

/* A process that begins to write, and ends without any clean-up. */
static void die_writing(void) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    hone_file_writer_t* writer;
    hone_status_free(hone_file_writer_create(NULL, at("a"), &writer));
    raise(SIGKILL);
  }
  waitpid(child, NULL, 0);
}

static void what_killed_writers_left_is_removed_by_the_next(void** state) {
  (void)state;
  test_folder_write(&folder, "a", "old");
  test_folder_write(&folder, "ab.tmp-1-1", "another's");
  for (int i = 0; i < 3; i++) die_writing();
  assert_int_equal(test_folder_entries(&folder), 3); /* the last one's is left */
  hone_file_writer_t *living, *writer;
  assert_ok(hone_file_writer_create(NULL, at("a"), &living));
  assert_ok(hone_file_writer_create(NULL, at("a"), &writer));
  hone_file_writer_write(writer, "new", 3);
  assert_ok(hone_file_writer_commit(writer));
  assert_content("a", "new");
  hone_file_writer_write(living, "newer", 5);
  assert_ok(hone_file_writer_commit(living));
  assert_content("a", "newer");
  assert_int_equal(test_folder_entries(&folder), 2);
}

static void a_full_disk_is_named(void** state) {
  (void)state;
  hone_status_t status = hone_file_write("/dev/full", "x", 1);
  assert_int_equal(hone_status_code(status), HONE_IO);
  assert_non_null(strstr(hone_status_message(status), "/dev/full"));
  assert_non_null(strstr(hone_status_message(status), "disk is full"));
  hone_status_free(status);
  assert_ok(hone_file_write("/dev/null", "x", 1));
}

static void a_path_that_cannot_be_written_is_refused(void** state) {
  (void)state;
  char longest[PATH_MAX + 10];
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = 0;
  assert_code(hone_file_write(at("no/such/folder"), "x", 1), HONE_NOT_FOUND);
  assert_code(hone_file_write(folder.path, "x", 1), HONE_IO);
  assert_code(hone_file_write(longest, "x", 1), HONE_IO);
  assert_int_equal(test_folder_entries(&folder), 0);
}

static void a_failed_replacement_leaves_nothing(void** state) {
  (void)state;
  hone_file_writer_t* writer;
  assert_ok(hone_file_writer_create(NULL, at("a"), &writer));
  hone_file_writer_write(writer, "x", 1);
  assert_int_equal(mkdir(at("a"), 0777), 0); /* a folder is in the way by now */
  assert_code(hone_file_writer_commit(writer), HONE_IO);
  assert_int_equal(test_folder_entries(&folder), 1);
}

static hone_status_t read_and_write(const hone_allocator_t* allocator, void* context) {
  (void)context;
  char* data;
  size_t size;
  hone_file_writer_t* writer;
  HONE_TRY(hone_file_read(allocator, "/proc/self/status", 0, &data, &size));
  hone_status_t status = hone_file_writer_create(allocator, at("copy"), &writer);
  if (!status) {
    hone_file_writer_write(writer, data, size);
    status = hone_file_writer_commit(writer);
  }
  hone_free(allocator, data, size + 1);
  return status;
}

static void survives_running_out_of_memory(void** state) {
  (void)state;
  assert_true(assert_survives_faults(read_and_write, NULL) >= 3);
  assert_int_equal(test_folder_entries(&folder), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_mapped_file_shows_its_bytes),
      TEST(a_large_file_maps_aligned),
      TEST(an_empty_file_maps),
      TEST(what_cannot_be_mapped_says_so),
      TEST(a_file_is_read_whole),
      TEST(a_file_without_a_size_is_read),
      TEST(a_write_replaces_the_file),
      TEST(a_link_keeps_leading_to_its_target),
      TEST(large_writes_arrive_in_order),
      TEST(nothing_is_seen_before_commit),
      TEST(what_killed_writers_left_is_removed_by_the_next),
      TEST(a_full_disk_is_named),
      TEST(a_path_that_cannot_be_written_is_refused),
      TEST(a_failed_replacement_leaves_nothing),
      TEST(survives_running_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
