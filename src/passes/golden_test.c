/* Golden tests of passes: each tests/passes/PASS/CASE.hg is a graph, and
 * CASE.want.hg what the pass makes of it. Both are also run by `ref` on random
 * numbers: a golden file may not say that a pass changes what is computed.
 *
 * Words in comments of a case: "rounding" allows results that differ by
 * rounding, "fast-math" sets that option, "unchanged" says that the pass must
 * leave the graph alone (and the file of what is wanted is not there), "bf16" and
 * "f16" ask for that precision, and allow what it rounds, "widens" is a device
 * whose products of that precision are slow, "fours" one that adds up four bytes at once,
 * "pairs" one whose fast products of narrow numbers go in pairs, "shorts" one that adds up two
 * numbers of 16 bits at once, "splits" one that is fastest by three products of bf16, "half" one
 * that does so in half the time of two of f32, "lanes" one whose vectors have eight, "caches" one
 * with small caches, "large caches" one with a large second cache, "items" that items of batches
 * are to be computed one by one. With HONE_UPDATE_GOLDEN=1 in the environment the wanted files are
 * written. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/testing/test.h"
#include "passes/pass.h"
#include "passes/testing/graph_run.h"

enum { RUNS = 4 };

/* Terminated; to be freed with free(). NULL when there is no such file. */
static char* read_text(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) return NULL;
  char* text = calloc(1, 1 << 20);
  assert_non_null(text);
  size_t size = fread(text, 1, (1 << 20) - 1, file);
  text[size] = 0;
  fclose(file);
  return text;
}

static bool says(const char* text, const char* word) {
  char comment[64];
  snprintf(comment, sizeof comment, "# %s", word);
  return strstr(text, comment) != NULL;
}

static hone_graph_t* rewrite(const char* text, const char* pass) {
  hone_graph_t* graph = test_graph_parse(text);
  hone_pass_options_t options = {.n_only = 1,
                                 .only = &pass,
                                 .verify = true,
                                 .fast_math = says(text, "fast-math"),
                                 .widens = says(text, "widens"),
                                 .widens_f16 = says(text, "halves"),
                                 .widens_bf16 = says(text, "halves"),
                                 .lanes = says(text, "lanes") ? 8 : 0,
                                 .sums_fours = says(text, "fours"),
                                 .sums_apart = says(text, "fours, apart"),
                                 .mixes_signs = says(text, "mixed signs"),
                                 .sums_pairs = says(text, "pairs"),
                                 .sums_blocks = says(text, "pairs in blocks"),
                                 .blocks_bytes = says(text, "pairs in blocks, blocks of bytes"),
                                 .splits = says(text, "splits"),
                                 .sums_shorts = says(text, "shorts"),
                                 .halves_shorts = says(text, "half"),
                                 .sums_slight = says(text, "slight"),
                                 .near_cache = says(text, "large caches") ? 1 << 19
                                               : says(text, "caches")     ? 1 << 16
                                                                          : 0,
                                 .far_cache = says(text, "caches, far") ? 1 << 28
                                              : says(text, "caches")    ? 1 << 21
                                                                        : 0,
                                 .threads = says(text, "one thread") ? 1 : 2,
                                 .by_items = says(text, "items"),
                                 .precision = says(text, "bf16")  ? HONE_BF16
                                              : says(text, "f16") ? HONE_F16
                                                                  : HONE_UNKNOWN};
  assert_ok(hone_passes_run(graph, &options, NULL));
  return graph;
}

static void check_text(const char* path, const char* text, const hone_graph_t* graph) {
  char wanted_path[512];
  snprintf(wanted_path, sizeof wanted_path, "%.*s.want.hg", (int)strlen(path) - 3, path);
  char* made = test_graph_text(graph);
  bool same_wanted = says(text, "unchanged");
  if (getenv("HONE_UPDATE_GOLDEN") && !same_wanted)
    assert_ok(hone_file_write(wanted_path, made, strlen(made)));
  char* wanted = same_wanted ? NULL : read_text(wanted_path);
  if (same_wanted) {
    hone_graph_t* plain = test_graph_parse(text);
    wanted = test_graph_text(plain);
    hone_graph_destroy(plain);
  }
  if (!wanted) fail_msg("%s is not there; HONE_UPDATE_GOLDEN=1 writes it", wanted_path);
  if (strcmp(made, wanted) != 0)
    fail_msg("%s: the pass makes\n%s\nbut wanted is\n%s", path, made, wanted);
  free(made);
  free(wanted);
}

static void check_case(const char* path, const char* pass) {
  char* text = read_text(path);
  assert_non_null(text);
  hone_graph_t *before = test_graph_parse(text), *after = rewrite(text, pass);
  check_text(path, text, after);
  double tolerance = says(text, "rounding") || says(text, "fast-math") ? 1e-5 : 0;
  if (says(text, "bf16") || says(text, "f16")) tolerance = 2e-2;
  for (uint64_t seed = 0; seed < RUNS; seed++) {
    test_outputs_t a, b;
    test_graph_run(before, seed * 100, &a);
    test_graph_run(after, seed * 100, &b);
    assert_int_equal(a.code, HONE_OK);
    test_outputs_same(&a, &b, tolerance, path);
    test_outputs_free(&a);
    test_outputs_free(&b);
  }
  hone_graph_destroy(before);
  hone_graph_destroy(after);
  free(text);
}

static bool is_case(const char* path) { return !strstr(path, ".want.hg"); }

/* Gives the number of cases. */
static int check_pass(const char* pass) {
  char pattern[256];
  int count = 0;
  snprintf(pattern, sizeof pattern, "tests/passes/%s/*.hg", pass);
  glob_t found;
  if (glob(pattern, 0, NULL, &found) != 0) return 0;
  for (size_t i = 0; i < found.gl_pathc; i++) {
    if (!is_case(found.gl_pathv[i])) continue;
    check_case(found.gl_pathv[i], pass);
    count++;
  }
  globfree(&found);
  return count;
}

static void passes_make_what_is_wanted(void** state) {
  for (int i = 0; i < hone_pass_total(); i++)
    if (check_pass(hone_pass_at(i)->name) == 0)
      fail_msg("pass %s has no golden case in tests/passes/%s", hone_pass_at(i)->name,
               hone_pass_at(i)->name);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(passes_make_what_is_wanted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
