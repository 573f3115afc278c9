/* Broadcasting of the first opsets. */
#ifndef HONE_OPS_COMMON_BROADCAST_H
#define HONE_OPS_COMMON_BROADCAST_H

#include "ops/op.h"

/* The second operand of a binary operator, so shaped that NumPy's broadcasting
 * does what the node asks for: before opset 7 the attributes `broadcast` and
 * `axis` line its axes up with those of `x` from `axis` on. */
hone_value_t* hone_op_broadcast_operand(hone_lower_t* l, hone_value_t* x, hone_value_t* y);

#endif
