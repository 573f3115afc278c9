/* What is quantized without dividing has the bits of the operations one by one: numbers next to
 * all halves, and those that are none, in vectors and alone, for many scales and zero points, which
 * are written in the kernel or read by it. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/cpu/testing/render_kernel.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "loop/interpret.h"
#include "loop/quantized.h"
#include "loop/text.h"

enum { BYTES = 256, NEAR = 6, EACH = 2 * NEAR + 1, COUNT = 4096, TEXT = 2048 };

/* ---- against the interpreter ---- */

enum { MOST_TENSORS = 8 };

/* A kernel's parameters, once for the interpreter and once for what is rendered; inputs first. */
typedef struct trial {
  int n;
  hone_tensor_t *got[MOST_TENSORS], *want[MOST_TENSORS];
  void* data[MOST_TENSORS]; /* of `want` */
} trial_t;

static void add_parameter(trial_t* t, hone_dtype_t dtype, int rank, const int64_t* dims) {
  assert_ok(hone_tensor_create(NULL, dtype, rank, dims, &t->got[t->n]));
  assert_ok(hone_tensor_create(NULL, dtype, rank, dims, &t->want[t->n]));
  t->data[t->n] = hone_tensor_data(t->want[t->n]);
  t->n++;
}

/* Both give the same bits; the inputs are in `data`. Destroys the kernel and the tensors. */
static void compare(hone_kernel_t* kernel, trial_t* t, int n_inputs) {
  for (int i = 0; i < n_inputs; i++)
    memcpy(hone_tensor_data(t->got[i]), t->data[i], hone_tensor_bytes(t->want[i]));
  assert_ok(hone_kernel_interpret(kernel, NULL, t->data));
  render_kernel_run(kernel, NULL, t->n, t->got);
  for (int i = n_inputs; i < t->n; i++)
    assert_memory_equal(hone_tensor_data(t->got[i]), t->data[i], hone_tensor_bytes(t->want[i]));
  for (int i = 0; i < t->n; i++) {
    hone_tensor_release(t->got[i]);
    hone_tensor_release(t->want[i]);
  }
  hone_kernel_destroy(kernel);
}

/* ---- numbers next to halves ---- */

static const void* give(void* self, const hone_buffer_t* buffer) { return self; }

static hone_kernel_t* make_kernel(float scale, int zero, bool reads) {
  char text[TEXT], value[TEXT / 4];
  float numbers[] = {(float)zero, scale};
  hone_kernel_t* kernel;
  if (reads)
    snprintf(value, sizeof value, "max(min(add(round(div(x[i], n[1])), n[0]), f32(255)), f32(0))");
  else
    snprintf(value, sizeof value,
             "max(min(add(round(div(x[i], f32(%.9g))), f32(%d)), f32(255)), f32(0))", (double)scale,
             zero);
  snprintf(text, sizeof text,
           "kernel quantize {\n"
           "  input x: f32[%d] = 0\n  input n: f32[2] = 1 constant\n  output bytes: u8[%d] = 0\n  "
           "output wide: i32[%d] = 1\n  output shorts: i16[%d] = 2\n"
           "  output alone: u8[%d] = 3\n"
           "  for i.o in %d {\n    for i.i in 8 vector {\n"
           "      bytes[8*i.o + i.i] = cast.u8(VALUE)\n"
           "      wide[8*i.o + i.i] = cast.i32(cast.u8(VALUE))\n"
           "      shorts[8*i.o + i.i] = cast.i16(cast.u8(VALUE))\n"
           "    }\n  }\n  for i in %d {\n    alone[i] = cast.u8(%s)\n  }\n}\n",
           COUNT, COUNT, COUNT, COUNT, COUNT, COUNT / 8, COUNT, value);
  hone_str_t all;
  hone_str_init(&all, NULL);
  for (const char* at = text; *at; at++) {
    if (strncmp(at, "VALUE", 5) != 0) {
      hone_str_append_char(&all, *at);
      continue;
    }
    const char* element = strstr(value, "x[i]");
    hone_str_appendf(&all, "%.*sx[8*i.o + i.i]%s", (int)(element - value), value, element + 4);
    at += 4;
  }
  assert_ok(hone_kernel_parse(NULL, hone_str_text(&all), all.size, &kernel));
  hone_str_free(&all);
  assert_ok(hone_quantized_prove(kernel, give, numbers));
  return kernel;
}

