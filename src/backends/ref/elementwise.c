/* Elementwise kernels: rows are loaded as numbers of the dtype's class,
 * computed, and rounded back when stored. */
#include <math.h>
#include <string.h>

#include "backends/ref/kernels.h"
#include "base/float_convert.h"
#include "base/memory.h"

/* ---- two operands ---- */

typedef ref_number_t (*scalar2_fn)(ref_number_t a, ref_number_t b, int bits);

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

#define SCALAR2(name, field, value)                                    \
  static ref_number_t name(ref_number_t a, ref_number_t b, int bits) { \
    (void)bits;                                                        \
    return (ref_number_t){.field = value};                             \
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
#undef SCALAR2

static ref_number_t min_any(ref_number_t a, ref_number_t b, int class) {
  return hone_ref_combine(HONE_COMBINE_MIN, (ref_class_t) class)(a, b);
}

static ref_number_t max_any(ref_number_t a, ref_number_t b, int class) {
  return hone_ref_combine(HONE_COMBINE_MAX, (ref_class_t) class)(a, b);
}

/* Columns: double, int64, uint64. */
static const scalar2_fn scalars2[HONE_PRIM_COUNT][3] = {
    [HONE_PRIM_ADD] = {add_f, add_u, add_u},       [HONE_PRIM_SUB] = {sub_f, sub_u, sub_u},
    [HONE_PRIM_MUL] = {mul_f, mul_u, mul_u},       [HONE_PRIM_DIV] = {div_f, div_i, div_u},
    [HONE_PRIM_REM] = {rem_f, rem_i, rem_u},       [HONE_PRIM_POW] = {pow_f, pow_i, pow_u},
    [HONE_PRIM_MIN] = {min_any, min_any, min_any}, [HONE_PRIM_MAX] = {max_any, max_any, max_any},
    [HONE_PRIM_EQ] = {eq_f, eq_u, eq_u},           [HONE_PRIM_LT] = {lt_f, lt_i, lt_u},
    [HONE_PRIM_AND] = {NULL, and_u, and_u},        [HONE_PRIM_OR] = {NULL, or_u, or_u},
    [HONE_PRIM_XOR] = {NULL, xor_u, xor_u},        [HONE_PRIM_SHL] = {NULL, shl_i, shl_i},
    [HONE_PRIM_SHR] = {NULL, shr_i, shr_u},
};

/* Rows of the commonest functions, in loops of their own for speed. */
typedef void (*row2_fn)(int64_t n, const ref_number_t* a, const ref_number_t* b, ref_number_t* out);

#define ROW2(name, expression)                                                                   \
  static void name(int64_t n, const ref_number_t* a, const ref_number_t* b, ref_number_t* out) { \
    for (int64_t i = 0; i < n; i++) out[i].f = expression;                                       \
  }
ROW2(row_add, a[i].f + b[i].f)
ROW2(row_sub, a[i].f - b[i].f)
ROW2(row_mul, a[i].f* b[i].f)
ROW2(row_div, a[i].f / b[i].f)
#undef ROW2

static const row2_fn rows2[HONE_PRIM_COUNT] = {
    [HONE_PRIM_ADD] = row_add,
    [HONE_PRIM_SUB] = row_sub,
    [HONE_PRIM_MUL] = row_mul,
    [HONE_PRIM_DIV] = row_div,
};

static hone_status_t no_such(const ref_call_t* call, hone_dtype_t dtype) {
  return hone_status_make(HONE_UNSUPPORTED, "%s of %s is not defined",
                          hone_prim_info(call->node->prim)->name, hone_dtype_name(dtype));
}

static hone_status_t mismatch(const ref_call_t* call) {
  return hone_status_make(HONE_INVALID_ARGUMENT, "%s: operands of different shape",
                          hone_prim_info(call->node->prim)->name);
}

static bool same_shape(const ref_view_t* a, const ref_view_t* b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static bool equal_strings(const char* a, const char* b) {
  hone_string_t x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return x.size == y.size && (x.size == 0 || memcmp(x.data, y.data, x.size) == 0);
}

static hone_status_t string_eq(ref_call_t* call) {
  const ref_view_t* views[3] = {call->in[0], call->in[1], &call->out[0]};
  if (call->node->prim != HONE_PRIM_EQ) return no_such(call, HONE_STRING);
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_ref_rows_start(&rows, 3, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;)
    for (int64_t i = 0; i < n; i++)
      at[2][i] = equal_strings(at[0] + i * rows.row_stride[0], at[1] + i * rows.row_stride[1]);
  return NULL;
}

static void binary_rows(const ref_call_t* call, ref_class_t class) {
  const ref_view_t* views[3] = {call->in[0], call->in[1], &call->out[0]};
  hone_prim_t prim = call->node->prim;
  hone_dtype_t dtype = views[0]->dtype;
  bool extreme = prim == HONE_PRIM_MIN || prim == HONE_PRIM_MAX;
  int extra = extreme ? (int)class : hone_dtype_bits(dtype);
  scalar2_fn scalar = scalars2[prim][class];
  row2_fn row = class == REF_F64 ? rows2[prim] : NULL;
  ref_number_t a[HONE_REF_ROW], b[HONE_REF_ROW], out[HONE_REF_ROW];
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_ref_rows_start(&rows, 3, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;) {
    hone_ref_load(dtype, at[0], rows.row_stride[0], n, a);
    hone_ref_load(dtype, at[1], rows.row_stride[1], n, b);
    if (row)
      row(n, a, b, out);
    else
      for (int64_t i = 0; i < n; i++) out[i] = scalar(a[i], b[i], extra);
    hone_ref_store(views[2]->dtype, out, n, at[2]);
  }
}

hone_status_t hone_ref_binary(ref_call_t* call) {
  const ref_view_t* x = call->in[0];
  if (!same_shape(x, call->in[1])) return mismatch(call);
  ref_class_t class = hone_ref_class(x->dtype);
  hone_prim_t prim = call->node->prim;
  hone_dtype_t dtype = prim == HONE_PRIM_EQ || prim == HONE_PRIM_LT ? HONE_BOOL : x->dtype;
  if (class <= REF_U64 && !scalars2[prim][class]) return no_such(call, x->dtype);
  HONE_TRY(hone_ref_make(call->allocator, dtype, x->rank, x->dims, &call->out[0]));
  if (class == REF_STRING) return string_eq(call);
  if (class == REF_COMPLEX) return hone_ref_complex(call);
  binary_rows(call, class);
  return NULL;
}

/* ---- one operand ---- */

typedef ref_number_t (*scalar1_fn)(ref_number_t a);

static double round_even(double x) { return nearbyint(x); }

#define SCALAR1(name, field, value) \
  static ref_number_t name(ref_number_t a) { return (ref_number_t){.field = value}; }
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

static const scalar1_fn scalars1[HONE_PRIM_COUNT][3] = {
    [HONE_PRIM_NEG] = {neg_f, neg_u, neg_u},   [HONE_PRIM_ABS] = {abs_f, abs_i, same},
    [HONE_PRIM_EXP] = {exp_f, NULL, NULL},     [HONE_PRIM_LOG] = {log_f, NULL, NULL},
    [HONE_PRIM_SQRT] = {sqrt_f, NULL, NULL},   [HONE_PRIM_SIN] = {sin_f, NULL, NULL},
    [HONE_PRIM_COS] = {cos_f, NULL, NULL},     [HONE_PRIM_ATAN] = {atan_f, NULL, NULL},
    [HONE_PRIM_TANH] = {tanh_f, NULL, NULL},   [HONE_PRIM_ERF] = {erf_f, NULL, NULL},
    [HONE_PRIM_FLOOR] = {floor_f, same, same}, [HONE_PRIM_ROUND] = {round_f, same, same},
};

hone_status_t hone_ref_unary(ref_call_t* call) {
  const ref_view_t* x = call->in[0];
  ref_class_t class = hone_ref_class(x->dtype);
  if (class == REF_STRING) return no_such(call, x->dtype);
  hone_dtype_t dtype = x->dtype;
  if (class == REF_COMPLEX && call->node->prim == HONE_PRIM_ABS)
    dtype = x->dtype == HONE_C64 ? HONE_F32 : HONE_F64;
  HONE_TRY(hone_ref_make(call->allocator, dtype, x->rank, x->dims, &call->out[0]));
  if (class == REF_COMPLEX) return hone_ref_complex(call);
  scalar1_fn scalar = scalars1[call->node->prim][class];
  if (!scalar) return no_such(call, x->dtype);
  const ref_view_t* views[2] = {x, &call->out[0]};
  ref_number_t row[HONE_REF_ROW];
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_ref_rows_start(&rows, 2, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;) {
    hone_ref_load(x->dtype, at[0], rows.row_stride[0], n, row);
    for (int64_t i = 0; i < n; i++) row[i] = scalar(row[i]);
    hone_ref_store(dtype, row, n, at[1]);
  }
  return NULL;
}

/* ---- select ---- */

/* Copies y, then x where the condition holds: strings need no other way. */
static hone_status_t select_row(const ref_call_t* call, const ref_rows_t* rows, char* const* at,
                                int64_t n) {
  const ref_view_t* out = &call->out[0];
  size_t size = hone_dtype_size(out->dtype);
  for (int64_t i = 0; i < n; i++) {
    int which = at[0][i * rows->row_stride[0]] ? 1 : 2;
    const char* from = at[which] + i * rows->row_stride[which];
    char* to = at[3] + i * rows->row_stride[3];
    if (out->dtype != HONE_STRING) {
      memcpy(to, from, size);
      continue;
    }
    hone_string_t string;
    memcpy(&string, from, sizeof string);
    int64_t index = (to - (char*)hone_tensor_data(out->base)) / (int64_t)size;
    HONE_TRY(hone_tensor_set_string(out->base, index, string.data, string.size));
  }
  return NULL;
}

hone_status_t hone_ref_select(ref_call_t* call) {
  const ref_view_t* x = call->in[1];
  if (!same_shape(call->in[0], x) || !same_shape(x, call->in[2])) return mismatch(call);
  HONE_TRY(hone_ref_make(call->allocator, x->dtype, x->rank, x->dims, &call->out[0]));
  const ref_view_t* views[4] = {call->in[0], x, call->in[2], &call->out[0]};
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_ref_rows_start(&rows, 4, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;)
    HONE_TRY(select_row(call, &rows, at, n));
  return NULL;
}
