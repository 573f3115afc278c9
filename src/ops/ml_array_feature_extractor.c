/* ArrayFeatureExtractor (ai.onnx.ml): picks positions of the last axis. */
#include "ops/common/ml.h"

static void lower_array_feature_extractor(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  if (!hone_is_known(b, x)) return;
  if (hone_rank(x) == 0) {
    hone_op_fail(l, "the input is a scalar; it needs an axis to pick from");
    return;
  }
  if (hone_rank(x) == 1) x = hone_unsqueeze(b, x, 0);
  hone_op_out(l, 0, hone_take(b, x, hone_ravel(b, hone_op_in(l, 1)), -1));
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "ArrayFeatureExtractor",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "",
     .lower = lower_array_feature_extractor},
};
HONE_OP_FAMILY(ml_array_feature_extractor, ops)
