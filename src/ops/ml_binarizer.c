/* Binarizer (ai.onnx.ml): 1 where x is above the threshold, else 0. */
#include "ops/common/ml.h"

static void lower_binarizer(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  double threshold = hone_attr_float(l->node, "threshold", 0);
  hone_value_t* wide = hone_dtype_is_float(hone_dtype_of(x)) ? x : hone_cast(b, x, HONE_F64);
  hone_op_out(l, 0, hone_cast(b, hone_gt_number(b, wide, threshold), hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "Binarizer",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "threshold",
     .lower = lower_binarizer},
};
HONE_OP_FAMILY(ml_binarizer, ops)
