/* What the index decides is written out: rows on a stack, runs of rows, and halves of both axes. */
#include <stdlib.h>

#include "backends/common/testing/schedule_run.h"
#include "backends/ref/testing/same_results.h"

static char* scheduled(const char* symbols, const char* lines) {
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 8, .registers = 16};
  return test_schedule_run(hone_graph_of_text(symbols, lines), hone_graph_of_text(symbols, lines),
                           1);
}

/* Rows on a stack are told apart when the kernel is built, whether the loop is one of
 * them or goes over what is left of an index. The 20 numbers of a row are two
 * vectors and a rest. */
static void a_stack_is_written_out(void** state) {
  char* text =
      scheduled("",
                "  %0 \"x\" = input : f32[2, 3, 20]\n"
                "  %1 = slice %0 lo=[0, 0, 0] hi=[2, 1, 20] step=[1, 1, 1] : f32[2, 1, 20]\n"
                "  %2 = slice %0 lo=[0, 2, 0] hi=[2, 3, 20] step=[1, 1, 1] : f32[2, 1, 20]\n"
                "  %3 = add %1 %2 : f32[2, 1, 20]\n"
                "  %4 = sub %1 %2 : f32[2, 1, 20]\n"
                "  %5 = mul %3 %4 : f32[2, 1, 20]\n"
                "  %6 = concat %3 %4 %5 axes=[1] : f32[2, 3, 20]\n"
                "  %7 = abs %6 : f32[2, 3, 20]\n"
                "  return %7 \"y\"\n");
  test_schedule_expect(text, 2, (const char* const[]){"vector", "unroll"});
  free(text);
}

/* Of what is rounded to bf16 two vectors go side by side, which a device rounds as one. */
static void rounded_stacks_have_pairs_of_vectors(void** state) {
  static const char lines[] =
      "  %0 \"x\" = input : f32[2, 2, 64]\n"
      "  %1 = slice %0 lo=[0, 0, 0] hi=[2, 1, 64] step=[1, 1, 1] : f32[2, 1, 64]\n"
      "  %2 = slice %0 lo=[0, 1, 0] hi=[2, 2, 64] step=[1, 1, 1] : f32[2, 1, 64]\n"
      "  %3 = add %1 %2 : f32[2, 1, 64]\n"
      "  %4 = sub %1 %2 : f32[2, 1, 64]\n"
      "  %5 = concat %3 %4 axes=[1] : f32[2, 2, 64]\n"
      "  %6 = cast %5 dtype=bf16 flushes : bf16[2, 2, 64]\n"
      "  return %6 \"y\"\n";
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 16, .registers = 32};
  char* text = test_schedule_run(hone_graph_of_text("", lines), hone_graph_of_text("", lines), 1);
  test_schedule_expect(text, 3, (const char* const[]){" 32 peel", " 16 exact", "unroll"});
  free(text);
}

static void what_is_left_of_an_index_is_too(void** state) {
  char* text = scheduled(
      "symbol \"n\" input 1 9\n",
      "  %0 \"x\" <0 dim 0> = input : f32[n, 5, 3, 20]\n"
      "  %1 = slice %0 lo=[0, 0, 0, 0] hi=[n, 5, 1, 20] step=[1, 1, 1, 1] : f32[n, 5, 1, 20]\n"
      "  %2 = slice %0 lo=[0, 0, 2, 0] hi=[n, 5, 3, 20] step=[1, 1, 1, 1] : f32[n, 5, 1, 20]\n"
      "  %3 = add %1 %2 : f32[n, 5, 1, 20]\n"
      "  %4 = sub %1 %2 : f32[n, 5, 1, 20]\n"
      "  %5 = mul %3 %4 : f32[n, 5, 1, 20]\n"
      "  %6 = concat %3 %4 %5 axes=[2] : f32[n, 5, 3, 20]\n"
      "  %7 = reshape %6 shape=[n, 15, 20] : f32[n, 15, 20]\n"
      "  %8 = slice %7 lo=[0, 0, 0] hi=[n, 14, 20] step=[1, 1, 1] : f32[n, 14, 20]\n"
      "  %9 = abs %8 : f32[n, 14, 20]\n"
      "  return %9 \"y\"\n");
  test_schedule_expect(text, 3, (const char* const[]){"vector", "unroll", " 3 peel"});
  free(text);
}

