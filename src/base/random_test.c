#include "base/random.h"

#include "base/testing/test.h"

/* Published known answers of Philox4x32-10. */
static void the_cipher_gives_known_answers(void** state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], out[4];
  } cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    uint32_t out[4];
    hone_philox(cases[i].counter, cases[i].key, out);
    assert_memory_equal(out, cases[i].out, sizeof out);
  }
}

static void a_row_equals_its_elements(void** state) {
  (void)state;
  static const uint64_t starts[] = {0, 1, 3, 4, 0xfffffffffu, UINT64_MAX - 40};
  for (size_t s = 0; s < TEST_COUNT(starts); s++)
    for (int64_t n = 0; n <= 13; n++) {
      uint32_t row[14] = {0};
      hone_random_fill_u32(7, starts[s], n, row);
      for (int64_t i = 0; i < n; i++)
        assert_int_equal(row[i], hone_random_u32(7, starts[s] + (uint64_t)i));
      assert_int_equal(row[n], 0);
    }
}

static void seeds_give_different_streams(void** state) {
  (void)state;
  int same = 0;
  for (uint64_t i = 0; i < 1000; i++) {
    same += hone_random_u32(1, i) == hone_random_u32(2, i);
    same += hone_random_u32(1, i) == hone_random_u32(1ull << 32, i);
    same += hone_random_u32(1, i) == hone_random_u32(1, i + (1ull << 34));
  }
  assert_true(same <= 1);
}

/* Each bit is set about half of the time: 10000 draws, 6 deviations of 50. */
static void bits_are_balanced(void** state) {
  (void)state;
  int ones[32] = {0};
  for (uint64_t i = 0; i < 10000; i++)
    for (int bit = 0; bit < 32; bit++) ones[bit] += hone_random_u32(42, i) >> bit & 1;
  for (int bit = 0; bit < 32; bit++) assert_in_range(ones[bit], 4700, 5300);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_cipher_gives_known_answers),
      cmocka_unit_test(a_row_equals_its_elements),
      cmocka_unit_test(seeds_give_different_streams),
      cmocka_unit_test(bits_are_balanced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
