/* Regions become kernels that keep the rules of kernel.h. */
#include "loop/lower.h"

#include <stdio.h>
#include <string.h>

#include "backends/ref/testing/same_results.h"
#include "base/tensor_impl.h"
#include "base/testing/fault.h"
#include "loop/text.h"
#include "loop/verify.h"

static hone_kernel_t* lower(const char* symbols, const char* lines) {
  hone_graph_t* graph = hone_graph_of_text(symbols, lines);
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_lower(graph, "k", NULL, hone_allocator_system(), &kernel));
  hone_graph_destroy(graph);
  assert_ok(hone_kernel_verify(kernel));
  return kernel;
}

/* The error word is known to be needed once the scratch of the sum is there. */
static void parameters_come_before_scratch(void** state) {
  (void)state;
  hone_kernel_t* kernel = lower("",
                                "  %0 = input : f32[5, 7]\n"
                                "  %1 = input : i64[3]\n"
                                "  %2 = gather %0 %1 : f32[3, 7]\n"
                                "  %3 = reduce %2 combine=add axes=[1] : f32[3]\n"
                                "  %4 = neg %3 : f32[3]\n"
                                "  return %4\n");
  assert_int_equal(kernel->n_checks, 1);
  assert_int_equal(kernel->n_buffers, 5);
  for (int i = 0; i < kernel->n_buffers; i++) {
    assert_int_equal(kernel->buffers[i]->id, i);
    assert_int_equal(kernel->buffers[i]->role == HONE_ROLE_SCRATCH, i == 4);
  }
  assert_int_equal(kernel->buffers[3]->role, HONE_ROLE_ERROR);
  hone_kernel_destroy(kernel);
}

static const int32_t in_range[6] = {0, 2, 4, 9, 3, 9};

static const hone_tensor_t* constant_of(const void* constants, int input) {
  return input == 1 ? constants : NULL;
}

/* Of looking up rows at what the first column of the table says, or, `with_test`, at the ones
 * behind where a number is below 0. */
static int count_checks(const hone_tensor_t* known, const char* rows, bool with_test) {
  char lines[800];
  snprintf(lines, sizeof lines,
           "  %%0 <0 dim 0> = input : f32[n, %s]\n"
           "  %%1 = input : i32[3, 2]\n"
           "  %%2 = input : i64[3]\n"
           "  %%3 = slice %%1 lo=[0, 0] hi=[3, 1] step=[1, 1] : i32[3, 1]\n"
           "  %%4 = reshape %%3 shape=[3] : i32[3]\n"
           "  %%5 = cast %%4 dtype=i64 : i64[3]\n"
           "  %%6 = lt %%2 %%5 : bool[3]\n"
           "  %%7 = cast %%6 dtype=i64 : i64[3]\n"
           "  %%8 = add %%5 %%7 : i64[3]\n"
           "  %%9 = permute %%0 axes=[1, 0] : f32[%s, n]\n"
           "  %%10 = gather %%9 %%%d : f32[3, n]\n"
           "  return %%10\n",
           rows, rows, with_test ? 8 : 5);
  hone_graph_t* graph = hone_graph_of_text("symbol \"n\" input 0 100\n", lines);
  const hone_kernel_options_t options = {
      .struct_size = sizeof options, .constant_of = constant_of, .constants = known};
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_lower(graph, "k", &options, hone_allocator_system(), &kernel));
  assert_ok(hone_kernel_verify(kernel));
  int count = kernel->n_checks;
  for (int i = 0; i < kernel->n_buffers; i++)
    if (kernel->buffers[i]->role == HONE_ROLE_INPUT && kernel->buffers[i]->value == 1)
      assert_int_equal(kernel->buffers[i]->is_proven, count == 0);
  hone_kernel_destroy(kernel);
  hone_graph_destroy(graph);
  return count;
}

/* What a known table's column says is not checked where all of it is inside, nor one more than
 * that where a test holds. */
