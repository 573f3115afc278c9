/* SimplifiedLayerNormalization: a contributed operator that onnxruntime keeps
 * in ai.onnx: RMSNormalization, which also gives out 1 / root mean square. */
#include "ops/common/formulas.h"

static void lower_simplified_layer_normalization(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *scale = hone_op_in(l, 1);
  int rank = hone_rank(x), axis = hone_axis(b, hone_attr_int(l->node, "axis", -1), rank);
  int64_t axes[HONE_MAX_RANK];
  for (int i = axis; i < rank; i++) axes[i - axis] = i;
  hone_dtype_t stash = hone_op_dtype_attr(l, "stash_type", HONE_F32);
  hone_value_t* wide = hone_widen(b, x);
  hone_value_t* mean = hone_mean(b, hone_square(b, wide), rank - axis, axes, true);
  double epsilon = hone_attr_float(l->node, "epsilon", 1e-5f);
  hone_value_t* inverse = hone_inverse_deviation(b, mean, epsilon);
  hone_value_t* y = hone_mul(b, wide, inverse);
  y = hone_mul(b, y, hone_cast(b, scale, hone_wide_dtype(hone_dtype_of(x))));
  hone_op_out(l, 0, hone_cast(b, y, hone_dtype_of(scale)));
  hone_op_out(l, 1, hone_cast(b, inverse, stash));
}

static const hone_op_t ops[] = {
    {.name = "SimplifiedLayerNormalization",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "axis epsilon stash_type",
     .lower = lower_simplified_layer_normalization},
    {.domain = "com.microsoft",
     .name = "SimplifiedLayerNormalization",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "axis epsilon stash_type",
     .lower = lower_simplified_layer_normalization},
};
HONE_OP_FAMILY(simplified_layer_normalization, ops)
