/* Small floats are described by a row of numbers each and go through two
 * functions, decode and encode, which the compiler specialises by inlining. */
#include "base/float_convert.h"

#include <math.h>
#include <string.h>

#if defined(__GNUC__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif

enum { F64_MANTISSA = 52, F64_BIAS = 1023, F64_SPECIAL = 2047 };

typedef enum saturation { SATURATE_NEVER, SATURATE_ASKED, SATURATE_ALWAYS } saturation_t;

/* A format of one sign, some exponent and some mantissa bits. Codes without
 * their sign bit are ordered like the values they stand for. */
typedef struct float_format {
  int exponent, mantissa; /* bits */
  int bias;
  uint32_t largest;   /* code of the largest finite value */
  uint32_t infinity;  /* 0: there is none */
  uint32_t nan;       /* what a NaN is written as */
  bool negative_zero; /* false: that code is the only NaN */
  saturation_t saturation;
} float_format_t;

static const float_format_t format_f16 = {5, 10, 15, 0x7bff, 0x7c00, 0x7e00, true, SATURATE_NEVER};
static const float_format_t format_bf16 = {8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, true, SATURATE_NEVER};
static const float_format_t format_f8e4m3fn = {4, 3, 7, 0x7e, 0, 0x7f, true, SATURATE_ASKED};
static const float_format_t format_f8e4m3fnuz = {4, 3, 8, 0x7f, 0, 0x80, false, SATURATE_ASKED};
static const float_format_t format_f8e5m2 = {5, 2, 15, 0x7b, 0x7c, 0x7e, true, SATURATE_ASKED};
static const float_format_t format_f8e5m2fnuz = {5, 2, 16, 0x7f, 0, 0x80, false, SATURATE_ASKED};
static const float_format_t format_f6e2m3 = {2, 3, 1, 0x1f, 0, 0x20, true, SATURATE_ALWAYS};
static const float_format_t format_f6e3m2 = {3, 2, 3, 0x1f, 0, 0x20, true, SATURATE_ALWAYS};
static const float_format_t format_f4e2m1 = {2, 1, 1, 0x7, 0, 0x8, true, SATURATE_ALWAYS};

ALWAYS_INLINE double from_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

ALWAYS_INLINE uint64_t to_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

ALWAYS_INLINE double power_of_two(int exponent) {
  return from_bits((uint64_t)(exponent + F64_BIAS) << F64_MANTISSA);
}

ALWAYS_INLINE uint32_t sign_bit(const float_format_t* format) {
  return 1u << (format->exponent + format->mantissa);
}

ALWAYS_INLINE double decode(const float_format_t* format, uint32_t code) {
  uint32_t sign = sign_bit(format), magnitude = code & (sign - 1);
  uint64_t negative = (uint64_t)((code & sign) != 0) << 63;
  double value;
  if (magnitude > format->largest)
    value = magnitude == format->infinity ? (double)INFINITY : (double)NAN;
  else if (magnitude >> format->mantissa) /* normal: the exponent is moved to double's bias */
    value = from_bits(((uint64_t)magnitude << (F64_MANTISSA - format->mantissa)) +
                      ((uint64_t)(F64_BIAS - format->bias) << F64_MANTISSA));
  else if (!magnitude && negative && !format->negative_zero)
    value = (double)NAN;
  else
    value = magnitude * power_of_two(1 - format->bias - format->mantissa);
  return from_bits(to_bits(value) | negative);
}

/* significand / 2^shift, rounded to nearest even; shift >= 1. */
ALWAYS_INLINE uint64_t shift_round(uint64_t significand, int shift) {
  if (shift > F64_MANTISSA + 2) return 0; /* below half of the last place */
  uint64_t odd = significand >> shift & 1;
  return (significand + ((1ull << (shift - 1)) - 1 + odd)) >> shift;
}

/* Code of a finite double without its sign, as if the format had no largest value. */
ALWAYS_INLINE uint64_t encode_magnitude(const float_format_t* format, uint64_t bits) {
  int exponent = (int)(bits >> F64_MANTISSA & F64_SPECIAL) - F64_BIAS;
  int smallest = 1 - format->bias, shift = F64_MANTISSA - format->mantissa;
  if (exponent == -F64_BIAS) return 0; /* zero, or far below every format's smallest */
  uint64_t significand = (bits & ((1ull << F64_MANTISSA) - 1)) | 1ull << F64_MANTISSA;
  if (exponent < smallest) return shift_round(significand, shift + smallest - exponent);
  /* The significand's leading 1 adds one to the exponent field; a carry of the
   * rounding does so once more, which is right. */
  return ((uint64_t)(exponent - smallest) << format->mantissa) + shift_round(significand, shift);
}

