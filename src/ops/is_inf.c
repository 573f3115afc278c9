/* IsInf: whether a number is infinite; each sign can be left out. */
#include <math.h>

#include "ops/op.h"

static void lower_is_inf(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  bool negative = hone_attr_int(l->node, "detect_negative", 1) != 0;
  bool positive = hone_attr_int(l->node, "detect_positive", 1) != 0;
  hone_value_t* above = hone_eq_number(b, x, (double)INFINITY);
  hone_value_t* below = hone_eq_number(b, x, -(double)INFINITY);
  if (negative && positive)
    hone_op_out(l, 0, hone_or(b, above, below));
  else if (negative || positive)
    hone_op_out(l, 0, positive ? above : below);
  else
    hone_op_out(l, 0, hone_full(b, HONE_BOOL, 0, hone_rank(x), x->type.dims));
}

static const hone_op_t ops[] = {
    {.name = "IsInf",
     .min_opset = 10,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "detect_negative detect_positive",
     .lower = lower_is_inf},
};
HONE_OP_FAMILY(is_inf, ops)