/* Rows that lie in runs of four, three of which are told apart: two cuts, of whole stacks and of
 * runs. */
static void runs_of_an_index_are_too(void** state) {
  char* text = scheduled(
      "",
      "  %0 \"x\" = input : f32[5, 3, 4, 20]\n"
      "  %1 = slice %0 lo=[0, 0, 0, 0] hi=[5, 1, 4, 20] step=[1, 1, 1, 1] : f32[5, 1, 4, 20]\n"
      "  %2 = slice %0 lo=[0, 2, 0, 0] hi=[5, 3, 4, 20] step=[1, 1, 1, 1] : f32[5, 1, 4, 20]\n"
      "  %3 = add %1 %2 : f32[5, 1, 4, 20]\n"
      "  %4 = sub %1 %2 : f32[5, 1, 4, 20]\n"
      "  %5 = mul %3 %4 : f32[5, 1, 4, 20]\n"
      "  %6 = concat %3 %4 %5 axes=[1] : f32[5, 3, 4, 20]\n"
      "  %7 = reshape %6 shape=[60, 20] : f32[60, 20]\n"
      "  %8 = slice %7 lo=[0, 0] hi=[59, 20] step=[1, 1] : f32[59, 20]\n"
      "  %9 = abs %8 : f32[59, 20]\n"
      "  return %9 \"y\"\n");
  test_schedule_expect(text, 4, (const char* const[]){"vector", "unroll", " 12 peel", " 4 peel"});
  free(text);
}

/* The quarters of an odd number of rows, as Strassen's sums give them: halves of rows and of
 * columns are written out, and lanes are inside of one. */
static void quarters_are_written_out(void** state) {
  char* text = scheduled("",
                         "  %0 \"x\" = input : f32[1, 4, 1, 32]\n"
                         "  %1 \"y\" = input : f32[1, 4, 1, 32]\n"
                         "  %2 = add %0 %1 : f32[1, 4, 1, 32]\n"
                         "  %3 = sub %0 %1 : f32[1, 4, 1, 32]\n"
                         "  %4 = concat %2 %3 axes=[2] : f32[1, 4, 2, 32]\n"
                         "  %5 = concat %3 %2 axes=[2] : f32[1, 4, 2, 32]\n"
                         "  %6 = concat %4 %5 axes=[0] : f32[2, 4, 2, 32]\n"
                         "  %7 = reshape %6 shape=[8, 64] : f32[8, 64]\n"
                         "  %8 = slice %7 lo=[0, 0] hi=[7, 64] step=[1, 1] : f32[7, 64]\n"
                         "  return %8 \"z\"\n");
  test_schedule_expect(text, 3,
                       (const char* const[]){"i 4 peel", "i1.o in 2 unroll", "in 8 vector"});
  free(text);
}

/* Halves of columns are cut where they stand, inside of rows that only a run can count: threads
 * share these. */
static void rows_stay_around_halves_of_columns(void** state) {
  char* text =
      scheduled("symbol \"n\" input 1 9\n",
                "  %0 \"x\" <0 dim 0> = input : f32[n, 1, 1, 32]\n"
                "  %1 = neg %0 : f32[n, 1, 1, 32]\n"
                "  %2 = concat %0 %1 axes=[2] : f32[n, 1, 2, 32]\n"
                "  %3 = concat %1 %0 axes=[2] : f32[n, 1, 2, 32]\n"
                "  %4 = concat %2 %3 axes=[1] : f32[n, 2, 2, 32]\n"
                "  %5 = reshape %4 shape=[2*n, 64] : f32[2*n, 64]\n"
                "  %6 = slice %5 lo=[0, 0] hi=[2*n - 1, 64] step=[1, 1] : f32[2*n - 1, 64]\n"
                "  return %6 \"z\"\n");
  test_schedule_expect(text, 2, (const char* const[]){"\n  for i.o in ", "\n    for i1.i.o in "});
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_stack_is_written_out),
      cmocka_unit_test(what_is_left_of_an_index_is_too),
      cmocka_unit_test(rounded_stacks_have_pairs_of_vectors),
      cmocka_unit_test(runs_of_an_index_are_too),
      cmocka_unit_test(quarters_are_written_out),
      cmocka_unit_test(rows_stay_around_halves_of_columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
