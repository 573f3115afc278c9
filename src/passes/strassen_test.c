/* Products by fewer of parts against themselves as they were, and what stays one. */
#include <string.h>

#include "backends/ref/testing/same_results.h"
#include "base/str.h"
#include "ir/builder.h"
#include "passes/testing/graph_run.h"

enum { SUMS = 512, COLUMNS = 512, THIRDS = 576 /* has whole thirds, too */ };

/* x of `rows` rows, with a shape around them, by weights that differ everywhere. */
static hone_graph_t* make_sized(const char* rows, int sums, int columns, bool turned) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  int axis = 1;
  for (const char* c = rows; *c; c++) axis += *c == ',';
  hone_str_appendf(&text, "%%0 = input : f32[%s, %d]\n%%1 = constant {", rows, sums);
  for (int i = 0; i < sums * columns; i++)
    hone_str_appendf(&text, "%s%d", i ? ", " : "", i % 41 * 7919 % 41 - 20);
  hone_str_appendf(&text, "} : f32[%d, %d]\n", turned ? columns : sums, turned ? sums : columns);
  hone_str_appendf(&text, "%%2 = contract %%0 %%1 dtype=f32 axes=[%d, %d] batch=0 : f32[%s, %d]\n",
                   axis, turned, rows, columns);
  hone_str_append(&text, "return %2\n");
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static hone_graph_t* make_graph(const char* rows, int columns, bool turned) {
  return make_sized(rows, SUMS, columns, turned);
}

static int64_t rewrite_with(hone_graph_t* graph, hone_pass_options_t options) {
  return test_pass_run(graph, &options, "strassen");
}

static int64_t rewrite(hone_graph_t* graph, bool exact) {
  return rewrite_with(graph, (hone_pass_options_t){.exact = exact});
}

/* What several sums have is added up once. */
static void expect_additions(const hone_graph_t* graph, int64_t products) {
  int found = 0;
  for (int i = 0; i < graph->n_nodes; i++)
    found += graph->nodes[i]->prim == HONE_PRIM_ADD || graph->nodes[i]->prim == HONE_PRIM_SUB;
  assert_int_equal(found, products == 7 ? 5 + 8 : 11 + 20);
}

static void expect_same(const char* rows, int size, int64_t products, bool turned) {
  hone_graph_t* before = make_sized(rows, size, size, turned);
  hone_graph_t* after = make_sized(rows, size, size, turned);
  assert_int_equal(rewrite(after, false), 1);
  int64_t found = 0;
  for (int i = 0; i < after->n_nodes; i++)
    if (after->nodes[i]->prim == HONE_PRIM_CONTRACT)
      found = after->nodes[i]->outputs[0]->type.dims[0].k;
  assert_int_equal(found, products);
  expect_additions(after, products);
  /* Sums of 512 products of up to 20: 1e-6 of the largest. */
  assert_same_results(before, after, 3, 1e-2);
  hone_graph_destroy(before);
  hone_graph_destroy(after);
}

static void results_are_the_same(void** state) {
  (void)state;
  expect_same("128", SUMS, 7, false);
  expect_same("4, 32", SUMS, 7, true);
  expect_same("127", SUMS, 7, false); /* a row of zeros makes halves */
  expect_same("128", THIRDS, 15, false);
  expect_same("129", THIRDS, 15, true);
  expect_same("2, 8, 9", THIRDS, 15, false); /* lines of a picture are halves of blocks */
}

/* relu(x w + bias) w' for 1 by `n` rows, in a range of sizes. */
static hone_graph_t* make_open(const char* range, const char* front) {
  hone_str_t text, symbols;
  hone_str_init(&text, NULL);
  hone_str_init(&symbols, NULL);
  hone_str_appendf(&symbols, "symbol \"n\" input %s\nsymbol \"m\" input 1 64\n", range);
  hone_str_appendf(&text, "%%0 <0 dim 1> = input : f32[%s, n, %d]\n", front, THIRDS);
  for (int k = 1; k < 3; k++) {
    hone_str_appendf(&text, "%%%d = constant {", k);
    for (int i = 0; i < THIRDS * THIRDS; i++)
      hone_str_appendf(&text, "%s%d", i ? ", " : "", i % (40 + k) * 7919 % 41 - 20);
    hone_str_appendf(&text, "} : f32[%d, %d]\n", THIRDS, THIRDS);
  }
  const char* product =
      "%%%d = contract %%%d %%%d dtype=f32 axes=[2, 0] batch=0 : f32[%s, n, %d]\n";
  hone_str_appendf(&text, product, 3, 0, 1, front, THIRDS);
  hone_str_append(&text, "%4 = constant {0.5} : f32[1, 1, 1]\n");
  hone_str_appendf(&text, "%%5 = expand %%4 shape=[%s, n, %d] : f32[%s, n, %d]\n", front, THIRDS,
                   front, THIRDS);
  hone_str_appendf(&text, "%%6 = max %%3 %%5 : f32[%s, n, %d]\n", front, THIRDS);
  hone_str_appendf(&text, product, 7, 6, 2, front, THIRDS);
  hone_str_append(&text, "return %7\n");
  hone_graph_t* graph = hone_graph_of_text(hone_str_text(&symbols), hone_str_text(&text));
  hone_str_free(&text);
  hone_str_free(&symbols);
  return graph;
}

