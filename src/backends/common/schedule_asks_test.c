/* Weights that are read from far: in streams, or asked for before. */
#include <stdlib.h>
#include <string.h>

#include "backends/common/testing/schedule_run.h"
#include "backends/ref/testing/same_results.h"

/* Rows, 0 where only a run knows how many, by weights for five vectors of columns. */
static char* scheduled(int rows, int sums, hone_cpu_shape_t shape) {
  int columns = 5 * shape.lanes;
  test_schedule_shape = shape;
  return test_schedule_run(test_schedule_product(rows, sums, columns),
                           test_schedule_product(rows, sums, columns), 1);
}

/* Weights that find no room in the second cache, and hardly a row to use them again. */
static void weights_of_few_rows_come_in_streams(void** state) {
  (void)state;
  const hone_cpu_shape_t far = {.lanes = 8, .registers = 16, .second_cache = 16 << 10},
                         near = {.lanes = 8, .registers = 16, .second_cache = 1 << 20};
  char *open = scheduled(0, 256, far), *one = scheduled(1, 130, far),
       *cached = scheduled(0, 256, near);
  test_schedule_expect(
      open, 3, (const char* const[]){"in 4 unroll reduction", "for k9.i in 64", "prefetch in1"});
  test_schedule_expect(one, 1, (const char* const[]){"k.o in 2 unroll reduction"});
  if (strstr(cached, "unroll reduction")) fail_msg("streams from a cache in:\n%s", cached);
  free(open);
  free(one);
  free(cached);
}

static void vectors_of_a_line_come_in_one(void** state) {
  (void)state;
  char* text =
      scheduled(0, 256, (hone_cpu_shape_t){.lanes = 16, .registers = 32, .second_cache = 16 << 10});
  if (strstr(text, "unroll reduction")) fail_msg("several streams of whole lines in:\n%s", text);
  test_schedule_expect(text, 1, (const char* const[]){"prefetch in1"});
  free(text);
}

/* A tile of many rows takes long enough for the next block to arrive. */
static void high_tiles_ask(void** state) {
  (void)state;
  char* text =
      scheduled(8, 128, (hone_cpu_shape_t){.lanes = 8, .registers = 32, .second_cache = 16 << 10});
  test_schedule_expect(text, 1, (const char* const[]){"prefetch in1[(i1.o_i.o + 1), 0, (16*k)]"});
  free(text);
}

/* Into the first cache, which has room for two blocks of few. */
static void weights_are_asked_near(void** state) {
  (void)state;
  const hone_cpu_shape_t shape = {.lanes = 8, .registers = 16, .first_cache = 4 << 10};
  char *few = scheduled(0, 10, shape), *many = scheduled(0, 60, shape);
  if (!strstr(few, "] near\n") || strstr(many, " near\n")) fail_msg("%s\n%s", few, many);
  free(few);
  free(many);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(weights_of_few_rows_come_in_streams),
      cmocka_unit_test(vectors_of_a_line_come_in_one),
      cmocka_unit_test(high_tiles_ask),
      cmocka_unit_test(weights_are_asked_near),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
