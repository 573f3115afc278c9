/* FusedMatMul, TransposeMatMul and FusedMatMulActivation (com.microsoft):
 * alpha * A * B, where either may be transposed, and may have its rows (or,
 * transposed, its columns) along axis 0 instead of behind the batches. */
#include <string.h>

#include "ops/common/formulas.h"
#include "ops/common/ms.h"

static hone_value_t* operand(hone_lower_t* l, int index, const char* trans, const char* batch) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, index);
  int rank = hone_rank(x);
  if (rank > 2 && hone_attr_int(l->node, batch, 0)) x = hone_move_axis(b, x, 0, rank - 2);
  return rank > 1 && hone_attr_int(l->node, trans, 0) ? hone_transpose(b, x) : x;
}

static void lower_fused_mat_mul(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_dtype_t dtype = hone_dtype_of(hone_op_in(l, 0));
  hone_value_t* product = hone_matmul(b, operand(l, 0, "transA", "transBatchA"),
                                      operand(l, 1, "transB", "transBatchB"), dtype);
  double alpha = hone_attr_float(l->node, "alpha", 1);
  if (alpha != 1) product = hone_mul_number(b, product, alpha);
  const char* activation = hone_attr_string(l->node, "activation", "");
  if (strcmp(activation, "Softmax") == 0) {
    product = hone_softmax(b, product, (int)hone_attr_int(l->node, "activation_axis", -1));
  } else {
    const double params[2] = {hone_attr_float(l->node, "activation_alpha", 0),
                              hone_attr_float(l->node, "activation_beta", 0)};
    int given = hone_attr_has(l->node, "activation_beta")    ? 2
                : hone_attr_has(l->node, "activation_alpha") ? 1
                                                             : 0;
    product = hone_ms_activate(l, product, activation, given, params);
  }
  hone_op_out(l, 0, product);
}

#define ROW(op_name, names)                                                                        \
  {                                                                                                \
    .domain = HONE_MS_DOMAIN, .name = (op_name), .min_opset = 1, .min_inputs = 2, .max_inputs = 2, \
    .attrs = (names), .lower = lower_fused_mat_mul                                                 \
  }

static const hone_op_t ops[] = {
    ROW("FusedMatMul", "alpha transA transB transBatchA transBatchB"),
    ROW("TransposeMatMul", "alpha transA transB"),
    ROW("SparseToDenseMatMul", "alpha transA transB"), /* sparse constants are dense here */
    ROW("FusedMatMulActivation",
        "activation activation_alpha activation_axis activation_beta activation_gamma alpha "
        "transA transB transBatchA transBatchB"),
};
HONE_OP_FAMILY(ms_fused_mat_mul, ops)
