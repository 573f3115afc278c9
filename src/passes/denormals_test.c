/* Constants with numbers next to nothing, and those that stay as they are. */
#include "backends/ref/testing/same_results.h"
#include "ir/builder.h"
#include "passes/testing/graph_run.h"

static int64_t rewrite(const char* text, bool exact) {
  hone_graph_t* graph = hone_graph_of_text("", text);
  int64_t count = test_pass_run(graph, &(hone_pass_options_t){.exact = exact}, "denormals");
  hone_graph_destroy(graph);
  return count;
}

static const char product[] =
    "%0 = input : f32[3, 4]\n"
    "%1 = constant {1, 1e-39, -1e-31, 0, 2, 3, 1e-20, -4} : f32[4, 2]\n"
    "%2 = contract %0 %1 dtype=f32 axes=[1, 0] batch=0 : f32[3, 2]\n"
    "return %2\n";

static void numbers_become_zero(void** state) {
  (void)state;
  static const float wanted[] = {1, 0, 0, 0, 2, 3, 1e-20f, -4};
  hone_graph_t* graph = hone_graph_of_text("", product);
  assert_int_equal(test_pass_run(graph, &(hone_pass_options_t){0}, "denormals"), 1);
  const hone_node_t* contract = graph->outputs[0]->node;
  const hone_tensor_t* weights = contract->inputs[1]->node->constant;
  const float* numbers = hone_tensor_data(weights);
  for (size_t i = 0; i < TEST_COUNT(wanted); i++) assert_true(numbers[i] == wanted[i]);
  hone_graph_destroy(graph);
}

static void behind_what_moves_them(void** state) {
  (void)state;
  assert_int_equal(rewrite("%0 = input : f32[3, 2]\n"
                           "%1 = constant {1, 1e-39} : f32[2]\n"
                           "%2 = reshape %1 shape=[1, 2] : f32[1, 2]\n"
                           "%3 = expand %2 shape=[3, 2] : f32[3, 2]\n"
                           "%4 = add %0 %3 : f32[3, 2]\n"
                           "return %4\n",
                           false),
                   1);
}

static void others_stay(void** state) {
  (void)state;
  assert_int_equal(rewrite(product, true), 0);
  /* Nothing of usual size beside it. */
  assert_int_equal(rewrite("%0 = input : f32[2]\n"
                           "%1 = constant {1e-30, 1e-39} : f32[2]\n"
                           "%2 = mul %0 %1 : f32[2]\n"
                           "return %2\n",
                           false),
                   0);
  /* A divisor. */
  assert_int_equal(rewrite("%0 = input : f32[2]\n"
                           "%1 = constant {1, 1e-39} : f32[2]\n"
                           "%2 = div %0 %1 : f32[2]\n"
                           "return %2\n",
                           false),
                   0);
  assert_int_equal(rewrite("%0 = input : f32[2]\n"
                           "%1 = constant {1, 0} : f32[2]\n"
                           "%2 = add %0 %1 : f32[2]\n"
                           "return %2\n",
                           false),
                   0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_become_zero),
      cmocka_unit_test(behind_what_moves_them),
      cmocka_unit_test(others_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
