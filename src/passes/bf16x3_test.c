/* Products of f32 by three of bf16 against themselves as they were, and what stays one. */
#include <string.h>

#include "backends/ref/testing/same_results.h"
#include "base/str.h"
#include "base/testing/fault.h"
#include "import/graph_text.h"
#include "passes/testing/graph_run.h"

enum { CHANNELS = 96 };

static void append_numbers(hone_str_t* text, int count) {
  for (int i = 0; i < count; i++)
    hone_str_appendf(text, "%s%.9g", i ? ", " : "", (i * 7919 % 401 - 200) / 300.0);
}

static int64_t rewrite(hone_graph_t* graph, bool exact) {
  return test_pass_run(graph, &(hone_pass_options_t){.splits = true, .exact = exact}, "bf16x3");
}

static int count(const hone_graph_t* graph, hone_prim_t prim) {
  int found = 0;
  for (int i = 0; i < graph->n_nodes; i++) found += graph->nodes[i]->prim == prim;
  return found;
}

/* x of so many rows by weights. */
static hone_graph_t* make_product(int rows, int sums, int columns, bool turned) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_appendf(&text, "%%0 = input : f32[%d, %d]\n%%1 = constant {", rows, sums);
  append_numbers(&text, sums * columns);
  hone_str_appendf(&text, "} : f32[%d, %d]\n", turned ? columns : sums, turned ? sums : columns);
  hone_str_appendf(&text,
                   "%%2 = contract %%0 %%1 dtype=f32 axes=[1, %d] batch=0 : f32[%d, %d]\n"
                   "return %%2\n",
                   turned, rows, columns);
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

/* A padded convolution of a, whose result a is added to, and one that takes every other pixel of
 * that, but only of the channels from `begin` on. */
static hone_graph_t* make_block(int begin) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  int some = CHANNELS - begin;
  hone_str_append(&text,
                  "%0 = input : f32[1, 8, 8, 96]\n"
                  "%1 = neg %0 : f32[1, 8, 8, 96]\n"
                  "%2 = constant {0} : f32[]\n"
                  "%3 = pad %1 %2 lo=[0, 1, 1, 0] hi=[0, 1, 1, 0] : f32[1, 10, 10, 96]\n"
                  "%4 = window %3 axes=[1, 2] shape=[3, 3] hi=[1, 1] step=[1, 1] : "
                  "f32[1, 8, 8, 96, 3, 3]\n"
                  "%5 = constant {");
  append_numbers(&text, CHANNELS * CHANNELS * 9);
  hone_str_append(&text,
                  "} : f32[96, 96, 3, 3]\n"
                  "%6 = contract %4 %5 dtype=f32 axes=[3, 1, 4, 2, 5, 3] batch=0 : "
                  "f32[1, 8, 8, 96]\n"
                  "%7 = add %6 %1 : f32[1, 8, 8, 96]\n");
  hone_str_appendf(&text,
                   "%%8 = slice %%7 lo=[0, 0, 0, %d] hi=[1, 8, 8, 96] step=[1, 2, 2, 1] : "
                   "f32[1, 4, 4, %d]\n%%9 = constant {",
                   begin, some);
  append_numbers(&text, some * CHANNELS);
  hone_str_appendf(&text,
                   "} : f32[%d, 96]\n"
                   "%%10 = contract %%8 %%9 dtype=f32 axes=[3, 0] batch=0 : f32[1, 4, 4, 96]\n"
                   "return %%10\n",
                   some);
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

/* `largest`: about as large as what is added up; by products of bf16 alone 2^-8 of it would be
 * lost. */
static void expect_same(hone_graph_t* before, hone_graph_t* after, double largest, int products) {
  assert_int_equal(rewrite(after, false), products);
  for (int i = 0; i < after->n_nodes; i++)
    if (after->nodes[i]->prim == HONE_PRIM_CONTRACT)
      assert_int_equal(after->nodes[i]->inputs[0]->type.dtype, HONE_BF16);
  for (uint64_t seed = 0; seed < 3; seed++)
    assert_same_results(before, after, seed, largest * 0x1p-16);
  hone_graph_destroy(before);
  hone_graph_destroy(after);
}

static void products_are_the_same(void** state) {
  (void)state;
  for (int turned = 0; turned < 2; turned++)
    expect_same(make_product(24, 96, CHANNELS, turned), make_product(24, 96, CHANNELS, turned), 40,
                1);
}

/* Both contractions are split, and what adds the data of the first adds its halves. */
static void convolutions_are_the_same(void** state) {
  (void)state;
  hone_graph_t* after = make_block(0);
  rewrite(after, false);
  assert_int_equal(count(after, HONE_PRIM_CONCAT), 2);
  assert_int_equal(count(after, HONE_PRIM_ADD), 2);
  hone_graph_destroy(after);
  expect_same(make_block(0), make_block(0), 6000, 2);
}

