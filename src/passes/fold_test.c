/* What is folded though it grows: what kernels would compute functions for in each run. */
#include <stdio.h>

#include "backends/ref/testing/same_results.h"
#include "ir/builder.h"
#include "passes/testing/graph_run.h"

/* x plus the sines, or the squares, of a table of numbers that follows from nothing. */
static hone_graph_t* make_graph(int rows, bool has_sines) {
  char text[512];
  snprintf(text, sizeof text,
           "%%0 = input : f32[%d, 300]\n"
           "%%1 = iota dtype=f32 axes=[0] shape=[%d, 300] : f32[%d, 300]\n"
           "%%2 = %s : f32[%d, 300]\n"
           "%%3 = add %%0 %%2 : f32[%d, 300]\n"
           "return %%3\n",
           rows, rows, rows, has_sines ? "sin %1" : "mul %1 %1", rows, rows);
  return hone_graph_of_text("", text);
}

static int count(const hone_graph_t* graph, hone_prim_t prim) {
  int found = 0;
  for (int i = 0; i < graph->n_nodes; i++) found += graph->nodes[i]->prim == prim;
  return found;
}

static void expect(int rows, bool has_sines, int64_t folded) {
  hone_graph_t *before = make_graph(rows, has_sines), *after = make_graph(rows, has_sines);
  assert_int_equal(test_pass_run(after, &(hone_pass_options_t){0}, "fold"), folded);
  assert_int_equal(count(after, HONE_PRIM_CONSTANT), folded);
  if (folded) assert_same_results(before, after, 1, 0);
  hone_graph_destroy(before);
  hone_graph_destroy(after);
}

static void tables_of_functions_are_folded(void** state) {
  (void)state;
  expect(100, true, 1);  /* 120 kB */
  expect(100, false, 0); /* as quickly computed as read */
  expect(8000, true, 0); /* 9.6 MB */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tables_of_functions_are_folded)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
