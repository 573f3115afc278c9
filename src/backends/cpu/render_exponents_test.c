/* Softmax in a kernel that keeps the exponents of a row: rough ones where they are rounded to bf16
 * and summed up only, exact ones where something else reads them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/cpu/testing/render_kernel.h"
#include "base/float_convert.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "loop/text.h"

enum { ROWS = 64, LANES = 16, COUNT = ROWS * LANES, TEXT = 2048 };

/* Rows are down, and `read` is what is stored of the exponents e[j, i]. */
static hone_kernel_t* make_kernel(const char* output, const char* read) {
  char text[TEXT];
  hone_kernel_t* kernel;
  snprintf(text, sizeof text,
           "kernel k {\n  input x: f32[%d, 16] = 0\n  output y: %s[%d, 16] = 0\n"
           "  output z: f32[16] = 1\n  local e: f32[%d, 16]\n  local s: f32[16]\n"
           "  for j in %d {\n    for i in 16 vector { e[j, i] = exp(x[j, i]) }\n  }\n"
           "  for i1 in 16 vector { s[i1] = f32(0) }\n"
           "  for j1 in %d reduction {\n    for i2 in 16 vector { s[i2] += e[j1, i2] }\n  }\n"
           "  for j2 in %d {\n    for i3 in 16 vector { y[j2, i3] = %s }\n  }\n"
           "  for i4 in 16 vector { z[i4] = div(f32(1), s[i4]) }\n}\n",
           ROWS, output, ROWS, ROWS, ROWS, ROWS, ROWS, read);
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  return kernel;
}

static bool is_rough(const char* output, const char* read) {
  hone_kernel_t* kernel = make_kernel(output, read);
  hone_str_t source;
  render_kernel_text(kernel, LANES, "x86-64-v4+bf16", &source);
  bool found = strstr(hone_str_text(&source), "hone_exp_rough_f32v(");
  if (!found) assert_non_null(strstr(hone_str_text(&source), "hone_exp_f32v("));
  hone_kernel_destroy(kernel);
  hone_str_free(&source);
  return found;
}

static void what_is_rounded_may_be_rough(void** state) {
  (void)state;
  assert_true(is_rough("bf16", "cast.bf16.flushes(e[j2, i3])"));
  assert_false(is_rough("bf16", "cast.bf16(e[j2, i3])"));
  assert_false(is_rough("bf16", "cast.bf16.flushes(log(e[j2, i3]))"));
  assert_false(is_rough("f32", "e[j2, i3]"));
  assert_false(is_rough("f32", "x[j2, i3]")); /* nothing is rounded */
  assert_false(is_rough("f32", "exp(x[j2, i3])"));
}

static void fill(float* x) {
  static const float odd[] = {0, -0.0f, -1e-3f, -50, -87.4f, -100, -1e4f, -3e38f, -INFINITY, 1, 80};
  memcpy(x, odd, sizeof odd);
  for (size_t i = sizeof odd / sizeof *odd; i < COUNT; i++)
    x[i] = (float)(hone_random_u32(5, (uint64_t)i) >> 8) * -0x1p-24f * 20;
}

static void rough_ones_are_near(void** state) {
  hone_kernel_t* kernel = make_kernel("bf16", "cast.bf16.flushes(e[j2, i3])");
  hone_tensor_t* tensors[3];
  const int64_t dims[] = {ROWS, LANES};
  (void)state;
  for (int i = 0; i < 3; i++)
    assert_ok(hone_tensor_create(NULL, i == 1 ? HONE_BF16 : HONE_F32, i < 2 ? 2 : 1,
                                 i < 2 ? dims : dims + 1, &tensors[i]));
  float* x = hone_tensor_data(tensors[0]);
  fill(x);
  render_kernel_run(kernel, NULL, 3, tensors);
  double sums[LANES] = {0};
  for (int i = 0; i < COUNT; i++) {
    double want = exp(x[i]);
    double got = hone_to_double(HONE_BF16, (uint16_t*)hone_tensor_data(tensors[1]) + i);
    sums[i % LANES] += want;
    if (!(fabs(got - want) <= (0x1p-8 + 0x1p-13) * want + 0x1p-126))
      fail_msg("exp of %.9g is %.9g, not %.9g", (double)x[i], got, want);
  }
  for (int i = 0; i < LANES; i++) {
    double got = ((float*)hone_tensor_data(tensors[2]))[i];
    if (!(fabs(got * sums[i] - 1) <= 0x1p-12)) fail_msg("sum %d is off by %g", i, got * sums[i]);
  }
  hone_kernel_destroy(kernel);
  for (int i = 0; i < 3; i++) hone_tensor_release(tensors[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_rounded_may_be_rough),
      cmocka_unit_test(rough_ones_are_near),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