static void fill(float scale, int zero, float* x) {
  static const float odd[] = {NAN,   INFINITY, -INFINITY, 0.0f,
                              -0.0f, FLT_MAX,  -FLT_MAX,  FLT_TRUE_MIN};
  int n = 0;
  for (int byte = 0; byte < BYTES; byte++) {
    float near = (float)((byte - zero + 0.5) * scale);
    for (int i = 0; i < NEAR; i++) near = nextafterf(near, -INFINITY);
    for (int i = 0; i < EACH; i++) {
      x[n++] = near;
      near = nextafterf(near, INFINITY);
    }
  }
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) x[n++] = odd[i];
  for (; n < COUNT; n++) {
    uint32_t bits = hone_random_u32(7, (uint64_t)n);
    memcpy(&x[n], &bits, sizeof bits);
  }
}

static void check(float scale, int zero, bool reads) {
  static const hone_dtype_t dtypes[] = {HONE_F32, HONE_F32, HONE_U8, HONE_I32, HONE_I16, HONE_U8};
  enum { N = sizeof dtypes / sizeof *dtypes, INPUTS = 2 };
  trial_t t = {.n = 0};
  for (int i = 0; i < N; i++)
    add_parameter(&t, dtypes[i], 1, (const int64_t[]){i == 1 ? 2 : COUNT});
  const float numbers[] = {(float)zero, scale};
  fill(scale, zero, t.data[0]);
  memcpy(t.data[1], numbers, sizeof numbers);
  compare(make_kernel(scale, zero, reads), &t, INPUTS);
}

/* 1/3 and its like lie between two numbers as badly as they can; the last are beyond what is
 * tried without dividing. */
static void bytes_are_those_of_division(void** state) {
  static const float scales[] = {0.01f,   0.0740482733f, 0.0427948236f, 1.0f / 3, 0x1.fffffep-5f,
                                 0x1p-7f, 3.7f,          1e-12f,        1e30f,    0x1p-140f};
  static const int zeros[] = {0, 151, 255};
  for (size_t i = 0; i < 2 * sizeof scales / sizeof *scales; i++)
    check(scales[i / 2], zeros[i / 2 % (sizeof zeros / sizeof *zeros)], i % 2);
}

/* ---- sums times a factor a channel ---- */

enum { ROWS = 112, CHANNELS = 16, SUMS = ROWS * CHANNELS };

/* Rows of four go to places that lie in sevens, the two vectors of one side by side, as bytes and
 * as shorts; and the same one by one, as wider numbers. */
static const char SUMS_TEXT[] =
    "kernel sums {\n"
    "  input s: i32[112, 16] = 0\n  input a: f32[16] = 1 constant\n"
    "  input b: f32[16] = 2 constant\n  output bytes: TYPE[7, 16, 16] = 0\n"
    "  output shorts: i16[7, 16, 16] = 1\n  output wide: i32[7, 16, 16] = 2\n"
    "  output floats: f32[7, 16, 16] = 3\n  output few: i16[7, 16, 16] = 4\n"
    "  for i.o in 28 {\n    for i.i in 4 unroll {\n      for j.o in 2 unroll {\n"
    "        for j.i in 8 vector {\n"
    "          bytes[((4*i.o + i.i)%7), ((4*i.o + i.i)/7), (8*j.o + j.i)] = VALUE\n"
    "        }\n      }\n    }\n  }\n"
    "  for m.o in 28 {\n    for m.i in 4 unroll {\n      for n.o in 2 unroll {\n"
    "        for n.i in 8 vector {\n"
    "          shorts[((4*m.o + m.i)%7), ((4*m.o + m.i)/7), (8*n.o + n.i)] = cast.i16(THIRD)\n"
    "        }\n      }\n    }\n  }\n"
    "  for k.o in 28 {\n    for k.i in 4 unroll {\n      for l.o in 2 unroll {\n"
    "        for l.i in 8 vector {\n"
    "          few[((4*k.o + k.i)%7), ((4*k.o + k.i)/7), (8*l.o + l.i)] = cast.i16(OTHER)\n"
    "          wide[((4*k.o + k.i)%7), ((4*k.o + k.i)/7), (8*l.o + l.i)] = cast.i32(OTHER)\n"
    "          floats[((4*k.o + k.i)%7), ((4*k.o + k.i)/7), (8*l.o + l.i)] = cast.f32(OTHER)\n"
    "        }\n      }\n    }\n  }\n}\n";

