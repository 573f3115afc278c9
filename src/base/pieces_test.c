#include "base/pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/testing/folder.h"

enum { SIZE = 5 * HONE_DIGEST_BLOCK / 2 + 17 };

static char* text;

static int set_up(void** state) {
  (void)state;
  text = malloc(SIZE);
  for (int i = 0; text && i < SIZE; i++) text[i] = (char)(i * 2654435761u >> 24);
  return text ? 0 : -1;
}

static int tear_down(void** state) {
  (void)state;
  free(text);
  return 0;
}

static hone_digest_t digest_of(int count, const hone_piece_t* pieces) {
  hone_digest_t digest = {0, 0};
  assert_ok(hone_pieces_digest(hone_thread_pool_shared(), count, pieces, &digest));
  return digest;
}

static bool equal(hone_digest_t a, hone_digest_t b) { return a.low == b.low && a.high == b.high; }

/* Cuts the text anywhere, now and then twice at the same place. */
static int cut(uint64_t seed, hone_piece_t* pieces, int most) {
  int count = 0;
  size_t at = 0;
  for (; count < most - 1; count++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    size_t size = (seed >> 33) % 4 ? (seed >> 33) % (SIZE / 8) : 0;
    if (size > SIZE - at) size = SIZE - at;
    pieces[count] = (hone_piece_t){text + at, size};
    at += size;
  }
  pieces[count] = (hone_piece_t){text + at, SIZE - at};
  return count + 1;
}

static void the_digest_does_not_depend_on_the_cuts(void** state) {
  (void)state;
  hone_piece_t pieces[12];
  const hone_piece_t whole = {text, SIZE};
  hone_digest_t digest = digest_of(1, &whole), inline_digest;
  assert_ok(hone_pieces_digest(NULL, 1, &whole, &inline_digest));
  assert_true(equal(digest, inline_digest));
  for (uint64_t seed = 1; seed <= 50; seed++)
    assert_true(equal(digest, digest_of(cut(seed, pieces, 12), pieces)));
}

static void any_byte_and_the_length_count(void** state) {
  (void)state;
  const hone_piece_t whole = {text, SIZE}, less = {text, SIZE - 1}, none = {text, 0};
  hone_digest_t digest = digest_of(1, &whole);
  assert_false(equal(digest, digest_of(1, &less)));
  assert_false(equal(digest, digest_of(1, &none)));
  assert_true(equal(digest_of(0, NULL), digest_of(1, &none)));
  for (int at = 0; at < SIZE; at += SIZE / 7) {
    text[at] ^= 1;
    assert_false(equal(digest, digest_of(1, &whole)));
    text[at] ^= 1;
  }
}

static void what_is_written_is_the_text(void** state) {
  (void)state;
  test_folder_t folder;
  test_folder_make(&folder);
  const char* path = test_folder_file(&folder, "text");
  for (uint64_t seed = 1; seed <= 8; seed++) {
    hone_piece_t pieces[12];
    hone_file_map_t map;
    int count = cut(seed, pieces, 12), fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_int_equal(hone_pieces_write(fd, count, pieces), 0);
    assert_int_equal(close(fd), 0);
    assert_ok(hone_file_map_open(path, &map));
    assert_int_equal(map.size, SIZE);
    assert_memory_equal(map.data, text, SIZE);
    hone_file_map_close(&map);
  }
  test_folder_remove(&folder);
}

/* More of them than one call of the system takes. */
static void many_small_pieces(void** state) {
  enum { COUNT = 5000 };
  (void)state;
  static hone_piece_t pieces[COUNT];
  static char got[COUNT];
  int ends[2];
  for (int i = 0; i < COUNT; i++) pieces[i] = (hone_piece_t){text + i, 1};
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(hone_pieces_write(ends[1], COUNT, pieces), 0);
  assert_int_equal(close(ends[1]), 0);
  assert_int_equal(read(ends[0], got, COUNT), COUNT);
  assert_memory_equal(got, text, COUNT);
  assert_int_equal(close(ends[0]), 0);
}

static void failures_give_the_reason(void** state) {
  (void)state;
  const hone_piece_t piece = {text, 100};
  assert_int_equal(hone_pieces_write(-1, 1, &piece), EBADF);
  assert_int_equal(hone_pieces_write(-1, 0, NULL), 0);
  int full = open("/dev/full", O_WRONLY);
  assert_true(full >= 0);
  assert_int_equal(hone_pieces_write(full, 1, &piece), ENOSPC);
  assert_int_equal(close(full), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_digest_does_not_depend_on_the_cuts),
      cmocka_unit_test(any_byte_and_the_length_count),
      cmocka_unit_test(what_is_written_is_the_text),
      cmocka_unit_test(many_small_pieces),
      cmocka_unit_test(failures_give_the_reason),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