static void known_indices_are_not_checked(void** state) {
  (void)state;
  const int64_t dims[2] = {3, 2};
  hone_tensor_t* known;
  assert_ok(hone_tensor_create(NULL, HONE_I32, 2, dims, &known));
  memcpy(known->data, in_range, sizeof in_range);
  assert_int_equal(count_checks(known, "5", false), 0);
  assert_int_equal(count_checks(known, "4", false), 1);
  assert_int_equal(count_checks(NULL, "5", false), 1);
  assert_int_equal(count_checks(known, "6", true), 0);
  assert_int_equal(count_checks(known, "5", true), 1);
  ((int32_t*)known->data)[2] = -1;
  assert_int_equal(count_checks(known, "5", false), 1);
  hone_tensor_release(known);
}

/* Numbers brought between 0 and `last`, 0 where they are none unless `may_be_nan`, times two:
 * checks of what they look up in 9 rows. */
static int count_checks_of_clamped(const char* last, bool may_be_nan) {
  char lines[1024];
  snprintf(lines, sizeof lines,
           "  %%0 = input : f32[9, 7]\n"
           "  %%1 = input : f32[3]\n"
           "  %%2 = constant {%s} : f32[1]\n"
           "  %%3 = expand %%2 shape=[3] : f32[3]\n"
           "  %%4 = min %%1 %%3 : f32[3]\n"
           "  %%5 = constant {0} : f32[1]\n"
           "  %%6 = expand %%5 shape=[3] : f32[3]\n"
           "  %%7 = max %%4 %%6 : f32[3]\n"
           "  %%8 = eq %%7 %%7 : bool[3]\n"
           "  %%9 = select %%8 %%7 %%6 : f32[3]\n"
           "  %%10 = cast %%%d dtype=i64 : i64[3]\n"
           "  %%11 = constant {2} : i64[1]\n"
           "  %%12 = expand %%11 shape=[3] : i64[3]\n"
           "  %%13 = mul %%10 %%12 : i64[3]\n"
           "  %%14 = gather %%0 %%13 : f32[3, 7]\n"
           "  return %%14\n",
           last, may_be_nan ? 7 : 9);
  hone_kernel_t* kernel = lower("", lines);
  int count = kernel->n_checks;
  hone_kernel_destroy(kernel);
  return count;
}

static void clamped_indices_are_not_checked(void** state) {
  (void)state;
  assert_int_equal(count_checks_of_clamped("4", false), 0);
  assert_int_equal(count_checks_of_clamped("5", false), 1);
  assert_int_equal(count_checks_of_clamped("4.5", false), 1);
  assert_int_equal(count_checks_of_clamped("4", true), 1);
}

/* The loops of the region's kernel, as text. */
static void expect_body(const char* lines, const char* wanted) {
  hone_kernel_t* kernel = lower("symbol \"n\" input 0 100\n", lines);
  hone_str_t text;
  hone_str_init(&text, hone_allocator_system());
  assert_ok(hone_kernel_print(kernel, &text));
  const char* body = strstr(hone_str_text(&text), "  for ");
  assert_non_null(body);
  assert_string_equal(body, wanted);
  hone_str_free(&text);
  hone_kernel_destroy(kernel);
}

static void lookups_of_one_number_are_dropped(void** state) {
  (void)state;
  expect_body(
      "  %0 = input : bool[3]\n"
      "  %1 = cast %0 dtype=i64 : i64[3]\n"
      "  %2 = constant {2} : f32[1, 1]\n"
      "  %3 = expand %2 shape=[5, 7] : f32[5, 7]\n"
      "  %4 = gather %3 %1 : f32[3, 7]\n"
      "  return %4\n",
      "  for i in 3 {\n"
      "    for i1 in 7 {\n"
      "      out0[i, i1] = f32(2)\n"
      "    }\n"
      "  }\n"
      "}\n");
}

