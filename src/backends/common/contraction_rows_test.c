/* Blocks of rows of a contraction, against what `ref` makes of the same graph. */
#include <stdlib.h>
#include <string.h>

#include "backends/common/testing/schedule_run.h"
#include "backends/ref/testing/same_results.h"
#include "base/str.h"

/* A convolution along the pictures of a film alone, of three of them each, two apart. */
static hone_graph_t* make_film(void) {
  enum { WEIGHTS = 16 * 8 * 3 };
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_append(&text,
                  "  %0 \"x\" = input : f32[19, 96, 8]\n"
                  "  %1 = window %0 axes=[0] shape=[3] hi=[1] step=[2] : f32[9, 96, 8, 3]\n"
                  "  %2 = constant {");
  test_schedule_numbers(&text, WEIGHTS, 6);
  hone_str_append(&text,
                  "} : f32[16, 8, 3]\n"
                  "  %3 = contract %1 %2 dtype=f32 axes=[2, 1, 3, 2] batch=0 : f32[9, 96, 16]\n"
                  "  return %3 \"y\"\n");
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

/* The loops of the kernel, outermost first, up to those of a tile. */
static char* scheduled(int64_t second_cache) {
  test_schedule_shape =
      (hone_cpu_shape_t){.lanes = 8, .registers = 16, .second_cache = second_cache};
  return test_schedule_run(make_film(), make_film(), 1);
}

static void expect_outermost(const char* text, const char* loop) {
  const char *first = strstr(text, "  for "), *found = strstr(text, loop);
  if (!first || first != found) fail_msg("not outermost: %s in\n%s", loop, text);
}

/* Where a cache holds no window over whole pictures, parts of all pictures go by. */
static void films_are_cut_along_their_pictures(void** state) {
  char *near = scheduled(1 << 20), *far = scheduled(4 << 10);
  expect_outermost(near, "  for i in 9 ");
  expect_outermost(far, "  for i1.o in 8 ");
  free(near);
  free(far);
}

/* A product of so many rows and sums by more weights than data, in pairs of bf16. */
static hone_graph_t* make_product(int rows, int sums, int lanes) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_appendf(&text,
                   "  %%0 \"x\" = input : f32[%d, %d]\n"
                   "  %%1 = cast %%0 dtype=bf16 : bf16[%d, %d]\n  %%2 = constant {",
                   rows, sums, rows, sums);
  test_schedule_numbers(&text, sums * lanes, 6);
  hone_str_appendf(&text,
                   "} : bf16[%d, %d]\n"
                   "  %%3 = contract %%1 %%2 dtype=f32 axes=[1, 1] batch=0 : f32[%d, %d]\n"
                   "  return %%3 \"y\"\n",
                   lanes, sums, rows, lanes);
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static char* shared(int rows, int sums, int lanes, int threads, int64_t second_cache) {
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 16,
                                           .registers = 32,
                                           .threads = threads,
                                           .has_dot2_bf16 = true,
                                           .second_cache = second_cache};
  return test_schedule_run(make_product(rows, sums, lanes), make_product(rows, sums, lanes), 1);
}

/* Threads have rows of their own, so that what they make need not go to others, where weights stay
 * near: tiles of them where there are enough, else equal parts. */
