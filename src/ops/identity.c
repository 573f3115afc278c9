/* Identity: its input, of any type. */
#include "ops/op.h"

static void lower_identity(hone_lower_t* l) { hone_op_out(l, 0, hone_op_in(l, 0)); }

static const hone_op_t ops[] = {
    {.name = "Identity",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "",
     .flags = HONE_OP_ANY_TYPE,
     .lower = lower_identity},
};
HONE_OP_FAMILY(identity, ops)
