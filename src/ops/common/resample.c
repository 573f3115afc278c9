/* Weighted sums of neighbours, for Resize and its relatives. */
#include "ops/common/resample.h"

#include "ops/common/indexing.h"

hone_dtype_t hone_resample_dtype(hone_dtype_t dtype) {
  switch (dtype) {
    case HONE_F64:
    case HONE_I32:
    case HONE_U32:
    case HONE_I64:
    case HONE_U64:
      return HONE_F64;
    default:
      return HONE_F32;
  }
}

hone_value_t* hone_saturate(hone_builder_t* b, hone_value_t* x, hone_dtype_t dtype) {
  if (!hone_dtype_is_int(dtype) || hone_dtype_bits(dtype) > 32) {
    if (hone_dtype_is_int(dtype)) x = hone_round(b, x);
    return hone_cast(b, x, dtype);
  }
  int bits = hone_dtype_bits(dtype) - (hone_dtype_is_unsigned(dtype) ? 0 : 1);
  double top = (double)(((int64_t)1 << bits) - 1);
  double bottom = hone_dtype_is_unsigned(dtype) ? 0 : -top - 1;
  x = hone_min_number(b, hone_max_number(b, hone_round(b, x), bottom), top);
  return hone_cast(b, x, dtype);
}

/* ((p * x + q) * x + r) * x + s */
static hone_value_t* cubic(hone_builder_t* b, hone_value_t* x, double p, double q, double r,
                           double s) {
  hone_value_t* sum = hone_add_number(b, hone_mul_number(b, x, p), q);
  sum = hone_add_number(b, hone_mul(b, sum, x), r);
  return hone_add_number(b, hone_mul(b, sum, x), s);
}

hone_value_t* hone_filter_weight(hone_builder_t* b, hone_filter_t filter, double a,
                                 hone_value_t* distance) {
  if (!distance) return NULL;
  hone_value_t* zero = hone_scalar(b, hone_dtype_of(distance), 0);
  if (filter == HONE_FILTER_LINEAR)
    return hone_max(b, hone_sub(b, hone_scalar(b, hone_dtype_of(distance), 1), distance), zero);
  hone_value_t* near = cubic(b, distance, a + 2, -(a + 3), 0, 1);
  hone_value_t* far = cubic(b, distance, a, -5 * a, 8 * a, -4 * a);
  far = hone_select(b, hone_lt_number(b, distance, 2), far, zero);
  return hone_select(b, hone_gt_number(b, distance, 1), far, near);
}

/* Weights [length, taps] made to sum to 1. */
static hone_value_t* normalize(hone_builder_t* b, hone_value_t* weights) {
  hone_value_t* sum = hone_reduce_last(b, HONE_COMBINE_ADD, weights, 1, true);
  if (!sum) return NULL;
  hone_value_t* one = hone_scalar(b, HONE_F64, 1);
  return hone_div(b, weights, hone_select(b, hone_eq_number(b, sum, 0), one, sum));
}

/* Sum over the taps of x[…, index, …] * weight. */
static hone_value_t* weighted_sum(hone_builder_t* b, hone_value_t* x, int axis, hone_value_t* index,
                                  hone_value_t* weights) {
  hone_value_t* parts = hone_take(b, x, index, axis);
  if (!parts || !weights) return NULL;
  hone_dim_t shape[HONE_MAX_RANK];
  int rank = hone_rank(parts) - axis;
  for (int i = 0; i < rank; i++) shape[i] = i < 2 ? hone_dim(weights, i) : hone_d(1);
  weights = hone_reshape(b, hone_cast(b, weights, hone_dtype_of(x)), rank, shape);
  int64_t axes[1] = {axis + 1};
  return hone_reduce(b, HONE_COMBINE_ADD, hone_mul(b, parts, weights), 1, axes, false);
}

hone_value_t* hone_resample_axis(hone_builder_t* b, hone_value_t* x, int axis, hone_value_t* at,
                                 const hone_taps_t* taps) {
  if (!hone_is_known(b, x) || !hone_is_known(b, at)) return NULL;
  hone_dim_t extent = hone_dim(x, axis);
  hone_dim_t before = hone_d_sub(b, hone_d_floordiv(b, taps->count, hone_d(2)), hone_d(1));
  hone_value_t* base = hone_floor(b, at);
  hone_value_t* part = hone_unsqueeze(b, hone_sub(b, at, base), 1);
  hone_value_t* offset = hone_iota(b, HONE_F64, 1, &taps->count, 0);
  offset = hone_sub(b, offset, hone_dim_scalar(b, HONE_F64, before));
  hone_value_t* distance = hone_abs(b, hone_sub(b, offset, part));
  if (taps->stretch) distance = hone_mul(b, distance, taps->stretch);
  hone_value_t* weights = hone_filter_weight(b, taps->filter, taps->cubic_a, distance);
  hone_value_t* index = hone_add(b, hone_unsqueeze(b, base, 1), offset);
  hone_value_t* last = hone_dim_scalar(b, HONE_F64, hone_d_sub(b, extent, hone_d(1)));
  if (taps->exclude_outside) {
    hone_value_t* inside =
        hone_and(b, hone_le(b, index, last), hone_not(b, hone_lt_number(b, index, 0)));
    weights = hone_select(b, inside, weights, hone_scalar(b, HONE_F64, 0));
  }
  if (taps->exclude_outside || taps->stretch) weights = normalize(b, weights);
  index = hone_max_number(b, hone_min(b, index, last), 0);
  return weighted_sum(b, x, axis, hone_cast(b, index, HONE_I64), weights);
}
