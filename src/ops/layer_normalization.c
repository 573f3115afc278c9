/* LayerNormalization: over the axes from `axis` on to mean 0 and variance 1,
 * then scaled and shifted. Both stages are computed in f32 (f64 for f64), which
 * is at least what `stash_type` asks for; that also is the type of the
 * statistics that are given out. */
#include "ops/common/formulas.h"

static void lower_layer_normalization(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int rank = hone_rank(x), axis = hone_axis(b, hone_attr_int(l->node, "axis", -1), rank);
  hone_dtype_t stash = hone_op_dtype_attr(l, "stash_type", HONE_F32);
  int64_t axes[HONE_MAX_RANK];
  for (int i = axis; i < rank; i++) axes[i - axis] = i;
  hone_value_t *mean, *centered;
  hone_value_t* variance = hone_variance(b, hone_widen(b, x), rank - axis, axes, &mean, &centered);
  double epsilon = hone_attr_float(l->node, "epsilon", 1e-5f);
  hone_value_t* inverse = hone_inverse_deviation(b, variance, epsilon);
  hone_value_t* y = hone_mul(b, centered, inverse);
  y = hone_mul(b, y, hone_cast(b, hone_op_in(l, 1), hone_wide_dtype(hone_dtype_of(x))));
  if (hone_op_in(l, 2))
    y = hone_add(b, y, hone_cast(b, hone_op_in(l, 2), hone_wide_dtype(hone_dtype_of(x))));
  hone_op_out(l, 0, hone_cast(b, y, hone_dtype_of(x)));
  hone_op_out(l, 1, hone_cast(b, mean, stash));
  hone_op_out(l, 2, hone_cast(b, inverse, stash));
}

/* ONNX has it since opset 17, but ONNX Runtime took it before, and files have it. */
static const hone_op_t ops[] = {
    {.name = "LayerNormalization",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 3,
     .attrs = "axis epsilon stash_type",
     .lower = lower_layer_normalization},
};
HONE_OP_FAMILY(layer_normalization, ops)