/* Of bytes without a sign, or with one: the zero point is then 128 less. */
static void put_value(hone_str_t* text, float scale, int zero, bool is_signed, char row,
                      char column) {
  int less = is_signed ? 128 : 0;
  hone_str_appendf(text, "cast.%s(min(max(add(round(div(add(mul(cast.f32(s[(4*%c.o + %c.i), ",
                   is_signed ? "i8" : "u8", row, row);
  for (const char* of = "ab"; *of; of++)
    hone_str_appendf(text, "(8*%c.o + %c.i)]), %c[", column, column, *of);
  hone_str_appendf(text, "(8*%c.o + %c.i)]), f32(%.9g))), f32(%d)), f32(%d)), f32(%d)))", column,
                   column, (double)scale, zero - less, -less, 255 - less);
}

static bool is_at(const char* text, const char* word) {
  return strncmp(text, word, strlen(word)) == 0;
}

static hone_kernel_t* make_sums(float scale, int zero, bool is_signed) {
  hone_str_t all;
  hone_kernel_t* kernel;
  hone_str_init(&all, NULL);
  for (const char* at = SUMS_TEXT; *at; at++) {
    if (is_at(at, "TYPE")) {
      hone_str_append(&all, is_signed ? "i8" : "u8");
      at += 3;
    } else if (is_at(at, "VALUE") || is_at(at, "THIRD") || is_at(at, "OTHER")) {
      put_value(&all, scale, zero, is_signed,
                *at == 'V'   ? 'i'
                : *at == 'T' ? 'm'
                             : 'k',
                *at == 'V'   ? 'j'
                : *at == 'T' ? 'n'
                             : 'l');
      at += 4;
    } else {
      hone_str_append_char(&all, *at);
    }
  }
  assert_ok(hone_kernel_parse(NULL, hone_str_text(&all), all.size, &kernel));
  hone_str_free(&all);
  return kernel;
}

typedef struct factors {
  float a[CHANNELS], b[CHANNELS];
} factors_t;

static const void* give_factors(void* self, const hone_buffer_t* buffer) {
  const factors_t* factors = self;
  return buffer->value == 1 ? factors->a : factors->b;
}

/* Sums next to a step from one byte to the next, of bytes and far beyond, and the farthest. */
static void fill_sums(const factors_t* by, float scale, int zero, int32_t* sums) {
  for (int i = 0; i < SUMS; i++) {
    int channel = i % CHANNELS;
    double byte = hone_random_u32(3, (uint64_t)i) % 400 - 70.0;
    double near = ((byte - zero + 0.5) * scale - by->b[channel]) / by->a[channel];
    sums[i] = (int32_t)floor(fmin(fmax(near, INT32_MIN), INT32_MAX - 1.0)) + i / CHANNELS % 2;
  }
  for (int i = 0; i < 2 * CHANNELS; i++) sums[i] = i < CHANNELS ? INT32_MIN : INT32_MAX;
}

