/* Whole kernels: tests/kernels/cpu/CASE.kernel as C must be CASE.want
 * (HONE_UPDATE_GOLDEN=1 in the environment writes it), and must compute here what
 * the interpreter of kernels computes. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/testing/render_kernel.h"
#include "base/file.h"
#include "base/float_convert.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "loop/interpret.h"
#include "loop/text.h"

enum { LANES = 8, MOST_BUFFERS = 8, MOST_SIZES = 4, SIZE = 21, TEXT = 1 << 16 };

/* Terminated, to be freed; NULL when there is no such file. */
static char* read_text(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) return NULL;
  char* text = calloc(1, TEXT);
  assert_non_null(text);
  text[fread(text, 1, TEXT - 1, file)] = 0;
  fclose(file);
  return text;
}

static hone_kernel_t* read_kernel(const char* path) {
  hone_kernel_t* kernel;
  char* text = read_text(path);
  assert_non_null(text);
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  free(text);
  return kernel;
}

static void check_source(const char* path, const hone_kernel_t* kernel) {
  char golden_path[512];
  hone_str_t source;
  render_kernel_text(kernel, LANES, "x86-64-v3", &source);
  snprintf(golden_path, sizeof golden_path, "%.*s.want", (int)(strrchr(path, '.') - path), path);
  const char* text = hone_str_text(&source);
  if (getenv("HONE_UPDATE_GOLDEN")) assert_ok(hone_file_write(golden_path, text, strlen(text)));
  char* golden = read_text(golden_path);
  if (!golden) fail_msg("%s is not there; HONE_UPDATE_GOLDEN=1 writes it", golden_path);
  assert_string_equal(text, golden);
  free(golden);
  hone_str_free(&source);
}

/* Tensors of f32 for the kernel's parameters, with SIZE for each size that is open. */
static int make_tensors(const hone_kernel_t* kernel, hone_tensor_t** out) {
  int n = 0;
  int64_t values[64];
  assert_true(hone_dims_symbol_count(kernel->dims) <= 64);
  for (int i = 0; i < 64; i++) values[i] = SIZE;
  for (; n < kernel->n_buffers && kernel->buffers[n]->space == HONE_SPACE_GLOBAL; n++) {
    const hone_buffer_t* buffer = kernel->buffers[n];
    int64_t dims[HONE_MAX_RANK];
    assert_true(n < MOST_BUFFERS && buffer->dtype == HONE_F32);
    for (int i = 0; i < buffer->rank; i++) dims[i] = hone_dim_eval(buffer->dims[i], values);
    assert_ok(hone_tensor_create(NULL, HONE_F32, buffer->rank, dims, &out[n]));
    float* element = hone_tensor_data(out[n]);
    for (int64_t i = 0; i < hone_tensor_count(out[n]); i++)
      element[i] = (float)(hone_random_u32((uint64_t)n, (uint64_t)i) % 2001) / 1000.0f - 1;
  }
  return n;
}

static void check_run(hone_kernel_t* kernel) {
  hone_tensor_t *got[MOST_BUFFERS], *want[MOST_BUFFERS];
  void* data[MOST_BUFFERS];
  const int64_t sizes[MOST_SIZES] = {SIZE, SIZE, SIZE, SIZE};
  assert_true(kernel->n_sizes <= MOST_SIZES);
  int n = make_tensors(kernel, got);
  assert_int_equal(make_tensors(kernel, want), n);
  for (int i = 0; i < n; i++) data[i] = hone_tensor_data(want[i]);
  assert_ok(hone_kernel_interpret(kernel, sizes, data));
  render_kernel_run(kernel, sizes, n, got);
  for (int i = 0; i < n; i++) {
    const float *x = hone_tensor_data(got[i]), *y = data[i];
    for (int64_t k = 0; k < hone_tensor_count(got[i]); k++)
      if (fabsf(x[k] - y[k]) > 1e-5f * (1 + fabsf(y[k])))
        fail_msg("%s: %s[%lld] is %g, not %g", kernel->name, kernel->buffers[i]->name, (long long)k,
                 (double)x[k], (double)y[k]);
    hone_tensor_release(got[i]);
    hone_tensor_release(want[i]);
  }
}

static void sources_are_as_wanted_and_right(void** state) {
  glob_t cases;
  assert_int_equal(glob("tests/kernels/cpu/*.kernel", 0, NULL, &cases), 0);
  for (size_t i = 0; i < cases.gl_pathc; i++) {
    hone_kernel_t* kernel = read_kernel(cases.gl_pathv[i]);
    check_source(cases.gl_pathv[i], kernel);
    check_run(kernel);
    hone_kernel_destroy(kernel);
  }
  globfree(&cases);
}

