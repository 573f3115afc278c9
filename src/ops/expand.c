/* Expand: broadcast against a shape; an extent of 1 there keeps the input's. */
#include "ops/op.h"

static void lower_expand(hone_lower_t* l) {
  int count;
  const hone_dim_t* shape = hone_op_known_dims(l, 1, &count);
  if (!shape) return;
  hone_value_t* both[2] = {hone_op_in(l, 0), hone_full(l->b, HONE_BOOL, 0, count, shape)};
  hone_broadcast(l->b, 2, both);
  hone_op_out(l, 0, both[0]);
}

static const hone_op_t ops[] = {
    {.name = "Expand",
     .min_opset = 8,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "",
     .lower = lower_expand},
};
HONE_OP_FAMILY(expand, ops)
