/* Products by weights in blocks, with sums of integers, against themselves as they were. */
#include "backends/ref/testing/same_results.h"
#include "base/str.h"
#include "ir/builder.h"
#include "passes/testing/graph_run.h"

enum { ROWS = 16, BLOCKS = 4, COLUMNS = 64, BLOCK = 32 };

/* x by weights from -most to most, in blocks of `block`. */
static hone_graph_t* make_sized(int rows, int block, int columns, int most) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  const char* dtype = most <= INT8_MAX ? "i8" : "i16";
  hone_str_appendf(&text, "%%0 = input : f32[%d, %d, %d]\n%%1 = constant {", rows, BLOCKS, block);
  for (int i = 0; i < BLOCKS * block * columns; i++)
    hone_str_appendf(&text, "%s%d", i ? ", " : "", (i * 7919) % (2 * most + 1) - most);
  hone_str_appendf(&text, "} : %s[%d, %d, %d]\n%%2 = constant {", dtype, BLOCKS, block, columns);
  for (int i = 0; i < BLOCKS * columns; i++)
    hone_str_appendf(&text, "%s%g", i ? ", " : "", (i * 31 % 17 + 1) * 1e-3);
  hone_str_appendf(&text, "} : f32[%d, 1, %d]\n", BLOCKS, columns);
  hone_str_appendf(&text, "%%3 = cast %%1 dtype=f32 stays : f32[%d, %d, %d]\n", BLOCKS, block,
                   columns);
  hone_str_appendf(&text, "%%4 = expand %%2 shape=[%d, %d, %d] : f32[%d, %d, %d]\n", BLOCKS, block,
                   columns, BLOCKS, block, columns);
  hone_str_appendf(&text, "%%5 = mul %%3 %%4 : f32[%d, %d, %d]\n", BLOCKS, block, columns);
  hone_str_appendf(&text,
                   "%%6 = contract %%0 %%5 dtype=f32 axes=[1, 0, 2, 1] batch=0 : f32[%d, %d]\n",
                   rows, columns);
  hone_str_append(&text, "return %6\n");
  hone_graph_t* graph = hone_graph_of_text("", hone_str_text(&text));
  hone_str_free(&text);
  return graph;
}

static hone_graph_t* make_graph_of(int rows, int block, int most) {
  return make_sized(rows, block, COLUMNS, most);
}

static hone_graph_t* make_graph(int block, int most) { return make_graph_of(ROWS, block, most); }

static const hone_pass_options_t device = {.halves_shorts = true};

static void expect_same(int rows, int columns, int most) {
  hone_graph_t *before = make_sized(rows, BLOCK, columns, most),
               *after = make_sized(rows, BLOCK, columns, most);
  assert_int_equal(test_pass_run(after, &device, "block_sums"), 1);
  /* Sums of 128 products of up to most / 59: 1e-4 of the largest is more. */
  assert_same_results(before, after, 3, 1e-5 * most);
  hone_graph_destroy(before);
  hone_graph_destroy(after);
}

static void results_are_the_same(void** state) {
  (void)state;
  expect_same(ROWS, COLUMNS, 127);
  expect_same(ROWS, COLUMNS, 255);
  expect_same(3, COLUMNS, 127);
  expect_same(ROWS, COLUMNS + 1, 127); /* columns of zeros */
}

static void expect_unchanged(int block, int most, hone_pass_options_t options) {
  hone_graph_t* graph = make_graph(block, most);
  assert_int_equal(test_pass_run(graph, &options, "block_sums"), 0);
  hone_graph_destroy(graph);
}

static void others_stay_as_they_are(void** state) {
  (void)state;
  hone_pass_options_t exact = device, slow = device;
  exact.exact = true;
  slow.halves_shorts = false;
  expect_unchanged(BLOCK, 127, exact);
  expect_unchanged(BLOCK, 127, slow);
  expect_unchanged(BLOCK, INT16_MAX, device); /* sums of more than 32 bits */
  expect_unchanged(4 * BLOCK, 127, device);   /* the largest of many numbers rounds coarsely */
  expect_unchanged(BLOCK / 4, 127, device);   /* more sums than products pay for */
  hone_graph_t* few = make_graph_of(2, BLOCK, 127);
  assert_int_equal(test_pass_run(few, &device, "block_sums"), 0); /* they wait for bytes */
  hone_graph_destroy(few);
}

/* Few rows by weights that fit nibbles with a sign; more rows, and others, stay as they are. */
static void few_rows_are_digits(void** state) {
  (void)state;
  const hone_pass_options_t options = {.sums_nibbles = true};
  for (int rows = 1; rows <= 4; rows++)
    for (int most = 3; most <= 7; most++) {
      hone_graph_t *before = make_graph_of(rows, BLOCK, most),
                   *after = make_graph_of(rows, BLOCK, most);
      assert_int_equal(test_pass_run(after, &options, "block_sums"), 1);
      assert_same_results(before, after, 3, 1e-7 * most);
      hone_graph_destroy(before);
      hone_graph_destroy(after);
    }
  hone_graph_t *many = make_graph_of(5, BLOCK, 7), *wide = make_graph_of(1, BLOCK, 15);
  assert_int_equal(test_pass_run(many, &options, "block_sums"), 0);
  assert_int_equal(test_pass_run(wide, &options, "block_sums"), 0);
  hone_graph_destroy(many);
  hone_graph_destroy(wide);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_are_the_same),
      cmocka_unit_test(others_stay_as_they_are),
      cmocka_unit_test(few_rows_are_digits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
