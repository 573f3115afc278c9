/* Where: condition ? x : y. */
#include "ops/op.h"

static void lower_where(hone_lower_t* l) {
  hone_op_out(l, 0, hone_select(l->b, hone_op_in(l, 0), hone_op_in(l, 1), hone_op_in(l, 2)));
}

static const hone_op_t ops[] = {
    {.name = "Where",
     .min_opset = 9,
     .min_inputs = 3,
     .max_inputs = 3,
     .attrs = "",
     .lower = lower_where},
};
HONE_OP_FAMILY(where, ops)
