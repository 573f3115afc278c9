#include "base/float_convert.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/testing/test.h"

/* What the formats are, said again in the words of their definitions. */
typedef struct format {
  double largest_value;
  uint32_t largest; /* its code */
  hone_dtype_t dtype;
  int exponent, mantissa, bias;
  bool has_infinity, saturates;
  bool unsigned_zero; /* the code of -0 is the only NaN */
} format_t;

static const format_t formats[] = {
    {65504, 0x7bff, HONE_F16, 5, 10, 15, true, false, false},
    {0x1.fep127, 0x7f7f, HONE_BF16, 8, 7, 127, true, false, false},
    {448, 0x7e, HONE_F8E4M3FN, 4, 3, 7, false, true, false},
    {240, 0x7f, HONE_F8E4M3FNUZ, 4, 3, 8, false, true, true},
    {57344, 0x7b, HONE_F8E5M2, 5, 2, 15, true, true, false},
    {57344, 0x7f, HONE_F8E5M2FNUZ, 5, 2, 16, false, true, true},
    {7.5, 0x1f, HONE_F6E2M3, 2, 3, 1, false, true, false},
    {28, 0x1f, HONE_F6E3M2, 3, 2, 3, false, true, false},
    {6, 0x7, HONE_F4E2M1, 2, 1, 1, false, true, false},
};

/* Every code is a finite number. */
static bool is_full(const format_t* f) { return hone_dtype_bits(f->dtype) < 8; }

static uint32_t sign_of(const format_t* f) { return 1u << (f->exponent + f->mantissa); }

static uint32_t code_of(const format_t* f, double value, bool saturate) {
  uint16_t two = 0xa5a5;
  uint8_t one = 0xa5;
  bool wide = hone_dtype_size(f->dtype) == 2;
  hone_from_double(f->dtype, value, saturate, wide ? (void*)&two : (void*)&one);
  return wide ? two : one;
}

static double value_of(const format_t* f, uint32_t code) {
  uint16_t two = (uint16_t)code;
  uint8_t one = (uint8_t)code;
  bool wide = hone_dtype_size(f->dtype) == 2;
  return hone_to_double(f->dtype, wide ? (void*)&two : (void*)&one);
}

static double defined_value(const format_t* f, uint32_t magnitude) {
  int exponent = (int)(magnitude >> f->mantissa);
  double fraction = magnitude & ((1u << f->mantissa) - 1);
  if (exponent)
    fraction += 1u << f->mantissa;
  else
    exponent = 1;
  return ldexp(fraction, exponent - f->bias - f->mantissa);
}

static void every_code_has_its_value(void** state) {
  (void)state;
  for (size_t k = 0; k < TEST_COUNT(formats); k++) {
    const format_t* f = &formats[k];
    for (uint32_t m = 0; m <= f->largest; m++) {
      assert_true(value_of(f, m) == defined_value(f, m));
      if (m == 0 && f->unsigned_zero) continue;
      assert_true(value_of(f, m | sign_of(f)) == -defined_value(f, m));
      assert_true(signbit(value_of(f, m | sign_of(f))));
    }
    assert_true(value_of(f, f->largest) == f->largest_value);
  }
}

static void the_other_codes_are_special(void** state) {
  (void)state;
  for (size_t k = 0; k < TEST_COUNT(formats); k++) {
    const format_t* f = &formats[k];
    for (uint32_t m = f->largest + 1; m < sign_of(f); m++) {
      bool infinite = f->has_infinity && m == f->largest + 1;
      assert_true(infinite ? isinf(value_of(f, m)) : isnan(value_of(f, m)));
      assert_true(infinite ? value_of(f, m | sign_of(f)) < 0 : isnan(value_of(f, m | sign_of(f))));
    }
    assert_int_equal(isnan(value_of(f, sign_of(f))), f->unsigned_zero);
  }
}

static void every_value_gives_back_its_code(void** state) {
  (void)state;
  for (size_t k = 0; k < TEST_COUNT(formats); k++) {
    const format_t* f = &formats[k];
    for (uint32_t code = 0; code < 2 * sign_of(f); code++) {
      double value = value_of(f, code);
      if (isnan(value))
        assert_true(isnan(value_of(f, code_of(f, value, false))));
      else
        assert_int_equal(code_of(f, value, false), code);
    }
  }
}

