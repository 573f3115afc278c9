/* Powers that are made of products and roots, of numbers of all sizes, and of those that are
 * none, in vectors and one by one: within three units in the last place of what they are. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/cpu/testing/render_kernel.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "loop/text.h"

enum { COUNT = 4096, VECTORS = COUNT / 8, TEXT = 512 };

static void fill(float* x) {
  static const float odd[] = {NAN,   INFINITY, -INFINITY, 0.0f, -0.0f, FLT_MAX, -FLT_MAX, 1.0f,
                              -1.0f, 2.0f,     -2.0f,     4.0f, 0.25f, FLT_MIN, -FLT_MIN};
  memcpy(x, odd, sizeof odd);
  for (size_t i = sizeof odd / sizeof *odd; i < COUNT; i++) {
    uint32_t bits = hone_random_u32(11, (uint64_t)i);
    memcpy(&x[i], &bits, sizeof bits);
    if (i % 4) x[i] = fabsf(x[i]);
  }
}

static bool is_near(float got, float x, double exponent) {
  double want = pow(x, exponent), unit = nextafterf(fabsf((float)want), INFINITY) - fabs(want);
  if (isnan(want)) return isnan(got);
  if (want == 0 || isinf((float)want)) return got == (float)want && !signbit(got) == !signbit(want);
  return fabs(got - want) <= 3 * fmax(unit, FLT_TRUE_MIN);
}

static void check(double exponent) {
  char text[TEXT];
  hone_kernel_t* kernel;
  hone_tensor_t* tensors[3];
  const int64_t size = COUNT;
  snprintf(text, sizeof text,
           "kernel power {\n  input x: f32[%d] = 0\n  output wide: f32[%d] = 0\n"
           "  output alone: f32[%d] = 1\n  for o in %d {\n    for i in 8 vector {\n"
           "      wide[8*o + i] = pow(x[8*o + i], f32(%g))\n    }\n  }\n"
           "  for k in %d {\n    alone[k] = pow(x[k], f32(%g))\n  }\n}\n",
           COUNT, COUNT, COUNT, VECTORS, exponent, COUNT, exponent);
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  for (int i = 0; i < 3; i++) assert_ok(hone_tensor_create(NULL, HONE_F32, 1, &size, &tensors[i]));
  float *x = hone_tensor_data(tensors[0]), *wide = hone_tensor_data(tensors[1]),
        *alone = hone_tensor_data(tensors[2]);
  fill(x);
  render_kernel_run(kernel, NULL, 3, tensors);
  for (int i = 0; i < COUNT; i++)
    if (!is_near(wide[i], x[i], exponent) || !is_near(alone[i], x[i], exponent))
      fail_msg("%.9g ^ %g is %.9g and %.9g, not %.9g", (double)x[i], exponent, (double)wide[i],
               (double)alone[i], pow(x[i], exponent));
  hone_kernel_destroy(kernel);
  for (int i = 0; i < 3; i++) hone_tensor_release(tensors[i]);
}

static void powers_are_what_they_are(void** state) {
  static const double exponents[] = {3, 0.5, 0.25, 0.75, 1.5, -0.5, 0.6875};
  (void)state;
  for (size_t i = 0; i < TEST_COUNT(exponents); i++) check(exponents[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(powers_are_what_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
