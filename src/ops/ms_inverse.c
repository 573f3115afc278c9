/* Inverse (com.microsoft): of square matrices, by Gauss-Jordan elimination with
 * the largest pivot of each column, in f64. A singular matrix gives infinities
 * or NaN. */
#include "ops/common/ms.h"

/* Swaps rows `i` (scalar) and `pivot` ([batch, 1]) of each matrix in x. */
static hone_value_t* swap_rows(hone_builder_t* b, hone_value_t* x, hone_value_t* i,
                               hone_value_t* pivot) {
  if (!hone_is_known(b, x)) return NULL;
  hone_dim_t batch = hone_dim(x, 0), n = hone_dim(x, 1), shape[2] = {batch, n};
  hone_dim_t flat[2] = {hone_d_mul(b, batch, n), hone_dim(x, 2)};
  hone_value_t* row = hone_iota(b, HONE_I64, 2, shape, 1);
  hone_value_t* from = hone_select(b, hone_eq(b, row, i), pivot, row);
  from = hone_select(b, hone_eq(b, row, pivot), i, from);
  hone_value_t* start =
      hone_mul(b, hone_iota(b, HONE_I64, 2, shape, 0), hone_dim_scalar(b, HONE_I64, n));
  return hone_gather(b, hone_reshape(b, x, 2, flat), hone_add(b, start, from));
}

/* Makes column `i` of [matrix, identity] that of the identity. */
static hone_value_t* clear_column(hone_builder_t* b, hone_value_t* x, hone_value_t* i) {
  if (!hone_is_known(b, x) || !hone_is_known(b, i)) return NULL;
  hone_dim_t column[3] = {hone_d(1), hone_dim(x, 1), hone_d(1)};
  hone_value_t* row = hone_iota(b, HONE_I64, 3, column, 1);
  hone_value_t* size = hone_abs(b, hone_take(b, x, i, 2));
  hone_value_t* used = hone_squeeze(b, hone_lt(b, row, i), 2);
  size = hone_select(b, used, hone_scalar(b, HONE_F64, -1), size);
  x = swap_rows(b, x, i, hone_arg_max(b, size, 1, false, false, true));
  hone_value_t* one = hone_unsqueeze(b, hone_take(b, x, i, 1), 1);
  hone_value_t* pivot = hone_unsqueeze(b, hone_take(b, one, i, 2), 2);
  one = hone_div(b, one, pivot);
  hone_value_t* factors = hone_unsqueeze(b, hone_take(b, x, i, 2), 2);
  return hone_select(b, hone_eq(b, row, i), one, hone_sub(b, x, hone_mul(b, factors, one)));
}

static hone_value_t* with_identity(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* eye = hone_eq(b, hone_iota(b, HONE_I64, 3, x->type.dims, 1),
                              hone_iota(b, HONE_I64, 3, x->type.dims, 2));
  hone_value_t* parts[2] = {x, hone_cast(b, eye, HONE_F64)};
  return hone_concat(b, 2, parts, 2);
}

static void lower_inverse(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  if (hone_rank(x) < 2) {
    hone_op_fail(l, "the input has rank %d; matrices are needed", hone_rank(x));
    return;
  }
  hone_dim_t n = hone_dim(x, -1);
  hone_dim_t shape[3] = {hone_dim_product(b->graph->dims, hone_rank(x) - 2, x->type.dims), n, n};
  hone_value_t* wide = hone_reshape(b, hone_cast(b, x, HONE_F64), 3, shape);
  if (!wide) return;
  hone_value_t* start = with_identity(b, wide);
  if (!start) return;
  hone_builder_t body;
  hone_value_t *i, *carried, *out;
  hone_loop_open(b, "columns", 1, &start->type, &body, &i, &carried);
  hone_value_t* next = clear_column(&body, carried, i);
  hone_loop_close(b, &body, hone_dim_scalar(b, HONE_I64, n), NULL, 1, &start, NULL, &next, 0, NULL,
                  &out);
  out = hone_slice_axis(b, out, 2, n, hone_d_mul(b, hone_d(2), n));
  hone_op_out(l, 0, hone_cast(b, hone_reshape_like(b, out, x), hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "Inverse",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "",
     .lower = lower_inverse},
};
HONE_OP_FAMILY(ms_inverse, ops)