/* Only what all readers subtract. */
static void sums_start_from_what_is_subtracted(void** state) {
  (void)state;
  static const char inputs[] =
      "  %0 = input : i8[2, 7]\n"
      "  %1 = input : i32[2, 7]\n"
      "  %2 = input : i32[2]\n"
      "  %3 = input : f32[2]\n";
  static const char* const rests[][2] = {
      {"  %6 = sub %5 %2 : i32[2]\n  %7 = cast %6 dtype=f32 : f32[2]\n"
       "  %8 = mul %7 %3 : f32[2]\n  return %6 %8\n",
       "    acc[] = neg(in2[i])\n    for k in 7 reduction {\n"
       "      acc[] += mul(cast.i32(in0[i, k]), in1[i, k])\n    }\n    out0[i] = acc[]\n"
       "    out1[i] = mul(cast.f32(acc[]), in3[i])\n"},
      {"  %6 = sub %5 %2 : i32[2]\n  %7 = mul %5 %6 : i32[2]\n  return %7\n",
       "    acc[] = i32(0)\n    for k in 7 reduction {\n"
       "      acc[] += mul(cast.i32(in0[i, k]), in1[i, k])\n    }\n"
       "    out0[i] = mul(acc[], sub(acc[], in2[i]))\n"},
      {"  %6 = cast %3 dtype=i32 : i32[2]\n  %7 = add %5 %6 : i32[2]\n"
       "  %8 = sub %7 %2 : i32[2]\n  return %8\n",
       "    acc[] = neg(in2[i])\n    for k in 7 reduction {\n"
       "      acc[] += mul(cast.i32(in0[i, k]), in1[i, k])\n    }\n"
       "    out0[i] = add(acc[], cast.i32(in3[i]))\n"},
  };
  for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
    char lines[1024], wanted[1024];
    snprintf(lines, sizeof lines,
             "%s  %%4 = cast %%0 dtype=i32 : i32[2, 7]\n"
             "  %%5 = contract %%4 %%1 dtype=i32 axes=[0, 0, 1, 1] batch=1 : i32[2]\n%s",
             inputs, rests[i][0]);
    snprintf(wanted, sizeof wanted, "  for i in 2 {\n%s  }\n}\n", rests[i][1]);
    expect_body(lines, wanted);
  }
}

/* What input 1, the factors, and input 2 of a sum of floats are. */
typedef struct known {
  hone_tensor_t *factors, *other;
} known_t;

static const hone_tensor_t* number_of(const void* constants, int input) {
  const known_t* known = constants;
  return input == 1 ? known->factors : input == 2 ? known->other : NULL;
}

/* What the sum of data times the factors starts from, of which `rest` makes %6 and returns it. */
static void check_start(const char* data, float factor, float other, const char* rest,
                        const char* start) {
  char lines[800];
  const int64_t dims[2] = {2, 7};
  known_t known;
  hone_kernel_t* kernel;
  hone_str_t text;
  assert_ok(hone_tensor_create(NULL, HONE_F32, 2, dims, &known.factors));
  assert_ok(hone_tensor_create(NULL, HONE_F32, 1, dims, &known.other));
  for (int i = 0; i < 14; i++) ((float*)known.factors->data)[i] = i == 9 ? factor : 3;
  for (int i = 0; i < 2; i++) ((float*)known.other->data)[i] = i ? other : -4;
  snprintf(lines, sizeof lines,
           "  %%0 = input : %s[2, 7]\n  %%1 = input : f32[2, 7]\n  %%2 = input : f32[2]\n"
           "  %%3 = input : f32[2]\n  %%4 = cast %%0 dtype=f32 : f32[2, 7]\n"
           "  %%5 = contract %%4 %%1 dtype=f32 axes=[0, 0, 1, 1] batch=1 : f32[2]\n"
           "  %%6 = %s : f32[2]\n  return %%6\n",
           data, rest);
  hone_graph_t* graph = hone_graph_of_text("", lines);
  const hone_kernel_options_t options = {
      .struct_size = sizeof options, .constant_of = number_of, .constants = &known};
  assert_ok(hone_kernel_lower(graph, "k", &options, hone_allocator_system(), &kernel));
  assert_ok(hone_kernel_verify(kernel));
  hone_str_init(&text, NULL);
  assert_ok(hone_kernel_print(kernel, &text));
  char wanted[64];
  snprintf(wanted, sizeof wanted, "acc[] = %s\n", start);
  if (!strstr(hone_str_text(&text), wanted)) fail_msg("no %s in %s", wanted, hone_str_text(&text));
  bool is_left =
      strstr(hone_str_text(&text), "acc[], in") || strstr(hone_str_text(&text), ", acc[]");
  assert_int_equal(is_left, !strcmp(start, "f32(0)"));
  hone_str_free(&text);
  hone_kernel_destroy(kernel);
  hone_graph_destroy(graph);
  hone_tensor_release(known.factors);
  hone_tensor_release(known.other);
}