ALWAYS_INLINE uint32_t encode(const float_format_t* format, double value, bool saturate) {
  uint64_t bits = to_bits(value);
  uint32_t sign = bits >> 63 ? sign_bit(format) : 0;
  if (value != value) return format->negative_zero ? format->nan ^ sign : format->nan;
  bool infinite = (bits >> F64_MANTISSA & F64_SPECIAL) == F64_SPECIAL;
  uint64_t code = infinite ? format->largest + 1ull : encode_magnitude(format, bits);
  if (code == 0 && !format->negative_zero) return 0;
  if (code <= format->largest) return (uint32_t)code | sign;
  bool clamp =
      format->saturation == SATURATE_ALWAYS || (format->saturation == SATURATE_ASKED && saturate);
  if (clamp) return format->largest | sign;
  if (format->infinity) return format->infinity | sign;
  return format->nan | sign;
}

/* A double that rounds to any small float as `value` itself does: where
 * `value` has more bits than a double, what is beyond them only says that they
 * are not all, so that rounding happens once. */
static double sticky_double(int64_t value) {
  enum { DROPPED = 0x7ff };
  uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  if (magnitude >> (F64_MANTISSA + 1) && (magnitude & DROPPED))
    magnitude = (magnitude & ~(uint64_t)DROPPED) | (DROPPED + 1);
  return value < 0 ? -(double)magnitude : (double)magnitude;
}

static double decode_f8e8m0(uint8_t code) {
  return code == 0xff ? (double)NAN : power_of_two(code - 127);
}

uint8_t hone_f8e8m0_from_double(double value, bool saturate, hone_round_t mode) {
  enum { NOT_A_NUMBER = 0xff, LARGEST = 0xfe, BIAS = 127 };
  if (value != value) return NOT_A_NUMBER;
  double magnitude = fabs(value);
  if (isinf(magnitude)) return saturate ? LARGEST : NOT_A_NUMBER;
  if (magnitude < power_of_two(-BIAS)) return saturate ? 0 : NOT_A_NUMBER;
  uint64_t bits = to_bits(magnitude), fraction = bits & ((1ull << F64_MANTISSA) - 1);
  int code = (int)(bits >> F64_MANTISSA) - F64_BIAS + BIAS;
  if (mode == HONE_ROUND_UP && fraction) code++;
  if (mode == HONE_ROUND_NEAREST && fraction >> (F64_MANTISSA - 1)) code++;
  if (code <= LARGEST) return (uint8_t)code;
  return saturate ? LARGEST : NOT_A_NUMBER;
}

int64_t hone_double_to_i64(double value) {
  return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}

static uint64_t double_to_u64(double value) {
  if (value >= 0x1p63 && value < 0x1p64) return (uint64_t)value;
  return (uint64_t)hone_double_to_i64(value);
}

/* Also for narrower types, which keep its low bits. */
static int32_t double_to_i32(double value) {
  return value > -0x1p31 - 1 && value < 0x1p31 ? (int32_t)value : INT32_MIN;
}

static int8_t sign_extend(int64_t value, int bits) {
  int64_t half = 1ll << (bits - 1), low = (int64_t)((uint64_t)value & (2 * (uint64_t)half - 1));
  return (int8_t)(low >= half ? low - 2 * half : low);
}

typedef struct complex64 {
  float real, imaginary;
} complex64_t;

typedef struct complex128 {
  double real, imaginary;
} complex128_t;

typedef struct convert_ops {
  double (*get)(const char* at);
  void (*put)(double value, bool saturate, char* at);
  void (*load_f64)(const char* src, int64_t stride, int64_t n, double* out);
  void (*store_f64)(const double* in, int64_t n, char* dst);
  void (*load_i64)(const char* src, int64_t stride, int64_t n, int64_t* out);
  void (*store_i64)(const int64_t* in, int64_t n, char* dst);
} convert_ops_t;

/* The six functions of one type. `x` is an element, `value` and `saturate`
 * are what is written. */
