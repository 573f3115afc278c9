/* GatherElements: one element for each index, along an axis. */
#include "ops/op.h"

static void lower_gather_elements(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  int axis = hone_axis(l->b, hone_attr_int(l->node, "axis", 0), hone_rank(x));
  hone_op_out(l, 0, hone_take_along(l->b, x, hone_op_in(l, 1), axis));
}

static const hone_op_t ops[] = {
    {.name = "GatherElements",
     .min_opset = 11,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "axis",
     .lower = lower_gather_elements},
};
HONE_OP_FAMILY(gather_elements, ops)
