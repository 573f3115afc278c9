/* Twiddle factors exp(∓2πi n k / N). The product n k is reduced modulo N in
 * integers, so large ones cost no accuracy. */
#include "ops/common/fourier.h"

static const double two_pi = 6.283185307179586476925286766559;

static hone_dim_t half(hone_builder_t* b, hone_dim_t length) {
  return hone_d_add(b, hone_d_floordiv(b, length, hone_d(2)), hone_d(1));
}

hone_dim_t hone_fourier_inputs(hone_builder_t* b, const hone_fourier_t* f) {
  return f->inverse && f->onesided ? half(b, f->length) : f->length;
}

static hone_dim_t outputs(hone_builder_t* b, const hone_fourier_t* f) {
  return !f->inverse && f->onesided ? half(b, f->length) : f->length;
}

/* 2π (n k mod N) / N: [inputs, outputs]. */
static hone_value_t* angles(hone_builder_t* b, const hone_fourier_t* f) {
  hone_dim_t shape[2] = {hone_fourier_inputs(b, f), outputs(b, f)};
  hone_value_t* product =
      hone_mul(b, hone_iota(b, HONE_I64, 2, shape, 0), hone_iota(b, HONE_I64, 2, shape, 1));
  hone_value_t* turn = hone_rem(b, product, hone_dim_scalar(b, HONE_I64, f->length));
  hone_value_t* part =
      hone_div(b, hone_cast(b, turn, HONE_F64), hone_dim_scalar(b, HONE_F64, f->length));
  return hone_mul_number(b, part, two_pi);
}

/* How often each input of a one-sided inverse stands for itself and its mirror
 * image: once at both ends, else twice. [inputs, 1] */
static hone_value_t* mirror_weights(hone_builder_t* b, const hone_fourier_t* f) {
  hone_dim_t shape[2] = {hone_fourier_inputs(b, f), hone_d(1)};
  hone_value_t* k = hone_iota(b, HONE_I64, 2, shape, 0);
  hone_value_t* twice = hone_mul_number(b, k, 2);
  hone_value_t* last = hone_eq(b, twice, hone_dim_scalar(b, HONE_I64, f->length));
  hone_value_t* edge = hone_or(b, hone_eq_number(b, k, 0), last);
  return hone_select(b, edge, hone_scalar(b, HONE_F64, 1), hone_scalar(b, HONE_F64, 2));
}

/* Joins along a new axis. */
static hone_value_t* stack(hone_builder_t* b, hone_value_t* x, hone_value_t* y, int axis) {
  hone_value_t* parts[2] = {hone_unsqueeze(b, x, axis), hone_unsqueeze(b, y, axis)};
  return hone_concat(b, 2, parts, axis);
}

/* [inputs, parts of an input, outputs, parts of an output] */
static hone_value_t* factors(hone_builder_t* b, const hone_fourier_t* f) {
  hone_value_t* angle = angles(b, f);
  hone_value_t *c = hone_unary(b, HONE_PRIM_COS, angle), *s = hone_unary(b, HONE_PRIM_SIN, angle);
  if (f->inverse) {
    hone_value_t* share = hone_reciprocal(b, hone_dim_scalar(b, HONE_F64, f->length));
    if (f->onesided) share = hone_mul(b, share, mirror_weights(b, f));
    c = hone_mul(b, c, share);
    s = hone_mul(b, hone_neg(b, s), share);
  }
  bool real_result = f->inverse && f->onesided;
  hone_value_t* of_real = real_result ? hone_unsqueeze(b, c, -1) : stack(b, c, hone_neg(b, s), -1);
  if (f->parts == 1) return hone_unsqueeze(b, of_real, 1);
  hone_value_t* of_imaginary = real_result ? hone_unsqueeze(b, s, -1) : stack(b, s, c, -1);
  return stack(b, of_real, of_imaginary, 1);
}

hone_value_t* hone_fourier_apply(hone_builder_t* b, const hone_fourier_t* f, hone_value_t* x,
                                 int axis, int parts_axis) {
  if (!hone_is_known(b, x)) return NULL;
  hone_dtype_t dtype = hone_dtype_of(x);
  const int64_t pairs[2][2] = {{axis, 0}, {parts_axis, 1}};
  return hone_contract(b, x, hone_cast(b, factors(b, f), dtype), 2, pairs, 0, dtype);
}