/* Around the middle of each two neighbours, to a double's last bit. */
static void rounding_is_to_nearest_even(void** state) {
  (void)state;
  for (size_t k = 0; k < TEST_COUNT(formats); k++) {
    const format_t* f = &formats[k];
    for (uint32_t m = 0; m < f->largest; m++) {
      double low = value_of(f, m), high = value_of(f, m + 1), middle = low + (high - low) / 2;
      uint32_t even = m % 2 ? m + 1 : m;
      assert_int_equal(code_of(f, middle, false), even);
      assert_int_equal(code_of(f, nextafter(middle, high), false), m + 1);
      assert_int_equal(code_of(f, nextafter(middle, low), false), m);
      assert_int_equal(code_of(f, nextafter(high, low), false), m + 1);
      assert_int_equal(code_of(f, nextafter(low, high), false), m);
      bool negative_zero = m == 0 && f->unsigned_zero;
      assert_int_equal(code_of(f, nextafter(-middle, -low), false),
                       negative_zero ? 0 : m | sign_of(f));
      assert_int_equal(code_of(f, nextafter(-middle, -high), false), (m + 1) | sign_of(f));
    }
  }
}

static void assert_overflows(const format_t* f, double value) {
  uint32_t sign = value < 0 ? sign_of(f) : 0;
  bool clamps_always = is_full(f);
  for (int saturate = 0; saturate < 2; saturate++) {
    uint32_t code = code_of(f, value, saturate);
    if (clamps_always || (f->saturates && saturate))
      assert_int_equal(code, f->largest | sign);
    else if (f->has_infinity)
      assert_int_equal(code, (f->largest + 1) | sign);
    else
      assert_true(isnan(value_of(f, code)));
  }
}

static void what_does_not_fit_follows_the_table(void** state) {
  (void)state;
  for (size_t k = 0; k < TEST_COUNT(formats); k++) {
    const format_t* f = &formats[k];
    double below = value_of(f, f->largest - 1), half = (f->largest_value - below) / 2;
    double limit = f->largest_value + half; /* would be even of the next code, or not */
    for (int sign = -1; sign <= 1; sign += 2) {
      assert_int_equal(code_of(f, sign * nextafter(limit, 0), false),
                       f->largest | (sign < 0 ? sign_of(f) : 0));
      assert_overflows(f, sign * nextafter(limit, INFINITY));
      assert_overflows(f, sign * 2 * f->largest_value);
      assert_overflows(f, sign * 1e300);
      assert_overflows(f, sign * (double)INFINITY);
    }
  }
}

static void nan_and_zero_keep_their_nature(void** state) {
  (void)state;
  for (size_t k = 0; k < TEST_COUNT(formats); k++) {
    const format_t* f = &formats[k];
    for (int saturate = 0; saturate < 2; saturate++) {
      double nan = value_of(f, code_of(f, (double)NAN, saturate));
      assert_true(is_full(f) ? nan == 0 : isnan(nan));
      assert_int_equal(code_of(f, 0.0, saturate), 0);
      assert_int_equal(code_of(f, -0.0, saturate), f->unsigned_zero ? 0 : sign_of(f));
      assert_int_equal(code_of(f, 1e-320, saturate), 0);
      assert_int_equal(code_of(f, 1e-300, saturate), 0);
    }
  }
}

static void powers_of_two_have_codes(void** state) {
  (void)state;
  for (int code = 0; code < 255; code++) {
    uint8_t byte = (uint8_t)code;
    double value = ldexp(1, code - 127);
    assert_true(hone_to_double(HONE_F8E8M0, &byte) == value);
    for (int mode = HONE_ROUND_UP; mode <= HONE_ROUND_NEAREST; mode++) {
      assert_int_equal(hone_f8e8m0_from_double(value, false, (hone_round_t)mode), code);
      assert_int_equal(hone_f8e8m0_from_double(-value, false, (hone_round_t)mode), code);
    }
  }
  uint8_t nan = 0xff;
  assert_true(isnan(hone_to_double(HONE_F8E8M0, &nan)));
}

