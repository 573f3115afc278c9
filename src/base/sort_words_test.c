/* Words are sorted and selected as qsort would. */
#include "base/sort_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/testing/fault.h"

enum { MOST = 700 };

static int compare(const void* a, const void* b) {
  uint64_t x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (x > y) - (x < y);
}

/* In any order, upwards, downwards, or up and down again. */
static void fill(uint64_t* words, size_t count, int way) {
  for (size_t i = 0; i < count; i++) {
    uint64_t random = (uint64_t)hone_random_u32(count, i) << 32;
    uint64_t key = way == 0        ? random
                   : way == 1      ? i
                   : way == 2      ? count - i
                   : i < count / 2 ? i
                                   : count - i;
    words[i] = way == 0 ? random | i : key << 20 | i;
  }
}

static void words_are_sorted(void** state) {
  static uint64_t words[MOST], spare[MOST], wanted[MOST];
  for (size_t count = 0; count < MOST; count += 1 + count / 7)
    for (int way = 0; way < 4; way++) {
      fill(words, count, way);
      memcpy(wanted, words, count * sizeof *words);
      qsort(wanted, count, sizeof *wanted, compare);
      hone_sort_words(words, spare, count);
      assert_memory_equal(words, wanted, count * sizeof *words);
    }
}

static void the_smallest_words_come_first(void** state) {
  static uint64_t words[MOST], spare[MOST], wanted[MOST];
  for (size_t count = 1; count < MOST; count += 1 + count / 5)
    for (size_t first = 0; first <= count; first += 1 + count / 9)
      for (int way = 0; way < 4; way++) {
        fill(words, count, way);
        memcpy(wanted, words, count * sizeof *words);
        qsort(wanted, count, sizeof *wanted, compare);
        hone_select_words(words, spare, count, first);
        qsort(words, first, sizeof *words, compare);
        qsort(words + first, count - first, sizeof *words, compare);
        assert_memory_equal(words, wanted, count * sizeof *words);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_are_sorted),
      cmocka_unit_test(the_smallest_words_come_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
