/* Scales, zero points, and rounding to small types. */
#include "ops/common/quantized.h"

enum { MAX_ZEROS_CHECKED = 1 << 16 };

hone_value_t* hone_quantized_scalar(hone_builder_t* b, hone_value_t* parameter) {
  if (!hone_is_known(b, parameter) || !hone_dim_is(hone_elements(b, parameter), 1))
    return parameter;
  return hone_reshape(b, parameter, 0, NULL);
}

hone_value_t* hone_quantized_rows(hone_builder_t* b, hone_value_t* parameter) {
  parameter = hone_quantized_scalar(b, parameter);
  return parameter && hone_rank(parameter) == 1 ? hone_unsqueeze(b, parameter, 1) : parameter;
}

/* Each entry along `axis` `block` times, cut to the extent of x. */
static hone_value_t* repeat_blocks(hone_lower_t* l, hone_value_t* parameter, const hone_value_t* x,
                                   int axis, int64_t block) {
  hone_builder_t* b = l->b;
  int rank = hone_rank(x);
  if (hone_rank(parameter) != rank || rank >= HONE_MAX_RANK) {
    hone_op_fail(l,
                 "block_size is %lld and the input has rank %d, but a scale or zero point has %d",
                 (long long)block, rank, hone_rank(parameter));
    return NULL;
  }
  hone_dim_t wide[HONE_MAX_RANK], full[HONE_MAX_RANK];
  hone_value_t* out = hone_unsqueeze(b, parameter, axis + 1);
  for (int i = 0; i <= rank; i++)
    wide[i] = i == axis + 1 ? hone_d(block) : hone_dim(parameter, i > axis ? i - 1 : i);
  for (int i = 0; i < rank; i++) full[i] = hone_dim(parameter, i);
  full[axis] = hone_d_mul(b, full[axis], hone_d(block));
  out = hone_reshape(b, hone_expand(b, out, rank + 1, wide), rank, full);
  return hone_slice_axis(b, out, axis, hone_d(0), hone_dim(x, axis));
}

hone_value_t* hone_quantized_spread(hone_lower_t* l, hone_value_t* parameter, const hone_value_t* x,
                                    int64_t axis, int64_t block) {
  hone_builder_t* b = l->b;
  if (!parameter) return NULL;
  if (block < 0 || block > INT32_MAX) {
    hone_op_fail(l, "block_size is %lld; it must be 0 or positive", (long long)block);
    return NULL;
  }
  if (hone_rank(parameter) == 0) return parameter;
  int rank = hone_rank(x);
  if (block > 0) return repeat_blocks(l, parameter, x, hone_axis(b, axis, rank), block);
  parameter = hone_quantized_scalar(b, parameter);
  if (!parameter || hone_rank(parameter) == 0) return parameter;
  if (hone_rank(parameter) != 1) {
    hone_op_fail(l, "a scale or zero point has rank %d; without block_size it must be 0 or 1",
                 hone_rank(parameter));
    return NULL;
  }
  int at = rank == 1 ? 0 : hone_axis(b, axis, rank);
  if (!hone_builder_ok(b)) return NULL;
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0; i < rank; i++) shape[i] = hone_d(1);
  shape[at] = hone_dim(parameter, 0);
  return hone_reshape(b, parameter, rank, shape);
}

/* True for a constant full of zeros: the usual zero point of signed types. */
static bool is_all_zero(hone_builder_t* b, hone_value_t* v) {
  const hone_tensor_t* known = hone_known_tensor(b, v);
  if (!known || hone_tensor_count(known) > MAX_ZEROS_CHECKED) return false;
  for (int64_t i = 0; i < hone_tensor_count(known); i++)
    if (hone_tensor_i64(known, i) != 0) return false;
  return true;
}

hone_value_t* hone_quantized_centered(hone_builder_t* b, hone_value_t* x, hone_value_t* zero) {
  hone_value_t* wide = hone_cast(b, x, HONE_I32);
  if (!zero || is_all_zero(b, zero)) return wide;
  return hone_sub(b, wide, hone_cast(b, zero, HONE_I32));
}

static hone_value_t* encode_int(hone_builder_t* b, hone_value_t* x, hone_value_t* zero,
                                hone_dtype_t dtype) {
  bool is_unsigned = hone_dtype_is_unsigned(dtype);
  int bits = hone_dtype_bits(dtype);
  double high = (double)(((int64_t)1 << (is_unsigned ? bits : bits - 1)) - 1);
  double low = is_unsigned ? 0 : -high - 1;
  hone_value_t* y = hone_round(b, x);
  if (zero && !is_all_zero(b, zero)) y = hone_add(b, y, hone_cast(b, zero, hone_dtype_of(x)));
  return hone_cast(b, hone_min_number(b, hone_max_number(b, y, low), high), dtype);
}

bool hone_quantized_has_offset(hone_dtype_t dtype) {
  return hone_dtype_is_int(dtype) || hone_dtype_bits(dtype) < 8;
}

hone_value_t* hone_quantized_encode(hone_builder_t* b, hone_value_t* x, hone_value_t* zero,
                                    hone_dtype_t dtype, bool saturate) {
  if (!x) return NULL;
  if (hone_dtype_of(x) != HONE_F64) x = hone_cast(b, x, HONE_F32);
  if (hone_dtype_is_int(dtype)) return x ? encode_int(b, x, zero, dtype) : NULL;
  if (x && zero && hone_quantized_has_offset(dtype))
    x = hone_add(b, x, hone_cast(b, zero, hone_dtype_of(x)));
  return hone_cast_flags(b, x, dtype, saturate ? HONE_FLAG_SATURATE : 0);
}

hone_value_t* hone_quantized_multiplier(hone_builder_t* b, hone_value_t* x_scale,
                                        hone_value_t* w_scale, hone_value_t* y_scale) {
  hone_value_t* product =
      hone_mul(b, hone_cast(b, x_scale, HONE_F32), hone_cast(b, w_scale, HONE_F32));
  return hone_div(b, product, hone_cast(b, y_scale, HONE_F32));
}
