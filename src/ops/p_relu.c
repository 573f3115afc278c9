/* PRelu: x where it is not negative, slope * x where it is. */
#include "ops/common/formulas.h"

/* Before opset 7 a slope of more than one element goes along axis 1. */
static hone_value_t* align_slope(hone_lower_t* l, hone_value_t* slope, hone_value_t* x) {
  if (l->opset >= 7 || hone_rank(slope) != 1 || hone_rank(x) < 2) return slope;
  if (hone_dim_is(hone_dim(slope, 0), 1)) return slope;
  return hone_along_axis(l->b, slope, 1, hone_rank(x));
}

static void lower_p_relu(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *slope = hone_op_in(l, 1);
  hone_value_t* below = hone_mul(b, x, align_slope(l, slope, x));
  hone_op_out(l, 0, hone_select(b, hone_lt_number(b, x, 0), below, x));
}

static const hone_op_t ops[] = {
    {.name = "PRelu",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "consumed_inputs",
     .lower = lower_p_relu},
};
HONE_OP_FAMILY(p_relu, ops)
