/* Convolutions by windows with gaps against themselves as they were, and what stays one. */
#include <stdio.h>
#include <string.h>

#include "backends/ref/testing/same_results.h"
#include "base/str.h"
#include "ir/builder.h"
#include "passes/testing/graph_run.h"

/* A convolution of images with as many channels as filters, padded in front and behind. */
typedef struct shape {
  int batch, height, width, channels;
  int gaps[2], before[2], behind[2];
  bool channels_first;
} shape_t;

/* Weights differ everywhere. */
static void add_weights(hone_str_t* text, int channels) {
  hone_str_append(text, "%1 = constant {");
  for (int i = 0; i < channels * channels * 9; i++)
    hone_str_appendf(text, "%s%d", i ? ", " : "", (i * 7919) % 41 - 20);
  hone_str_appendf(text, "} : f32[%d, %d, 3, 3]\n", channels, channels);
}

static void write_image(char out[64], const shape_t* s, int height, int width) {
  if (s->channels_first)
    snprintf(out, 64, "%d, %d, %d, %d", s->batch, s->channels, height, width);
  else
    snprintf(out, 64, "%d, %d, %d, %d", s->batch, height, width, s->channels);
}

static hone_graph_t* make_graph(const shape_t* s) {
  int padded[2] = {s->height + s->before[0] + s->behind[0], s->width + s->before[1] + s->behind[1]};
  int results[2] = {padded[0] - 2 * s->gaps[0], padded[1] - 2 * s->gaps[1]};
  int first = s->channels_first ? 2 : 1; /* axis that windows slide along */
  char x[64], pad[64], window[64];
  write_image(x, s, s->height, s->width);
  write_image(pad, s, padded[0], padded[1]);
  write_image(window, s, results[0], results[1]);
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_appendf(&text, "%%0 = input : f32[%s]\n", x);
  add_weights(&text, s->channels);
  hone_str_append(&text, "%2 = constant {0} : f32[]\n");
  hone_str_appendf(&text, "%%3 = pad %%0 %%2 lo=[%s%d, %d%s] hi=[%s%d, %d%s] : f32[%s]\n",
                   first == 2 ? "0, 0, " : "0, ", s->before[0], s->before[1],
                   first == 2 ? "" : ", 0", first == 2 ? "0, 0, " : "0, ", s->behind[0],
                   s->behind[1], first == 2 ? "" : ", 0", pad);
  hone_str_appendf(&text,
                   "%%4 = window %%3 axes=[%d, %d] shape=[3, 3] hi=[%d, %d] step=[1, 1] : "
                   "f32[%s, 3, 3]\n",
                   first, first + 1, s->gaps[0], s->gaps[1], window);
  hone_str_appendf(&text,
                   "%%5 = contract %%4 %%1 dtype=f32 axes=[%d, 1, 4, 2, 5, 3] batch=0 : "
                   "f32[%d, %d, %d, %d]\nreturn %%5\n",
                   first == 2 ? 1 : 3, s->batch, results[0], results[1], s->channels);
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static int64_t rewrite(hone_graph_t* graph, bool exact) {
  const hone_pass_options_t options = {.exact = exact};
  return test_pass_run(graph, &options, "dilation");
}

static int count_prims(const hone_graph_t* graph, hone_prim_t prim) {
  int count = 0;
  for (int i = 0; i < graph->n_nodes; i++) count += graph->nodes[i]->prim == prim;
  return count;
}

static void expect_same(shape_t s, bool exact, int contractions) {
  hone_graph_t *before = make_graph(&s), *after = make_graph(&s);
  assert_int_equal(rewrite(after, exact), 1);
  assert_int_equal(count_prims(after, HONE_PRIM_CONTRACT), contractions);
  /* Sums of products of up to 20, in the same order but for what is zero. */
  assert_same_results(before, after, 1, 1e-2);
  hone_graph_destroy(before);
  hone_graph_destroy(after);
}

static void pictures_are_convolved_without_gaps(void** state) {
  (void)state;
  expect_same((shape_t){2, 8, 8, 32, {2, 2}, {2, 2}, {2, 2}, false}, false, 1);
  expect_same((shape_t){1, 9, 12, 32, {2, 3}, {3, 3}, {1, 3}, true}, false, 1);
}

static void parts_leave_out_what_meets_padding(void** state) {
  (void)state;
  expect_same((shape_t){1, 40, 40, 60, {24, 24}, {24, 24}, {24, 24}, false}, true, 9);
  expect_same((shape_t){1, 40, 40, 60, {40, 24}, {40, 30}, {40, 18}, true}, false, 4);
}

static void expect_unchanged(shape_t s, bool exact) {
  hone_graph_t* graph = make_graph(&s);
  assert_int_equal(rewrite(graph, exact), 0);
  hone_graph_destroy(graph);
}

static void others_stay_as_they_are(void** state) {
  (void)state;
  const shape_t s = {1, 8, 8, 32, {2, 2}, {2, 2}, {2, 2}, false};
  shape_t other = s;
  expect_unchanged(s, true);
  other.channels = 16; /* too few for tiles */
  expect_unchanged(other, false);
  other = s;
  other.gaps[0] = other.gaps[1] = 1;
  expect_unchanged(other, false);
  other = s;
  other.height = 6; /* pictures of less than a tile */
  expect_unchanged(other, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pictures_are_convolved_without_gaps),
      cmocka_unit_test(parts_leave_out_what_meets_padding),
      cmocka_unit_test(others_stay_as_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
