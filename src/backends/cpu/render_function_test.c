/* GELU in vectors and one by one: as its formula says, and where all results are rounded to bf16
 * behind, as near as that needs; not so where a result is stored as it is. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/cpu/testing/render_kernel.h"
#include "base/float_convert.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "loop/text.h"

enum { COUNT = 4096, VECTORS = COUNT / 8, TEXT = 1024 };

#define GELU(x) "mul(mul(" x ", add(erf(mul(" x ", f32(0.70710678))), f32(1))), f32(0.5))"

static double gelu(double x) { return x / 2 * (1 + erf(x / sqrt(2))); }

static void fill(float* x) {
  static const float odd[] = {0.0f,   -0.0f, 1.0f,  -1.0f,  3.84f,
                              -3.84f, 1e4f,  -1e4f, 1e-30f, -1e-30f};
  memcpy(x, odd, sizeof odd);
  for (size_t i = sizeof odd / sizeof *odd; i < COUNT; i++)
    x[i] = ((float)(hone_random_u32(5, (uint64_t)i) >> 8) * 0x1p-24f - 0.5f) * 20;
}

/* Results of the kernel's text, of which some are bf16, as numbers. */
static void run(const char* text, int n, const hone_dtype_t* dtypes, const float* x,
                double (*out)[COUNT]) {
  enum { MOST = 4 };
  hone_kernel_t* kernel;
  hone_tensor_t* tensors[MOST];
  const int64_t size = COUNT;
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  for (int i = 0; i <= n; i++)
    assert_ok(hone_tensor_create(NULL, i ? dtypes[i - 1] : HONE_F32, 1, &size, &tensors[i]));
  memcpy(hone_tensor_data(tensors[0]), x, COUNT * sizeof *x);
  render_kernel_run(kernel, NULL, n + 1, tensors);
  for (int k = 0; k < n; k++)
    for (int i = 0; i < COUNT; i++)
      out[k][i] = hone_to_double(dtypes[k], (const char*)hone_tensor_data(tensors[k + 1]) +
                                                (size_t)i * hone_dtype_size(dtypes[k]));
  hone_kernel_destroy(kernel);
  for (int i = 0; i <= n; i++) hone_tensor_release(tensors[i]);
}

static void expect_near(const float* x, const double* got, double of_x, double of_result) {
  for (int i = 0; i < COUNT; i++) {
    double want = gelu(x[i]);
    if (!(fabs(got[i] - want) <= of_x * fabs(x[i]) + of_result * fabs(want)))
      fail_msg("gelu of %.9g is %.9g, not %.9g", (double)x[i], got[i], want);
  }
}

static void gelu_is_what_it_is(void** state) {
  static const hone_dtype_t dtypes[] = {HONE_F32, HONE_F32};
  static float x[COUNT];
  static double got[2][COUNT];
  char text[TEXT];
  (void)state;
  fill(x);
  snprintf(text, sizeof text,
           "kernel gelu {\n  input x: f32[%d] = 0\n  output wide: f32[%d] = 0\n"
           "  output alone: f32[%d] = 1\n  for o in %d {\n    for i in 8 vector {\n"
           "      wide[8*o + i] = " GELU("x[8*o + i]") "\n    }\n  }\n"
           "  for k in %d {\n    alone[k] = " GELU("x[k]") "\n  }\n}\n",
           COUNT, COUNT, COUNT, VECTORS, COUNT);
  run(text, 2, dtypes, x, got);
  for (int i = 0; i < 2; i++) expect_near(x, got[i], 0x1p-22, 0x1p-22);
}

/* Results of a kernel that stores GELU rounded, and then what `also` says. */
static void run_rounded(const char* outputs, const char* also, hone_dtype_t second, int n,
                        const float* x, double (*out)[COUNT]) {
  const hone_dtype_t dtypes[] = {HONE_BF16, second};
  char text[TEXT];
  snprintf(text, sizeof text,
           "kernel gelu {\n  input x: f32[%d] = 0\n  output y: bf16[%d] = 0\n%s"
           "  for o in %d {\n    for i in 8 vector {\n"
           "      y[8*o + i] = cast.bf16.flushes(" GELU("x[8*o + i]") ")\n%s    }\n  }\n}\n",
           COUNT, COUNT, outputs, VECTORS, also);
  run(text, n, dtypes, x, out);
}

/* Half a unit of bf16, and what the function may be away. */
static void what_is_rounded_is_near(void** state) {
  static float x[COUNT];
  static double got[1][COUNT];
  (void)state;
  fill(x);
  run_rounded("", "", HONE_F32, 1, x, got);
  expect_near(x, got[0], 0x1p-13, 0x1p-8);
}

/* One result is rounded, the other is not: both are of the function as it is. */
static void what_is_stored_is_exact(void** state) {
  static float x[COUNT];
  static double got[2][COUNT];
  (void)state;
  fill(x);
  run_rounded("  output z: f32[4096] = 1\n", "      z[8*o + i] = " GELU("x[8*o + i]") "\n",
              HONE_F32, 2, x, got);
  expect_near(x, got[0], 0x1p-22, 0x1p-8);
  expect_near(x, got[1], 0x1p-22, 0x1p-22);
}

/* What rounding leaves over is as exact as the function: both together are it, but for a rounding
 * of the rest. */
static void what_is_left_over_is_exact(void** state) {
  static float x[COUNT];
  static double got[2][COUNT];
  (void)state;
  fill(x);
  run_rounded("  output z: bf16[4096] = 1\n",
              "      z[8*o + i] = cast.bf16.flushes(sub(" GELU(
                  "x[8*o + i]") ", cast.f32(cast.bf16.flushes(" GELU("x[8*o + i]") "))))\n",
              HONE_BF16, 2, x, got);
  for (int i = 0; i < COUNT; i++) got[0][i] += got[1][i];
  expect_near(x, got[0], 0x1p-22, 0x1p-17);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gelu_is_what_it_is),
      cmocka_unit_test(what_is_rounded_is_near),
      cmocka_unit_test(what_is_stored_is_exact),
      cmocka_unit_test(what_is_left_over_is_exact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
