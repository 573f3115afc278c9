/* Numbers between bounds that are rounded to bf16, by one vector and by two side by side: they are
 * what they were bounded before, whether they are held before or after they are rounded. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/cpu/testing/render_kernel.h"
#include "base/float_convert.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "loop/text.h"

enum { LANES = 16, COUNT = 2048, TEXT = 1024 };

typedef struct clip {
  const char *before, *behind; /* the number */
  double low, high;
  bool is_rounded_first;
} clip_t;

static const clip_t clips[] = {
    {"max(", ", f32(0))", 0, INFINITY, true},
    {"min(max(", ", f32(0)), f32(6))", 0, 6, true},
    {"max(f32(0.5), min(f32(2), ", "))", 0.5, 2, true},
    {"min(", ", f32(3))", -INFINITY, 3, true},
    {"min(", ", f32(0))", -INFINITY, 0, true},
    {"min(max(", ", f32(-1)), f32(1))", -1, 1, true}, /* the minimum is */
    {"max(", ", f32(-1))", -1, INFINITY, false},
    {"min(", ", f32(-1))", -INFINITY, -1, false},
    {"max(", ", f32(0.1))", (double)0.1f, INFINITY, false}, /* which bf16 has not */
};

static hone_kernel_t* make_kernel(const clip_t* clip, int vectors, const char* flag) {
  char text[TEXT];
  hone_kernel_t* kernel;
  int step = vectors * LANES;
  snprintf(text, sizeof text,
           "kernel k {\n  input x: f32[%d] = 0\n  output y: bf16[%d] = 0\n  for o in %d {\n"
           "    for u in %d unroll {\n      for i in %d vector {\n"
           "        y[%d*o + %d*u + i] = cast.bf16%s(%sx[%d*o + %d*u + i]%s)\n"
           "      }\n    }\n  }\n}\n",
           COUNT, COUNT, COUNT / step, vectors, LANES, step, LANES, flag, clip->before, step, LANES,
           clip->behind);
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  return kernel;
}

static void fill(float* x) {
  static const float odd[] = {0.0f, -0.0f, 6.0f, 6.01f, 5.99f, 0.5f, INFINITY, -INFINITY, -1.0f};
  memcpy(x, odd, sizeof odd);
  for (size_t i = sizeof odd / sizeof *odd; i < COUNT; i++)
    x[i] = ((float)(hone_random_u32(5, (uint64_t)i) >> 8) * 0x1p-24f - 0.5f) * 20;
}

/* Half a unit of bf16. */
static void check(const clip_t* clip, int vectors) {
  hone_kernel_t* kernel = make_kernel(clip, vectors, ".flushes");
  hone_tensor_t* tensors[2];
  const int64_t size = COUNT;
  for (int i = 0; i < 2; i++)
    assert_ok(hone_tensor_create(NULL, i ? HONE_BF16 : HONE_F32, 1, &size, &tensors[i]));
  float* x = hone_tensor_data(tensors[0]);
  const uint16_t* y = hone_tensor_data(tensors[1]);
  fill(x);
  render_kernel_run(kernel, NULL, 2, tensors);
  for (int i = 0; i < COUNT; i++) {
    double want = fmin(fmax((double)x[i], clip->low), clip->high);
    double got = hone_to_double(HONE_BF16, &y[i]);
    if (got != want && !(fabs(got - want) <= 0x1p-8 * fabs(want)))
      fail_msg("%s%g%s is %g", clip->before, (double)x[i], clip->behind, got);
  }
  hone_kernel_destroy(kernel);
  for (int i = 0; i < 2; i++) hone_tensor_release(tensors[i]);
}

static void numbers_are_between_bounds(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof clips / sizeof *clips; i++)
    for (int vectors = 1; vectors <= 2; vectors++) check(&clips[i], vectors);
}

static bool has(const clip_t* clip, int vectors, const char* flag, const char* what) {
  hone_kernel_t* kernel = make_kernel(clip, vectors, flag);
  hone_str_t source;
  render_kernel_text(kernel, LANES, "x86-64-v4+bf16", &source);
  bool found = strstr(hone_str_text(&source), what);
  hone_kernel_destroy(kernel);
  hone_str_free(&source);
  return found;
}

/* Where small numbers need not survive, and integers have the order of such bounds. */
static void some_are_rounded_first(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof clips / sizeof *clips; i++) {
    bool want = clips[i].is_rounded_first;
    assert_int_equal(has(&clips[i], 1, ".flushes", "hone_store_clipped_bf16v("), want);
    assert_int_equal(has(&clips[i], 2, ".flushes", "hone_store_pair_clipped_bf16v("), want);
    assert_false(has(&clips[i], 1, "", "clipped"));
  }
  assert_true(has(&clips[1], 2, ".flushes", ", 0, 16576);"));
  assert_true(has(&clips[0], 1, ".flushes", ", 0, 32767);"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_between_bounds),
      cmocka_unit_test(some_are_rounded_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