static int count(const hone_graph_t* graph, hone_prim_t prim) {
  int found = 0;
  for (int i = 0; i < graph->n_nodes; i++) found += graph->nodes[i]->prim == prim;
  return found;
}

/* Few rows, many, even and odd. What is between the products goes both ways with them, where there
 * may be few. */
static void open_rows_go_one_of_two_ways(void** state) {
  static const char* const ranges[] = {"1 600", "127 600", "128 600", "301 600"};
  enum { SOMETIMES_FEW = 2 /* of the ranges */ };
  (void)state;
  for (size_t i = 0; i < TEST_COUNT(ranges); i++)
    for (uint64_t seed = 0; seed < 4; seed++) {
      hone_graph_t *before = make_open(ranges[i], "1"), *after = make_open(ranges[i], "1");
      assert_int_equal(rewrite(after, false), 2);
      int ways = i < SOMETIMES_FEW ? 2 : 1;
      assert_int_equal(count(after, HONE_PRIM_CONTRACT), 2 * ways);
      assert_int_equal(count(after, HONE_PRIM_MAX), ways);
      /* The row that the first product gets goes on to the second. */
      if (ways == 2) assert_int_equal(count(after, HONE_PRIM_PAD), 1);
      /* Sums of 576 products of up to 20 by sums of as many. */
      assert_same_results(before, after, seed, 2);
      hone_graph_destroy(before);
      hone_graph_destroy(after);
    }
}

static void expect_unchanged(hone_graph_t* graph, bool exact) {
  assert_int_equal(rewrite(graph, exact), 0);
  hone_graph_destroy(graph);
}

static void others_stay_as_they_are(void** state) {
  (void)state;
  expect_unchanged(make_graph("128", COLUMNS, false), true);
  expect_unchanged(make_graph("8", COLUMNS, false), false); /* too few */
  expect_unchanged(make_graph("128", COLUMNS - 1, false), false);
  expect_unchanged(make_open("1 60", "1"), false);         /* never enough */
  expect_unchanged(make_open("0 2147483647", "1"), false); /* any number */
  expect_unchanged(make_open("1 600", "m"), false);        /* no axis of its own */
}

/* As others, once they are worth it. */
static void open_rows_may_be_rounded(void** state) {
  (void)state;
  for (int widens = 0; widens < 2; widens++) {
    hone_graph_t* graph = make_open("1 600", "1");
    const hone_pass_options_t options = {.precision = HONE_BF16, .widens = widens};
    assert_int_equal(rewrite_with(graph, options), widens ? 2 : 0);
    assert_int_equal(count(graph, HONE_PRIM_MAX), widens ? 2 : 1);
    hone_graph_destroy(graph);
  }
}

/* What takes half the time is worth half as much. */
static void narrow_products_have_to_be_larger(void** state) {
  (void)state;
  for (int widens = 0; widens < 2; widens++) {
    hone_graph_t* graph = make_graph("128", COLUMNS, false);
    const hone_pass_options_t options = {.precision = HONE_BF16, .widens = widens};
    assert_int_equal(rewrite_with(graph, options), widens);
    hone_graph_destroy(graph);
  }
}

static void not_beside_matrix_instructions(void** state) {
  (void)state;
  hone_graph_t* graph = make_graph("128", COLUMNS, false);
  assert_int_equal(rewrite_with(graph, (hone_pass_options_t){.sums_blocks = true}), 0);
  hone_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_are_the_same),
      cmocka_unit_test(open_rows_go_one_of_two_ways),
      cmocka_unit_test(open_rows_may_be_rounded),
      cmocka_unit_test(others_stay_as_they_are),
      cmocka_unit_test(narrow_products_have_to_be_larger),
      cmocka_unit_test(not_beside_matrix_instructions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
