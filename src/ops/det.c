/* Det: determinants, by elimination with row exchanges. A loop over the
 * columns carries all matrices of the batch and the products of the pivots so
 * far. */
#include "ops/common/formulas.h"

/* What a round sees; matrices are (batch, n, n). */
typedef struct round {
  hone_builder_t* b;
  hone_value_t* number; /* which column, i64 */
  hone_value_t* rows;   /* row numbers, (1, n, 1) */
  hone_value_t* columns;
} round_t;

/* Sums over `axis` the elements where `mask` holds: picks a row or a column. */
static hone_value_t* pick_where(hone_builder_t* b, hone_value_t* mask, hone_value_t* x, int axis) {
  if (!x) return NULL;
  int64_t axes[1] = {axis};
  hone_value_t* kept = hone_select(b, mask, x, hone_scalar(b, hone_dtype_of(x), 0));
  return hone_reduce(b, HONE_COMBINE_ADD, kept, 1, axes, true);
}

/* The row, of those not yet used, whose element in this column is largest. */
static hone_value_t* pivot_row(const round_t* r, hone_value_t* matrix) {
  hone_builder_t* b = r->b;
  hone_value_t* column = pick_where(b, hone_eq(b, r->columns, r->number), matrix, 2);
  if (!column) return NULL;
  hone_value_t* size = hone_abs(b, column);
  hone_value_t* usable = hone_ge(b, r->rows, r->number);
  hone_value_t* none = hone_scalar(b, hone_dtype_of(column), -1);
  return hone_arg_max(b, hone_select(b, usable, size, none), 1, false, false, true);
}

static void eliminate(const round_t* r, hone_value_t* const carried[2], hone_value_t* next[2]) {
  hone_builder_t* b = r->b;
  hone_value_t *matrix = carried[0], *det = carried[1];
  hone_value_t* is_this = hone_eq(b, r->rows, r->number);
  hone_value_t* at = pivot_row(r, matrix);
  hone_value_t* is_pivot = hone_eq(b, r->rows, at);
  hone_value_t* pivot = pick_where(b, is_pivot, matrix, 1);
  hone_value_t* other = pick_where(b, is_this, matrix, 1);
  matrix = hone_select(b, is_this, pivot, hone_select(b, is_pivot, other, matrix));
  hone_value_t* here = hone_eq(b, r->columns, r->number);
  hone_value_t* value = pick_where(b, here, pivot, 2);
  if (!value) return;
  hone_value_t* zero = hone_scalar(b, hone_dtype_of(value), 0);
  hone_value_t* factor = hone_div(b, pick_where(b, here, matrix, 2), value);
  hone_value_t* below = hone_and(b, hone_gt(b, r->rows, r->number), hone_ne(b, value, zero));
  next[0] = hone_sub(b, matrix, hone_mul(b, hone_select(b, below, factor, zero), pivot));
  hone_value_t* exchanged = hone_ne(b, at, r->number);
  next[1] = hone_mul(b, det, hone_select(b, exchanged, hone_neg(b, value), value));
}

static hone_value_t* determinants(hone_builder_t* b, hone_value_t* x) {
  if (!x) return NULL;
  hone_dim_t batch = hone_dim(x, 0), n = hone_dim(x, 1), one = hone_d(1);
  hone_dim_t det_shape[3] = {batch, one, one};
  hone_value_t* first[2] = {x, hone_full(b, hone_dtype_of(x), 1, 3, det_shape)};
  if (!first[1]) return NULL;
  hone_type_t types[2] = {first[0]->type, first[1]->type};
  hone_builder_t body;
  hone_value_t *number, *carried[2], *next[2] = {NULL, NULL}, *out[2] = {NULL, NULL};
  hone_loop_open(b, "eliminate", 2, types, &body, &number, carried);
  round_t r = {.b = &body,
               .number = number,
               .rows = hone_iota(&body, HONE_I64, 3, (hone_dim_t[]){one, n, one}, 1),
               .columns = hone_iota(&body, HONE_I64, 3, (hone_dim_t[]){one, one, n}, 2)};
  eliminate(&r, carried, next);
  hone_loop_close(b, &body, hone_dim_scalar(b, HONE_I64, n), NULL, 2, first, NULL, next, 0, NULL,
                  out);
  return out[1];
}

static void lower_det(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int rank = hone_rank(x);
  if (rank < 2) {
    hone_op_fail(l, "the input has rank %d; it must be a matrix or a batch of them", rank);
    return;
  }
  hone_dim_t shape[3] = {hone_dim_product(b->graph->dims, rank - 2, x->type.dims), hone_dim(x, -2),
                         hone_dim(x, -1)};
  hone_value_t* det = determinants(b, hone_reshape(b, hone_widen(b, x), 3, shape));
  hone_op_out(l, 0, hone_cast(b, hone_reshape(b, det, rank - 2, x->type.dims), hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.name = "Det",
     .min_opset = 11,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "",
     .lower = lower_det},
};
HONE_OP_FAMILY(det, ops)
