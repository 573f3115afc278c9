/* Divisions in activations, and those that stay. */
#include "backends/ref/testing/same_results.h"
#include "ir/builder.h"
#include "passes/testing/graph_run.h"

#define CALL(label)                               \
  "%0 = input : f32[2, 3]\n"                      \
  "%1 = call %0 label=" label                     \
  " : f32[2, 3]\n"                                \
  "  region \"body\" {\n"                         \
  "    %0 = input : f32[2, 3]\n"                  \
  "    %1 = constant {6} : f32[1, 1]\n"           \
  "    %2 = expand %1 shape=[2, 3] : f32[2, 3]\n" \
  "    %3 = div %0 %2 : f32[2, 3]\n"              \
  "    return %3\n"                               \
  "  }\n"                                         \
  "return %1\n"

static int64_t rewrite(const char* text, bool exact) {
  hone_graph_t* before = hone_graph_of_text("", text);
  hone_graph_t* after = hone_graph_of_text("", text);
  int64_t count = test_pass_run(after, &(hone_pass_options_t){.exact = exact}, "inverses");
  assert_same_results(before, after, 3, 1e-6);
  hone_graph_destroy(before);
  hone_graph_destroy(after);
  return count;
}

static void activations_multiply(void** state) {
  (void)state;
  assert_int_equal(rewrite(CALL("hard_swish"), false), 1);
}

static void others_divide(void** state) {
  (void)state;
  assert_int_equal(rewrite(CALL("hard_swish"), true), 0);
  assert_int_equal(rewrite(CALL("softmax"), false), 0);
  assert_int_equal(rewrite("%0 = input : f32[2]\n"
                           "%1 = constant {6} : f32[1]\n"
                           "%2 = expand %1 shape=[2] : f32[2]\n"
                           "%3 = div %0 %2 : f32[2]\n"
                           "return %3\n",
                           false),
                   0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(activations_multiply),
      cmocka_unit_test(others_divide),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
