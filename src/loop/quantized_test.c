/* Which quantizations are found, and which numbers that they read may do without dividing. */
#include "loop/quantized.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/testing/test.h"
#include "loop/text.h"

static const char TEXT[] =
    "kernel quantize {\n"
    "  input x: f32[8] = 0\n  input a: f32[2] = 1 constant\n  input b: f32[] = 2 constant\n"
    "  input c: f32[8] = 3 constant\n  output y: u8[8] = 0\n  output z: u8[8] = 1\n"
    "  for i in 8 {\n"
    "    y[i] = cast.u8(min(max(add(round(div(x[i], a[0])), a[1]), f32(0)), f32(255)))\n"
    "    z[i] = cast.u8(max(min(round(div(c[i], b[])), f32(6)), f32(0)))\n"
    "  }\n}\n";

static hone_kernel_t* parse(const char* text) {
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  return kernel;
}

/* The constants of the kernel, by which input they are. */
typedef struct contents {
  float a[2], b;
} contents_t;

static const void* give(void* self, const hone_buffer_t* buffer) {
  const contents_t* contents = self;
  return buffer->value == 1 ? contents->a : buffer->value == 2 ? &contents->b : NULL;
}

static void check(contents_t contents, bool a, bool b) {
  hone_kernel_t* kernel = parse(TEXT);
  assert_ok(hone_quantized_prove(kernel, give, &contents));
  const bool want[] = {false, a, b, false, false, false};
  for (int i = 0; i < kernel->n_buffers; i++) {
    if (kernel->buffers[i]->is_proven != want[i])
      fail_msg("%s is%s proven", kernel->buffers[i]->name, want[i] ? " not" : "");
  }
  hone_kernel_destroy(kernel);
}

static void numbers_are_tried(void** state) {
  check((contents_t){{0.1f, 3}, 0.25f}, true, true);
  check((contents_t){{0.1f, 255}, 0}, true, false);           /* no scale */
  check((contents_t){{1e-30f, 3}, 0x1p-59f}, false, true);    /* too small */
  check((contents_t){{0.1f, 256}, -0.25f}, false, false);     /* no byte; negative */
  check((contents_t){{0.1f, 0.5f}, 0x1.8p60f}, false, false); /* between two bytes; too large */
}

static void parts_are_found(void** state) {
  hone_kernel_t* kernel = parse(TEXT);
  const hone_stmt_t* loop = kernel->root->body[0];
  hone_quantized_t q;
  assert_true(hone_quantized_match(loop->body[0]->value, &q));
  assert_true(q.dividend->buffer == kernel->buffers[0] && q.x->args[0] == q.dividend);
  assert_true(q.scale->buffer == kernel->buffers[1] && q.zero->buffer == kernel->buffers[1]);
  assert_true(q.low == 0 && q.high == 255);
  assert_true(hone_quantized_match(loop->body[1]->value, &q));
  assert_true(q.scale->buffer == kernel->buffers[2] && !q.zero && q.high == 6);
  assert_false(hone_quantized_match(q.x, &q));
  hone_kernel_destroy(kernel);
}

static bool matches(const char* dtype, const char* zero, int low, int high) {
  static const char format[] =
      "kernel quantize {\n  input x: f32[8] = 0\n  output y: %s[8] = 0\n"
      "  for i in 8 {\n"
      "    y[i] = cast.%s(min(max(add(round(x[i]), f32(%s)), f32(%d)), f32(%d)))\n  }\n}\n";
  char text[512];
  hone_quantized_t q;
  snprintf(text, sizeof text, format, dtype, dtype, zero, low, high);
  hone_kernel_t* kernel = parse(text);
  bool matches = hone_quantized_match(kernel->root->body[0]->body[0]->value, &q);
  assert_true(!matches || (q.low == low && q.high == high));
  hone_kernel_destroy(kernel);
  return matches;
}

static void zero_points_are_bytes(void** state) {
  const char* zeros[] = {"3", "255", "256", "0.5", "-1", "1.5e9"};
  const char* signed_zeros[] = {"3", "-128", "128", "0.5", "-129", "-1.5e9"};
  for (int i = 0; i < 6; i++) {
    assert_int_equal(matches("u8", zeros[i], 0, 255), i < 2);
    assert_int_equal(matches("i8", signed_zeros[i], -128, 127), i < 2);
  }
}

static void the_least_is_that_of_bytes(void** state) {
  assert_true(matches("u8", "3", 0, 6));
  assert_true(matches("i8", "3", -128, 6));
  assert_false(matches("u8", "3", 1, 255));
  assert_false(matches("i8", "3", 0, 127));
  assert_false(matches("i8", "3", -128, 128));
  assert_false(matches("i16", "3", -128, 127));
}

/* A sum of two products of bytes times a number a channel; another that another one is added to,
 * whose numbers are in a list with a zero point; and one of floats. */
