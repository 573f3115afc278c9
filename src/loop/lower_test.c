/* Regions become kernels that keep the rules of kernel.h. */
#include "loop/lower.h"

#include "backends/ref/testing/same_results.h"
#include "base/testing/fault.h"
#include "loop/verify.h"

static hone_kernel_t* lower(const char* symbols, const char* lines) {
  hone_graph_t* graph = hone_graph_of_text(symbols, lines);
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_lower(graph, "k", NULL, hone_allocator_system(), &kernel));
  hone_graph_destroy(graph);
  assert_ok(hone_kernel_verify(kernel));
  return kernel;
}

/* The error word is known to be needed once the scratch of the sum is there. */
static void parameters_come_before_scratch(void** state) {
  (void)state;
  hone_kernel_t* kernel = lower("",
                                "  %0 = input : f32[5, 7]\n"
                                "  %1 = input : i64[3]\n"
                                "  %2 = gather %0 %1 : f32[3, 7]\n"
                                "  %3 = reduce %2 combine=add axes=[1] : f32[3]\n"
                                "  %4 = neg %3 : f32[3]\n"
                                "  return %4\n");
  assert_int_equal(kernel->n_checks, 1);
  assert_int_equal(kernel->n_buffers, 5);
  for (int i = 0; i < kernel->n_buffers; i++) {
    assert_int_equal(kernel->buffers[i]->id, i);
    assert_int_equal(kernel->buffers[i]->role == HONE_ROLE_SCRATCH, i == 4);
  }
  assert_int_equal(kernel->buffers[3]->role, HONE_ROLE_ERROR);
  hone_kernel_destroy(kernel);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters_come_before_scratch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
