/* Attention: rows of queries are lanes, keys and values are put down near; against what `ref` makes
 * of the same graph. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/testing/schedule_run.h"
#include "backends/ref/testing/same_results.h"
#include "base/testing/test.h"

static char* scheduled(const hone_cpu_shape_t* shape, hone_cpu_choice_t choice, const char* lines) {
  test_schedule_shape = *shape;
  test_schedule_choice = choice;
  char* text = test_schedule_run(hone_graph_of_text("", lines), hone_graph_of_text("", lines), 1);
  test_schedule_choice = (hone_cpu_choice_t){0};
  return text;
}

/* Eight heads of 64 queries in bf16 by so many keys. */
static char* scheduled_narrow(bool has_blocks, int keys, int depth) {
  const hone_cpu_shape_t shape = {.lanes = 16,
                                  .registers = has_blocks ? 32 : 16,
                                  .has_dot4 = true,
                                  .has_dot2_bf16 = true,
                                  .has_block_bf16 = has_blocks};
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_appendf(&lines,
                   "  %%0 \"q\" = input : f32[8, 64, %d]\n"
                   "  %%1 \"k\" = input : f32[8, %d, %d]\n"
                   "  %%2 \"v\" = input : f32[8, %d, 16]\n"
                   "  %%3 = cast %%0 dtype=bf16 : bf16[8, 64, %d]\n"
                   "  %%4 = cast %%1 dtype=bf16 : bf16[8, %d, %d]\n"
                   "  %%5 = cast %%2 dtype=bf16 : bf16[8, %d, 16]\n",
                   depth, keys, depth, keys, depth, keys, depth, keys);
  hone_str_appendf(
      &lines,
      "  %%6 = contract %%3 %%4 dtype=f32 axes=[0, 0, 2, 2] batch=1 : f32[8, 64, %d]\n"
      "  %%7 = exp %%6 : f32[8, 64, %d]\n"
      "  %%8 = reduce %%7 combine=add axes=[2] : f32[8, 64]\n"
      "  %%9 = reshape %%8 shape=[8, 64, 1] : f32[8, 64, 1]\n"
      "  %%10 = expand %%9 shape=[8, 64, %d] : f32[8, 64, %d]\n"
      "  %%11 = div %%7 %%10 : f32[8, 64, %d]\n"
      "  %%12 = cast %%11 dtype=bf16 : bf16[8, 64, %d]\n"
      "  %%13 = contract %%12 %%5 dtype=f32 axes=[0, 0, 2, 1] batch=1 : f32[8, 64, 16]\n"
      "  return %%13 \"y\"\n",
      keys, keys, keys, keys, keys, keys);
  char* text = scheduled(&shape, (hone_cpu_choice_t){.chain_rows = 32}, hone_str_text(&lines));
  hone_str_free(&lines);
  return text;
}

/* Queries, weights and values come in pairs along what is summed over, keys and values of a head
 * are put down once. */
static void narrow_numbers_go_in_pairs(void** state) {
  (void)state;
  char* text = scheduled_narrow(false, 6, 4);
  test_schedule_expect(text, 4,
                       (const char* const[]){": bf16[3, 32, 2]", ": bf16[1, 1, 2, 32, 2]",
                                             ": bf16[1, 1, 3, 16, 2]", "dot2_bf16_bf16_x16"});
  free(text);
}

/* Keys that are no whole pairs have zeros behind them, and such that matrix instructions cannot cut
 * into equal parts. */
static void sums_become_whole(void** state) {
  (void)state;
  char *odd = scheduled_narrow(false, 7, 4), *parts = scheduled_narrow(true, 38, 32);
  test_schedule_expect(odd, 4,
                       (const char* const[]){"\"lengthen k 8\"", ": bf16[4, 32, 2]",
                                             ": bf16[1, 1, 4, 16, 2]", "dot2_bf16_bf16_x16"});
  test_schedule_expect(parts, 3,
                       (const char* const[]){"\"lengthen k 40\"", ": bf16[32, 40]",
                                             "10 reduction as block2_bf16_bf16_x16"});
  free(odd);
  free(parts);
}

