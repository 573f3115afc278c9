/* Scalars: classes of dtypes, and the elementwise primitives on one element. */
#include "ir/scalar.h"

#include <math.h>
#include <string.h>

hone_scalar_class_t hone_scalar_class(hone_dtype_t dtype) {
  if (hone_dtype_is_float(dtype)) return HONE_SCALAR_F64;
  if (hone_dtype_is_complex(dtype)) return HONE_SCALAR_COMPLEX;
  if (dtype == HONE_STRING) return HONE_SCALAR_STRING;
  return dtype == HONE_U64 ? HONE_SCALAR_U64 : HONE_SCALAR_I64;
}

void hone_scalar_load(hone_dtype_t dtype, const char* data, int64_t stride, int64_t n,
                      hone_scalar_t* out) {
  if (hone_scalar_class(dtype) == HONE_SCALAR_F64)
    hone_load_f64(dtype, data, stride, n, &out->f);
  else
    hone_load_i64(dtype, data, stride, n, &out->i);
}

void hone_scalar_store(hone_dtype_t dtype, const hone_scalar_t* in, int64_t n, char* data) {
  if (hone_scalar_class(dtype) == HONE_SCALAR_F64)
    hone_store_f64(dtype, &in->f, n, data);
  else
    hone_store_i64(dtype, &in->i, n, data);
}

/* ---- combining ---- */

static double min_f64(double a, double b) {
  if (isnan(a) || isnan(b)) return NAN;
  if (a == b) return signbit(a) ? a : b; /* min(-0, +0) is -0 */
  return a < b ? a : b;
}

static double max_f64(double a, double b) {
  if (isnan(a) || isnan(b)) return NAN;
  if (a == b) return signbit(a) ? b : a;
  return a > b ? a : b;
}

#define COMBINE(name, field, value)                             \
  static hone_scalar_t name(hone_scalar_t a, hone_scalar_t b) { \
    return (hone_scalar_t){.field = value};                     \
  }
COMBINE(set_any, u, (a.u & 0) | b.u)
COMBINE(sum_f, f, a.f + b.f)
COMBINE(product_f, f, a.f* b.f)
COMBINE(least_f, f, min_f64(a.f, b.f))
COMBINE(most_f, f, max_f64(a.f, b.f))
COMBINE(sum_u, u, a.u + b.u)
COMBINE(product_u, u, a.u* b.u)
COMBINE(least_i, i, a.i < b.i ? a.i : b.i)
COMBINE(most_i, i, a.i > b.i ? a.i : b.i)
COMBINE(least_u, u, a.u < b.u ? a.u : b.u)
COMBINE(most_u, u, a.u > b.u ? a.u : b.u)
#undef COMBINE

/* Columns: double, int64, uint64; wrapping sums are the same for both. */
static const hone_scalar_combine_fn combines[HONE_COMBINE_COUNT][3] = {
    [HONE_COMBINE_SET] = {set_any, set_any, set_any},
    [HONE_COMBINE_ADD] = {sum_f, sum_u, sum_u},
    [HONE_COMBINE_MUL] = {product_f, product_u, product_u},
    [HONE_COMBINE_MIN] = {least_f, least_i, least_u},
    [HONE_COMBINE_MAX] = {most_f, most_i, most_u},
};

hone_scalar_combine_fn hone_scalar_combine(hone_combine_t combine, hone_scalar_class_t class) {
  return class <= HONE_SCALAR_U64 ? combines[combine][class] : NULL;
}

/* Largest or smallest value of an integer type. */
static int64_t int_end(hone_dtype_t dtype, bool largest) {
  int bits = dtype == HONE_BOOL ? 1 : hone_dtype_bits(dtype);
  if (hone_dtype_is_unsigned(dtype) || dtype == HONE_BOOL)
    return largest ? (int64_t)(~0ull >> (64 - bits)) : 0;
  int64_t top = (int64_t)(~0ull >> (65 - bits));
  return largest ? top : -top - 1;
}

hone_scalar_t hone_scalar_neutral(hone_combine_t combine, hone_dtype_t dtype) {
  bool is_float = hone_scalar_class(dtype) == HONE_SCALAR_F64,
       largest = combine == HONE_COMBINE_MIN;
  if (combine == HONE_COMBINE_ADD || combine == HONE_COMBINE_SET) return (hone_scalar_t){.u = 0};
  if (combine == HONE_COMBINE_MUL)
    return is_float ? (hone_scalar_t){.f = 1} : (hone_scalar_t){.i = 1};
  if (is_float) return (hone_scalar_t){.f = largest ? INFINITY : -INFINITY};
  return (hone_scalar_t){.i = int_end(dtype, largest)};
}

/* ---- two operands ---- */

