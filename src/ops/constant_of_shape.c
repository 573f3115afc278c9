/* ConstantOfShape: one value everywhere; f32 zeros by default. */
#include "ops/op.h"

static void lower_constant_of_shape(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  int rank;
  const hone_dim_t* shape = hone_op_known_dims(l, 0, &rank);
  if (!shape) return;
  const hone_onnx_tensor_t* given = hone_attr_tensor(l->node, "value");
  if (given && given->count != 1) {
    hone_op_fail(l, "value must have one element, not %lld", (long long)given->count);
    return;
  }
  hone_value_t* value = given ? hone_onnx_tensor_constant(b, given) : hone_scalar(b, HONE_F32, 0);
  hone_op_out(l, 0, hone_expand(b, hone_reshape(b, value, 0, NULL), rank, shape));
}

static const hone_op_t ops[] = {
    {.name = "ConstantOfShape",
     .min_opset = 9,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "value",
     .lower = lower_constant_of_shape},
};
HONE_OP_FAMILY(constant_of_shape, ops)