/* Biases of floats; of whole numbers what keeps all sums below 2^24 (here 7 * 256 * 3 and more). */
static void sums_of_floats_start_from_constants(void** state) {
  (void)state;
  check_start("f32", 0.5F, 0.3F, "add %5 %2", "in2[i]");
  check_start("f32", 0.5F, 0.3F, "add %2 %5", "in2[i]");
  check_start("f32", 0.5F, 0.3F, "sub %5 %2", "neg(in2[i])");
  check_start("f32", 0.5F, 0.3F, "add %5 %3", "f32(0)"); /* a mask, it may be */
  check_start("f32", 0.5F, 0.3F, "sub %2 %5", "f32(0)");
  check_start("u8", 5, 0x1.8p23F, "sub %5 %2", "neg(in2[i])");
  check_start("u8", 5, 0x1.8p23F, "add %5 %2", "in2[i]");
  check_start("u8", 5, 0.5F, "add %5 %2", "f32(0)");
  check_start("u8", 0.5F, 8, "add %5 %2", "f32(0)");
  check_start("u8", 5, 0x1.fffp23F, "sub %5 %2", "f32(0)");
  check_start("u8", 10000, 8, "sub %5 %2", "f32(0)");
}

/* The sum is made once for both outputs, and its loops know nothing of the pad. */
static void pads_are_borders_around_their_operand(void** state) {
  (void)state;
  expect_body(
      "  %0 <0 dim 0> = input : f32[n, 7]\n"
      "  %1 = reduce %0 combine=add axes=[1] : f32[n]\n"
      "  %2 = constant {2} : f32[]\n"
      "  %3 = pad %1 %2 lo=[1] hi=[3] : f32[n + 4]\n"
      "  return %1 %3\n",
      "  for i in n {\n"
      "    acc[] = f32(0)\n"
      "    for k in 7 reduction {\n"
      "      acc[] += in0[i, k]\n"
      "    }\n"
      "    out0[i] = acc[]\n"
      "    out1[(i + 1)] = acc[]\n"
      "  }\n"
      "  out1[0] = f32(2)\n"
      "  for i1 in 3 {\n"
      "    out1[(n + i1 + 1)] = f32(2)\n"
      "  }\n"
      "}\n");
}

/* Neither batches alone nor an axis of extent 1 make a sum. */
static void products_need_no_place_of_their_own(void** state) {
  (void)state;
  expect_body(
      "  %0 = input : f32[4, 1, 5]\n"
      "  %1 = input : f32[4, 1]\n"
      "  %2 = contract %0 %1 dtype=f32 axes=[0, 0, 1, 1] batch=1 : f32[4, 5]\n"
      "  return %2\n",
      "  for i in 4 {\n"
      "    for i1 in 5 {\n"
      "      out0[i, i1] = add(mul(in0[i, 0, i1], in1[i, 0]), f32(0))\n"
      "    }\n"
      "  }\n"
      "}\n");
}

/* Sides of the same extent are stored by the same loops, corners once. */
static void parts_and_pads_nest(void** state) {
  (void)state;
  expect_body(
      "  %0 = input : f32[2, 4]\n"
      "  %1 = input : f32[3, 4]\n"
      "  %2 = concat %0 %1 axes=[0] : f32[5, 4]\n"
      "  %3 = constant {0} : f32[]\n"
      "  %4 = pad %2 %3 lo=[2, 1] hi=[2, 1] : f32[9, 6]\n"
      "  return %4\n",
      "  for i in 2 {\n"
      "    for i1 in 4 {\n"
      "      out0[(i + 2), (i1 + 1)] = in0[i, i1]\n"
      "    }\n"
      "  }\n"
      "  for i2 in 3 {\n"
      "    for i3 in 4 {\n"
      "      out0[(i2 + 4), (i3 + 1)] = in1[i2, i3]\n"
      "    }\n"
      "  }\n"
      "  for i4 in 2 {\n"
      "    for i5 in 6 {\n"
      "      out0[i4, i5] = f32(0)\n"
      "      out0[(i4 + 7), i5] = f32(0)\n"
      "    }\n"
      "  }\n"
      "  for i6 in 5 {\n"
      "    out0[(i6 + 2), 0] = f32(0)\n"
      "    out0[(i6 + 2), 5] = f32(0)\n"
      "  }\n"
      "}\n");
}