static int64_t div_i64(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t rem_i64(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

/* base^exponent modulo 2^64. */
static uint64_t pow_u64(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

static int64_t pow_i64(int64_t a, int64_t b) {
  if (b >= 0) return (int64_t)pow_u64((uint64_t)a, (uint64_t)b);
  if (a == 1) return 1;
  if (a == -1) return b % 2 ? -1 : 1;
  return 0;
}

static uint64_t shl_u64(uint64_t a, int64_t by, int bits) {
  return by < 0 || by >= bits ? 0 : a << by;
}

static uint64_t shr_u64(uint64_t a, uint64_t by, int bits) {
  return by >= (uint64_t)bits ? 0 : a >> by;
}

/* Unsigned types come zero-extended, so one arithmetic shift serves both. */
static int64_t shr_i64(int64_t a, int64_t by, int bits) {
  if (by < 0 || by >= bits) return a < 0 ? -1 : 0;
  return a >> by;
}

#define SCALAR2(name, field, value)                                       \
  static hone_scalar_t name(hone_scalar_t a, hone_scalar_t b, int bits) { \
    (void)bits;                                                           \
    return (hone_scalar_t){.field = value};                               \
  }
SCALAR2(add_f, f, a.f + b.f)
SCALAR2(sub_f, f, a.f - b.f)
SCALAR2(mul_f, f, a.f* b.f)
SCALAR2(div_f, f, a.f / b.f)
SCALAR2(rem_f, f, fmod(a.f, b.f))
SCALAR2(pow_f, f, pow(a.f, b.f))
SCALAR2(eq_f, i, a.f == b.f)
SCALAR2(lt_f, i, a.f < b.f)
SCALAR2(add_u, u, a.u + b.u)
SCALAR2(sub_u, u, a.u - b.u)
SCALAR2(mul_u, u, a.u* b.u)
SCALAR2(div_i, i, div_i64(a.i, b.i))
SCALAR2(div_u, u, b.u ? a.u / b.u : 0)
SCALAR2(rem_i, i, rem_i64(a.i, b.i))
SCALAR2(rem_u, u, b.u ? a.u % b.u : 0)
SCALAR2(pow_i, i, pow_i64(a.i, b.i))
SCALAR2(pow_u, u, pow_u64(a.u, b.u))
SCALAR2(eq_u, i, a.u == b.u)
SCALAR2(lt_i, i, a.i < b.i)
SCALAR2(lt_u, i, a.u < b.u)
SCALAR2(and_u, u, a.u& b.u)
SCALAR2(or_u, u, a.u | b.u)
SCALAR2(xor_u, u, a.u ^ b.u)
SCALAR2(shl_i, u, shl_u64(a.u, b.i, bits))
SCALAR2(shr_i, i, shr_i64(a.i, b.i, bits))
SCALAR2(shr_u, u, shr_u64(a.u, b.u, bits))
SCALAR2(min_f, f, min_f64(a.f, b.f))
SCALAR2(max_f, f, max_f64(a.f, b.f))
SCALAR2(min_i, i, a.i < b.i ? a.i : b.i)
SCALAR2(max_i, i, a.i > b.i ? a.i : b.i)
SCALAR2(min_u, u, a.u < b.u ? a.u : b.u)
SCALAR2(max_u, u, a.u > b.u ? a.u : b.u)
#undef SCALAR2

/* Columns: double, int64, uint64. */
static const hone_scalar_binary_fn scalars2[HONE_PRIM_COUNT][3] = {
    [HONE_PRIM_ADD] = {add_f, add_u, add_u}, [HONE_PRIM_SUB] = {sub_f, sub_u, sub_u},
    [HONE_PRIM_MUL] = {mul_f, mul_u, mul_u}, [HONE_PRIM_DIV] = {div_f, div_i, div_u},
    [HONE_PRIM_REM] = {rem_f, rem_i, rem_u}, [HONE_PRIM_POW] = {pow_f, pow_i, pow_u},
    [HONE_PRIM_MIN] = {min_f, min_i, min_u}, [HONE_PRIM_MAX] = {max_f, max_i, max_u},
    [HONE_PRIM_EQ] = {eq_f, eq_u, eq_u},     [HONE_PRIM_LT] = {lt_f, lt_i, lt_u},
    [HONE_PRIM_AND] = {NULL, and_u, and_u},  [HONE_PRIM_OR] = {NULL, or_u, or_u},
    [HONE_PRIM_XOR] = {NULL, xor_u, xor_u},  [HONE_PRIM_SHL] = {NULL, shl_i, shl_i},
    [HONE_PRIM_SHR] = {NULL, shr_i, shr_u},
};

hone_scalar_binary_fn hone_scalar_binary(hone_prim_t prim, hone_scalar_class_t class) {
  return class <= HONE_SCALAR_U64 ? scalars2[prim][class] : NULL;
}

/* ---- one operand ---- */

static double round_even(double x) { return nearbyint(x); }

#define SCALAR1(name, field, value) \
  static hone_scalar_t name(hone_scalar_t a) { return (hone_scalar_t){.field = value}; }
SCALAR1(neg_f, f, -a.f)
SCALAR1(abs_f, f, fabs(a.f))
SCALAR1(exp_f, f, exp(a.f))
SCALAR1(log_f, f, log(a.f))
SCALAR1(sqrt_f, f, sqrt(a.f))
SCALAR1(sin_f, f, sin(a.f))
SCALAR1(cos_f, f, cos(a.f))
SCALAR1(atan_f, f, atan(a.f))
SCALAR1(tanh_f, f, tanh(a.f))
SCALAR1(erf_f, f, erf(a.f))
SCALAR1(floor_f, f, floor(a.f))
SCALAR1(round_f, f, round_even(a.f))
SCALAR1(neg_u, u, 0 - a.u)
SCALAR1(abs_i, u, a.i < 0 ? 0 - a.u : a.u)
SCALAR1(same, u, a.u)
#undef SCALAR1

static const hone_scalar_unary_fn scalars1[HONE_PRIM_COUNT][3] = {
    [HONE_PRIM_NEG] = {neg_f, neg_u, neg_u},   [HONE_PRIM_ABS] = {abs_f, abs_i, same},
    [HONE_PRIM_EXP] = {exp_f, NULL, NULL},     [HONE_PRIM_LOG] = {log_f, NULL, NULL},
    [HONE_PRIM_SQRT] = {sqrt_f, NULL, NULL},   [HONE_PRIM_SIN] = {sin_f, NULL, NULL},
    [HONE_PRIM_COS] = {cos_f, NULL, NULL},     [HONE_PRIM_ATAN] = {atan_f, NULL, NULL},
    [HONE_PRIM_TANH] = {tanh_f, NULL, NULL},   [HONE_PRIM_ERF] = {erf_f, NULL, NULL},
    [HONE_PRIM_FLOOR] = {floor_f, same, same}, [HONE_PRIM_ROUND] = {round_f, same, same},
};

hone_scalar_unary_fn hone_scalar_unary(hone_prim_t prim, hone_scalar_class_t class) {
  return class <= HONE_SCALAR_U64 ? scalars1[prim][class] : NULL;
}

/* ---- casts ---- */

/* A double that rounds to any type of fewer bits as `magnitude` itself does: bits
 * beyond a double's only say that they are not all. */
static double sticky_double(uint64_t magnitude) {
  enum { DROPPED = 0x7ff };
  if (magnitude >> 53 && (magnitude & DROPPED))
    magnitude = (magnitude & ~(uint64_t)DROPPED) | (DROPPED + 1);
  return (double)magnitude;
}

/* Rounded once by what follows, or already. u64 above 2^63 is not a negative number. */
static double int_to_double(const hone_scalar_cast_t* cast, hone_scalar_t x) {
  bool negative = cast->from != HONE_U64 && x.i < 0;
  if (cast->to == HONE_F64) return cast->from == HONE_U64 ? (double)x.u : (double)x.i;
  double magnitude = sticky_double(negative ? 0 - x.u : x.u);
  return negative ? -magnitude : magnitude;
}

static void store_double(const hone_scalar_cast_t* cast, double value, char* to) {
  if (cast->to == HONE_F8E8M0)
    *(uint8_t*)to = hone_f8e8m0_from_double(value, cast->saturate, cast->e8m0_round);
  else
    hone_from_double(cast->to, value, cast->saturate, to);
}

void hone_scalar_cast(const hone_scalar_cast_t* cast, const hone_scalar_t* row, int64_t n,
                      char* to) {
  bool from_float = hone_scalar_class(cast->from) == HONE_SCALAR_F64;
  size_t size = hone_dtype_size(cast->to);
  if (!from_float && hone_scalar_class(cast->to) != HONE_SCALAR_F64) {
    hone_scalar_store(cast->to, row, n, to);
    return;
  }
  for (int64_t i = 0; i < n; i++)
    store_double(cast, from_float ? row[i].f : int_to_double(cast, row[i]), to + (size_t)i * size);
}

hone_scalar_cast_t hone_scalar_cast_of(hone_dtype_t from, hone_dtype_t to, int64_t flags) {
  return (hone_scalar_cast_t){.from = from,
                              .to = to,
                              .saturate = flags & HONE_FLAG_SATURATE,
                              .e8m0_round = flags & HONE_FLAG_ROUND_UP     ? HONE_ROUND_UP
                                            : flags & HONE_FLAG_ROUND_DOWN ? HONE_ROUND_DOWN
                                                                           : HONE_ROUND_NEAREST};
}