#define CONVERT_OPS(name, type, as_f64, of_f64, as_i64, of_i64)                           \
  static double name##_get(const char* at) {                                              \
    type x;                                                                               \
    memcpy(&x, at, sizeof x);                                                             \
    return as_f64;                                                                        \
  }                                                                                       \
  static void name##_put(double value, bool saturate, char* at) {                         \
    (void)saturate;                                                                       \
    type x = of_f64;                                                                      \
    memcpy(at, &x, sizeof x);                                                             \
  }                                                                                       \
  static void name##_load_f64(const char* src, int64_t stride, int64_t n, double* out) {  \
    for (int64_t i = 0; i < n; i++) {                                                     \
      type x;                                                                             \
      memcpy(&x, src + i * stride, sizeof x);                                             \
      out[i] = as_f64;                                                                    \
    }                                                                                     \
  }                                                                                       \
  static void name##_store_f64(const double* in, int64_t n, char* dst) {                  \
    const bool saturate = true;                                                           \
    (void)saturate;                                                                       \
    for (int64_t i = 0; i < n; i++) {                                                     \
      double value = in[i];                                                               \
      type x = of_f64;                                                                    \
      memcpy(dst + i * (int64_t)sizeof x, &x, sizeof x);                                  \
    }                                                                                     \
  }                                                                                       \
  static void name##_load_i64(const char* src, int64_t stride, int64_t n, int64_t* out) { \
    for (int64_t i = 0; i < n; i++) {                                                     \
      type x;                                                                             \
      memcpy(&x, src + i * stride, sizeof x);                                             \
      out[i] = as_i64;                                                                    \
    }                                                                                     \
  }                                                                                       \
  static void name##_store_i64(const int64_t* in, int64_t n, char* dst) {                 \
    const bool saturate = true;                                                           \
    (void)saturate;                                                                       \
    for (int64_t i = 0; i < n; i++) {                                                     \
      int64_t value = in[i];                                                              \
      type x = of_i64;                                                                    \
      memcpy(dst + i * (int64_t)sizeof x, &x, sizeof x);                                  \
    }                                                                                     \
  }

