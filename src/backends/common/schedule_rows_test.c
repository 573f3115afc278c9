/* Loops that get lanes one after the other, against what `ref` makes of the same graph. */
#include <stdlib.h>

#include "backends/common/testing/schedule_run.h"
#include "backends/ref/testing/same_results.h"

static char* scheduled(const char* lines) {
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 8, .registers = 16, .threads = 1};
  return test_schedule_run(hone_graph_of_text("", lines), hone_graph_of_text("", lines), 1);
}

/* Of 14 results of a line the last six are most of a vector; of 11 the last three are not. */
static void columns_left_over_are_part_of_a_vector(void** state) {
  (void)state;
  char* six = scheduled(
      "  %0 \"x\" = input : f32[4, 9, 29]\n"
      "  %1 = window %0 axes=[2] shape=[3] hi=[1] step=[2] : f32[4, 9, 14, 3]\n"
      "  %2 = reduce %1 combine=max axes=[3] : f32[4, 9, 14]\n"
      "  return %2 \"y\"\n");
  test_schedule_expect(six, 2, (const char* const[]){"in 8 vector", "in 6 vector"});
  free(six);
  char* three = scheduled(
      "  %0 \"x\" = input : f32[4, 9, 23]\n"
      "  %1 = window %0 axes=[2] shape=[3] hi=[1] step=[2] : f32[4, 9, 11, 3]\n"
      "  %2 = reduce %1 combine=max axes=[3] : f32[4, 9, 11]\n"
      "  return %2 \"y\"\n");
  test_schedule_expect(three, 2, (const char* const[]){"in 8 vector", "in 3 {"});
  free(three);
}

/* The same of lines that are only computed, between borders. */
static void so_is_what_lines_leave_over(void** state) {
  (void)state;
  char* text = scheduled(
      "  %0 \"x\" = input : f32[4, 14]\n"
      "  %1 = mul %0 %0 : f32[4, 14]\n"
      "  %2 = constant {0} : f32[]\n"
      "  %3 = pad %1 %2 lo=[1, 1] hi=[1, 1] : f32[6, 16]\n"
      "  return %3 \"y\"\n");
  test_schedule_expect(text, 2, (const char* const[]){"in 8 vector", "in 6 vector"});
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(columns_left_over_are_part_of_a_vector),
      cmocka_unit_test(so_is_what_lines_leave_over),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
