/* Which kernel computes which primitive, and rows of numbers. */
#include "backends/ref/kernels.h"

#include <math.h>
#include <string.h>

#include "base/float_convert.h"

static const ref_kernel_fn family_kernels[] = {
    [HONE_FAMILY_SOURCE] = hone_ref_source,
    [HONE_FAMILY_UNARY] = hone_ref_unary,
    [HONE_FAMILY_BINARY] = hone_ref_binary,
    [HONE_FAMILY_SELECT] = hone_ref_select,
    [HONE_FAMILY_CAST] = hone_ref_cast,
    [HONE_FAMILY_MOVEMENT] = NULL,
    [HONE_FAMILY_WHOLE] = NULL,
    [HONE_FAMILY_CONTROL] = NULL,
};

static const ref_kernel_fn kernels[HONE_PRIM_COUNT] = {
    [HONE_PRIM_BITCAST] = hone_ref_bitcast,   [HONE_PRIM_RESHAPE] = hone_ref_reshape,
    [HONE_PRIM_PERMUTE] = hone_ref_permute,   [HONE_PRIM_EXPAND] = hone_ref_expand,
    [HONE_PRIM_SLICE] = hone_ref_slice,       [HONE_PRIM_PAD] = hone_ref_pad,
    [HONE_PRIM_FLIP] = hone_ref_flip,         [HONE_PRIM_CONCAT] = hone_ref_concat,
    [HONE_PRIM_WINDOW] = hone_ref_window,     [HONE_PRIM_REDUCE] = hone_ref_reduce,
    [HONE_PRIM_CONTRACT] = hone_ref_contract, [HONE_PRIM_GATHER] = hone_ref_gather,
    [HONE_PRIM_SCATTER] = hone_ref_scatter,   [HONE_PRIM_SCAN] = hone_ref_scan,
    [HONE_PRIM_SORT] = hone_ref_sort,
};

ref_kernel_fn hone_ref_kernel(hone_prim_t prim) {
  return kernels[prim] ? kernels[prim] : family_kernels[hone_prim_info(prim)->family];
}

ref_class_t hone_ref_class(hone_dtype_t dtype) {
  if (hone_dtype_is_float(dtype)) return REF_F64;
  if (hone_dtype_is_complex(dtype)) return REF_COMPLEX;
  if (dtype == HONE_STRING) return REF_STRING;
  return dtype == HONE_U64 ? REF_U64 : REF_I64;
}

void hone_ref_load(hone_dtype_t dtype, const char* data, int64_t stride, int64_t n,
                   ref_number_t* out) {
  if (hone_ref_class(dtype) == REF_F64)
    hone_load_f64(dtype, data, stride, n, &out->f);
  else
    hone_load_i64(dtype, data, stride, n, &out->i);
}

void hone_ref_store(hone_dtype_t dtype, const ref_number_t* in, int64_t n, char* data) {
  if (hone_ref_class(dtype) == REF_F64)
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

#define COMBINE(name, field, value)                          \
  static ref_number_t name(ref_number_t a, ref_number_t b) { \
    return (ref_number_t){.field = value};                   \
  }
COMBINE(set_any, u, (a.u & 0) | b.u)
COMBINE(add_f, f, a.f + b.f)
COMBINE(mul_f, f, a.f* b.f)
COMBINE(min_f, f, min_f64(a.f, b.f))
COMBINE(max_f, f, max_f64(a.f, b.f))
COMBINE(add_u, u, a.u + b.u)
COMBINE(mul_u, u, a.u* b.u)
COMBINE(min_i, i, a.i < b.i ? a.i : b.i)
COMBINE(max_i, i, a.i > b.i ? a.i : b.i)
COMBINE(min_u, u, a.u < b.u ? a.u : b.u)
COMBINE(max_u, u, a.u > b.u ? a.u : b.u)
#undef COMBINE

/* Columns: double, int64, uint64; wrapping sums are the same for both. */
static const ref_combine_fn combines[HONE_COMBINE_COUNT][3] = {
    [HONE_COMBINE_SET] = {set_any, set_any, set_any}, [HONE_COMBINE_ADD] = {add_f, add_u, add_u},
    [HONE_COMBINE_MUL] = {mul_f, mul_u, mul_u},       [HONE_COMBINE_MIN] = {min_f, min_i, min_u},
    [HONE_COMBINE_MAX] = {max_f, max_i, max_u},
};

ref_combine_fn hone_ref_combine(hone_combine_t combine, ref_class_t class) {
  return class <= REF_U64 ? combines[combine][class] : NULL;
}

/* Largest or smallest value of an integer type. */
static int64_t int_end(hone_dtype_t dtype, bool largest) {
  int bits = dtype == HONE_BOOL ? 1 : hone_dtype_bits(dtype);
  if (hone_dtype_is_unsigned(dtype) || dtype == HONE_BOOL)
    return largest ? (int64_t)(~0ull >> (64 - bits)) : 0;
  int64_t top = (int64_t)(~0ull >> (65 - bits));
  return largest ? top : -top - 1;
}

ref_number_t hone_ref_neutral(hone_combine_t combine, hone_dtype_t dtype) {
  bool is_float = hone_ref_class(dtype) == REF_F64, largest = combine == HONE_COMBINE_MIN;
  if (combine == HONE_COMBINE_ADD || combine == HONE_COMBINE_SET) return (ref_number_t){.u = 0};
  if (combine == HONE_COMBINE_MUL)
    return is_float ? (ref_number_t){.f = 1} : (ref_number_t){.i = 1};
  if (is_float) return (ref_number_t){.f = largest ? INFINITY : -INFINITY};
  return (ref_number_t){.i = int_end(dtype, largest)};
}