static void scales_round_by_mode(void** state) {
  (void)state;
  static const struct {
    double value;
    bool saturate;
    uint8_t up, down, nearest;
  } cases[] = {
      {1.5, true, 128, 127, 128},
      {1.25, true, 128, 127, 127},
      {3.0, true, 129, 128, 129},
      {0x1.7ffffffffffffp0, true, 128, 127, 127},
      {0x1.0000000000001p0, true, 128, 127, 127},
      {0x1.8p127, true, 254, 254, 254},
      {0x1.8p127, false, 255, 254, 255},
      {0x1p128, true, 254, 254, 254},
      {0x1p128, false, 255, 255, 255},
      {(double)INFINITY, true, 254, 254, 254},
      {(double)INFINITY, false, 255, 255, 255},
      {0, true, 0, 0, 0},
      {0, false, 255, 255, 255},
      {0x1p-128, true, 0, 0, 0},
      {0x1p-128, false, 255, 255, 255},
      {(double)NAN, true, 255, 255, 255},
  };
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    double value = cases[i].value;
    bool saturate = cases[i].saturate;
    assert_int_equal(hone_f8e8m0_from_double(value, saturate, HONE_ROUND_UP), cases[i].up);
    assert_int_equal(hone_f8e8m0_from_double(value, saturate, HONE_ROUND_DOWN), cases[i].down);
    assert_int_equal(hone_f8e8m0_from_double(value, saturate, HONE_ROUND_NEAREST),
                     cases[i].nearest);
  }
}

static int64_t integer_from(hone_dtype_t dtype, double value) {
  uint64_t element = 0;
  int64_t out;
  hone_from_double(dtype, value, true, &element);
  hone_load_i64(dtype, &element, 0, 1, &out);
  return out;
}

static void floats_become_integers_toward_zero(void** state) {
  (void)state;
  static const struct {
    hone_dtype_t dtype;
    double value;
    int64_t expected;
  } cases[] = {
      {HONE_I32, 2.9, 2},
      {HONE_I32, -2.9, -2},
      {HONE_I32, 3e9, INT32_MIN},
      {HONE_I32, NAN, INT32_MIN},
      {HONE_I64, 1e19, INT64_MIN},
      {HONE_I64, -1e19, INT64_MIN},
      {HONE_I64, NAN, INT64_MIN},
      {HONE_I8, 200.7, -56},
      {HONE_I8, -3.9, -3},
      {HONE_I8, 1e10, 0},
      {HONE_U8, -1, 255},
      {HONE_U8, 300, 44},
      {HONE_U8, INFINITY, 0},
      {HONE_I16, 40000, -25536},
      {HONE_U16, -3.9, 65533},
      {HONE_U32, 3e9, 3000000000},
      {HONE_U32, -1, 4294967295},
      {HONE_U64, -1, -1},
      {HONE_U64, 0x1p63, INT64_MIN},
      {HONE_U64, 1e10, 10000000000},
      {HONE_I4, 7.5, 7},
      {HONE_I4, 8.5, -8},
      {HONE_I4, -9, 7},
      {HONE_U4, -3.9, 13},
      {HONE_U4, 200, 8},
      {HONE_I2, 2, -2},
      {HONE_I2, -3.9, 1},
      {HONE_U2, 9, 1},
      {HONE_BOOL, 0.1, 1},
      {HONE_BOOL, -0.0, 0},
      {HONE_BOOL, NAN, 1},
      {HONE_I32, -2147483648.9, INT32_MIN},
      {HONE_I32, 2147483647.9, INT32_MAX},
  };
  for (size_t i = 0; i < TEST_COUNT(cases); i++)
    assert_true(integer_from(cases[i].dtype, cases[i].value) == cases[i].expected);
}

