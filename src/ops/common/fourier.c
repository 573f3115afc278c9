/* Twiddle factors exp(∓2πi n k / N). The product n k is reduced modulo N in
 * integers, so large ones cost no accuracy.
 *
 * A table has N^2 entries; long transforms are split (Cooley and Tukey, 1965)
 * into transforms of N1 and N2 where N = N1 N2: with n = N2 n1 + n2 and
 * k = k1 + N1 k2 the inner sums over n1 are transforms of length N1, whose
 * results turn by n2 k1 / N and enter transforms of length N2. */
#include "ops/common/fourier.h"

enum { MAX_TABLE_LENGTH = 1024 };

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

/* 2π (n k mod N) / N for n, k in a table of `shape`. */
static hone_value_t* angles(hone_builder_t* b, const hone_dim_t* shape, hone_dim_t length) {
  hone_value_t* product =
      hone_mul(b, hone_iota(b, HONE_I64, 2, shape, 0), hone_iota(b, HONE_I64, 2, shape, 1));
  hone_value_t* turn = hone_rem(b, product, hone_dim_scalar(b, HONE_I64, length));
  hone_value_t* part =
      hone_div(b, hone_cast(b, turn, HONE_F64), hone_dim_scalar(b, HONE_F64, length));
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
  hone_dim_t shape[2] = {hone_fourier_inputs(b, f), outputs(b, f)};
  hone_value_t* angle = angles(b, shape, f->length);
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

static hone_value_t* by_table(hone_builder_t* b, const hone_fourier_t* f, hone_value_t* x, int axis,
                              int parts_axis) {
  if (!hone_is_known(b, x)) return NULL;
  hone_dtype_t dtype = hone_dtype_of(x);
  const int64_t pairs[2][2] = {{axis, 0}, {parts_axis, 1}};
  return hone_contract(b, x, hone_cast(b, factors(b, f), dtype), 2, pairs, 0, dtype);
}

/* ---- long transforms ---- */

/* The larger divisor of the pair nearest to a square; 0: take the table. */
static int64_t divisor(const hone_fourier_t* f) {
  if (!hone_dim_is_int(f->length) || f->length.k <= MAX_TABLE_LENGTH || f->length.k > INT32_MAX)
    return 0;
  int64_t best = 0;
  for (int64_t d = 2; d * d <= f->length.k; d++)
    if (f->length.k % d == 0) best = f->length.k / d;
  return best;
}

/* Multiplies x [..., n2, k1, 2] by the factors that join the two steps. */
static hone_value_t* turn(hone_builder_t* b, const hone_fourier_t* f, hone_value_t* x) {
  if (!hone_is_known(b, x)) return NULL;
  hone_dtype_t dtype = hone_dtype_of(x);
  hone_dim_t shape[2] = {hone_dim(x, -3), hone_dim(x, -2)};
  hone_value_t* angle = angles(b, shape, f->length);
  hone_value_t* c = hone_cast(b, hone_unary(b, HONE_PRIM_COS, angle), dtype);
  hone_value_t* s = hone_cast(b, hone_unary(b, HONE_PRIM_SIN, angle), dtype);
  if (!f->inverse) s = hone_neg(b, s);
  hone_value_t *re = hone_pick(b, x, -1, hone_d(0)), *im = hone_pick(b, x, -1, hone_d(1));
  return stack(b, hone_sub(b, hone_mul(b, re, c), hone_mul(b, im, s)),
               hone_add(b, hone_mul(b, re, s), hone_mul(b, im, c)), -1);
}

/* The two-sided transform of x [..., N, parts] in two steps: [..., N, 2]. */
static hone_value_t* in_steps(hone_builder_t* b, const hone_fourier_t* f, hone_value_t* x,
                              int64_t n1) {
  if (!hone_is_known(b, x)) return NULL;
  int rank = hone_rank(x), at = rank - 2;
  hone_dim_t shape[HONE_MAX_RANK], n2 = hone_d(f->length.k / n1);
  if (rank >= HONE_MAX_RANK) return hone_fail(b, HONE_UNSUPPORTED, "more than 16 axes");
  for (int i = 0; i < at; i++) shape[i] = hone_dim(x, i);
  shape[at] = hone_d(n1);
  shape[at + 1] = n2;
  shape[at + 2] = hone_d(f->parts);
  hone_fourier_t first = {.length = hone_d(n1), .parts = f->parts, .inverse = f->inverse};
  hone_fourier_t second = {.length = n2, .parts = 2, .inverse = f->inverse};
  hone_value_t* y = hone_fourier_apply(b, &first, hone_reshape(b, x, rank + 1, shape), at, at + 2);
  y = hone_fourier_apply(b, &second, turn(b, f, y), at, at + 2);
  shape[at] = f->length;
  shape[at + 1] = hone_d(2);
  return hone_reshape(b, hone_move_axis(b, y, at + 1, at), rank, shape);
}

/* A one-sided spectrum [..., N / 2 + 1, parts] with the mirror image behind it. */
static hone_value_t* two_sided(hone_builder_t* b, const hone_fourier_t* f, hone_value_t* x) {
  hone_dim_t missing = hone_d_sub(b, f->length, half(b, f->length)), one = hone_d(1);
  hone_value_t* mirror = hone_slice_axis(b, x, -2, one, hone_d_add(b, missing, one));
  mirror = hone_flip(b, mirror, -2);
  if (f->parts == 2) {
    hone_value_t* im = hone_neg(b, hone_pick(b, mirror, -1, one));
    mirror = stack(b, hone_pick(b, mirror, -1, hone_d(0)), im, -1);
  }
  return hone_concat(b, 2, (hone_value_t*[]){x, mirror}, -2);
}

hone_value_t* hone_fourier_apply(hone_builder_t* b, const hone_fourier_t* f, hone_value_t* x,
                                 int axis, int parts_axis) {
  int64_t n1 = divisor(f);
  if (!hone_dim_is_int(f->length) && hone_dim_max_value(f->length) > MAX_TABLE_LENGTH)
    return hone_defer(b, "the length of a transform, which may be long, is not known");
  if (!n1) return by_table(b, f, x, axis, parts_axis);
  x = hone_move_axis(b, x, axis, -1);
  x = hone_move_axis(b, x, parts_axis > axis ? parts_axis - 1 : parts_axis, -1);
  if (f->inverse && f->onesided) x = two_sided(b, f, x);
  hone_value_t* y = in_steps(b, f, x, n1);
  if (!f->onesided) return y;
  if (f->inverse) return hone_slice_axis(b, y, -1, hone_d(0), hone_d(1));
  return hone_slice_axis(b, y, -2, hone_d(0), half(b, f->length));
}
