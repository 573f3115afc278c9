/* Which inputs a kernel's output may take the place of. */
#include "runtime/in_place.h"

#include "backends/ref/testing/same_results.h"
#include "base/testing/fault.h"
#include "loop/lower.h"

/* The answer for the first output of a region. */
static int answer(const char* lines, int after) {
  hone_graph_t* graph = hone_graph_of_text("", lines);
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_lower(graph, "k", NULL, hone_allocator_system(), &kernel));
  int input = hone_kernel_in_place(kernel, 0, after);
  hone_kernel_destroy(kernel);
  hone_graph_destroy(graph);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(maps_work_in_place),
      cmocka_unit_test(what_reads_elsewhere_does_not),
      cmocka_unit_test(what_two_outputs_read_stays),
      cmocka_unit_test(other_sizes_do_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
