/* InstanceNormalization: each channel of each sample to mean 0 and variance 1,
 * then scaled and shifted by channel. */
#include "ops/common/formulas.h"

static void lower_instance_normalization(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t *wide = hone_widen(b, x), *centered;
  if (!wide || hone_rank(x) < 2) {
    hone_op_fail(l, "the input has rank %d; it must be at least 2", hone_rank(x));
    return;
  }
  int64_t axes[HONE_MAX_RANK];
  int n_axes = 0, rank = hone_rank(x);
  for (int i = 2; i < rank; i++) axes[n_axes++] = i;
  hone_value_t* variance = hone_variance(b, wide, n_axes, axes, NULL, &centered);
  double epsilon = hone_attr_float(l->node, "epsilon", 1e-5f);
  hone_value_t* scale = hone_along_axis(b, hone_widen(b, hone_op_in(l, 1)), 1, rank);
  hone_value_t* bias = hone_along_axis(b, hone_widen(b, hone_op_in(l, 2)), 1, rank);
  hone_value_t* factor = hone_mul(b, scale, hone_inverse_deviation(b, variance, epsilon));
  hone_value_t* y = hone_add(b, hone_mul(b, centered, factor), bias);
  hone_op_out(l, 0, hone_cast(b, y, hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.name = "InstanceNormalization",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = 3,
     .attrs = "epsilon consumed_inputs",
     .lower = lower_instance_normalization},
};
HONE_OP_FAMILY(instance_normalization, ops)
