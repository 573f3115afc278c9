/* MaxPool: the maximum of each window, and where in the input it stands. */
#include <math.h>

#include "ops/common/sliding.h"

/* What every element is at least. */
static hone_value_t* lowest(hone_builder_t* b, hone_dtype_t dtype) {
  if (hone_dtype_is_float(dtype)) return hone_scalar(b, dtype, -INFINITY);
  if (hone_dtype_is_unsigned(dtype)) return hone_scalar_i64(b, dtype, 0);
  int bits = hone_dtype_bits(dtype);
  return hone_scalar_i64(b, dtype, bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1)));
}

/* Position of each element among the spatial ones, row-major: [1, 1, s1, …]. */
static hone_value_t* positions(hone_builder_t* b, const hone_value_t* x, int n) {
  hone_dim_t shape[HONE_MAX_RANK] = {hone_d(1), hone_d(1)};
  hone_dim_t count = hone_d(1);
  for (int i = 0; i < n; i++) {
    shape[2 + i] = hone_dim(x, 2 + i);
    count = hone_d_mul(b, count, shape[2 + i]);
  }
  return hone_reshape(b, hone_iota(b, HONE_I64, 1, &count, 0), 2 + n, shape);
}

/* A row-major position as the column-major one of the same element. */
static hone_value_t* to_column_major(hone_builder_t* b, const hone_value_t* x, int n,
                                     hone_value_t* position) {
  hone_value_t* total = NULL;
  const hone_dim_t* extents = x->type.dims + 2;
  for (int i = 0; i < n; i++) {
    hone_dim_t inner = hone_dim_product(b->graph->dims, n - 1 - i, extents + i + 1);
    hone_dim_t outer = hone_dim_product(b->graph->dims, i, extents);
    hone_value_t* at = hone_div(b, position, hone_dim_scalar(b, HONE_I64, inner));
    at = hone_rem(b, at, hone_dim_scalar(b, HONE_I64, extents[i]));
    at = hone_mul(b, at, hone_dim_scalar(b, HONE_I64, outer));
    total = total ? hone_add(b, total, at) : at;
  }
  return total;
}

/* Where image (batch, channel) of each element of `like` starts in x. */
static hone_value_t* image_starts(hone_builder_t* b, const hone_value_t* x,
                                  const hone_value_t* like, int n) {
  hone_dim_t shape[HONE_MAX_RANK] = {hone_dim(like, 0), hone_dim(like, 1)};
  hone_dim_t size = hone_d(1), images = hone_d_mul(b, shape[0], shape[1]);
  for (int i = 0; i < n; i++) {
    shape[2 + i] = hone_d(1);
    size = hone_d_mul(b, size, hone_dim(x, 2 + i));
  }
  hone_value_t* index = hone_iota(b, HONE_I64, 1, &images, 0);
  index = hone_mul(b, index, hone_dim_scalar(b, HONE_I64, size));
  return hone_reshape(b, index, 2 + n, shape);
}

/* Of equal maxima the first in the window; pads come last. */
static hone_value_t* indices(hone_lower_t* l, const hone_sliding_t* s, hone_value_t* x,
                             hone_value_t* windows, hone_value_t* best) {
  hone_builder_t* b = l->b;
  hone_value_t* last = hone_scalar_i64(b, HONE_I64, INT64_MAX);
  hone_value_t* where = hone_sliding_view(b, s, positions(b, x, s->n), last);
  hone_value_t* column = best;
  for (int i = 0; i < s->n; i++) column = hone_unsqueeze(b, column, -1);
  hone_value_t* hit = hone_eq(b, windows, column);
  if (hone_dtype_is_float(hone_dtype_of(x))) hit = hone_or(b, hit, hone_is_nan(b, windows));
  hone_value_t* first =
      hone_reduce_last(b, HONE_COMBINE_MIN, hone_select(b, hit, where, last), s->n, false);
  if (!first) return NULL;
  if (hone_attr_int(l->node, "storage_order", 0)) first = to_column_major(b, x, s->n, first);
  return hone_add(b, first, image_starts(b, x, best, s->n));
}

static void lower_max_pool(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_sliding_t s;
  if (!hone_sliding_read(l, x, NULL, &s)) return;
  hone_value_t* windows = hone_sliding_view(b, &s, x, lowest(b, hone_dtype_of(x)));
  hone_value_t* best = hone_reduce_last(b, HONE_COMBINE_MAX, windows, s.n, false);
  hone_op_out(l, 0, best);
  if (best && hone_op_wants(l, 1)) hone_op_out(l, 1, indices(l, &s, x, windows, best));
}

static const hone_op_t ops[] = {
    {.name = "MaxPool",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "auto_pad ceil_mode dilations kernel_shape pads storage_order strides",
     .lower = lower_max_pool},
};
HONE_OP_FAMILY(max_pool, ops)
