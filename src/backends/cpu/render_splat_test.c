/* Products by one number for all lanes, which vectors of 64 bytes take from memory: of whole
 * vectors, and of lanes that half of one holds. */
#include <string.h>

#include "backends/cpu/testing/render_kernel.h"
#include "base/testing/test.h"
#include "loop/text.h"

enum { ROWS = 3, SUMS = 5, COLUMNS = 24 };

static const char tile[] =
    "kernel tile {\n"
    "  input a: f32[3, 5] = 0\n"
    "  input b: f32[5, 24] = 1\n"
    "  output c: f32[3, 24] = 0\n"
    "  local acc: f32[3, 24]\n"
    "  for r in 3 unroll {\n"
    "    for z in 16 vector {\n      acc[r, z] = f32(0)\n    }\n"
    "    for y in 8 vector {\n      acc[r, y + 16] = f32(0)\n    }\n"
    "  }\n"
    "  for k in 5 reduction {\n"
    "    for r1 in 3 unroll {\n"
    "      for v in 16 vector {\n        acc[r1, v] += mul(a[r1, k], b[k, v])\n      }\n"
    "      for w in 8 vector {\n        acc[r1, w + 16] += mul(b[k, w + 16], a[r1, k])\n      }\n"
    "    }\n"
    "  }\n"
    "  for r2 in 3 unroll {\n"
    "    for x in 16 vector {\n      c[r2, x] = acc[r2, x]\n    }\n"
    "    for u in 8 vector {\n      c[r2, u + 16] = acc[r2, u + 16]\n    }\n"
    "  }\n"
    "}\n";

static hone_kernel_t* make_kernel(void) {
  hone_kernel_t* kernel;
  assert_ok(hone_kernel_parse(NULL, tile, strlen(tile), &kernel));
  return kernel;
}

static bool has(int lanes, const char* target, const char* what) {
  hone_kernel_t* kernel = make_kernel();
  hone_str_t source;
  render_kernel_text(kernel, lanes, target, &source);
  bool found = strstr(hone_str_text(&source), what) != NULL;
  hone_kernel_destroy(kernel);
  hone_str_free(&source);
  return found;
}

static void wide_vectors_take_it_from_memory(void** state) {
  (void)state;
  assert_true(has(16, "x86-64-v4", "= hone_fma_f32v_of(a_"));
  assert_true(has(16, "x86-64-v4", "= hone_fma_f32v_half_of(a_"));
  assert_false(has(8, "x86-64-v3", "_of("));
}

static void sums_are_right(void** state) {
  (void)state;
  static const int64_t dims[][2] = {{ROWS, SUMS}, {SUMS, COLUMNS}, {ROWS, COLUMNS}};
  hone_kernel_t* kernel = make_kernel();
  hone_tensor_t* tensors[3];
  float* data[3];
  for (int i = 0; i < 3; i++) {
    assert_ok(hone_tensor_create(NULL, HONE_F32, 2, dims[i], &tensors[i]));
    data[i] = hone_tensor_data(tensors[i]);
  }
  for (int i = 0; i < ROWS * SUMS; i++) data[0][i] = (float)(i % 7 - 3);
  for (int i = 0; i < SUMS * COLUMNS; i++) data[1][i] = (float)(i % 11 - 5);
  render_kernel_run(kernel, NULL, 3, tensors);
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    float want = 0;
    for (int k = 0; k < SUMS; k++)
      want += data[0][i / COLUMNS * SUMS + k] * data[1][k * COLUMNS + i % COLUMNS];
    assert_true(data[2][i] == want);
  }
  hone_kernel_destroy(kernel);
  for (int i = 0; i < 3; i++) hone_tensor_release(tensors[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wide_vectors_take_it_from_memory),
      cmocka_unit_test(sums_are_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
