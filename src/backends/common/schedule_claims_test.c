/* Tiles ask for the lines that they will write, where the second cache does not hold all results;
 * against what `ref` makes of the same graph. */
#include <stdlib.h>
#include <string.h>

#include "backends/common/testing/schedule_run.h"
#include "backends/ref/testing/same_results.h"
#include "base/str.h"

/* A product of 24 rows by weights of 48 columns. */
static hone_graph_t* make_product(void) {
  enum { WEIGHTS = 32 * 48 };
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_append(&text, "  %0 \"x\" = input : f32[24, 32]\n  %1 = constant {");
  test_schedule_numbers(&text, WEIGHTS, 6);
  hone_str_append(&text,
                  "} : f32[32, 48]\n"
                  "  %2 = contract %0 %1 dtype=f32 axes=[1, 0] batch=0 : f32[24, 48]\n"
                  "  return %2 \"y\"\n");
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static bool claims(int64_t second_cache) {
  test_schedule_shape =
      (hone_cpu_shape_t){.lanes = 8, .registers = 16, .second_cache = second_cache};
  char* text = test_schedule_run(make_product(), make_product(), 1);
  bool found = strstr(text, "claim out0[") != NULL;
  free(text);
  return found;
}

static void far_results_are_asked_for(void** state) {
  assert_true(claims(4 << 10));
  assert_false(claims(1 << 20));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(far_results_are_asked_for)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
