/* Which weights are slight, against the definition. */
#include "ir/slight.h"

#include <stdlib.h>

#include "base/random.h"
#include "base/testing/test.h"

enum { OUTER = 3, EXTENT = 24, INNER = 70, COUNT = OUTER * EXTENT * INNER };

/* As the definition says it. */
static bool is_slight(const int8_t* data, int64_t outer, int64_t extent, int64_t inner) {
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < inner; i++)
      for (int64_t k = 0; k < extent; k += 8)
        for (int half = 0; half < 2; half++) {
          const int64_t members[] = {k + 2 * half, k + 2 * half + 1, k + 4 + 2 * half,
                                     k + 5 + 2 * half};
          int above = 0, below = 0;
          for (int m = 0; m < 4; m++) {
            const int8_t* w = &data[(o * extent + members[m]) * inner + i];
            *(*w > 0 ? &above : &below) += abs(*w);
          }
          if (above > 128 || below > 128) return false;
        }
  return true;
}

/* Numbers up to 32, which are slight, with one among them that may be larger. */
static void fill(int8_t* data, int64_t count, uint64_t seed) {
  for (int64_t i = 0; i < count; i++)
    data[i] = (int8_t)((int)(hone_random_u32(seed, (uint64_t)i) % 65) - 32);
  int64_t at = hone_random_u32(seed, (uint64_t)count) % count;
  data[at] = (int8_t)((int)(hone_random_u32(seed, (uint64_t)count + 1) % 256) - 128);
}

static void numbers_are_slight_by_definition(void** state) {
  static const int64_t shapes[][3] = {
      {OUTER, EXTENT, INNER}, {COUNT / EXTENT, EXTENT, 1}, {1, 8, 64}, {1, 16, 1}, {5, 8, 3}};
  static int8_t data[COUNT];
  int found[2] = {0};
  for (uint64_t seed = 0; seed < 200; seed++)
    for (size_t i = 0; i < TEST_COUNT(shapes); i++) {
      const int64_t* s = shapes[i];
      fill(data, s[0] * s[1] * s[2], seed);
      bool wanted = is_slight(data, s[0], s[1], s[2]);
      assert_int_equal(hone_slight_is(data, s[0], s[1], s[2]), wanted);
      found[wanted]++;
    }
  assert_true(found[0] > 20 && found[1] > 20);
}

static void bounds_are_included(void** state) {
  int8_t group[8] = {127, 1, -128, 64, -127, -1, 0, 64};
  assert_true(hone_slight_is(group, 1, 8, 1));
  group[0] = 2;
  group[4] = 127;
  assert_false(hone_slight_is(group, 1, 8, 1));
  group[0] = 1;
  group[1] = 0;
  assert_true(hone_slight_is(group, 1, 8, 1));
  group[6] = -1;
  assert_false(hone_slight_is(group, 1, 8, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_slight_by_definition),
      cmocka_unit_test(bounds_are_included),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
