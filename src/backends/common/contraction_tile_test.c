/* Tiles of machines whose vectors of 64 bytes take two turns: no larger than what a thread has room
 * to store, where sums are short; against what `ref` makes of the same graph. */
#include <stdlib.h>
#include <string.h>

#include "backends/common/testing/schedule_run.h"
#include "base/testing/test.h"

enum { ROWS = 112 };

static void expect_tile(bool halves, int sums, int columns, const char* tile) {
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 16,
                                           .registers = 32,
                                           .halves_vectors = halves,
                                           .first_cache = 32 << 10,
                                           .second_cache = 1 << 20};
  char* text = test_schedule_run(test_schedule_product(ROWS, sums, columns),
                                 test_schedule_product(ROWS, sums, columns), 1);
  if (!strstr(text, tile))
    fail_msg("%d sums of %d columns, not in a tile of %s:\n%s", sums, columns, tile, text);
  free(text);
}

static void short_sums_have_few_results(void** state) {
  (void)state;
  expect_tile(true, 16, 96, ": f32[14, 16]\n");
  expect_tile(false, 16, 96, ": f32[14, 32]\n");
}

static void long_sums_read_rows_less_often(void** state) {
  (void)state;
  expect_tile(true, 1000, 96, ": f32[14, 32]\n");
}

/* They take as long as one and a half vectors. */
static void half_a_vector_is_part_of_a_tile(void** state) {
  (void)state;
  expect_tile(true, 96, 24, ": f32[14, 24]\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(short_sums_have_few_results),
                                     cmocka_unit_test(long_sums_read_rows_less_often),
                                     cmocka_unit_test(half_a_vector_is_part_of_a_tile)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
