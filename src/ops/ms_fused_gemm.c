/* FusedGemm (com.microsoft): Gemm, then an activation function. */
#include "ops/common/ms.h"

static void lower_fused_gemm(hone_lower_t* l) {
  hone_value_t* y = hone_ms_as(l, "Gemm", 13, l->n_inputs, l->inputs);
  const double params[2] = {hone_attr_float(l->node, "activation_alpha", 0),
                            hone_attr_float(l->node, "activation_beta", 0)};
  int given = hone_attr_has(l->node, "activation_beta")    ? 2
              : hone_attr_has(l->node, "activation_alpha") ? 1
                                                           : 0;
  const char* name = hone_attr_string(l->node, "activation", "");
  hone_op_out(l, 0, hone_ms_activate(l, y, name, given, params));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "FusedGemm",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 3,
     .attrs = "activation activation_alpha activation_beta activation_gamma alpha beta transA "
              "transB",
     .lower = lower_fused_gemm},
};
HONE_OP_FAMILY(ms_fused_gemm, ops)
