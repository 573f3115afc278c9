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

/* But on machines with matrix instructions. */
static void vectors_of_a_line_come_in_one(void** state) {
  (void)state;
  hone_cpu_shape_t shape = {.lanes = 16, .registers = 32, .second_cache = 16 << 10};
  char* text = scheduled(0, 256, shape);
  if (strstr(text, "unroll reduction")) fail_msg("several streams of whole lines in:\n%s", text);
  test_schedule_expect(text, 1, (const char* const[]){"prefetch in1"});
  free(text);
  text = scheduled(1, 256, shape);
  if (strstr(text, "unroll reduction")) fail_msg("several streams of whole lines in:\n%s", text);
  free(text);
  shape.has_block_bf16 = true;
  text = scheduled(1, 256, shape);
  test_schedule_expect(text, 1, (const char* const[]){"k.o in 4 unroll reduction"});
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

/* Into the first cache, which has room for two blocks of few, where a vector takes two turns. */
static void weights_are_asked_near(void** state) {
  (void)state;
  const hone_cpu_shape_t whole = {.lanes = 8, .registers = 16, .first_cache = 4 << 10};
  hone_cpu_shape_t halves = whole;
  halves.halves_vectors = true;
  char *few = scheduled(0, 10, halves), *many = scheduled(0, 60, halves),
       *far = scheduled(0, 10, whole);
  if (!strstr(few, "] near\n") || strstr(many, " near\n")) fail_msg("%s\n%s", few, many);
  if (!strstr(far, "prefetch") || strstr(far, " near\n")) fail_msg("%s", far);
  free(few);
  free(many);
  free(far);
}

/* Open rows of which there may be one tile, which asks for as much as it can of the next block, but
 * for nothing where vectors that are lines take two turns. */
static void a_tile_alone_asks(void** state) {
  enum { SUMS = 256, COLUMNS = 9 * 16 };
  (void)state;
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 16, .registers = 32, .second_cache = 16 << 10};
  for (int halves = 0; halves < 2; halves++) {
    test_schedule_shape.halves_vectors = halves;
    char* text = test_schedule_run(test_schedule_product(0, SUMS, COLUMNS),
                                   test_schedule_product(0, SUMS, COLUMNS), 1);
    test_schedule_expect(text, 1,
                         (const char* const[]){halves ? "for ask in lt(4, " : "for ask in min("});
    free(text);
  }
}

/* Of rows that only a run knows, of which tiles of sixteen heights ask, each with a long expression
 * for what the others have asked for. */
static hone_graph_t* make_open_product(void) {
  enum { SUMS = 600, COLUMNS = 64, MOST = 6 };
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_appendf(&text, "  %%0 \"x\" <0 dim 0> = input : bf16[n, %d]\n  %%1 = constant {", SUMS);
  test_schedule_numbers(&text, SUMS * COLUMNS, MOST);
  hone_str_appendf(&text,
                   "} : bf16[%d, %d]\n"
                   "  %%2 = contract %%0 %%1 dtype=f32 axes=[1, 0] batch=0 : f32[n, %d]\n"
                   "  return %%2 \"y\"\n",
                   SUMS, COLUMNS, COLUMNS);
  hone_graph_t* graph =
      hone_graph_of_text("symbol \"n\" input 0 2147483647\n", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static void tiles_of_all_heights_ask_in_streams(void** state) {
  (void)state;
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 16,
                                           .registers = 32,
                                           .first_cache = 48 << 10,
                                           .second_cache = 64 << 10,
                                           .has_dot2_bf16 = true,
                                           .has_block_bf16 = true};
  char* text = test_schedule_run(make_open_product(), make_open_product(), 1);
  test_schedule_expect(text, 3,
                       (const char* const[]){"for i.b16.o in", "as block2_bf16_bf16_x16",
                                             "prefetch in1[(i1.o + 1), 0, 0, "});
  if (strstr(text, "bad")) fail_msg("asks for nothing that can be told:\n%s", text);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(weights_of_few_rows_come_in_streams),
      cmocka_unit_test(vectors_of_a_line_come_in_one),
      cmocka_unit_test(high_tiles_ask),
      cmocka_unit_test(weights_are_asked_near),
      cmocka_unit_test(a_tile_alone_asks),
      cmocka_unit_test(tiles_of_all_heights_ask_in_streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
