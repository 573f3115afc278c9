/* Rows of a few numbers have a lane each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/testing/schedule_run.h"
#include "backends/ref/testing/same_results.h"

enum { ROWS = 21 };

static char* scheduled(const char* lines) {
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 8, .registers = 16};
  return test_schedule_run(hone_graph_of_text("", lines), hone_graph_of_text("", lines), 1);
}

/* Rows less their extreme, or each sum of a row alone. */
static char* scheduled_rows(int length, const char* combine, bool subtracts) {
  char lines[600];
  int n = snprintf(lines, sizeof lines,
                   "  %%0 \"x\" = input : f32[%d, %d]\n"
                   "  %%1 = reduce %%0 combine=%s axes=[1] : f32[%d]\n",
                   ROWS, length, combine, ROWS);
  if (subtracts)
    snprintf(lines + n, sizeof lines - (size_t)n,
             "  %%2 = reshape %%1 shape=[%d, 1] : f32[%d, 1]\n"
             "  %%3 = expand %%2 shape=[%d, %d] : f32[%d, %d]\n"
             "  %%4 = sub %%0 %%3 : f32[%d, %d]\n  return %%4 \"y\"\n",
             ROWS, ROWS, ROWS, length, ROWS, length, ROWS, length);
  else
    snprintf(lines + n, sizeof lines - (size_t)n, "  return %%1 \"y\"\n");
  return scheduled(lines);
}

static void expect_turned(int length, const char* combine, bool subtracts, bool is_turned) {
  char* text = scheduled_rows(length, combine, subtracts);
  if ((strstr(text, "stage in0") != NULL) != is_turned)
    fail_msg("%s of rows of %d: %s", combine, length, text);
  free(text);
}

static void rows_of_a_few_numbers_are_lanes(void** state) {
  for (int length = 2; length <= 40; length++)
    expect_turned(length, "max", true, length >= 4 && length <= 32);
}

/* Vectors along them are added up quickly. */
static void sums_are_so_where_lanes_would_be_left_over(void** state) {
  for (int length = 4; length <= 33; length++) {
    expect_turned(length, "add", true, length <= 16 || (length < 32 && length % 8));
    expect_turned(length, "add", false, length <= 8);
  }
}

static void costly_rows_are_so_however_short(void** state) {
  char* text = scheduled(
      "  %0 \"x\" = input : f32[21, 3]\n"
      "  %1 = exp %0 : f32[21, 3]\n"
      "  %2 = reduce %1 combine=add axes=[1] : f32[21]\n"
      "  return %2 \"y\"\n");
  test_schedule_expect(text, 1, (const char* const[]){"stage in0"});
  free(text);
}

/* Rows and what is along them in one axis could not be told apart when they are turned. */
static void rows_without_an_axis_are_left_alone(void** state) {
  char* text = scheduled(
      "  %0 \"x\" = input : f32[16, 8]\n"
      "  %1 = reduce %0 combine=max axes=[1] : f32[16]\n"
      "  %2 = reshape %1 shape=[16, 1] : f32[16, 1]\n"
      "  %3 = expand %2 shape=[16, 8] : f32[16, 8]\n"
      "  %4 = reshape %3 shape=[128] : f32[128]\n"
      "  return %4 \"y\"\n");
  assert_null(strstr(text, "stage out0"));
  free(text);
}

static void numbers_of_sixty_four_bits_are_left_alone(void** state) {
  char* text = scheduled(
      "  %0 \"x\" = input : f64[16, 6]\n"
      "  %1 = reduce %0 combine=max axes=[1] : f64[16]\n"
      "  return %1 \"y\"\n");
  assert_null(strstr(text, "stage in0"));
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_a_few_numbers_are_lanes),
      cmocka_unit_test(sums_are_so_where_lanes_would_be_left_over),
      cmocka_unit_test(costly_rows_are_so_however_short),
      cmocka_unit_test(rows_without_an_axis_are_left_alone),
      cmocka_unit_test(numbers_of_sixty_four_bits_are_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
