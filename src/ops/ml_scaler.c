/* Scaler (ai.onnx.ml): (x - offset) * scale, by column or the same everywhere. */
#include "ops/common/ml.h"

static void lower_scaler(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_dtype_t dtype = hone_dtype_of(x) == HONE_F64 ? HONE_F64 : HONE_F32;
  x = hone_cast(b, x, dtype);
  int n_offset, n_scale;
  hone_attr_floats(l->node, "offset", &n_offset);
  hone_attr_floats(l->node, "scale", &n_scale);
  if (n_offset) x = hone_sub(b, x, hone_cast(b, hone_ml_floats(l, "offset", n_offset), dtype));
  if (n_scale) x = hone_mul(b, x, hone_cast(b, hone_ml_floats(l, "scale", n_scale), dtype));
  hone_op_out(l, 0, hone_cast(b, x, HONE_F32));
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "Scaler",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "offset scale",
     .lower = lower_scaler},
};
HONE_OP_FAMILY(ml_scaler, ops)
