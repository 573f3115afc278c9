/* RMSNormalization: divided by the root of the mean square over the axes from
 * `axis` on, then scaled. Computed in f32 (f64 for f64), at least what
 * `stash_type` asks for. */
#include "ops/common/formulas.h"

static void lower_rms_normalization(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *scale = hone_op_in(l, 1);
  int rank = hone_rank(x), axis = hone_axis(b, hone_attr_int(l->node, "axis", -1), rank);
  int64_t axes[HONE_MAX_RANK];
  for (int i = axis; i < rank; i++) axes[i - axis] = i;
  hone_value_t* wide = hone_widen(b, x);
  hone_value_t* mean = hone_mean(b, hone_square(b, wide), rank - axis, axes, true);
  double epsilon = hone_attr_float(l->node, "epsilon", 1e-5f);
  hone_value_t* y = hone_mul(b, wide, hone_inverse_deviation(b, mean, epsilon));
  y = hone_mul(b, y, hone_cast(b, scale, hone_wide_dtype(hone_dtype_of(x))));
  hone_op_out(l, 0, hone_cast(b, y, hone_dtype_of(scale)));
}

static const hone_op_t ops[] = {
    {.name = "RMSNormalization",
     .min_opset = 23,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "axis epsilon stash_type",
     .lower = lower_rms_normalization},
};
HONE_OP_FAMILY(rms_normalization, ops)
