/* Sums of two bytes by fused multiply-adds are rounded as those that divide, for all pairs. */
#include "loop/quantized_sum.h"

#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "base/testing/test.h"
#include "loop/text.h"

enum { BYTES = 256 };

static double hold(float x, double low, double high) { return fmin(fmax(rintf(x), low), high); }

static void check(const hone_addend_t of[2], float scale, double low, double high,
                  const hone_quantized_sum_t* sum) {
  for (int i = 0; i < BYTES; i++)
    for (int j = 0; j < BYTES; j++) {
      int x = of[0].least + i, y = of[1].least + j;
      float a = (float)(x - of[0].zero) * of[0].scale, b = (float)(y - of[1].zero) * of[1].scale;
      float fused = fmaf((float)x, sum->factors[0], fmaf((float)y, sum->factors[1], sum->shift));
      assert_true(hold((a + b) / scale, low, high) == hold(fused, low, high));
    }
}

static double any(uint64_t key, int at) { return hone_random_u32(key, (uint64_t)at) * 0x1p-32; }

/* Zero points inside of the numbers or taken off them, with a sign or without. */
static int count_found(int tries) {
  int found = 0;
  for (int i = 0; i < tries; i++) {
    hone_addend_t of[2];
    for (int j = 0; j < 2; j++) {
      int zero = (int)(any(5 + (uint64_t)j, i) * BYTES) - (i % 2 ? 128 : 0);
      bool is_less = i >> j & 2;
      of[j] = (hone_addend_t){.least = (i % 2 ? -128 : 0) - (is_less ? zero : 0),
                              .zero = is_less ? 0 : zero,
                              .scale = (float)(0.01 + 0.1 * any(7 + (uint64_t)j, i))};
    }
    float scale = (of[0].scale + of[1].scale) * (float)(0.3 + any(9, i));
    double low = i % 3 ? -(int)(any(10, i) * 200) : 0;
    hone_quantized_sum_t sum;
    if (!hone_quantized_sum_make(of, scale, low, low + 255, &sum)) continue;
    check(of, scale, low, low + 255, &sum);
    found++;
  }
  return found;
}

static void all_pairs_are_rounded_alike(void** state) {
  enum { TRIES = 200 };
  assert_true(count_found(TRIES) >= TRIES * 9 / 10);
}

/* Half a whole number, which goes to the even one, is what it was. */
static void halves_are_kept(void** state) {
  const hone_addend_t of[2] = {{.zero = 3, .scale = 0.25f}, {.least = -128, .scale = 0.25f}};
  hone_quantized_sum_t sum;
  assert_true(hone_quantized_sum_make(of, 0.5f, 0, 255, &sum));
  check(of, 0.5f, 0, 255, &sum);
}

static void what_cannot_be_tried_is_refused(void** state) {
  static const float odd[] = {0, -1, NAN, INFINITY, 1e-30f, 1e30f};
  hone_quantized_sum_t sum;
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    hone_addend_t of[2] = {{.scale = 1}, {.scale = odd[i]}};
    assert_false(hone_quantized_sum_make(of, 1, 0, 255, &sum));
    of[1].scale = 1;
    assert_false(hone_quantized_sum_make(of, odd[i], 0, 255, &sum));
  }
  const hone_addend_t far[2] = {{.scale = 1}, {.scale = 1}};
  assert_false(hone_quantized_sum_make(far, 0.01f, 0, 255, &sum));
}

/* ---- terms ---- */

static hone_kernel_t* parse(const char* value) {
  char text[512];
  hone_kernel_t* kernel;
  int size = snprintf(text, sizeof text,
                      "kernel sum {\n  input a: u8[4] = 0\n  input b: i8[4] = 1\n"
                      "  input f: f32[4] = 2\n  output c: f32[4] = 0\n"
                      "  for i in 4 {\n    c[i] = %s\n  }\n}\n",
                      value);
  assert_ok(hone_kernel_parse(NULL, text, (size_t)size, &kernel));
  return kernel;
}

static const hone_term_t* value_of(const hone_stmt_t* stmt) {
  while (!stmt->value) stmt = stmt->body[0];
  return stmt->value;
}

static bool matches(const char* value, hone_scaled_byte_t out[2]) {
  hone_kernel_t* kernel = parse(value);
  bool does = hone_quantized_sum_match(value_of(kernel->root), out);
  hone_kernel_destroy(kernel);
  return does;
}

static void sums_of_bytes_are_found(void** state) {
  hone_scaled_byte_t of[2];
  assert_true(
      matches("add(mul(cast.f32(sub(cast.i32(a[i]), i32(7))), f32(0.5)), "
              "mul(f32(0.25), cast.f32(b[i])))",
              of));
  assert_int_equal(of[0].zero, 7);
  assert_true(of[0].scale == 0.5f && of[1].scale == 0.25f);
  assert_int_equal(of[1].zero, 0);
  assert_true(
      matches("add(mul(cast.f32(cast.i32(a[i])), f32(2)), mul(cast.f32(b[i]), f32(3)))", of));
  assert_false(matches("add(mul(f[i], f32(0.5)), mul(cast.f32(b[i]), f32(0.25)))", of));
  assert_false(matches("add(mul(cast.f32(a[i]), f[i]), mul(cast.f32(b[i]), f32(0.25)))", of));
  assert_false(matches("sub(mul(cast.f32(a[i]), f32(1)), mul(cast.f32(b[i]), f32(0.25)))", of));
  assert_false(
      matches("add(mul(cast.f32(sub(cast.i32(a[i]), i32(700))), f32(0.5)), "
              "mul(cast.f32(b[i]), f32(0.25)))",
              of));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_pairs_are_rounded_alike), cmocka_unit_test(halves_are_kept),
      cmocka_unit_test(what_cannot_be_tried_is_refused), cmocka_unit_test(sums_of_bytes_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
