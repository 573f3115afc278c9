/* OneHot: a new axis of `depth`, on at the index and off elsewhere. */
#include "ops/op.h"

static void lower_one_hot(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *index = hone_op_in(l, 0), *values = hone_op_in(l, 2);
  int rank = hone_rank(index) + 1;
  int axis = hone_axis(b, hone_attr_int(l->node, "axis", -1), rank);
  if (hone_rank(values) != 1) hone_op_fail(l, "values must be the list [off, on]");
  hone_value_t* size = hone_reshape(b, hone_cast(b, hone_op_in(l, 1), HONE_I64), 0, NULL);
  hone_dim_t depth = hone_d_scalar(b, size, 0, INT32_MAX);
  index = hone_cast(b, index, HONE_I64);
  if (l->opset >= 11) index = hone_wrap_index(b, index, depth); /* negative ones were off before */
  index = hone_unsqueeze(b, index, axis);
  if (!index) return;
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0; i < rank; i++) shape[i] = i == axis ? depth : hone_dim(index, i);
  hone_value_t* hit = hone_eq(b, index, hone_iota(b, HONE_I64, rank, shape, axis));
  hone_value_t* off = hone_pick(b, values, 0, hone_d(0));
  hone_op_out(l, 0, hone_select(b, hit, hone_pick(b, values, 0, hone_d(1)), off));
}

static const hone_op_t ops[] = {
    {.name = "OneHot",
     .min_opset = 9,
     .min_inputs = 3,
     .max_inputs = 3,
     .attrs = "axis",
     .lower = lower_one_hot},
};
HONE_OP_FAMILY(one_hot, ops)
