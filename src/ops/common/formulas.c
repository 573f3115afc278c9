/* Formulas over real numbers. */
#include "ops/common/formulas.h"

/* Above this, x + 1 and sqrt(x * x + 1) are x in every type. */
static const double LARGE = 1e18;
static const double LN_2 = 0.69314718055994530942;
static const double SQRT_HALF = 0.70710678118654752440;
static const double SQRT_2_OVER_PI = 0.79788456080286535588;

hone_dtype_t hone_wide_dtype(hone_dtype_t dtype) {
  if (dtype == HONE_F64 || hone_dtype_is_complex(dtype)) return dtype;
  if (hone_dtype_is_float(dtype)) return HONE_F32;
  return hone_dtype_bits(dtype) > 16 ? HONE_F64 : HONE_F32;
}

hone_value_t* hone_widen(hone_builder_t* b, hone_value_t* x) {
  return x ? hone_cast(b, x, hone_wide_dtype(hone_dtype_of(x))) : NULL;
}

hone_value_t* hone_apply_wide(hone_builder_t* b, hone_formula_fn formula, hone_value_t* x) {
  return x ? hone_cast(b, formula(b, hone_widen(b, x)), hone_dtype_of(x)) : NULL;
}

hone_value_t* hone_number_sub(hone_builder_t* b, double c, hone_value_t* x) {
  return x ? hone_sub(b, hone_scalar(b, hone_dtype_of(x), c), x) : NULL;
}

hone_value_t* hone_with_sign(hone_builder_t* b, hone_value_t* x, hone_value_t* magnitude) {
  hone_value_t* other = hone_select(b, hone_eq_number(b, x, 0), x, magnitude);
  return hone_select(b, hone_lt_number(b, x, 0), hone_neg(b, magnitude), other);
}

/* The rounding error of u = 1 + x cancels in log(u) * x / (u - 1). Where u is
 * x (large, or infinite) log(u) alone is right, and where u is 1, x. */
hone_value_t* hone_log1p(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* u = hone_add_number(b, x, 1);
  hone_value_t* log_u = hone_log(b, u);
  hone_value_t* ratio = hone_div(b, x, hone_add_number(b, u, -1));
  hone_value_t* y = hone_select(b, hone_eq(b, u, x), log_u, hone_mul(b, log_u, ratio));
  return hone_select(b, hone_eq_number(b, u, 1), x, y);
}

/* 2 t / (1 - t) with t = tanh(x / 2): no cancellation for x below 1/2. */
static hone_value_t* expm1_by_tanh(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* t = hone_tanh(b, hone_mul_number(b, x, 0.5));
  return hone_div(b, hone_mul_number(b, t, 2), hone_number_sub(b, 1, t));
}

hone_value_t* hone_expm1_below(hone_builder_t* b, hone_value_t* x) {
  return expm1_by_tanh(b, hone_min_number(b, x, 0));
}

hone_value_t* hone_expm1(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* small = expm1_by_tanh(b, x);
  hone_value_t* large = hone_add_number(b, hone_exp(b, x), -1);
  return hone_select(b, hone_lt_number(b, x, 0.5), small, large);
}

hone_value_t* hone_elu(hone_builder_t* b, hone_value_t* x, double alpha) {
  hone_value_t* below = hone_mul_number(b, hone_expm1_below(b, x), alpha);
  return hone_select(b, hone_lt_number(b, x, 0), below, x);
}

/* exp(|x|) / 2 without overflow before the result does. */
static hone_value_t* half_exp(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* root = hone_exp(b, hone_mul_number(b, hone_abs(b, x), 0.5));
  return hone_mul(b, hone_mul_number(b, root, 0.5), root);
}

static hone_value_t* quarter_over(hone_builder_t* b, hone_value_t* x) {
  return x ? hone_div(b, hone_scalar(b, hone_dtype_of(x), 0.25), x) : NULL;
}

