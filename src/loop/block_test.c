/* Which loops are blocks of sums for a matrix instruction. */
#include "loop/block.h"

#include <stdio.h>
#include <string.h>

#include "base/testing/test.h"
#include "loop/text.h"

typedef struct shape {
  int steps, rows, vectors;
  int lanes; /* 0: all */
} shape_t;

/* for s { for y { for w { for l { for k { c += a * b } } } } } of bytes, `a_at` being where a's
 * elements are. */
static hone_kernel_t* make_kernel(shape_t shape, const char* a_at, const char* order) {
  char text[1024];
  hone_kernel_t* kernel;
  int n = snprintf(text, sizeof text,
                   "kernel block {\n  input a: u8[64, 256] = 0\n  input b: i8[64, 4, 16, 4] = 1\n"
                   "  output c: i32[64, 4, 16] = 0\n  for s in %d reduction { %s\n"
                   "    for l in %d { for k in 4 reduction {\n"
                   "      c[y, w, l] += mul(cast.i32(a[%s]), cast.i32(b[s, w, l, k]))\n"
                   "    } } } } }\n}\n",
                   shape.steps, order, shape.lanes ? shape.lanes : 16, a_at);
  assert_true(n > 0 && n < (int)sizeof text);
  assert_ok(hone_kernel_parse(NULL, text, (size_t)n, &kernel));
  return kernel;
}

static hone_kernel_t* make_block(shape_t shape, const char* a_at) {
  char order[128];
  snprintf(order, sizeof order, "for y in %d { for w in %d {", shape.rows, shape.vectors);
  return make_kernel(shape, a_at, order);
}

static bool look(hone_kernel_t* kernel, const char* name, hone_block_t* out) {
  bool is_block;
  const hone_stmt_t* loop = kernel->root->body[0];
  assert_ok(hone_block_look(kernel, loop, hone_intrinsic_find(name), &is_block, out));
  hone_kernel_destroy(kernel);
  return is_block;
}

static void distances_are_found(void** state) {
  (void)state;
  hone_block_t block;
  assert_true(look(make_block((shape_t){48, 20, 2}, "y, (4*s + k)"), "block4_u8_i8_x16", &block));
  assert_int_equal(block.steps, 48);
  assert_int_equal(block.rows, 20);
  assert_int_equal(block.vectors, 2);
  assert_int_equal(block.a_row, 256);
  assert_int_equal(block.b_step, 4 * 64);
  assert_int_equal(block.b_vector, 64);
  assert_int_equal(block.c_row, 64);
  assert_int_equal(block.c_vector, 16);
}

static void vectors_may_stand_outside_of_rows(void** state) {
  (void)state;
  hone_block_t block;
  assert_true(look(make_kernel((shape_t){.steps = 16}, "y, (4*s + k)", "for w in 2 { for y in 7 {"),
                   "block4_u8_i8_x16", &block));
  assert_int_equal(block.rows, 7);
  assert_int_equal(block.vectors, 2);
}

/* As lines of an image do, one of which each instruction does. */
static void rows_lie_in_two_parts(void** state) {
  (void)state;
  hone_block_t block;
  assert_true(look(make_block((shape_t){48, 20, 2}, "(y + 5*(y/12)), (4*s + k)"),
                   "block4_u8_i8_x16", &block));
  assert_int_equal(block.rows, 20);
  assert_int_equal(block.first, 12);
  assert_int_equal(block.a_row, 256);
  assert_int_equal(block.a_next, 17 * 256);
  assert_int_equal(block.c_next, 12 * 64);
  assert_true(look(make_block((shape_t){48, 20, 2}, "y, (4*s + k)"), "block4_u8_i8_x16", &block));
  assert_int_equal(block.first, 16);
  assert_int_equal(block.a_next, 16 * 256);
}

/* Lines of seven, `apart` rows from one to the next in the sums and in a, or `a_apart` there. */
static hone_kernel_t* make_lines(int lines, int apart, int a_apart, const char* more) {
  char text[1024];
  hone_kernel_t* kernel;
  int n =
      snprintf(text, sizeof text,
               "kernel lines {\n  input a: u8[64, 256] = 0\n  input b: i8[64, 4, 16, 4] = 1\n"
               "  output c: i32[16] = 0\n  local acc: i32[4, %d, 4, 16]\n"
               "  for s in 48 reduction { for y in %d { for w in 2 {\n"
               "    for l in 16 { for k in 4 reduction {\n"
               "      acc[(y/7), (y%%7), w, l] += mul(cast.i32(a[(y %%7 + %d*(y/7)), (4*s + k)]), "
               "cast.i32(b[s, w, l, k]))\n    } } } } }\n"
               "  for z in 16 { c[z] = acc[0, %s, 0, z] }\n}\n",
               apart, 7 * lines, a_apart, more);
  assert_true(n > 0 && n < (int)sizeof text);
  assert_ok(hone_kernel_parse(NULL, text, (size_t)n, &kernel));
  return kernel;
}

