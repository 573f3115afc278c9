/* Products added up part by part against themselves as they were, and what stays one. */
#include "backends/ref/testing/same_results.h"
#include "base/str.h"
#include "ir/builder.h"
#include "passes/testing/graph_run.h"

enum { SUMS = 1600, COLUMNS = 16 };

/* Weights of 100 kB, of which a core's own cache holds a part. */
static const hone_pass_options_t usual = {.near_cache = 1 << 16};

/* x of `rows` rows by weights that differ everywhere. */
static hone_graph_t* make_graph(const char* symbols, const char* rows, bool turned) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_appendf(&text, "%%0%s = input : f32[2, %s, %d]\n%%1 = constant {",
                   *symbols ? " <0 dim 1>" : "", rows, SUMS);
  for (int i = 0; i < SUMS * COLUMNS; i++)
    hone_str_appendf(&text, "%s%d", i ? ", " : "", (i * 7919) % 41 - 20);
  hone_str_appendf(&text, "} : f32[%d, %d]\n", turned ? COLUMNS : SUMS, turned ? SUMS : COLUMNS);
  hone_str_appendf(&text,
                   "%%2 = contract %%0 %%1 dtype=f32 axes=[2, %d] batch=0 : f32[2, %s, %d]\n",
                   turned, rows, COLUMNS);
  hone_str_append(&text, "return %2\n");
  hone_graph_t* graph = hone_graph_of_text(symbols, hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static int64_t rewrite(hone_graph_t* graph, hone_pass_options_t options) {
  return test_pass_run(graph, &options, "long_sums");
}

static int count_contractions(const hone_graph_t* graph) {
  int count = 0;
  for (int i = 0; i < graph->n_nodes; i++) count += graph->nodes[i]->prim == HONE_PRIM_CONTRACT;
  return count;
}

static void expect_same(const char* symbols, const char* rows, bool turned) {
  hone_graph_t* before = make_graph(symbols, rows, turned);
  hone_graph_t* after = make_graph(symbols, rows, turned);
  assert_int_equal(rewrite(after, usual), 1);
  assert_int_equal(count_contractions(after), SUMS / 768);
  assert_int_equal(rewrite(after, usual), 0);
  /* Sums of 1,600 products of up to 20: 1e-6 of the largest. */
  assert_same_results(before, after, 3, 2e-2);
  hone_graph_destroy(before);
  hone_graph_destroy(after);
}

static void results_are_the_same(void** state) {
  (void)state;
  expect_same("", "8", false);
  expect_same("", "11", true);
  expect_same("symbol \"n\" input 0 40\n", "n", false);
}

static void expect_unchanged(const char* rows, hone_pass_options_t options) {
  hone_graph_t* graph = make_graph("", rows, false);
  assert_int_equal(rewrite(graph, options), 0);
  hone_graph_destroy(graph);
}

static void others_stay_as_they_are(void** state) {
  (void)state;
  hone_pass_options_t other = usual;
  expect_unchanged("7", other); /* 14 rows: a tile or two */
  other.near_cache = 0;
  expect_unchanged("8", other);
  other.near_cache = 1 << 18; /* for all weights */
  expect_unchanged("8", other);
}

/* What is to be of half the size takes no sums of f32 in between; where it is widened, it does. */
static void narrow_products_stay(void** state) {
  (void)state;
  for (int widens = 0; widens < 2; widens++) {
    hone_graph_t* graph = make_graph("", "8", false);
    hone_pass_options_t options = usual;
    options.precision = HONE_BF16;
    options.widens = widens;
    assert_int_equal(rewrite(graph, options), widens);
    hone_graph_destroy(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_are_the_same),
      cmocka_unit_test(others_stay_as_they_are),
      cmocka_unit_test(narrow_products_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