/* 2 t / (1 - t^2) with t = tanh(x / 2) near 0. */
hone_value_t* hone_sinh(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* t = hone_tanh(b, hone_mul_number(b, x, 0.5));
  hone_value_t* small =
      hone_div(b, hone_mul_number(b, t, 2), hone_number_sub(b, 1, hone_square(b, t)));
  hone_value_t* half = half_exp(b, x);
  hone_value_t* large = hone_with_sign(b, x, hone_sub(b, half, quarter_over(b, half)));
  return hone_select(b, hone_lt_number(b, hone_abs(b, x), 1), small, large);
}

hone_value_t* hone_cosh(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* half = half_exp(b, x);
  return hone_add(b, half, quarter_over(b, half));
}

hone_value_t* hone_tan(hone_builder_t* b, hone_value_t* x) {
  return hone_div(b, hone_unary(b, HONE_PRIM_SIN, x), hone_unary(b, HONE_PRIM_COS, x));
}

/* The factors 1 - x and 1 + x are exact near the ends, x * x would not be. */
hone_value_t* hone_asin(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* product = hone_mul(b, hone_number_sub(b, 1, x), hone_add_number(b, x, 1));
  return hone_unary(b, HONE_PRIM_ATAN, hone_div(b, x, hone_sqrt(b, product)));
}

hone_value_t* hone_acos(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* ratio = hone_div(b, hone_number_sub(b, 1, x), hone_add_number(b, x, 1));
  return hone_mul_number(b, hone_unary(b, HONE_PRIM_ATAN, hone_sqrt(b, ratio)), 2);
}

/* `small`, but log(2 x) where x is so large that `small` would overflow. */
static hone_value_t* unless_large(hone_builder_t* b, hone_value_t* x, hone_value_t* small) {
  hone_value_t* log_2x = hone_add_number(b, hone_log(b, x), LN_2);
  return hone_select(b, hone_gt_number(b, x, LARGE), log_2x, small);
}

hone_value_t* hone_asinh(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* a = hone_abs(b, x);
  hone_value_t* root = hone_sqrt(b, hone_add_number(b, hone_square(b, a), 1));
  hone_value_t* part = hone_mul(b, a, hone_div(b, a, hone_add_number(b, root, 1)));
  return hone_with_sign(b, x, unless_large(b, a, hone_log1p(b, hone_add(b, a, part))));
}

hone_value_t* hone_acosh(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* t = hone_add_number(b, x, -1);
  hone_value_t* root = hone_mul(b, hone_sqrt(b, t), hone_sqrt(b, hone_add_number(b, t, 2)));
  return unless_large(b, x, hone_log1p(b, hone_add(b, t, root)));
}

hone_value_t* hone_atanh(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* a = hone_abs(b, x);
  hone_value_t* ratio = hone_div(b, hone_mul_number(b, a, 2), hone_number_sub(b, 1, a));
  return hone_with_sign(b, x, hone_mul_number(b, hone_log1p(b, ratio), 0.5));
}

/* log(1 + x) for x of 0 to 1: 2 atanh(s) with s = x / (2 + x), which is at most
 * 1/3. The polynomial in s^2 is within 4e-9 of it (minimax of the relative error). */
static hone_value_t* log1p_of_fraction(hone_builder_t* b, hone_value_t* x) {
  static const double coefficients[] = {0.400249102795, 0.666663146821, 2};
  if (hone_wide_dtype(hone_dtype_of(x)) == HONE_F64) return hone_log1p(b, x);
  hone_value_t* s = hone_div(b, x, hone_add_number(b, x, 2));
  hone_value_t* square = hone_square(b, s);
  hone_value_t* y = hone_add_number(b, hone_mul_number(b, square, 0.281783350867), 0.279606027472);
  for (int i = 0; i < 3; i++) y = hone_add_number(b, hone_mul(b, y, square), coefficients[i]);
  return hone_mul(b, y, s);
}

hone_value_t* hone_softplus(hone_builder_t* b, hone_value_t* x) {
  if (!x) return NULL;
  hone_value_t* tail = log1p_of_fraction(b, hone_exp(b, hone_neg(b, hone_abs(b, x))));
  return hone_add(b, hone_max_number(b, x, 0), tail);
}

