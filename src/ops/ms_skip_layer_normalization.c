/* SkipLayerNormalization and SkipSimplifiedLayerNormalization (com.microsoft):
 * the rows of input + skip + bias, normalized; the sum is given out too. */
#include "ops/common/formulas.h"
#include "ops/common/ms.h"

static void lower_skip(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  bool simplified = l->op->data != 0;
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t* beta = simplified ? NULL : hone_op_in(l, 3);
  hone_value_t* bias = hone_op_in(l, simplified ? 3 : 4);
  hone_value_t* sum = hone_add(b, hone_widen(b, x), hone_widen(b, hone_op_in(l, 1)));
  if (bias) sum = hone_add(b, sum, hone_widen(b, bias));
  double epsilon = hone_attr_float(l->node, "epsilon", (double)1e-12f);
  hone_ms_norm_t norm = hone_ms_normalize(b, sum, hone_op_in(l, 2), beta, epsilon, simplified);
  if (!norm.y) return;
  if (!norm.mean) norm.mean = hone_mul_number(b, norm.inverse, 0);
  hone_op_out(l, 0, hone_cast(b, norm.y, hone_dtype_of(x)));
  hone_op_out(l, 1, hone_cast(b, norm.mean, HONE_F32));
  hone_op_out(l, 2, hone_cast(b, norm.inverse, HONE_F32));
  hone_op_out(l, 3, hone_cast(b, sum, hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "SkipLayerNormalization",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = 5,
     .attrs = "epsilon",
     .lower = lower_skip},
    {.domain = HONE_MS_DOMAIN,
     .name = "SkipSimplifiedLayerNormalization",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = 4,
     .attrs = "epsilon",
     .data = 1,
     .lower = lower_skip},
};
HONE_OP_FAMILY(ms_skip_layer_normalization, ops)
