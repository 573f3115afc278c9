/* Relu: max(x, 0). */
#include "ops/op.h"

static void lower_relu(hone_lower_t* l) {
  hone_op_out(l, 0, hone_max_number(l->b, hone_op_in(l, 0), 0));
}

static const hone_op_t ops[] = {
    {.name = "Relu",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "consumed_inputs",
     .lower = lower_relu},
};
HONE_OP_FAMILY(relu, ops)