/* tanh(log(1 + e)) = (e^2 + 2 e) / (e^2 + 2 e + 2) with e = exp(x), which is 1 in
 * every type long before e^2 overflows. */
hone_value_t* hone_mish(hone_builder_t* b, hone_value_t* x) {
  static const double ONE_FROM = 20;
  hone_value_t* e = hone_exp(b, hone_min_number(b, x, ONE_FROM));
  hone_value_t* n = hone_mul(b, e, hone_add_number(b, e, 2));
  return hone_mul(b, x, hone_div(b, n, hone_add_number(b, n, 2)));
}

hone_value_t* hone_sign(hone_builder_t* b, hone_value_t* x) {
  if (!x) return NULL;
  hone_dtype_t dtype = hone_dtype_of(x);
  hone_value_t* positive = hone_select(b, hone_gt_number(b, x, 0), hone_scalar(b, dtype, 1), x);
  if (hone_dtype_is_unsigned(dtype)) return positive;
  return hone_select(b, hone_lt_number(b, x, 0), hone_scalar(b, dtype, -1), positive);
}

hone_value_t* hone_gelu(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* erf = hone_unary(b, HONE_PRIM_ERF, hone_mul_number(b, x, SQRT_HALF));
  return hone_mul(b, hone_mul_number(b, x, 0.5), hone_add_number(b, erf, 1));
}

hone_value_t* hone_gelu_tanh(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* cube = hone_mul(b, hone_square(b, x), x);
  hone_value_t* inner = hone_add(b, x, hone_mul_number(b, cube, 0.044715));
  hone_value_t* t = hone_tanh(b, hone_mul_number(b, inner, SQRT_2_OVER_PI));
  return hone_mul(b, hone_mul_number(b, x, 0.5), hone_add_number(b, t, 1));
}

hone_value_t* hone_swish(hone_builder_t* b, hone_value_t* x, double alpha) {
  return hone_mul(b, x, hone_sigmoid(b, alpha == 1 ? x : hone_mul_number(b, x, alpha)));
}

hone_value_t* hone_hard_sigmoid(hone_builder_t* b, hone_value_t* x, double alpha, double beta) {
  hone_value_t* line = hone_add_number(b, hone_mul_number(b, x, alpha), beta);
  return hone_max_number(b, hone_min_number(b, line, 1), 0);
}

hone_value_t* hone_log_softmax(hone_builder_t* b, hone_value_t* x, int axis) {
  int64_t axes[1] = {axis};
  hone_value_t* top = hone_reduce(b, HONE_COMBINE_MAX, x, 1, axes, true);
  hone_value_t* centered = hone_sub(b, x, top);
  hone_value_t* sum = hone_reduce(b, HONE_COMBINE_ADD, hone_exp(b, centered), 1, axes, true);
  return hone_sub(b, centered, hone_log(b, sum));
}

hone_value_t* hone_variance(hone_builder_t* b, hone_value_t* x, int n_axes, const int64_t* axes,
                            hone_value_t** out_mean, hone_value_t** out_centered) {
  hone_value_t* mean = hone_mean(b, x, n_axes, axes, true);
  hone_value_t* centered = hone_sub(b, x, mean);
  if (out_mean) *out_mean = mean;
  if (out_centered) *out_centered = centered;
  return hone_mean(b, hone_square(b, centered), n_axes, axes, true);
}

hone_value_t* hone_inverse_deviation(hone_builder_t* b, hone_value_t* variance, double epsilon) {
  return hone_reciprocal(b, hone_sqrt(b, hone_add_number(b, variance, epsilon)));
}

hone_value_t* hone_along_axis(hone_builder_t* b, hone_value_t* x, int axis, int rank) {
  if (!hone_is_known(b, x)) return NULL;
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0; i < rank; i++) shape[i] = i == axis ? hone_elements(b, x) : hone_d(1);
  return hone_reshape(b, x, rank, shape);
}
