/* Elementwise kernels: rows are loaded as numbers of the dtype's class,
 * computed, and rounded back when stored. */
#include <string.h>

#include "backends/ref/kernels.h"
#include "base/float_convert.h"
#include "base/memory.h"

/* ---- two operands ---- */

/* Rows of the commonest functions, in loops of their own for speed. */
typedef void (*row2_fn)(int64_t n, const hone_scalar_t* a, const hone_scalar_t* b,
                        hone_scalar_t* out);

#define ROW2(name, expression)                                                \
  static void name(int64_t n, const hone_scalar_t* a, const hone_scalar_t* b, \
                   hone_scalar_t* out) {                                      \
    for (int64_t i = 0; i < n; i++) out[i].f = expression;                    \
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

static void binary_rows(const ref_call_t* call, hone_scalar_class_t class) {
  const ref_view_t* views[3] = {call->in[0], call->in[1], &call->out[0]};
  hone_prim_t prim = call->node->prim;
  hone_dtype_t dtype = views[0]->dtype;
  int bits = hone_dtype_bits(dtype);
  hone_scalar_binary_fn scalar = hone_scalar_binary(prim, class);
  row2_fn row = class == HONE_SCALAR_F64 ? rows2[prim] : NULL;
  hone_scalar_t a[HONE_REF_ROW], b[HONE_REF_ROW], out[HONE_REF_ROW];
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_ref_rows_start(&rows, 3, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;) {
    hone_scalar_load(dtype, at[0], rows.row_stride[0], n, a);
    hone_scalar_load(dtype, at[1], rows.row_stride[1], n, b);
    if (row)
      row(n, a, b, out);
    else
      for (int64_t i = 0; i < n; i++) out[i] = scalar(a[i], b[i], bits);
    hone_scalar_store(views[2]->dtype, out, n, at[2]);
  }
}

hone_status_t hone_ref_binary(ref_call_t* call) {
  const ref_view_t* x = call->in[0];
  if (!same_shape(x, call->in[1])) return mismatch(call);
  hone_scalar_class_t class = hone_scalar_class(x->dtype);
  hone_prim_t prim = call->node->prim;
  hone_dtype_t dtype = prim == HONE_PRIM_EQ || prim == HONE_PRIM_LT ? HONE_BOOL : x->dtype;
  if (class <= HONE_SCALAR_U64 && !hone_scalar_binary(prim, class)) return no_such(call, x->dtype);
  HONE_TRY(hone_ref_make(call->allocator, dtype, x->rank, x->dims, &call->out[0]));
  if (class == HONE_SCALAR_STRING) return string_eq(call);
  if (class == HONE_SCALAR_COMPLEX) return hone_ref_complex(call);
  binary_rows(call, class);
  return NULL;
}

/* ---- one operand ---- */

hone_status_t hone_ref_unary(ref_call_t* call) {
  const ref_view_t* x = call->in[0];
  hone_scalar_class_t class = hone_scalar_class(x->dtype);
  if (class == HONE_SCALAR_STRING) return no_such(call, x->dtype);
  hone_dtype_t dtype = x->dtype;
  if (class == HONE_SCALAR_COMPLEX && call->node->prim == HONE_PRIM_ABS)
    dtype = x->dtype == HONE_C64 ? HONE_F32 : HONE_F64;
  HONE_TRY(hone_ref_make(call->allocator, dtype, x->rank, x->dims, &call->out[0]));
  if (class == HONE_SCALAR_COMPLEX) return hone_ref_complex(call);
  hone_scalar_unary_fn scalar = hone_scalar_unary(call->node->prim, class);
  if (!scalar) return no_such(call, x->dtype);
  const ref_view_t* views[2] = {x, &call->out[0]};
  hone_scalar_t row[HONE_REF_ROW];
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_ref_rows_start(&rows, 2, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;) {
    hone_scalar_load(x->dtype, at[0], rows.row_stride[0], n, row);
    for (int64_t i = 0; i < n; i++) row[i] = scalar(row[i]);
    hone_scalar_store(dtype, row, n, at[1]);
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