static void check_sums(float factor, float scale, int zero, bool is_signed, bool is_bounded) {
  enum { N = 8, INPUTS = 3 };
  const hone_dtype_t dtypes[N] = {HONE_I32, HONE_F32, HONE_F32, is_signed ? HONE_I8 : HONE_U8,
                                  HONE_I16, HONE_I32, HONE_F32, HONE_I16};
  static const int64_t inputs[][2] = {{ROWS, CHANNELS}, {CHANNELS}, {CHANNELS}};
  static const int64_t results[] = {7, 16, CHANNELS};
  trial_t t = {.n = 0};
  factors_t by;
  for (int i = 0; i < CHANNELS; i++) {
    by.a[i] = factor * (1 + 0.37f * (float)i);
    by.b[i] = scale * (float)(i - 5) * 3.3f;
  }
  hone_kernel_t* kernel = make_sums(scale, zero, is_signed);
  assert_ok(hone_quantized_prove(kernel, give_factors, &by));
  assert_int_equal(kernel->buffers[1]->is_bounded, is_bounded);
  assert_int_equal(kernel->buffers[2]->is_bounded, is_bounded);
  for (int i = 0; i < N; i++)
    add_parameter(&t, dtypes[i], i == 0 ? 2 : i < INPUTS ? 1 : 3, i < INPUTS ? inputs[i] : results);
  fill_sums(&by, scale, zero, t.data[0]);
  memcpy(t.data[1], by.a, sizeof by.a);
  memcpy(t.data[2], by.b, sizeof by.b);
  compare(kernel, &t, INPUTS);
}

/* Those that fit an i32 are not held between two numbers; the last do not. */
static void sums_far_beyond_bytes_are_held(void** state) {
  for (int is_signed = 0; is_signed < 2; is_signed++) {
    check_sums(1e-4f, 0.0235f, 0, is_signed, true);
    check_sums(3e-3f, 0.07f, 131, is_signed, true);
    check_sums(-5e-4f, 0.01f, 7, is_signed, true);
    check_sums(0.5f, 0.5f, 0, is_signed, false);
    check_sums(40.0f, 0.01f, 255, is_signed, false);
  }
}

/* ---- two bytes that are added ---- */

enum { PAIRS = 256 * 256 };

/* The first is quantized just before, of numbers that become all bytes, the other as it is given.
 */
static void check_pairs(float scale, int zero) {
  enum { N = 4, INPUTS = 2 };
  static const hone_dtype_t dtypes[N] = {HONE_F32, HONE_U8, HONE_U8, HONE_F32};
  char value[TEXT / 2], text[TEXT];
  snprintf(value, sizeof value,
           "cast.u8(max(min(add(round(div(add(mul(cast.f32(sub(cast.i32(cast.u8(max(min(add(round("
           "x[8*i.o + i.i]), f32(151)), f32(255)), f32(0)))), i32(151))), f32(0.0740482733)), "
           "mul(cast.f32(sub(cast.i32(y[8*i.o + i.i]), i32(126))), f32(0.0856423005))), "
           "f32(%.9g))), f32(%d)), f32(255)), f32(0)))",
           (double)scale, zero);
  int size = snprintf(text, sizeof text,
                      "kernel pairs {\n  input x: f32[%d] = 0\n  input y: u8[%d] = 1\n"
                      "  output bytes: u8[%d] = 0\n  output floats: f32[%d] = 1\n"
                      "  for i.o in %d {\n    for i.i in 8 vector {\n"
                      "      bytes[8*i.o + i.i] = %s\n"
                      "      floats[8*i.o + i.i] = cast.f32(%s)\n    }\n  }\n}\n",
                      PAIRS, PAIRS, PAIRS, PAIRS, PAIRS / 8, value, value);
  hone_kernel_t* kernel;
  trial_t t = {.n = 0};
  assert_ok(hone_kernel_parse(NULL, text, (size_t)size, &kernel));
  for (int i = 0; i < N; i++) add_parameter(&t, dtypes[i], 1, (const int64_t[]){PAIRS});
  for (int i = 0; i < PAIRS; i++) {
    ((float*)t.data[0])[i] = (float)(i % 256 - 151);
    ((uint8_t*)t.data[1])[i] = (uint8_t)(i / 256);
  }
  compare(kernel, &t, INPUTS);
}

static void sums_of_two_bytes_are_those_of_division(void** state) {
  static const float scales[] = {0.0427948236f, 0.15f, 0.0740482733f, 0.0856423005f, 1e-3f};
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
    check_pairs(scales[i], i % 2 ? 117 : 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_are_those_of_division),
                                     cmocka_unit_test(sums_far_beyond_bytes_are_held),
                                     cmocka_unit_test(sums_of_two_bytes_are_those_of_division)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