#define SMALL_FLOAT_OPS(name, type)                          \
  CONVERT_OPS(name, type, decode(&format_##name, x),         \
              (type)encode(&format_##name, value, saturate), \
              hone_double_to_i64(decode(&format_##name, x)), \
              (type)encode(&format_##name, sticky_double(value), saturate))

#define INTEGER_OPS(name, type, of_f64) \
  CONVERT_OPS(name, type, (double)x, (type)of_f64(value), (int64_t)x, (type)value)

#define NARROW_OPS(name, type, narrow) \
  CONVERT_OPS(name, type, (double)x, narrow(double_to_i32(value)), (int64_t)x, narrow(value))

#define LOW_BITS_4(v) ((uint8_t)((v)&15))
#define LOW_BITS_2(v) ((uint8_t)((v)&3))
#define SIGNED_4(v) sign_extend(v, 4)
#define SIGNED_2(v) sign_extend(v, 2)

CONVERT_OPS(f64, double, x, value, hone_double_to_i64(x), (double)value)
CONVERT_OPS(f32, float, (double)x, (float)value, hone_double_to_i64((double)x), (float)value)
CONVERT_OPS(f8e8m0, uint8_t, decode_f8e8m0(x),
            hone_f8e8m0_from_double(value, saturate, HONE_ROUND_UP),
            hone_double_to_i64(decode_f8e8m0(x)),
            hone_f8e8m0_from_double(sticky_double(value), saturate, HONE_ROUND_UP))
CONVERT_OPS(c64, complex64_t, (double)x.real, ((complex64_t){(float)value, 0}),
            hone_double_to_i64((double)x.real), ((complex64_t){(float)value, 0}))
CONVERT_OPS(c128, complex128_t, x.real, ((complex128_t){value, 0}), hone_double_to_i64(x.real),
            ((complex128_t){(double)value, 0}))
SMALL_FLOAT_OPS(f16, uint16_t)
SMALL_FLOAT_OPS(bf16, uint16_t)
SMALL_FLOAT_OPS(f8e4m3fn, uint8_t)
SMALL_FLOAT_OPS(f8e4m3fnuz, uint8_t)
SMALL_FLOAT_OPS(f8e5m2, uint8_t)
SMALL_FLOAT_OPS(f8e5m2fnuz, uint8_t)
SMALL_FLOAT_OPS(f6e2m3, uint8_t)
SMALL_FLOAT_OPS(f6e3m2, uint8_t)
SMALL_FLOAT_OPS(f4e2m1, uint8_t)
INTEGER_OPS(u8, uint8_t, double_to_i32)
INTEGER_OPS(i8, int8_t, double_to_i32)
INTEGER_OPS(u16, uint16_t, double_to_i32)
INTEGER_OPS(i16, int16_t, double_to_i32)
INTEGER_OPS(i32, int32_t, double_to_i32)
INTEGER_OPS(u32, uint32_t, hone_double_to_i64)
INTEGER_OPS(i64, int64_t, hone_double_to_i64)
INTEGER_OPS(u64, uint64_t, double_to_u64)
NARROW_OPS(u4, uint8_t, LOW_BITS_4)
NARROW_OPS(u2, uint8_t, LOW_BITS_2)
NARROW_OPS(i4, int8_t, SIGNED_4)
NARROW_OPS(i2, int8_t, SIGNED_2)
CONVERT_OPS(boolean, uint8_t, (double)(x != 0), (uint8_t)(value != 0), x != 0,
            (uint8_t)(value != 0))

#define OPS(name) \
  { name##_get, name##_put, name##_load_f64, name##_store_f64, name##_load_i64, name##_store_i64 }

static const convert_ops_t ops_table[HONE_DTYPE_COUNT] = {
    [HONE_F64] = OPS(f64),
    [HONE_F32] = OPS(f32),
    [HONE_F16] = OPS(f16),
    [HONE_BF16] = OPS(bf16),
    [HONE_F8E4M3FN] = OPS(f8e4m3fn),
    [HONE_F8E4M3FNUZ] = OPS(f8e4m3fnuz),
    [HONE_F8E5M2] = OPS(f8e5m2),
    [HONE_F8E5M2FNUZ] = OPS(f8e5m2fnuz),
    [HONE_F8E8M0] = OPS(f8e8m0),
    [HONE_F6E2M3] = OPS(f6e2m3),
    [HONE_F6E3M2] = OPS(f6e3m2),
    [HONE_F4E2M1] = OPS(f4e2m1),
    [HONE_C64] = OPS(c64),
    [HONE_C128] = OPS(c128),
    [HONE_BOOL] = OPS(boolean),
    [HONE_U2] = OPS(u2),
    [HONE_I2] = OPS(i2),
    [HONE_U4] = OPS(u4),
    [HONE_I4] = OPS(i4),
    [HONE_U8] = OPS(u8),
    [HONE_I8] = OPS(i8),
    [HONE_U16] = OPS(u16),
    [HONE_I16] = OPS(i16),
    [HONE_U32] = OPS(u32),
    [HONE_I32] = OPS(i32),
    [HONE_U64] = OPS(u64),
    [HONE_I64] = OPS(i64),
};

/* NULL for strings and for what is no type. */
static const convert_ops_t* ops_of(hone_dtype_t dtype) {
  bool known = (unsigned)dtype < HONE_DTYPE_COUNT && ops_table[dtype].get;
  return known ? &ops_table[dtype] : NULL;
}

double hone_to_double(hone_dtype_t dtype, const void* element) {
  const convert_ops_t* ops = ops_of(dtype);
  return ops ? ops->get(element) : 0;
}

void hone_from_double(hone_dtype_t dtype, double value, bool saturate, void* element) {
  const convert_ops_t* ops = ops_of(dtype);
  if (ops) ops->put(value, saturate, element);
}

void hone_load_f64(hone_dtype_t dtype, const void* src, int64_t stride_bytes, int64_t n,
                   double* out) {
  const convert_ops_t* ops = ops_of(dtype);
  if (ops)
    ops->load_f64(src, stride_bytes, n, out);
  else if (n > 0)
    memset(out, 0, (size_t)n * sizeof *out);
}

void hone_store_f64(hone_dtype_t dtype, const double* in, int64_t n, void* dst) {
  const convert_ops_t* ops = ops_of(dtype);
  if (ops) ops->store_f64(in, n, dst);
}

void hone_load_i64(hone_dtype_t dtype, const void* src, int64_t stride_bytes, int64_t n,
                   int64_t* out) {
  const convert_ops_t* ops = ops_of(dtype);
  if (ops)
    ops->load_i64(src, stride_bytes, n, out);
  else if (n > 0)
    memset(out, 0, (size_t)n * sizeof *out);
}

void hone_store_i64(hone_dtype_t dtype, const int64_t* in, int64_t n, void* dst) {
  const convert_ops_t* ops = ops_of(dtype);
  if (ops) ops->store_i64(in, n, dst);
}

void hone_normalise_elements(hone_dtype_t dtype, void* elements, int64_t n) {
  uint8_t* bytes = elements;
  int bits = hone_dtype_bits(dtype);
  for (int64_t i = 0; dtype == HONE_BOOL && i < n; i++) bytes[i] = bytes[i] != 0;
  if (hone_dtype_size(dtype) != 1 || bits >= 8) return;
  bool is_signed = hone_dtype_is_int(dtype) && !hone_dtype_is_unsigned(dtype);
  uint8_t mask = (uint8_t)((1 << bits) - 1);
  for (int64_t i = 0; i < n; i++)
    bytes[i] = is_signed ? (uint8_t)sign_extend(bytes[i], bits) : bytes[i] & mask;
}
