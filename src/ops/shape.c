/* Shape: the extents of axes start … end - 1, both clamped to the rank. */
#include "ops/op.h"

static int clamp_axis(int64_t axis, int rank) {
  if (axis < 0) axis += rank;
  return axis < 0 ? 0 : axis > rank ? rank : (int)axis;
}

static void lower_shape(hone_lower_t* l) {
  const hone_type_t* type = &hone_op_in(l, 0)->type;
  int start = clamp_axis(hone_attr_int(l->node, "start", 0), type->rank);
  int end = clamp_axis(hone_attr_int(l->node, "end", type->rank), type->rank);
  int count = end > start ? end - start : 0;
  hone_op_out(l, 0, hone_dims_value(l->b, count, type->dims + start));
}

static const hone_op_t ops[] = {
    {.name = "Shape",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "start end",
     .lower = lower_shape},
};
HONE_OP_FAMILY(shape, ops)
