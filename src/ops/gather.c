/* Gather: entries of one axis, picked by an integer tensor of any shape. */
#include "ops/op.h"

static void lower_gather(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *index = hone_op_in(l, 1);
  int axis = hone_axis(b, hone_attr_int(l->node, "axis", 0), hone_rank(x));
  if (!hone_builder_ok(b)) return;
  /* One known entry is a slice, which costs nothing. */
  if (hone_rank(index) == 0 && index->content && hone_dim_is_int(index->content[0]) &&
      index->content[0].k >= 0 && hone_dim_is_int(hone_dim(x, axis)) &&
      index->content[0].k < hone_dim(x, axis).k)
    hone_op_out(l, 0, hone_pick(b, x, axis, index->content[0]));
  else
    hone_op_out(l, 0, hone_take(b, x, index, axis));
}

static const hone_op_t ops[] = {
    {.name = "Gather",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "axis",
     .lower = lower_gather},
};
HONE_OP_FAMILY(gather, ops)
