/* Formulas: functions that several operators share, written so that they keep
 * their accuracy near 0 and do not overflow on the way. Operands are floats
 * (see hone_widen); everything else is as in ir/builder.h. */
#ifndef HONE_OPS_COMMON_FORMULAS_H
#define HONE_OPS_COMMON_FORMULAS_H

#include "ops/op.h"

typedef hone_value_t* (*hone_formula_fn)(hone_builder_t* b, hone_value_t* x);

/* The type that a formula over `dtype` is computed in: f64 stays, narrower
 * floats become f32, 32- and 64-bit integers f64. */
hone_dtype_t hone_wide_dtype(hone_dtype_t dtype);
hone_value_t* hone_widen(hone_builder_t* b, hone_value_t* x);
/* formula(x) computed in the wide type and rounded once to x's own. */
hone_value_t* hone_apply_wide(hone_builder_t* b, hone_formula_fn formula, hone_value_t* x);

/* c - x */
hone_value_t* hone_number_sub(hone_builder_t* b, double c, hone_value_t* x);
/* `magnitude` with the sign of x; zero where x is zero. */
hone_value_t* hone_with_sign(hone_builder_t* b, hone_value_t* x, hone_value_t* magnitude);

hone_value_t* hone_log1p(hone_builder_t* b, hone_value_t* x); /* log(1 + x) */
hone_value_t* hone_expm1(hone_builder_t* b, hone_value_t* x); /* exp(x) - 1 */
/* exp(x) - 1 below 0 and 0 from there on; half the time of the above. */
hone_value_t* hone_expm1_below(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_sinh(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_cosh(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_tan(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_asin(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_acos(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_asinh(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_acosh(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_atanh(hone_builder_t* b, hone_value_t* x);
hone_value_t* hone_softplus(hone_builder_t* b, hone_value_t* x); /* log(1 + exp(x)) */
hone_value_t* hone_mish(hone_builder_t* b, hone_value_t* x);     /* x * tanh(softplus(x)) */
hone_value_t* hone_sign(hone_builder_t* b, hone_value_t* x);     /* any numeric dtype */
hone_value_t* hone_gelu(hone_builder_t* b, hone_value_t* x);     /* by erf */
hone_value_t* hone_gelu_tanh(hone_builder_t* b, hone_value_t* x);
/* alpha * (exp(x) - 1) below 0, else x */
hone_value_t* hone_elu(hone_builder_t* b, hone_value_t* x, double alpha);
/* x * sigmoid(alpha * x) */
hone_value_t* hone_swish(hone_builder_t* b, hone_value_t* x, double alpha);
/* min(1, max(0, alpha * x + beta)) */
hone_value_t* hone_hard_sigmoid(hone_builder_t* b, hone_value_t* x, double alpha, double beta);
/* x - log(sum(exp(x))) along `axis` */
hone_value_t* hone_log_softmax(hone_builder_t* b, hone_value_t* x, int axis);

/* The mean of (x - mean)^2 over `axes`, axes kept; *out_centered, which may be
 * NULL, gets x - mean and *out_mean the mean. */
hone_value_t* hone_variance(hone_builder_t* b, hone_value_t* x, int n_axes, const int64_t* axes,
                            hone_value_t** out_mean, hone_value_t** out_centered);
/* 1 / sqrt(x + epsilon) */
hone_value_t* hone_inverse_deviation(hone_builder_t* b, hone_value_t* variance, double epsilon);
/* A 1-D tensor along `axis` of tensors of rank `rank`: other axes become 1. */
hone_value_t* hone_along_axis(hone_builder_t* b, hone_value_t* x, int axis, int rank);

/* The seed of a random operator: its attribute `seed`, else (*out_seeded is
 * then false) a number that tells this node from others. `salt` tells several
 * draws of one node apart. */
int64_t hone_op_seed(const hone_lower_t* l, int64_t salt, bool* out_seeded);
/* Uniform in [0, 1), f64 for HONE_F64 and f32 for all others, of this node's seed. */
hone_value_t* hone_op_uniform(hone_lower_t* l, hone_dtype_t dtype, int rank,
                              const hone_dim_t* shape, int64_t salt);
/* Attribute `name` as a dtype; an error when it is none. */
hone_dtype_t hone_op_dtype_attr(hone_lower_t* l, const char* name, hone_dtype_t fallback);

#endif
