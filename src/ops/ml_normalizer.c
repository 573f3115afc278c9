/* Normalizer (ai.onnx.ml): each row divided by its largest element, its sum
 * of absolute values or its length; rows where that is zero stay. */
#include <string.h>

#include "ops/common/ml.h"

static hone_value_t* row_norm(hone_lower_t* l, hone_value_t* x) {
  hone_builder_t* b = l->b;
  const char* norm = hone_attr_string(l->node, "norm", "MAX");
  if (strcmp(norm, "MAX") == 0) return hone_reduce_last(b, HONE_COMBINE_MAX, x, 1, true);
  if (strcmp(norm, "L1") == 0)
    return hone_reduce_last(b, HONE_COMBINE_ADD, hone_abs(b, x), 1, true);
  if (strcmp(norm, "L2") == 0)
    return hone_sqrt(b, hone_reduce_last(b, HONE_COMBINE_ADD, hone_square(b, x), 1, true));
  hone_op_fail(l, "norm '%s' is unknown; it is MAX, L1 or L2", norm);
  return NULL;
}

static void lower_normalizer(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* given = hone_op_in(l, 0);
  hone_value_t* x = hone_ml_rows(l, given, HONE_F32);
  hone_value_t* norm = row_norm(l, x);
  if (!norm) return;
  norm = hone_select(b, hone_eq_number(b, norm, 0), hone_scalar(b, HONE_F32, 1), norm);
  hone_op_out(l, 0, hone_reshape_like(b, hone_div(b, x, norm), given));
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "Normalizer",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "norm",
     .lower = lower_normalizer},
};
HONE_OP_FAMILY(ml_normalizer, ops)