/* What rounding leaves over is stored by the loops that store what is rounded. */
static void rests_share_loops(void** state) {
  (void)state;
  expect_body(
      "  %0 = input : f32[4, 5]\n"
      "  %1 = cast %0 dtype=bf16 : bf16[4, 5]\n"
      "  %2 = cast %1 dtype=f32 : f32[4, 5]\n"
      "  %3 = sub %0 %2 : f32[4, 5]\n"
      "  %4 = cast %3 dtype=bf16 : bf16[4, 5]\n"
      "  %5 = concat %1 %4 axes=[1] : bf16[4, 10]\n"
      "  return %5\n",
      "  for i in 4 {\n"
      "    for i1 in 5 {\n"
      "      out0[i, i1] = cast.bf16(in0[i, i1])\n"
      "      out0[i, (i1 + 5)] = cast.bf16(sub(in0[i, i1], cast.f32(cast.bf16(in0[i, i1]))))\n"
      "    }\n"
      "  }\n"
      "}\n");
}

/* What is computed once is stored in shapes that differ by extents of 1. */
static void axes_of_one_share_loops(void** state) {
  (void)state;
  expect_body(
      "  %0 = input : f32[4, 5]\n"
      "  %1 = input : f32[5, 3]\n"
      "  %2 = input : f32[1, 4, 1, 3]\n"
      "  %3 = contract %0 %1 dtype=f32 axes=[1, 0] batch=0 : f32[4, 3]\n"
      "  %4 = reshape %3 shape=[1, 4, 1, 3] : f32[1, 4, 1, 3]\n"
      "  %5 = add %4 %2 : f32[1, 4, 1, 3]\n"
      "  return %3 %5\n",
      "  for i in 4 {\n"
      "    for i1 in 3 {\n"
      "      acc[] = f32(0)\n"
      "      for k in 5 reduction {\n"
      "        acc[] += mul(in0[i, k], in1[k, i1])\n"
      "      }\n"
      "      out0[i, i1] = acc[]\n"
      "      out1[0, i, 0, i1] = add(acc[], in2[0, i, 0, i1])\n"
      "    }\n"
      "  }\n"
      "}\n");
}

/* Where the result is turned, each row is summed up once all the same. */
static void turned_rows_are_summed_up_once(void** state) {
  (void)state;
  expect_body(
      "  %0 = input : f32[4, 5]\n"
      "  %1 = reduce %0 combine=add axes=[1] : f32[4]\n"
      "  %2 = reshape %1 shape=[4, 1] : f32[4, 1]\n"
      "  %3 = expand %2 shape=[4, 5] : f32[4, 5]\n"
      "  %4 = sub %0 %3 : f32[4, 5]\n"
      "  %5 = permute %4 axes=[1, 0] : f32[5, 4]\n"
      "  return %5\n",
      "  for i in 4 {\n"
      "    acc[] = f32(0)\n"
      "    for k in 5 reduction {\n"
      "      acc[] += in0[i, k]\n"
      "    }\n"
      "    for i1 in 5 {\n"
      "      out0[i1, i] = sub(in0[i, i1], acc[])\n"
      "    }\n"
      "  }\n"
      "}\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_indices_are_not_checked),
      cmocka_unit_test(clamped_indices_are_not_checked),
      cmocka_unit_test(lookups_of_one_number_are_dropped),
      cmocka_unit_test(parameters_come_before_scratch),
      cmocka_unit_test(pads_are_borders_around_their_operand),
      cmocka_unit_test(sums_start_from_what_is_subtracted),
      cmocka_unit_test(sums_of_floats_start_from_constants),
      cmocka_unit_test(products_need_no_place_of_their_own),
      cmocka_unit_test(parts_and_pads_nest),
      cmocka_unit_test(rests_share_loops),
      cmocka_unit_test(axes_of_one_share_loops),
      cmocka_unit_test(turned_rows_are_summed_up_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