static void expect_rows(hone_kernel_t* kernel, int rows, int first, int a_next, int c_next) {
  hone_block_t block;
  assert_true(look(kernel, "block4_u8_i8_x16", &block));
  assert_int_equal(block.rows, rows);
  assert_int_equal(block.first, first);
  assert_int_equal(block.part, 7);
  if (rows == first) return;
  assert_int_equal(block.a_next, a_next * 256);
  assert_int_equal(block.c_next, c_next * 64);
}

/* With what lies between them, where the sums have room for it. */
static void instructions_do_several_lines(void** state) {
  (void)state;
  hone_block_t block;
  expect_rows(make_lines(4, 9, 9, "6"), 32, 16, 18, 18);
  expect_rows(make_lines(3, 9, 9, "6"), 16 + 7, 16, 18, 18);
  expect_rows(make_lines(2, 9, 9, "6"), 16, 16, 0, 0);
  expect_rows(make_lines(2, 9, 9, "8"), 14, 7, 9, 9);     /* which somebody reads */
  expect_rows(make_lines(2, 9, 10, "6"), 14, 7, 10, 9);   /* another way in the data */
  expect_rows(make_lines(2, 10, 10, "6"), 14, 7, 10, 10); /* too far apart */
  assert_false(look(make_lines(4, 10, 10, "6"), "block4_u8_i8_x16", &block));
  assert_false(look(make_lines(3, 9, 9, "7"), "block4_u8_i8_x16", &block));
}

static void single_vectors_may_be_parts(void** state) {
  (void)state;
  hone_block_t block;
  assert_true(
      look(make_block((shape_t){48, 20, 1, 8}, "y, (4*s + k)"), "block4_u8_i8_x16", &block));
  assert_int_equal(block.lanes, 8);
  assert_false(
      look(make_block((shape_t){48, 20, 2, 8}, "y, (4*s + k)"), "block4_u8_i8_x16", &block));
  assert_false(look(make_block((shape_t){48, 8, 1, 3}, "y, (4*s + k)"), "block4_u8_i8_x4", &block));
}

static void others_are_none(void** state) {
  (void)state;
  static const struct {
    shape_t shape;
    const char *a_at, *name;
  } cases[] = {
      {{48, 33, 2}, "y, (4*s + k)", "block4_u8_i8_x16"}, /* too high */
      {{48, 20, 3}, "y, (4*s + k)", "block4_u8_i8_x16"}, /* too wide */
      {{4, 20, 2}, "y, (4*s + k)", "block4_u8_i8_x16"},  /* most of each instruction is idle */
      {{13, 20, 2}, "y, (5*s + k)", "block4_u8_i8_x16"}, /* groups apart */
      {{13, 20, 2}, "y, (s + 4*k)", "block4_u8_i8_x16"}, /* and numbers of a group */
      {{48, 20, 2}, "y, (4*s + k)", "block4_i8_i8_x16"}, /* of other types */
      {{48, 20, 2}, "s, (4*s + k)", "block4_u8_i8_x16"}, /* rows that are the same one */
      {{48, 20, 2}, "y, (k + 4*w)", "block4_u8_i8_x16"}, /* and differ for each vector */
      {{48, 8, 2}, "y, (4*s + k)", "block4_u8_i8_x4"},   /* other lanes */
      {{48, 21, 2}, "(y + 5*(y/7)), (4*s + k)", "block4_u8_i8_x16"},  /* rows in three parts */
      {{48, 20, 2}, "(y + 5*(y/17)), (4*s + k)", "block4_u8_i8_x16"}, /* the first one too high */
      {{48, 20, 2}, "(y + 5*(y/8)), (4*s + k)", "block4_u8_i8_x16"},  /* the second one higher */
      {{48, 20, 2}, "(y + 5*(y%3)), (4*s + k)", "block4_u8_i8_x16"},  /* evenly in no part */
  };
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    hone_block_t block;
    assert_false(look(make_block(cases[i].shape, cases[i].a_at), cases[i].name, &block));
  }
}

static void sums_are_cut_as_they_divide(void** state) {
  (void)state;
  const hone_intrinsic_t* amx = hone_intrinsic_find("block4_u8_i8_x16");
  const hone_intrinsic_t* arm = hone_intrinsic_find("block4_u8_i8_x4");
  assert_int_equal(hone_block_depth(amx, 64), 16);
  assert_int_equal(hone_block_depth(amx, 36), 12);
  assert_int_equal(hone_block_depth(amx, 9), 9);
  assert_int_equal(hone_block_depth(amx, 34), 0);
  assert_int_equal(hone_block_depth(amx, 8), 8);
  assert_int_equal(hone_block_depth(amx, 4), 0);
  assert_int_equal(hone_block_depth(hone_intrinsic_find("block2_bf16_bf16_x16"), 6), 6);
  assert_int_equal(hone_block_depth(arm, 34), 2);
  assert_int_equal(hone_block_depth(arm, 3), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(distances_are_found),
      cmocka_unit_test(vectors_may_stand_outside_of_rows),
      cmocka_unit_test(rows_lie_in_two_parts),
      cmocka_unit_test(instructions_do_several_lines),
      cmocka_unit_test(single_vectors_may_be_parts),
      cmocka_unit_test(others_are_none),
      cmocka_unit_test(sums_are_cut_as_they_divide),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
