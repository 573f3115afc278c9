/* Size: how many elements there are. */
#include "ops/op.h"

static void lower_size(hone_lower_t* l) {
  hone_op_out(l, 0, hone_dim_scalar(l->b, HONE_I64, hone_elements(l->b, hone_op_in(l, 0))));
}

static const hone_op_t ops[] = {
    {.name = "Size",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "",
     .lower = lower_size},
};
HONE_OP_FAMILY(size, ops)
