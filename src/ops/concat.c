/* Concat: the inputs one after the other along an axis. */
#include "ops/op.h"

static void lower_concat(hone_lower_t* l) {
  if (l->opset >= 4 && !hone_attr_has(l->node, "axis")) {
    hone_op_fail(l, "attribute 'axis' is missing");
    return;
  }
  hone_value_t* first = hone_op_in(l, 0);
  int axis = hone_axis(l->b, hone_attr_int(l->node, "axis", 1), hone_rank(first));
  hone_op_out(l, 0, hone_concat(l->b, l->n_inputs, l->inputs, axis));
}

static const hone_op_t ops[] = {
    {.name = "Concat",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = -1,
     .attrs = "axis",
     .lower = lower_concat},
};
HONE_OP_FAMILY(concat, ops)
