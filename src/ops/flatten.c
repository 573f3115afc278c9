/* Flatten: two axes, made of those before `axis` and of the rest. */
#include "ops/op.h"

static void lower_flatten(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  int rank = hone_rank(x);
  int64_t axis = hone_attr_int(l->node, "axis", 1);
  if (axis < 0) axis += rank;
  if (rank == 0 && axis == 1) axis = 0;
  if (axis < 0 || axis > rank) {
    hone_op_fail(l, "axis %lld is outside of -%d … %d", (long long)axis, rank, rank);
    return;
  }
  hone_op_out(l, 0, hone_flatten(l->b, x, (int)axis));
}

static const hone_op_t ops[] = {
    {.name = "Flatten",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "axis",
     .lower = lower_flatten},
};
HONE_OP_FAMILY(flatten, ops)