static void stored_integers_wrap_around(void** state) {
  (void)state;
  static const int64_t values[] = {0,         1,        -1,  7,   8,     -8,        -9,
                                   127,       128,      255, 256, 65535, 1ll << 31, (1ll << 32) + 5,
                                   INT64_MAX, INT64_MIN};
  enum { COUNT = TEST_COUNT(values) };
  for (int d = 1; d < HONE_DTYPE_COUNT; d++) {
    hone_dtype_t dtype = (hone_dtype_t)d;
    if (!hone_dtype_is_int(dtype)) continue;
    uint64_t dense[COUNT] = {0};
    int64_t out[COUNT];
    int bits = hone_dtype_bits(dtype), unused = 64 - bits;
    hone_store_i64(dtype, values, COUNT, dense);
    hone_load_i64(dtype, dense, (int64_t)hone_dtype_size(dtype), COUNT, out);
    for (size_t i = 0; i < COUNT; i++) {
      uint64_t top = (uint64_t)values[i] << unused;
      int64_t expected =
          hone_dtype_is_unsigned(dtype) ? (int64_t)(top >> unused) : (int64_t)top >> unused;
      assert_true(out[i] == expected);
    }
  }
}

/* An integer has more bits than a double: going through one must not round twice. */
static void large_integers_round_once(void** state) {
  (void)state;
  const int64_t base = 1ll << 60, half = 1ll << 52; /* bf16 steps by 2^53 from 2^60 on */
  const int64_t values[] = {base + half,         base + half + 1, base + half - 1, -base - half - 1,
                            base + 3 * half - 1, INT64_MIN,       INT64_MAX};
  const double expected[] = {0x1p60,          0x1p60 + 0x1p53, 0x1p60, -0x1p60 - 0x1p53,
                             0x1p60 + 0x1p53, -0x1p63,         0x1p63};
  uint16_t codes[TEST_COUNT(values)];
  hone_store_i64(HONE_BF16, values, TEST_COUNT(values), codes);
  for (size_t i = 0; i < TEST_COUNT(values); i++)
    assert_true(hone_to_double(HONE_BF16, &codes[i]) == expected[i]);
  const int64_t odd = base + 1;
  uint8_t scale;
  hone_store_i64(HONE_F8E8M0, &odd, 1, &scale);
  assert_int_equal(scale, 127 + 61);
}

/* Rows at any stride and alignment equal their elements taken one by one. */
static void rows_equal_their_elements(void** state) {
  (void)state;
  enum { COUNT = 9, STRIDE = 23 };
  for (int d = 1; d < HONE_DTYPE_COUNT; d++) {
    hone_dtype_t dtype = (hone_dtype_t)d;
    char memory[COUNT * STRIDE + 1], dense[COUNT * 16];
    double in[COUNT], out[COUNT], back[COUNT];
    int64_t size = (int64_t)hone_dtype_size(dtype), numbers[COUNT];
    if (dtype == HONE_STRING) continue;
    for (int i = 0; i < COUNT; i++) {
      in[i] = (int32_t)hone_random_u32(3, (uint64_t)i) % 1000 / 8.0;
      hone_from_double(dtype, in[i], true, memory + 1 + i * STRIDE);
    }
    hone_load_f64(dtype, memory + 1, STRIDE, COUNT, out);
    hone_store_f64(dtype, in, COUNT, dense);
    hone_load_i64(dtype, memory + 1, STRIDE, COUNT, numbers);
    for (int i = 0; i < COUNT; i++) {
      assert_memory_equal(dense + i * size, memory + 1 + i * STRIDE, (size_t)size);
      assert_true(out[i] == hone_to_double(dtype, memory + 1 + i * STRIDE));
      assert_true(dtype == HONE_U64 || numbers[i] == hone_double_to_i64(out[i]));
    }
    hone_load_f64(dtype, memory + 1 + (COUNT - 1) * STRIDE, -STRIDE, COUNT, back);
    for (int i = 0; i < COUNT; i++) assert_true(back[i] == out[COUNT - 1 - i]);
    hone_load_f64(dtype, memory + 1, 0, COUNT, back);
    for (int i = 0; i < COUNT; i++) assert_true(back[i] == out[0]);
  }
}

