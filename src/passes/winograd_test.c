/* Convolutions by tiles against themselves as they were, and what stays one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/ref/testing/same_results.h"
#include "base/str.h"
#include "ir/builder.h"
#include "passes/testing/graph_run.h"

enum { CHANNELS = 32, FILTERS = 40, MANY = 64 };

/* The product of the numbers in a list. */
static int count_of(const char* dims) {
  int count = 1;
  char* end;
  for (const char* at = dims; *at; at = *end ? end + 1 : end) count *= (int)strtol(at, &end, 10);
  return count;
}

/* A convolution of x by weights that differ everywhere: `x` is its type, `w` the extents of the
 * weights, `axes` those of the window, `pairs` of the contraction. */
static hone_graph_t* make_conv(const char* x, const char* w, const char* before, const char* window,
                               const char* pairs, const char* result) {
  hone_str_t text;
  const char* dtype = strncmp(x, "bf16", 4) == 0 ? "bf16" : "f32";
  hone_str_init(&text, NULL);
  hone_str_appendf(&text, "%%0%s = input : %s\n%%1 = constant {",
                   strstr(x, "[n") ? " <0 dim 0>" : "", x);
  for (int i = 0; i < count_of(w); i++)
    hone_str_appendf(&text, "%s%d", i ? ", " : "", (i * 7919) % 41 - 20);
  hone_str_appendf(&text, "} : %s[%s]\n%%2 = constant {3} : %s[]\n", dtype, w, dtype);
  hone_str_appendf(&text, "%s\n%%4 = window %%3 %s\n", before, window);
  hone_str_appendf(&text, "%%5 = contract %%4 %%1 dtype=f32 axes=[%s] batch=0 : %s\nreturn %%5\n",
                   pairs, result);
  hone_graph_t* graph =
      hone_graph_of_text("symbol \"n\" input 0 2147483647\n", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

/* By windows of 3 x 3. Of bf16 it has more channels and filters. */
static hone_graph_t* make_graph(const char* x, const char* before, const char* window,
                                const char* pairs, const char* result) {
  char w[64];
  bool is_narrow = strncmp(x, "bf16", 4) == 0;
  snprintf(w, sizeof w, "%d, %d, 3, 3", is_narrow ? MANY : FILTERS, is_narrow ? MANY : CHANNELS);
  return make_conv(x, w, before, window, pairs, result);
}

static int64_t rewrite(hone_graph_t* graph) {
  return test_pass_run(graph, &(hone_pass_options_t){0}, "winograd");
}

typedef struct layout {
  const char *x, *before, *window, *pairs, *result;
} layout_t;

static const layout_t layouts[] = {
    /* Whole tiles, channels last, a batch of any size. */
    {"f32[n, 32, 36, 32]", "%3 = pad %0 %2 lo=[0, 1, 1, 0] hi=[0, 1, 1, 0] : f32[n, 34, 38, 32]",
     "axes=[1, 2] shape=[3, 3] hi=[1, 1] step=[1, 1] : f32[n, 32, 36, 32, 3, 3]",
     "3, 1, 4, 2, 5, 3", "f32[n, 32, 36, 40]"},
    /* Part of the last tiles, which are not padded yet. */
    {"f32[2, 33, 36, 32]", "%3 = reshape %0 shape=[2, 33, 36, 32] : f32[2, 33, 36, 32]",
     "axes=[1, 2] shape=[3, 3] hi=[1, 1] step=[1, 1] : f32[2, 31, 34, 32, 3, 3]",
     "4, 2, 3, 1, 5, 3", "f32[2, 31, 34, 40]"},
    /* Part of the last tiles, behind a pad, channels first. */
    {"f32[1, 32, 29, 38]",
     "%3 = pad %0 %2 lo=[0, 0, 1, 0] hi=[0, 0, 2, 1] : f32[1, 32, 32, "
     "39]",
     "axes=[2, 3] shape=[3, 3] hi=[1, 1] step=[1, 1] : f32[1, 32, 30, 37, 3, 3]",
     "1, 1, 4, 2, 5, 3", "f32[1, 30, 37, 40]"},
    /* Operands that were rounded. */
    {"bf16[1, 32, 36, 64]", "%3 = pad %0 %2 lo=[0, 1, 1, 0] hi=[0, 1, 1, 0] : bf16[1, 34, 38, 64]",
     "axes=[1, 2] shape=[3, 3] hi=[1, 1] step=[1, 1] : bf16[1, 32, 36, 64, 3, 3]",
     "3, 1, 4, 2, 5, 3", "f32[1, 32, 36, 64]"},
};

static void results_are_the_same(void** state) {
  for (size_t i = 0; i < TEST_COUNT(layouts); i++) {
    const layout_t* l = &layouts[i];
    hone_graph_t* before = make_graph(l->x, l->before, l->window, l->pairs, l->result);
    hone_graph_t* after = make_graph(l->x, l->before, l->window, l->pairs, l->result);
    assert_int_equal(rewrite(after), 1);
    /* Sums of 288 products of up to 40: 3e-6 of the largest. */
    for (uint64_t seed = 0; seed < 3; seed++) assert_same_results(before, after, seed, 5e-3);
    hone_graph_destroy(before);
    hone_graph_destroy(after);
  }
}

/* Of small pictures weights are most of what tiles read: a batch of them reads these once. */
static void pictures_of_a_batch_share_weights(void** state) {
  static const struct {
    const char *x, *windows, *result;
    int64_t rewrites;
  } cases[] = {
      {"f32[1, 6, 6, 32]", "f32[1, 4, 4, 32, 3, 3]", "f32[1, 4, 4, 40]", 0},
      {"f32[64, 6, 6, 32]", "f32[64, 4, 4, 32, 3, 3]", "f32[64, 4, 4, 40]", 1},
  };
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    char before[64], window[128];
    snprintf(before, sizeof before, "%%3 = abs %%0 : %s", cases[i].x);
    snprintf(window, sizeof window, "axes=[1, 2] shape=[3, 3] hi=[1, 1] step=[1, 1] : %s",
             cases[i].windows);
    hone_graph_t* graph =
        make_graph(cases[i].x, before, window, "3, 1, 4, 2, 5, 3", cases[i].result);
    assert_int_equal(rewrite(graph), cases[i].rewrites);
    hone_graph_destroy(graph);
  }
}

/* Of how many only a run knows, there are two or more, and weights are taken to be read for two. */
static void pictures_of_an_open_batch_are_two(void** state) {
  static const char* const counts[] = {"1", "2", "n"};
  for (int i = 0; i < 3; i++) {
    char x[64], before[64], window[128], result[64];
    snprintf(x, sizeof x, "f32[%s, 10, 10, 64]", counts[i]);
    snprintf(before, sizeof before, "%%3 = abs %%0 : %s", x);
    snprintf(window, sizeof window,
             "axes=[1, 2] shape=[3, 3] hi=[1, 1] step=[1, 1] : f32[%s, 8, 8, 64, 3, 3]", counts[i]);
    snprintf(result, sizeof result, "f32[%s, 8, 8, 64]", counts[i]);
    hone_graph_t* graph = make_conv(x, "64, 64, 3, 3", before, window, "3, 1, 4, 2, 5, 3", result);
    assert_int_equal(rewrite(graph), i > 0);
    hone_graph_destroy(graph);
  }
}

enum { GROUPS = 3, FEW = 8 };

/* Three groups of `channels` each, by as many filters; the groups' axis of x is the first, or
 * stands before the channels. */
static hone_graph_t* make_groups(int channels, bool is_first) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  const char *x = is_first ? "3, 2, 34, 36, %d" : "2, 34, 36, 3, %d",
             *windows = is_first ? "3, 2, 32, 34, %d" : "2, 32, 34, 3, %d";
  hone_str_append(&text, "%0 = input : f32[");
  hone_str_appendf(&text, x, channels);
  hone_str_append(&text, "]\n%1 = constant {");
  for (int i = 0; i < GROUPS * channels * channels * 9; i++)
    hone_str_appendf(&text, "%s%d", i ? ", " : "", (i * 7919) % 41 - 20);
  hone_str_appendf(&text, "} : f32[3, %d, %d, 3, 3]\n", channels, channels);
  hone_str_appendf(&text, "%%2 = window %%0 axes=[%s] shape=[3, 3] hi=[1, 1] step=[1, 1] : f32[",
                   is_first ? "2, 3" : "1, 2");
  hone_str_appendf(&text, windows, channels);
  hone_str_appendf(&text,
                   ", 3, 3]\n%%3 = contract %%2 %%1 dtype=f32 axes=[%d, 0, 4, 2, 5, 3, 6, 4] "
                   "batch=1 : f32[3, 2, 32, 34, %d]\nreturn %%3\n",
                   is_first ? 0 : 3, channels);
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static void groups_go_by_tiles_too(void** state) {
  for (int is_first = 0; is_first < 2; is_first++) {
    hone_graph_t *before = make_groups(CHANNELS, is_first),
                 *after = make_groups(CHANNELS, is_first);
    assert_int_equal(rewrite(after), 1);
    for (uint64_t seed = 0; seed < 2; seed++) assert_same_results(before, after, seed, 5e-3);
    hone_graph_destroy(before);
    hone_graph_destroy(after);
  }
  hone_graph_t* few = make_groups(FEW, false);
  assert_int_equal(rewrite(few), 0);
  hone_graph_destroy(few);
}

/* Windows along one axis, longer ones and such that take steps, which are cut into parts. */
static const struct {
  const char* w;
  layout_t conv;
} windows[] = {
    /* A line of three, channels last: whole tiles, and a batch of any size. */
    {"104, 96, 3",
     {"f32[n, 98, 96]", "%3 = pad %0 %2 lo=[0, 1, 0] hi=[0, 1, 0] : f32[n, 100, 96]",
      "axes=[1] shape=[3] hi=[1] step=[1] : f32[n, 98, 96, 3]", "2, 1, 3, 2", "f32[n, 98, 104]"}},
    /* Five rows of pictures, channels first: a part of three, one of two. */
    {"128, 96, 5",
     {"f32[2, 96, 37, 9]", "%3 = abs %0 : f32[2, 96, 37, 9]",
      "axes=[2] shape=[5] hi=[1] step=[1] : f32[2, 96, 33, 9, 5]", "1, 1, 4, 2",
      "f32[2, 33, 9, 128]"}},
    /* Elements come first in the weights; three parts. */
    {"7, 96, 96",
     {"f32[1, 9, 64, 96]", "%3 = pad %0 %2 lo=[0, 0, 3, 0] hi=[0, 0, 3, 0] : f32[1, 9, 70, 96]",
      "axes=[2] shape=[7] hi=[1] step=[1] : f32[1, 9, 64, 96, 7]", "3, 1, 4, 0",
      "f32[1, 9, 64, 96]"}},
    /* Every second: two elements and one. What is behind the last window stays unread. */
    {"256, 256, 3",
     {"f32[1, 1060, 256]", "%3 = abs %0 : f32[1, 1060, 256]",
      "axes=[1] shape=[3] hi=[1] step=[2] : f32[1, 529, 256, 3]", "2, 1, 3, 2",
      "f32[1, 529, 256]"}},
    /* Every second of seven: four and three. */
    {"128, 64, 7",
     {"f32[1, 64, 1001]", "%3 = pad %0 %2 lo=[0, 0, 3] hi=[0, 0, 2] : f32[1, 64, 1006]",
      "axes=[2] shape=[7] hi=[1] step=[2] : f32[1, 64, 500, 7]", "1, 1, 3, 2", "f32[1, 500, 128]"}},
    /* Four parts of pictures. */
    {"64, 64, 5, 4",
     {"f32[1, 25, 27, 64]", "%3 = pad %0 %2 lo=[0, 2, 1, 0] hi=[0, 2, 2, 0] : f32[1, 29, 30, 64]",
      "axes=[1, 2] shape=[5, 4] hi=[1, 1] step=[1, 1] : f32[1, 25, 27, 64, 5, 4]",
      "3, 1, 4, 2, 5, 3", "f32[1, 25, 27, 64]"}},
    /* Steps that differ. */
    {"40, 32, 5, 3",
     {"f32[1, 49, 27, 32]", "%3 = abs %0 : f32[1, 49, 27, 32]",
      "axes=[1, 2] shape=[5, 3] hi=[1, 1] step=[2, 1] : f32[1, 23, 25, 32, 5, 3]",
      "3, 1, 4, 2, 5, 3", "f32[1, 23, 25, 40]"}},
    /* Every second of 3 x 3: parts of 4, 2, 2 and 1 elements, by tiles of 4. */
    {"128, 96, 3, 3",
     {"f32[n, 96, 56, 59]", "%3 = pad %0 %2 lo=[0, 0, 1, 1] hi=[0, 0, 1, 1] : f32[n, 96, 58, 61]",
      "axes=[2, 3] shape=[3, 3] hi=[1, 1] step=[2, 2] : f32[n, 96, 28, 30, 3, 3]",
      "1, 1, 4, 2, 5, 3", "f32[n, 28, 30, 128]"}},
    /* By tiles of 2, in which weights are less. */
    {"128, 128, 3, 3",
     {"f32[1, 28, 28, 128]", "%3 = pad %0 %2 lo=[0, 1, 1, 0] hi=[0, 0, 0, 0] : f32[1, 29, 29, 128]",
      "axes=[1, 2] shape=[3, 3] hi=[1, 1] step=[2, 2] : f32[1, 14, 14, 128, 3, 3]",
      "3, 1, 4, 2, 5, 3", "f32[1, 14, 14, 128]"}},
    /* Parts of two and of one along the first axis, whole ones along the other. */
    {"128, 64, 3, 4",
     {"f32[1, 57, 58, 64]", "%3 = abs %0 : f32[1, 57, 58, 64]",
      "axes=[1, 2] shape=[3, 4] hi=[1, 1] step=[2, 2] : f32[1, 28, 28, 64, 3, 4]",
      "3, 1, 4, 2, 5, 3", "f32[1, 28, 28, 128]"}},
    /* And the other way round. */
    {"128, 64, 4, 3",
     {"f32[1, 58, 57, 64]", "%3 = abs %0 : f32[1, 58, 57, 64]",
      "axes=[1, 2] shape=[4, 3] hi=[1, 1] step=[2, 2] : f32[1, 28, 28, 64, 4, 3]",
      "3, 1, 4, 2, 5, 3", "f32[1, 28, 28, 128]"}},
    /* Windows of two. */
    {"64, 64, 2, 2",
     {"f32[1, 30, 29, 64]", "%3 = abs %0 : f32[1, 30, 29, 64]",
      "axes=[1, 2] shape=[2, 2] hi=[1, 1] step=[1, 1] : f32[1, 29, 28, 64, 2, 2]",
      "3, 1, 4, 2, 5, 3", "f32[1, 29, 28, 64]"}},
    /* Films: windows stay along time; whole tiles, channels last. */
    {"40, 32, 3, 3, 3",
     {"f32[n, 5, 16, 20, 32]",
      "%3 = pad %0 %2 lo=[0, 1, 1, 1, 0] hi=[0, 1, 1, 1, 0] : f32[n, 7, 18, 22, 32]",
      "axes=[1, 2, 3] shape=[3, 3, 3] hi=[1, 1, 1] step=[1, 1, 1] : "
      "f32[n, 5, 16, 20, 32, 3, 3, 3]",
      "4, 1, 5, 2, 6, 3, 7, 4", "f32[n, 5, 16, 20, 40]"}},
    /* In steps along time, channels first; elements along time come last in the weights. */
    {"40, 32, 3, 5, 2",
     {"f32[2, 32, 6, 19, 21]", "%3 = abs %0 : f32[2, 32, 6, 19, 21]",
      "axes=[2, 3, 4] shape=[2, 3, 5] hi=[1, 1, 1] step=[3, 1, 1] : "
      "f32[2, 32, 2, 17, 17, 2, 3, 5]",
      "1, 1, 5, 4, 6, 2, 7, 3", "f32[2, 2, 17, 17, 40]"}},
};

static void other_windows_give_the_same(void** state) {
  for (size_t i = 0; i < TEST_COUNT(windows); i++) {
    const layout_t* l = &windows[i].conv;
    hone_graph_t* graphs[2];
    for (int k = 0; k < 2; k++)
      graphs[k] = make_conv(l->x, windows[i].w, l->before, l->window, l->pairs, l->result);
    assert_int_equal(rewrite(graphs[1]), 1);
    /* Sums of up to 768 products of up to 40. */
    for (uint64_t seed = 0; seed < 2; seed++) assert_same_results(graphs[0], graphs[1], seed, 5e-3);
    for (int k = 0; k < 2; k++) hone_graph_destroy(graphs[k]);
  }
}

/* Tiles of 2 x 2 multiply what was rounded to bf16 again; f16 might not hold the largest. */
static void small_tiles_of_bf16_stay_narrow(void** state) {
  static const layout_t l = {
      "bf16[1, 14, 14, 64]", "%3 = pad %0 %2 lo=[0, 1, 1, 0] hi=[0, 1, 1, 0] : bf16[1, 16, 16, 64]",
      "axes=[1, 2] shape=[3, 3] hi=[1, 1] step=[1, 1] : bf16[1, 14, 14, 64, 3, 3]",
      "3, 1, 4, 2, 5, 3", "f32[1, 14, 14, 64]"};
  hone_graph_t* before = make_graph(l.x, l.before, l.window, l.pairs, l.result);
  hone_graph_t* after = make_graph(l.x, l.before, l.window, l.pairs, l.result);
  int found = 0;
  assert_int_equal(rewrite(after), 1);
  for (int i = 0; i < after->n_nodes; i++) {
    const hone_node_t* node = after->nodes[i];
    if (node->prim != HONE_PRIM_CONTRACT) continue;
    found++;
    assert_int_equal(node->n_batch, 1);
    for (int k = 0; k < 2; k++) assert_int_equal(node->inputs[k]->type.dtype, HONE_BF16);
  }
  assert_int_equal(found, 1);
  /* The largest of the sums, each of 576 products of up to 40, are about a thousand. */
  assert_same_results(before, after, 1, 8);
  hone_graph_destroy(before);
  hone_graph_destroy(after);
}

static void exact_and_matrix_instructions_leave_it_alone(void** state) {
  static const hone_pass_options_t options[] = {{.exact = true}, {.sums_blocks = true}};
  const layout_t* l = &layouts[0];
  for (size_t i = 0; i < TEST_COUNT(options); i++) {
    hone_graph_t* graph = make_graph(l->x, l->before, l->window, l->pairs, l->result);
    assert_int_equal(test_pass_run(graph, &options[i], "winograd"), 0);
    hone_graph_destroy(graph);
  }
}

/* Steps, gaps between rows of the window, and images of a few tiles. */
static const layout_t others[] = {
    {"f32[1, 66, 66, 32]", "%3 = reshape %0 shape=[1, 66, 66, 32] : f32[1, 66, 66, 32]",
     "axes=[1, 2] shape=[3, 3] hi=[1, 1] step=[2, 2] : f32[1, 32, 32, 32, 3, 3]",
     "3, 1, 4, 2, 5, 3", "f32[1, 32, 32, 40]"},
    {"f32[1, 36, 36, 32]", "%3 = reshape %0 shape=[1, 36, 36, 32] : f32[1, 36, 36, 32]",
     "axes=[1, 2] shape=[3, 3] hi=[2, 2] step=[1, 1] : f32[1, 32, 32, 32, 3, 3]",
     "3, 1, 4, 2, 5, 3", "f32[1, 32, 32, 40]"},
    {"f32[1, 9, 9, 32]", "%3 = reshape %0 shape=[1, 9, 9, 32] : f32[1, 9, 9, 32]",
     "axes=[1, 2] shape=[3, 3] hi=[1, 1] step=[1, 1] : f32[1, 7, 7, 32, 3, 3]", "3, 1, 4, 2, 5, 3",
     "f32[1, 7, 7, 40]"},
};

static void others_stay_as_they_are(void** state) {
  for (size_t i = 0; i < TEST_COUNT(others); i++) {
    const layout_t* l = &others[i];
    hone_graph_t* graph = make_graph(l->x, l->before, l->window, l->pairs, l->result);
    assert_int_equal(rewrite(graph), 0);
    hone_graph_destroy(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_are_the_same),
      cmocka_unit_test(pictures_of_a_batch_share_weights),
      cmocka_unit_test(pictures_of_an_open_batch_are_two),
      cmocka_unit_test(groups_go_by_tiles_too),
      cmocka_unit_test(other_windows_give_the_same),
      cmocka_unit_test(small_tiles_of_bf16_stay_narrow),
      cmocka_unit_test(exact_and_matrix_instructions_leave_it_alone),
      cmocka_unit_test(others_stay_as_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