static const char SUMS_TEXT[] =
    "kernel sums {\n"
    "  input x: u8[8, 2] = 0\n  input w: f32[2] = 1 constant\n  input a: f32[8] = 2 constant\n"
    "  input n: f32[3] = 3 constant\n  input z: i32[1] = 4 constant\n  input f: f32[8] = 5\n"
    "  input c: f32[8] = 6 constant\n"
    "  output y: u8[8] = 0\n  output b: u8[8] = 1\n  output g: u8[8] = 2\n"
    "  local acc: f32[]\n"
    "  for i in 8 {\n    acc[] = f32(0)\n"
    "    for k in 2 reduction {\n      acc[] += mul(cast.f32(x[i, k]), w[k])\n    }\n"
    "    y[i] = cast.u8(min(max(round(div(mul(acc[], a[i]), f32(0.5))), f32(0)), f32(255)))\n"
    "    b[i] = cast.u8(min(max(add(round(div(mul(cast.f32(sub(cast.i32(x[i, 0]), z[0])), n[0]), "
    "n[1])), n[2]), f32(0)), f32(255)))\n"
    "    g[i] = cast.u8(min(max(round(div(mul(f[i], c[i]), f32(0.5))), f32(0)), f32(255)))\n"
    "  }\n}\n";

typedef struct lists {
  float w[2], a[8], n[3];
  int32_t z;
  float c[8];
} lists_t;

static const void* give_list(void* self, const hone_buffer_t* buffer) {
  const lists_t* lists = self;
  const void* all[] = {NULL, lists->w, lists->a, lists->n, &lists->z, NULL, lists->c};
  return all[buffer->value];
}

/* Whether w, a, n, c are found to leave whole numbers within an i32. */
static void check_bounded(lists_t lists, bool w, bool a, bool n) {
  hone_kernel_t* kernel = parse(SUMS_TEXT);
  assert_ok(hone_quantized_prove(kernel, give_list, &lists));
  const bool want[] = {false, w, a, n, false, false, false};
  for (int i = 0; i < 7; i++)
    if (kernel->buffers[i]->is_bounded != want[i])
      fail_msg("%s is%s bounded", kernel->buffers[i]->name, want[i] ? " not" : "");
  const hone_stmt_t* loop = kernel->root->body[0];
  for (int i = 0; i < 3; i++) {
    hone_quantized_t q;
    assert_true(hone_quantized_match(loop->body[loop->n_body - 3 + i]->value, &q));
    assert_int_equal(hone_quantized_is_bounded(kernel, NULL, &q), i == 0 ? w && a : i == 1 && n);
  }
  hone_kernel_destroy(kernel);
}

static void sums_are_bounded(void** state) {
  lists_t lists = {{-127, 127}, {1, 2, 3, -4}, {0.1f, 0.25f, 128}, 120, {1}};
  check_bounded(lists, true, true, true);
  lists.a[3] = 1e4f; /* 2 * 255 * 127 * 1e4 / 0.5 is more than 2^30 */
  check_bounded(lists, false, false, true);
  lists.a[3] = NAN;
  lists.z = INT32_MIN;
  lists.n[0] = 1;
  check_bounded(lists, false, false, false);
  lists.a[3] = INFINITY;
  lists.z = 0;
  check_bounded(lists, false, false, true);
  for (int i = 0; i < 8; i++) lists.a[i] = 1e-36f;
  check_bounded(lists, true, true, true);
  lists.w[0] = 1e37f; /* the sum is infinite before it is scaled down */
  check_bounded(lists, false, false, true);
}

/* A byte times numbers that are written in the kernel. */
static bool is_bounded_by(const char* factor, const char* scale) {
  static const char format[] =
      "kernel quantize {\n  input x: i8[8] = 0\n  output y: i8[8] = 0\n  for i in 8 {\n"
      "    y[i] = cast.i8(min(max(round(div(mul(cast.f32(x[i]), f32(%s)), f32(%s))), f32(-128)), "
      "f32(127)))\n  }\n}\n";
  char text[512];
  hone_quantized_t q;
  snprintf(text, sizeof text, format, factor, scale);
  hone_kernel_t* kernel = parse(text);
  assert_true(hone_quantized_match(kernel->root->body[0]->body[0]->value, &q));
  bool is_bounded = hone_quantized_is_bounded(kernel, NULL, &q);
  hone_kernel_destroy(kernel);
  return is_bounded;
}

static void written_numbers_bound_bytes(void** state) {
  assert_true(is_bounded_by("0.05", "0.02"));
  assert_true(is_bounded_by("-300", "0.0001"));
  assert_false(is_bounded_by("300", "0.00001"));
  assert_false(is_bounded_by("0", "0"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_tried),     cmocka_unit_test(parts_are_found),
      cmocka_unit_test(zero_points_are_bytes), cmocka_unit_test(the_least_is_that_of_bytes),
      cmocka_unit_test(sums_are_bounded),      cmocka_unit_test(written_numbers_bound_bytes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