static void elements_from_elsewhere_are_normalised(void** state) {
  (void)state;
  static const struct {
    hone_dtype_t dtype;
    uint8_t out[4]; /* of 0x00, 0x80, 0xff, 0x1a */
  } cases[] = {{HONE_BOOL, {0, 1, 1, 1}},
               {HONE_U8, {0, 0x80, 0xff, 0x1a}},
               {HONE_F8E5M2, {0, 0x80, 0xff, 0x1a}},
               {HONE_F6E3M2, {0, 0, 0x3f, 0x1a}},
               {HONE_F6E2M3, {0, 0, 0x3f, 0x1a}},
               {HONE_U4, {0, 0, 15, 10}},
               {HONE_F4E2M1, {0, 0, 15, 10}},
               {HONE_I4, {0, 0, 0xff, 0xfa}},
               {HONE_U2, {0, 0, 3, 2}},
               {HONE_I2, {0, 0, 0xff, 0xfe}},
               {HONE_F16, {0, 0x80, 0xff, 0x1a}}};
  for (size_t i = 0; i < TEST_COUNT(cases); i++) {
    uint8_t bytes[4] = {0x00, 0x80, 0xff, 0x1a};
    hone_normalise_elements(cases[i].dtype, bytes, 4 / (int64_t)hone_dtype_size(cases[i].dtype));
    assert_memory_equal(bytes, cases[i].out, sizeof bytes);
  }
}

static void wide_floats_pass_through(void** state) {
  (void)state;
  const double values[] = {0.1, -0.0, 1e300, INFINITY, 0x1p-149, 0x1.000001p0, 0x1.0000011p0};
  double complex128[2] = {0, 7};
  for (size_t i = 0; i < TEST_COUNT(values); i++) {
    double f64;
    float f32, complex64[2] = {0, 7};
    hone_from_double(HONE_F64, values[i], true, &f64);
    assert_memory_equal(&f64, &values[i], sizeof f64);
    hone_from_double(HONE_F32, values[i], true, &f32);
    assert_true(f32 == (float)values[i]);
    assert_true(hone_to_double(HONE_F32, &f32) == (double)f32);
    hone_from_double(HONE_C64, values[i], true, complex64);
    assert_true(complex64[0] == (float)values[i] && complex64[1] == 0);
    hone_from_double(HONE_C128, values[i], true, complex128);
    assert_true(hone_to_double(HONE_C128, complex128) == values[i] && complex128[1] == 0);
  }
}

static void strings_read_as_zero(void** state) {
  (void)state;
  hone_string_t strings[2] = {{"a", 1}, {"b", 1}};
  double out[2] = {1, 1};
  int64_t numbers[2] = {1, 1};
  hone_load_f64(HONE_STRING, strings, sizeof *strings, 2, out);
  hone_load_i64(HONE_UNKNOWN, strings, sizeof *strings, 2, numbers);
  assert_true(out[0] == 0 && out[1] == 0 && numbers[0] == 0 && numbers[1] == 0);
  hone_store_f64(HONE_STRING, out, 2, strings);
  hone_store_i64((hone_dtype_t)-1, numbers, 2, strings);
  hone_from_double(HONE_STRING, 1, true, strings);
  assert_string_equal(strings[0].data, "a");
  assert_true(hone_to_double(HONE_STRING, strings) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_code_has_its_value),
      cmocka_unit_test(the_other_codes_are_special),
      cmocka_unit_test(every_value_gives_back_its_code),
      cmocka_unit_test(rounding_is_to_nearest_even),
      cmocka_unit_test(what_does_not_fit_follows_the_table),
      cmocka_unit_test(nan_and_zero_keep_their_nature),
      cmocka_unit_test(powers_of_two_have_codes),
      cmocka_unit_test(scales_round_by_mode),
      cmocka_unit_test(floats_become_integers_toward_zero),
      cmocka_unit_test(stored_integers_wrap_around),
      cmocka_unit_test(large_integers_round_once),
      cmocka_unit_test(rows_equal_their_elements),
      cmocka_unit_test(elements_from_elsewhere_are_normalised),
      cmocka_unit_test(wide_floats_pass_through),
      cmocka_unit_test(strings_read_as_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
