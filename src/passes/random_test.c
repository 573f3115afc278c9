/* Whatever the graph, passes leave what it computes as it is. Each pass alone,
 * and all of them together, on random graphs run by `ref` before and after. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/testing/test.h"
#include "passes/pass.h"
#include "passes/testing/graph_run.h"
#include "passes/testing/random_graph.h"

enum { GRAPHS = 300, NODES = 40 };

/* Passes that may round differently; sums of several such steps add up. */
static double tolerance_of(const char* pass) {
  static const char* const rounding[] = {"affine", "bn_fold", "reparameterize", NULL};
  if (!pass) return 2e-3;
  for (int i = 0; rounding[i]; i++)
    if (strcmp(rounding[i], pass) == 0) return 2e-3;
  return 0;
}

/* `pass` NULL: all. */
static void check(uint64_t seed, const char* pass) {
  hone_graph_t *before = test_random_graph(seed, NODES), *after = test_random_graph(seed, NODES);
  char what[96];
  snprintf(what, sizeof what, "graph %llu, pass %s", (unsigned long long)seed, pass ? pass : "all");
  hone_pass_options_t options = {
      .n_only = pass ? 1 : 0, .only = &pass, .verify = true, .by_items = true};
  hone_status_t status = hone_passes_run(after, &options, NULL);
  if (status) fail_msg("%s: %s", what, hone_status_message(status));
  test_outputs_t a, b;
  test_graph_run(before, seed, &a);
  test_graph_run(after, seed, &b);
  test_outputs_same(&a, &b, tolerance_of(pass), what);
  test_outputs_free(&a);
  test_outputs_free(&b);
  hone_graph_destroy(before);
  hone_graph_destroy(after);
}

static void each_pass_keeps_results(void** state) {
  for (int i = 0; i < hone_pass_total(); i++)
    for (uint64_t seed = 0; seed < GRAPHS; seed++) check(seed, hone_pass_at(i)->name);
}

/* Files of a case have arrays by these names. */
static void inputs_have_names_of_their_own(void** state) {
  for (uint64_t seed = 0; seed < GRAPHS; seed++) {
    hone_graph_t* graph = test_random_graph(seed, NODES);
    for (int i = 0; i < graph->n_inputs; i++)
      for (int k = 0; k < i; k++)
        assert_string_not_equal(graph->inputs[i]->name, graph->inputs[k]->name);
    hone_graph_destroy(graph);
  }
}

static void all_passes_keep_results(void** state) {
  for (uint64_t seed = 0; seed < GRAPHS; seed++) check(1000 + seed, NULL);
}

/* With HONE_PASSES_SEED set, that graph alone, printed before and after. */
static void show(const char* seed_text) {
  uint64_t seed = strtoull(seed_text, NULL, 10);
  hone_graph_t* graph = test_random_graph(seed, NODES);
  char* text = test_graph_text(graph);
  puts(text);
  free(text);
  assert_ok(hone_passes_run(graph, NULL, NULL));
  text = test_graph_text(graph);
  puts(text);
  free(text);
  hone_graph_destroy(graph);
}

int main(void) {
  if (getenv("HONE_PASSES_SEED")) show(getenv("HONE_PASSES_SEED"));
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_pass_keeps_results),
      cmocka_unit_test(all_passes_keep_results),
      cmocka_unit_test(inputs_have_names_of_their_own),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