enum { PAIR = 32 };

/* Casts to bf16, with `flag` behind their name, in two vectors side by side. */
static hone_kernel_t* make_casts(const char* flag) {
  char text[512];
  hone_kernel_t* kernel;
  snprintf(text, sizeof text,
           "kernel k {\n  input x: f32[%d] = 0\n  output y: bf16[%d] = 0\n  for o in 2 unroll {\n"
           "    for i in 16 vector { y[16*o + i] = cast.bf16%s(x[16*o + i]) }\n  }\n}\n",
           PAIR, PAIR, flag);
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  return kernel;
}

static void check_store(const char* flag, const char* want) {
  hone_kernel_t* kernel = make_casts(flag);
  hone_str_t source;
  render_kernel_text(kernel, 16, "x86-64-v4+bf16", &source);
  if (!strstr(hone_str_text(&source), want)) fail_msg("no %s in %s", want, hone_str_text(&source));
  hone_kernel_destroy(kernel);
  hone_str_free(&source);
}

static void small_numbers_survive_unless_they_need_not(void** state) {
  (void)state;
  check_store("", "hone_store_bf16v(");
  check_store(".flushes", "hone_store_pair_bf16v(");
}

static void pairs_of_vectors_are_in_order(void** state) {
  (void)state;
  hone_kernel_t* kernel = make_casts(".flushes");
  hone_tensor_t* tensors[2];
  const int64_t size = PAIR;
  for (int i = 0; i < 2; i++)
    assert_ok(hone_tensor_create(NULL, i ? HONE_BF16 : HONE_F32, 1, &size, &tensors[i]));
  float* x = hone_tensor_data(tensors[0]);
  for (int i = 0; i < PAIR; i++) x[i] = 1.001f + (float)i;
  render_kernel_run(kernel, NULL, 2, tensors);
  const char* y = hone_tensor_data(tensors[1]);
  for (int i = 0; i < PAIR; i++) assert_true(hone_to_double(HONE_BF16, y + 2 * (size_t)i) == 1 + i);
  hone_kernel_destroy(kernel);
  for (int i = 0; i < 2; i++) hone_tensor_release(tensors[i]);
}

/* Zeros and ones of one type, of which another one has as many bytes. */
static void check_bits(hone_dtype_t from, hone_dtype_t to) {
  char text[512];
  hone_kernel_t* kernel;
  hone_tensor_t* tensors[2];
  const int64_t size = PAIR;
  snprintf(text, sizeof text,
           "kernel k {\n  input x: %s[%d] = 0\n  output y: %s[%d] = 0\n  for o in 2 {\n"
           "    for i in 16 vector { y[16*o + i] = bitcast.%s(x[16*o + i]) }\n  }\n}\n",
           hone_dtype_name(from), PAIR, hone_dtype_name(to), PAIR, hone_dtype_name(to));
  assert_ok(hone_kernel_parse(NULL, text, strlen(text), &kernel));
  for (int i = 0; i < 2; i++)
    assert_ok(hone_tensor_create(NULL, i ? to : from, 1, &size, &tensors[i]));
  char* x = hone_tensor_data(tensors[0]);
  size_t bytes = hone_dtype_size(from);
  for (int i = 0; i < PAIR; i++) hone_from_double(from, i % 3 == 0, false, x + bytes * (size_t)i);
  render_kernel_run(kernel, NULL, 2, tensors);
  assert_memory_equal(hone_tensor_data(tensors[1]), x, bytes * PAIR);
  hone_kernel_destroy(kernel);
  for (int i = 0; i < 2; i++) hone_tensor_release(tensors[i]);
}

static void bits_stay_what_they_are(void** state) {
  static const hone_dtype_t pairs[][2] = {{HONE_BOOL, HONE_U8},  {HONE_F16, HONE_I16},
                                          {HONE_BF16, HONE_U16}, {HONE_I8, HONE_U8},
                                          {HONE_F32, HONE_U32},  {HONE_F64, HONE_I64}};
  (void)state;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    check_bits(pairs[i][0], pairs[i][1]);
    check_bits(pairs[i][1], pairs[i][0]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sources_are_as_wanted_and_right),
      cmocka_unit_test(small_numbers_survive_unless_they_need_not),
      cmocka_unit_test(pairs_of_vectors_are_in_order),
      cmocka_unit_test(bits_stay_what_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
