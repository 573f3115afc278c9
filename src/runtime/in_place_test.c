/* Which inputs a kernel's output may take the place of. */
#include "runtime/in_place.h"

#include "backends/ref/testing/same_results.h"
#include "base/testing/fault.h"
#include "hone/schedule.h"
#include "loop/lower.h"

static hone_kernel_t* lower(const char* symbols, const char* lines) {
  hone_graph_t* graph = hone_graph_of_text(symbols, lines);
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_lower(graph, "k", NULL, hone_allocator_system(), &kernel));
  hone_graph_destroy(graph);
  return kernel;
}

/* The answer for the first output of a region. */
static int answer(const char* lines, int after) {
  hone_kernel_t* kernel = lower("", lines);
  int input = hone_kernel_in_place(kernel, 0, after);
  hone_kernel_destroy(kernel);
  return input;
}

#define INPUTS "  %0 = input : f32[4, 4]\n  %1 = input : f32[4, 4]\n"

static void maps_work_in_place(void** state) {
  (void)state;
  static const char sum[] = INPUTS
      "  %2 = add %0 %1 : f32[4, 4]\n"
      "  %3 = mul %2 %0 : f32[4, 4]\n  return %3\n";
  assert_int_equal(answer(sum, 0), 0);
  assert_int_equal(answer(sum, 1), 1);
  assert_int_equal(answer(sum, 2), -1);
}

static void what_reads_elsewhere_does_not(void** state) {
  (void)state;
  assert_int_equal(answer(INPUTS "  %2 = permute %0 axes=[1, 0] : f32[4, 4]\n"
                                 "  %3 = add %2 %1 : f32[4, 4]\n  return %3\n",
                          0),
                   1);
  assert_int_equal(answer(INPUTS "  %2 = permute %0 axes=[1, 0] : f32[4, 4]\n"
                                 "  %3 = add %2 %0 : f32[4, 4]\n  return %3\n",
                          0),
                   -1);
  assert_int_equal(answer(INPUTS "  %2 = contract %0 %1 dtype=f32 axes=[1, 0] batch=0 "
                                 ": f32[4, 4]\n  return %2\n",
                          0),
                   -1);
}

static void what_two_outputs_read_stays(void** state) {
  (void)state;
  assert_int_equal(answer(INPUTS "  %2 = add %0 %0 : f32[4, 4]\n"
                                 "  %3 = mul %0 %1 : f32[4, 4]\n  return %2 %3\n",
                          0),
                   -1);
}

static void other_sizes_do_not_fit(void** state) {
  (void)state;
  assert_int_equal(answer("  %0 = input : f32[4, 4]\n"
                          "  %1 = cast %0 dtype=i8 : i8[4, 4]\n  return %1\n",
                          0),
                   -1);
}

/* x w + y with `n` rows, after a schedule. */
static int answer_of_tiles(const char* schedule) {
  hone_kernel_t* kernel =
      lower("symbol \"n\" input 0 100\n",
            "  %0 = input : f32[n, 4]\n  %1 = input : f32[4, 4]\n  %2 = input : f32[n, 4]\n"
            "  %3 = contract %0 %1 dtype=f32 axes=[1, 0] batch=0 : f32[n, 4]\n"
            "  %4 = add %3 %2 : f32[n, 4]\n  return %4\n");
  assert_ok(hone_schedule_apply(kernel, schedule));
  int input = hone_kernel_in_place(kernel, 0, 0);
  hone_kernel_destroy(kernel);
  return input;
}

/* Several statements store the output then, each of them other rows. */
static void tiles_of_all_heights_work_in_place(void** state) {
  (void)state;
  assert_int_equal(answer_of_tiles(""), 2);
  assert_int_equal(answer_of_tiles("split i 8 peel\n"), 2);
  assert_int_equal(answer_of_tiles("reorder i1 i\nbalance i 8\n"), 2);
}

/* The last block stores rows again that the one before it did. */
static void blocks_that_overlap_do_not(void** state) {
  (void)state;
  assert_int_equal(answer_of_tiles("reorder i1 i\noverlap i 8\n"), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(maps_work_in_place),
      cmocka_unit_test(what_reads_elsewhere_does_not),
      cmocka_unit_test(what_two_outputs_read_stays),
      cmocka_unit_test(other_sizes_do_not_fit),
      cmocka_unit_test(tiles_of_all_heights_work_in_place),
      cmocka_unit_test(blocks_that_overlap_do_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