static void threads_share_rows_beside_few_weights(void** state) {
  (void)state;
  static const struct {
    int rows, threads;
    int64_t second_cache;
    const char* outermost;
  } cases[] = {
      {112, 2, 1 << 20, "  for i.o in 8 parallel"},
      {112, 2, 1 << 15, "  for i1.o_i.o in 32 parallel"},
      {112, 1, 1 << 20, "  for i1.o_i.o in 32 parallel"},
      {50, 2, 1 << 20, "  for i.o_i1.o in 8 parallel"},
      {50, 2, 1 << 14, "  for i1.o in 4 parallel"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char* text = shared(cases[i].rows, 80, 128, cases[i].threads, cases[i].second_cache);
    expect_outermost(text, cases[i].outermost);
    free(text);
  }
}

/* Tiles of 16 rows are full, as far as threads can share their blocks, or have one shape. */
static void blocks_fill_tiles(void** state) {
  (void)state;
  static const struct {
    int rows, threads;
    const char *block, *tile;
  } cases[] = {
      {784, 1, "\"split i 112 exact\"", "\"split i.i 32 peel\""},
      {784, 2, "\"split i 56 exact\"", "\"split i.i 28 peel\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    test_schedule_shape = (hone_cpu_shape_t){.lanes = 16,
                                             .registers = 32,
                                             .threads = cases[i].threads,
                                             .has_dot2_bf16 = true,
                                             .has_block_bf16 = true,
                                             .second_cache = 2 << 20};
    char* text = test_schedule_run(make_product(cases[i].rows, 128, 128),
                                   make_product(cases[i].rows, 128, 128), 1);
    test_schedule_expect(text, 2, (const char* const[]){cases[i].block, cases[i].tile});
    free(text);
  }
}

/* Pictures of sizes that only a run knows, which go to the inside of larger ones. */
static hone_graph_t* make_pictures(void) {
  enum { WEIGHTS = 8 * 8 };
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_append(&text,
                  "  %0 \"x\" <0 dim 0, 1 dim 1> = input : f32[h, w, 8]\n"
                  "  %1 = constant {");
  test_schedule_numbers(&text, WEIGHTS, 6);
  hone_str_append(&text,
                  "} : f32[8, 8]\n"
                  "  %2 = contract %0 %1 dtype=f32 axes=[2, 0] batch=0 : f32[h, w, 8]\n"
                  "  %3 = constant {0} : f32[]\n"
                  "  %4 = pad %2 %3 lo=[1, 1, 0] hi=[1, 1, 0] : f32[h + 2, w + 2, 8]\n"
                  "  return %4 \"y\"\n");
  hone_graph_t* graph = hone_graph_of_text("symbol \"h\" input 0 40\nsymbol \"w\" input 0 40\n",
                                           hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static void threads_share_pictures_beside_a_border(void** state) {
  (void)state;
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 8, .registers = 16, .threads = 2};
  char* text = test_schedule_run(make_pictures(), make_pictures(), 1);
  test_schedule_expect(text, 2, (const char* const[]){"balance", "  for i in h parallel {"});
  free(text);
}

/* A depthwise convolution by windows of 3 x 3 of lines of which only a run knows the length. */
static hone_graph_t* make_windows(void) {
  enum { WEIGHTS = 16 * 3 * 3 };
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_append(&text,
                  "  %0 \"x\" <0 dim 1> = input : f32[6, w, 16]\n"
                  "  %1 = window %0 axes=[0, 1] shape=[3, 3] hi=[1, 1] step=[1, 1]"
                  " : f32[4, w - 2, 16, 3, 3]\n"
                  "  %2 = constant {");
  test_schedule_numbers(&text, WEIGHTS, 7);
  hone_str_append(
      &text,
      "} : f32[16, 3, 3]\n"
      "  %3 = contract %1 %2 dtype=f32 axes=[2, 0, 3, 1, 4, 2] batch=1 : f32[16, 4, w - 2]\n"
      "  %4 = permute %3 axes=[1, 2, 0] : f32[4, w - 2, 16]\n"
      "  return %4 \"y\"\n");
  hone_graph_t* graph = hone_graph_of_text("symbol \"w\" input 3 40\n", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static int count_lines(const char* text, const char* line) {
  int n = 0;
  for (const char* at = strstr(text, line); at; at = strstr(at + 1, line)) n++;
  return n;
}

/* Both sums are written out in tiles of the greatest height and of one row less, the inner one in
 * all. */
static void heights_of_short_lines_keep_a_loop(void** state) {
  (void)state;
  test_schedule_shape = (hone_cpu_shape_t){.lanes = 8, .registers = 32, .threads = 1};
  char* text = test_schedule_run(make_windows(), make_windows(), 1);
  int written = count_lines(text, " in 3 unroll reduction {"),
      loops = count_lines(text, " in 3 reduction {");
  if (!strstr(text, "balance") || loops < 2 || written != loops + 4)
    fail_msg("%d sums written out, %d not, in:\n%s", written, loops, text);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(films_are_cut_along_their_pictures),
      cmocka_unit_test(threads_share_rows_beside_few_weights),
      cmocka_unit_test(blocks_fill_tiles),
      cmocka_unit_test(threads_share_pictures_beside_a_border),
      cmocka_unit_test(heights_of_short_lines_keep_a_loop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
