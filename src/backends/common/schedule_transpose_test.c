/* What lies another way than what it is made of is turned in blocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/testing/schedule_run.h"
#include "backends/ref/testing/same_results.h"

static char* scheduled(const char* lines) {
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 8, .registers = 16};
  return test_schedule_run(hone_graph_of_text("", lines), hone_graph_of_text("", lines), 1);
}

/* Blocks of vectors are turned; numbers that are wider than floats have the lanes of what is read
 * where they are computed, and none where they are copied. */
static void maps_that_turn_what_they_read_have_lanes(void** state) {
  static const char* const rests[] = {"tanh %0", "reshape %0 shape=[12, 24]"};
  for (int i = 0; i < 4; i++) {
    char lines[400];
    const char* dtype = i < 2 ? "f32" : "f64";
    snprintf(lines, sizeof lines,
             "  %%0 \"x\" = input : %s[12, 24]\n  %%1 = %s : %s[12, 24]\n"
             "  %%2 = permute %%1 axes=[1, 0] : %s[24, 12]\n  return %%2 \"y\"\n",
             dtype, rests[i % 2], dtype, dtype);
    char* text = scheduled(lines);
    assert_int_equal(strstr(text, " vector {") != NULL, i < 3);
    assert_int_equal(strstr(text, " unroll {") != NULL, i < 2);
    free(text);
  }
}

/* An axis that is most of a vector is part of one. */
static void axes_shorter_than_vectors_are_turned(void** state) {
  for (int extent = 3; extent <= 8; extent++) {
    char lines[300];
    snprintf(lines, sizeof lines,
             "  %%0 \"x\" = input : f32[19, %d]\n"
             "  %%1 = permute %%0 axes=[1, 0] : f32[%d, 19]\n  return %%1 \"y\"\n",
             extent, extent);
    char* text = scheduled(lines);
    assert_int_equal(strstr(text, " in 8 unroll {") != NULL, extent >= 4);
    free(text);
  }
}

/* Rows that are looked up and added up, of which each becomes a column. */
static char* looked_up(int taps) {
  char lines[900];
  snprintf(lines, sizeof lines,
           "  %%0 \"x\" = input : f32[12, 21]\n"
           "  %%1 \"w\" = input : f32[19, %d, 1]\n"
           "  %%2 = iota dtype=i64 axes=[0] shape=[19, %d] : i64[19, %d]\n"
           "  %%3 = constant {2} : i64[1, 1]\n"
           "  %%4 = expand %%3 shape=[19, %d] : i64[19, %d]\n"
           "  %%5 = div %%2 %%4 : i64[19, %d]\n"
           "  %%6 = gather %%0 %%5 : f32[19, %d, 21]\n"
           "  %%7 = expand %%1 shape=[19, %d, 21] : f32[19, %d, 21]\n"
           "  %%8 = mul %%6 %%7 : f32[19, %d, 21]\n"
           "  %%9 = reduce %%8 combine=add axes=[1] : f32[19, 21]\n"
           "  %%10 = permute %%9 axes=[1, 0] : f32[21, 19]\n"
           "  return %%10 \"y\"\n",
           taps, taps, taps, taps, taps, taps, taps, taps, taps, taps);
  return scheduled(lines);
}

static void sums_of_what_is_looked_up_are_turned(void** state) {
  char* text = looked_up(2);
  test_schedule_expect(text, 3, (const char* const[]){" in 8 unroll {", " in 8 vector {", "hoist"});
  free(text);
}

/* Of places in two directions, and of rows that are most of a vector. */
static void sums_of_sums_are_so_too(void** state) {
  char* text = scheduled(
      "  %0 \"x\" = input : f32[6, 21]\n"
      "  %1 = iota dtype=i64 axes=[0] shape=[7, 2, 3] : i64[7, 2, 3]\n"
      "  %2 = constant {2} : i64[1, 1, 1]\n"
      "  %3 = expand %2 shape=[7, 2, 3] : i64[7, 2, 3]\n"
      "  %4 = div %1 %3 : i64[7, 2, 3]\n"
      "  %5 = gather %0 %4 : f32[7, 2, 3, 21]\n"
      "  %6 = reduce %5 combine=add axes=[1, 2] : f32[7, 21]\n"
      "  %7 = permute %6 axes=[1, 0] : f32[21, 7]\n"
      "  return %7 \"y\"\n");
  test_schedule_expect(text, 2, (const char* const[]){" in 7 unroll {", " in 8 vector {"});
  free(text);
}

static void many_such_rounds_are_left_alone(void** state) {
  char* text = looked_up(17);
  assert_null(strstr(text, " in 8 unroll {"));
  free(text);
}

/* Pixels of four channels that lie apart, one of which comes twice, by turns; three are not put
 * down so, nor wider numbers. */
static void channels_of_pixels_are_written_out(void** state) {
  static const struct {
    const char* dtype;
    int channels;
    bool is_turned;
  } cases[] = {{"u8", 4, true}, {"bf16", 4, true}, {"u8", 3, false}, {"f32", 4, false}};
  (void)state;
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    char lines[600];
    const char* dtype = cases[i].dtype;
    int n = cases[i].channels;
    snprintf(
        lines, sizeof lines,
        "  %%0 \"x\" = input : %s[1, 3, 40]\n  %%1 = expand %%0 shape=[2, 3, 40] : %s[2, 3, 40]\n"
        "  %%2 = reshape %%1 shape=[6, 40] : %s[6, 40]\n"
        "  %%3 = slice %%2 lo=[0, 0] hi=[%d, 40] step=[1, 1] : %s[%d, 40]\n"
        "  %%4 = permute %%3 axes=[1, 0] : %s[40, %d]\n  return %%4 \"y\"\n",
        dtype, dtype, dtype, n, dtype, n, dtype, n);
    char* text = scheduled(lines);
    assert_int_equal(strstr(text, " in 4 unroll {") != NULL, cases[i].is_turned);
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(maps_that_turn_what_they_read_have_lanes),
      cmocka_unit_test(axes_shorter_than_vectors_are_turned),
      cmocka_unit_test(sums_of_what_is_looked_up_are_turned),
      cmocka_unit_test(sums_of_sums_are_so_too),
      cmocka_unit_test(many_such_rounds_are_left_alone),
      cmocka_unit_test(channels_of_pixels_are_written_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