/* Matrix instructions take weights in rows, which what was rounded is turned to. */
static void matrix_instructions_take_rows(void** state) {
  (void)state;
  char* whole = scheduled_narrow(true, 96, 32);
  test_schedule_expect(
      whole, 3,
      (const char* const[]){": bf16[32, 96]", "16 reduction as block2_bf16_bf16_x16",
                            " in 16 unroll"});
  free(whole);
}

/* Keys and values that lie apart, head beside head, are copied once for each head, the values by as
 * many columns as the last product does at once; unless nobody asked for it. */
static void what_is_read_is_near(void** state) {
  (void)state;
  const hone_cpu_shape_t shape = {.lanes = 8, .registers = 16};
  const char* graph =
      "  %0 \"q\" = input : f32[64, 8, 32]\n"
      "  %1 \"k\" = input : f32[60, 8, 32]\n"
      "  %2 \"v\" = input : f32[60, 8, 32]\n"
      "  %3 = contract %0 %1 dtype=f32 axes=[1, 1, 2, 2] batch=1 : f32[8, 64, 60]\n"
      "  %4 = exp %3 : f32[8, 64, 60]\n"
      "  %5 = reduce %4 combine=add axes=[2] : f32[8, 64]\n"
      "  %6 = reshape %5 shape=[8, 64, 1] : f32[8, 64, 1]\n"
      "  %7 = expand %6 shape=[8, 64, 60] : f32[8, 64, 60]\n"
      "  %8 = div %4 %7 : f32[8, 64, 60]\n"
      "  %9 = contract %8 %2 dtype=f32 axes=[0, 1, 2, 0] batch=1 : f32[8, 64, 32]\n"
      "  return %9 \"y\"\n";
  for (int near = 0; near < 2; near++) {
    char* text =
        scheduled(&shape, (hone_cpu_choice_t){.chain_rows = 16, .chain_near = near}, graph);
    if (near)
      test_schedule_expect(
          text, 2,
          (const char* const[]){"local in1.s: f32[60, 1, 32]", "local in2.s.p: f32[2, 60, 1, 16]"});
    else
      assert_null(strstr(text, "in2.s"));
    free(text);
  }
}

/* A constant with numbers for each row and key, as a mask, is laid out with rows last, which are
 * lanes. */
static void constants_are_turned(void** state) {
  enum { ROWS = 32, KEYS = 20, MOST = 3 };
  (void)state;
  hone_str_t lines;
  hone_str_init(&lines, hone_allocator_system());
  hone_str_append(&lines,
                  "  %0 \"q\" = input : f32[32, 2, 8]\n"
                  "  %1 \"k\" = input : f32[20, 2, 8]\n"
                  "  %2 \"v\" = input : f32[20, 2, 16]\n"
                  "  %3 = constant {");
  test_schedule_numbers(&lines, ROWS * KEYS, MOST);
  hone_str_append(&lines,
                  "} : f32[1, 32, 20]\n"
                  "  %4 = contract %0 %1 dtype=f32 axes=[1, 1, 2, 2] batch=1 : f32[2, 32, 20]\n"
                  "  %5 = expand %3 shape=[2, 32, 20] : f32[2, 32, 20]\n"
                  "  %6 = add %4 %5 : f32[2, 32, 20]\n"
                  "  %7 = reduce %6 combine=max axes=[2] : f32[2, 32]\n"
                  "  %8 = reshape %7 shape=[2, 32, 1] : f32[2, 32, 1]\n"
                  "  %9 = expand %8 shape=[2, 32, 20] : f32[2, 32, 20]\n"
                  "  %10 = sub %6 %9 : f32[2, 32, 20]\n"
                  "  %11 = exp %10 : f32[2, 32, 20]\n"
                  "  %12 = contract %11 %2 dtype=f32 axes=[0, 1, 2, 0] batch=1 : f32[2, 32, 16]\n"
                  "  return %12 \"y\"\n");
  char* text = scheduled(&(hone_cpu_shape_t){.lanes = 8, .registers = 16},
                         (hone_cpu_choice_t){.chain_rows = 16}, hone_str_text(&lines));
  test_schedule_expect(text, 1, (const char* const[]){": f32[1, 20, 32]"});
  free(text);
  hone_str_free(&lines);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(narrow_numbers_go_in_pairs),    cmocka_unit_test(sums_become_whole),
      cmocka_unit_test(matrix_instructions_take_rows), cmocka_unit_test(what_is_read_is_near),
      cmocka_unit_test(constants_are_turned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
