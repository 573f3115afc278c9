/* Convolutions one behind the other: a hundred of them, and fewer. */
#include <stdlib.h>
#include <string.h>

#include "backends/ref/testing/same_results.h"
#include "base/str.h"
#include "ir/builder.h"
#include "passes/testing/graph_run.h"

/* Products of a picture's channels by weights, each of the one before, and one beside them. */
static hone_graph_t* make_chain(int length, int rank, const char* dtype) {
  const char* front = rank == 4 ? "1, 2, " : "2, ";
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_appendf(&text, "%%0 = input : f32[%s3, 2]\n%%1 = constant {1, 0, 0, 1} : f32[2, 2]\n",
                   front);
  int made = 2, last = 0;
  if (strcmp(dtype, "f32") != 0) {
    hone_str_appendf(&text, "%%2 = cast %%0 dtype=%s : %s[%s3, 2]\n", dtype, dtype, front);
    hone_str_appendf(&text, "%%3 = cast %%1 dtype=%s : %s[2, 2]\n", dtype, dtype);
    last = 2;
    made = 4;
  }
  for (int i = 0; i < length; i++, last = made++)
    hone_str_appendf(
        &text, "%%%d = contract %%%d %%%d dtype=%s axes=[%d, 0] batch=0 : %s[%s3, 2]\n", made, last,
        last == 0 || strcmp(dtype, "f32") == 0 ? 1 : 3, dtype, rank - 1, dtype, front);
  hone_str_appendf(&text, "return %%%d\n", last);
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static void expect_marked(int length, int rank, const char* dtype, int64_t count) {
  static const hone_pass_options_t usual = {.exact = false};
  hone_graph_t* graph = make_chain(length, rank, dtype);
  assert_int_equal(test_pass_run(graph, &usual, "deep_sums"), count);
  int64_t marked = 0;
  for (int i = 0; i < graph->n_nodes; i++)
    marked += (graph->nodes[i]->flags & HONE_FLAG_BY_PARTS) != 0;
  assert_int_equal(marked, count);
  char* text = test_graph_text(graph);
  hone_graph_t* again = test_graph_parse(text);
  char* copy = test_graph_text(again);
  assert_string_equal(text, copy);
  assert_int_equal(strstr(text, " by_parts") != NULL, count > 0);
  free(text);
  free(copy);
  hone_graph_destroy(again);
  hone_graph_destroy(graph);
}

static void a_hundred_in_a_row_are(void** state) {
  (void)state;
  expect_marked(100, 4, "f32", 100);
  expect_marked(121, 4, "f32", 121);
}

static void fewer_are_not(void** state) {
  (void)state;
  expect_marked(99, 4, "f32", 0);
}

/* A transformer's products stand behind one another, too, but each adds to what it was given. */
static void rows_of_numbers_are_not(void** state) {
  (void)state;
  expect_marked(120, 3, "f32", 0);
}

static void exact_sums_are_not(void** state) {
  (void)state;
  expect_marked(120, 4, "i32", 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_hundred_in_a_row_are),
      cmocka_unit_test(fewer_are_not),
      cmocka_unit_test(rows_of_numbers_are_not),
      cmocka_unit_test(exact_sums_are_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
