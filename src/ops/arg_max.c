/* ArgMax and ArgMin: where the extreme along an axis is. `data` 1: the smallest. */
#include "ops/op.h"

static void lower_arg_max(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  bool keep_dims = hone_attr_int(l->node, "keepdims", 1) != 0;
  bool last = hone_attr_int(l->node, "select_last_index", 0) != 0;
  int axis = hone_axis(l->b, hone_attr_int(l->node, "axis", 0), hone_rank(x));
  hone_op_out(l, 0, hone_arg_max(l->b, x, axis, l->op->data == 1, last, keep_dims));
}

static const hone_op_t ops[] = {
    {.name = "ArgMax",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "axis keepdims select_last_index",
     .lower = lower_arg_max},
    {.name = "ArgMin",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "axis keepdims select_last_index",
     .data = 1,
     .lower = lower_arg_max},
};
HONE_OP_FAMILY(arg_max, ops)
