/* Tiles ask for the lines that they will write, where the second cache does not hold all results,
 * and for weights, where the first one does not; against what `ref` makes of the same graph. */
#include <stdlib.h>
#include <string.h>

#include "backends/common/testing/schedule_run.h"
#include "base/testing/test.h"

/* A product of 24 rows by weights of 48 columns. */
static hone_graph_t* make_product(void) { return test_schedule_product(24, 32, 48); }

static bool schedules(int64_t first_cache, int64_t second_cache, const char* what) {
  test_schedule_shape = (hone_cpu_shape_t){
      .lanes = 8, .registers = 16, .first_cache = first_cache, .second_cache = second_cache};
  char* text = test_schedule_run(make_product(), make_product(), 1);
  bool found = strstr(text, what) != NULL;
  free(text);
  return found;
}

static void far_results_are_asked_for(void** state) {
  assert_true(schedules(0, 4 << 10, "claim out0["));
  assert_false(schedules(0, 1 << 20, "claim out0["));
}

/* All 6 kB of them are near after the first tiles. */
static void small_weights_are_not_asked_for(void** state) {
  assert_true(schedules(4 << 10, 1 << 20, "prefetch in1["));
  assert_false(schedules(64 << 10, 1 << 20, "prefetch in1["));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(far_results_are_asked_for),
                                     cmocka_unit_test(small_weights_are_not_asked_for)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