/* Three channels in front of two pictures, or behind. */
static hone_graph_t* make_pictures(bool is_last) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  const char* window = is_last ? "2, 8, 8, 3, 3, 3" : "2, 3, 8, 8, 3, 3";
  hone_str_appendf(&text, "%%0 = input : f32[%s]\n%%1 = constant {0} : f32[]\n",
                   is_last ? "2, 16, 16, 3" : "2, 3, 16, 16");
  hone_str_appendf(&text, "%%2 = pad %%0 %%1 lo=[0, %s] hi=[0, 0, 0, 0] : f32[%s]\n",
                   is_last ? "1, 1, 0" : "0, 1, 1", is_last ? "2, 17, 17, 3" : "2, 3, 17, 17");
  hone_str_appendf(&text,
                   "%%3 = window %%2 axes=[%s] shape=[3, 3] hi=[1, 1] step=[2, 2] : f32[%s]\n"
                   "%%4 = constant {",
                   is_last ? "1, 2" : "2, 3", window);
  append_numbers(&text, 16 * 3 * 9);
  hone_str_appendf(&text,
                   "} : f32[16, 3, 3, 3]\n"
                   "%%5 = contract %%3 %%4 dtype=f32 axes=[%d, 1, 4, 2, 5, 3] batch=0 : "
                   "f32[2, 8, 8, 16]\nreturn %%5\n",
                   is_last ? 3 : 1);
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static void pictures_are_the_same(void** state) {
  (void)state;
  for (int is_last = 0; is_last < 2; is_last++)
    expect_same(make_pictures(is_last), make_pictures(is_last), 20, 1);
}

static void expect_unchanged(hone_graph_t* graph, bool exact) {
  assert_int_equal(rewrite(graph, exact), 0);
  hone_graph_destroy(graph);
}

static void others_stay_as_they_are(void** state) {
  (void)state;
  expect_unchanged(make_product(24, 96, CHANNELS, false), true);
  expect_unchanged(make_product(8, 96, CHANNELS, false), false); /* weights are read once anyway */
  expect_unchanged(make_product(24, 32, CHANNELS, false), false);
  expect_unchanged(make_product(24, 90, CHANNELS, false), false);
  expect_unchanged(make_product(24, 96, 32, false), false); /* few uses of what is split */
  hone_graph_t* graph = make_product(24, 96, CHANNELS, false);
  assert_int_equal(test_pass_run(graph, &(hone_pass_options_t){0}, "bf16x3"), 0);
  hone_graph_destroy(graph);
}

/* Some of the channels are some of both halves. */
static void parts_of_channels_are_the_same(void** state) {
  (void)state;
  expect_same(make_block(32), make_block(32), 6000, 2);
}

/* A product of every other pixel, padded, which they are added to, and a picture. */
static void append_all(hone_str_t* text) {
  hone_str_append(text,
                  "hone-graph 1\ngraph \"main\" {\n"
                  "%0 = input : f32[1, 8, 8, 64]\n"
                  "%1 = constant {0} : f32[]\n"
                  "%2 = pad %0 %1 lo=[0, 1, 1, 0] hi=[0, 1, 1, 0] : f32[1, 10, 10, 64]\n"
                  "%3 = slice %2 lo=[0, 0, 0, 0] hi=[1, 8, 8, 64] step=[1, 1, 1, 1] : "
                  "f32[1, 8, 8, 64]\n"
                  "%4 = constant {");
  append_numbers(text, 64 * 64);
  hone_str_append(text,
                  "} : f32[64, 64]\n"
                  "%5 = contract %3 %4 dtype=f32 axes=[3, 0] batch=0 : f32[1, 8, 8, 64]\n"
                  "%6 = add %5 %0 : f32[1, 8, 8, 64]\n"
                  "%7 = input : f32[1, 3, 8, 8]\n"
                  "%8 = window %7 axes=[2, 3] shape=[3, 3] hi=[1, 1] step=[1, 1] : "
                  "f32[1, 3, 6, 6, 3, 3]\n"
                  "%9 = constant {");
  append_numbers(text, 16 * 3 * 9);
  hone_str_append(text,
                  "} : f32[16, 3, 3, 3]\n"
                  "%10 = contract %8 %9 dtype=f32 axes=[1, 1, 4, 2, 5, 3] batch=0 : "
                  "f32[1, 6, 6, 16]\n"
                  "return %6 %10\n}\n");
}

static hone_status_t rewrite_all(const hone_allocator_t* allocator, void* context) {
  static const char* const only[] = {"bf16x3"};
  const hone_pass_options_t options = {.n_only = 1, .only = only, .splits = true};
  const char* text = context;
  hone_graph_t* graph;
  HONE_TRY(hone_graph_parse(allocator, text, strlen(text), &graph));
  hone_status_t status = hone_passes_run(graph, &options, NULL);
  hone_graph_destroy(graph);
  return status;
}

static void memory_may_run_out(void** state) {
  (void)state;
  hone_str_t text;
  hone_str_init(&text, NULL);
  append_all(&text);
  assert_survives_faults(rewrite_all, (void*)(uintptr_t)hone_str_text(&text));
  hone_str_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_the_same),          cmocka_unit_test(convolutions_are_the_same),
      cmocka_unit_test(parts_of_channels_are_the_same), cmocka_unit_test(pictures_are_the_same),
      cmocka_unit_test(others_stay_as_they_are),        cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
