/* Sums over groups of channels, those that go channel by channel and those that stay. */
#include "backends/ref/testing/same_results.h"
#include "passes/testing/graph_run.h"

/* What group normalization computes of x, of `shape`, grouped as `grouped`; a number for each group
 * lies as `small`, and `axes` are summed. */
#define NORMALIZED(x, shape, grouped, small, axes)     \
  "%2 = reshape " x " shape=" grouped " : f32" grouped \
  "\n"                                                 \
  "%3 = reduce %2 combine=add axes=" axes              \
  " : f32[2, 4]\n"                                     \
  "%4 = reshape %3 shape=" small " : f32" small        \
  "\n"                                                 \
  "%5 = expand %4 shape=" grouped " : f32" grouped     \
  "\n"                                                 \
  "%6 = sub %2 %5 : f32" grouped                       \
  "\n"                                                 \
  "%7 = mul %6 %6 : f32" grouped                       \
  "\n"                                                 \
  "%8 = reduce %7 combine=add axes=" axes              \
  " : f32[2, 4]\n"                                     \
  "%9 = sqrt %8 : f32[2, 4]\n"                         \
  "%10 = reshape %9 shape=" small " : f32" small       \
  "\n"                                                 \
  "%11 = expand %10 shape=" grouped " : f32" grouped   \
  "\n"                                                 \
  "%12 = div %6 %11 : f32" grouped                     \
  "\n"                                                 \
  "%13 = reshape %12 shape=" shape " : f32" shape      \
  "\n"                                                 \
  "return %13\n"

#define LYING "%0 = input : f32[2, 3, 5, 8]\n%1 = neg %0 : f32[2, 3, 5, 8]\n"
#define TURNED "%0 = input : f32[2, 3, 5, 8]\n%1 = permute %0 axes=[0, 3, 1, 2] : f32[2, 8, 3, 5]\n"

static int64_t rewrite(const char* text) {
  hone_graph_t* before = hone_graph_of_text("", text);
  hone_graph_t* after = hone_graph_of_text("", text);
  int64_t count = test_pass_run(after, &(hone_pass_options_t){0}, "group_sums");
  assert_same_results(before, after, 3, 1e-5);
  hone_graph_destroy(before);
  hone_graph_destroy(after);
  return count;
}

static void pictures_keep_their_order(void** state) {
  (void)state;
  assert_int_equal(
      rewrite(TURNED NORMALIZED("%1", "[2, 8, 3, 5]", "[2, 4, 30]", "[2, 4, 1]", "[2]")), 3);
  assert_int_equal(
      rewrite(TURNED NORMALIZED("%1", "[2, 8, 3, 5]", "[2, 4, 2, 15]", "[2, 4, 1, 1]", "[2, 3]")),
      3);
  assert_int_equal(
      rewrite(LYING NORMALIZED("%1", "[2, 3, 5, 8]", "[2, 15, 4, 2]", "[2, 1, 4, 1]", "[3, 1]")),
      3);
}

/* A factor for each channel of a group. */
static void channels_have_numbers_of_their_own(void** state) {
  (void)state;
  assert_int_equal(rewrite(TURNED "%2 = constant {1, 2, 3, 4, 5, 6, 7, 8} : f32[1, 4, 2, 1]\n"
                                  "%3 = expand %2 shape=[2, 4, 2, 15] : f32[2, 4, 2, 15]\n"
                                  "%4 = reshape %1 shape=[2, 4, 2, 15] : f32[2, 4, 2, 15]\n"
                                  "%5 = mul %4 %3 : f32[2, 4, 2, 15]\n"
                                  "%6 = reduce %5 combine=add axes=[2, 3] : f32[2, 4]\n"
                                  "return %6\n"),
                   1);
}

static void others_stay(void** state) {
  (void)state;
  /* Channels that come first, in memory too. */
  assert_int_equal(rewrite("%0 = input : f32[2, 8, 3, 5]\n"
                           "%1 = neg %0 : f32[2, 8, 3, 5]\n" NORMALIZED(
                               "%1", "[2, 8, 3, 5]", "[2, 4, 30]", "[2, 4, 1]", "[2]")),
                   0);
  /* Groups of one channel. */
  assert_int_equal(rewrite("%0 = input : f32[2, 3, 5, 4]\n"
                           "%1 = permute %0 axes=[0, 3, 1, 2] : f32[2, 4, 3, 5]\n" NORMALIZED(
                               "%1", "[2, 4, 3, 5]", "[2, 4, 15]", "[2, 4, 1]", "[2]")),
                   0);
  /* Sums over groups too, the most of a group, whole numbers, and a number for each place. */
  assert_int_equal(rewrite(TURNED "%2 = reshape %1 shape=[2, 4, 30] : f32[2, 4, 30]\n"
                                  "%3 = reduce %2 combine=add axes=[1, 2] : f32[2]\n"
                                  "%4 = reduce %2 combine=max axes=[2] : f32[2, 4]\n"
                                  "return %3 %4\n"),
                   0);
  assert_int_equal(rewrite("%0 = input : i32[2, 3, 5, 8]\n"
                           "%1 = permute %0 axes=[0, 3, 1, 2] : i32[2, 8, 3, 5]\n"
                           "%2 = reshape %1 shape=[2, 4, 30] : i32[2, 4, 30]\n"
                           "%3 = reduce %2 combine=add axes=[2] : i32[2, 4]\n"
                           "return %3\n"),
                   0);
  assert_int_equal(rewrite("%0 = input : f32[2, 3, 5, 8]\n"
                           "%1 = input : f32[1, 1, 30]\n"
                           "%2 = permute %0 axes=[0, 3, 1, 2] : f32[2, 8, 3, 5]\n"
                           "%3 = reshape %2 shape=[2, 4, 30] : f32[2, 4, 30]\n"
                           "%4 = expand %1 shape=[2, 4, 30] : f32[2, 4, 30]\n"
                           "%5 = mul %3 %4 : f32[2, 4, 30]\n"
                           "%6 = reduce %5 combine=add axes=[2] : f32[2, 4]\n"
                           "return %6\n"),
                   0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pictures_keep_their_order),
      cmocka_unit_test(channels_have_numbers_of_their_own),
      cmocka_unit_test(others_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
