/* Unsqueeze: new axes of extent 1, at positions of the result. */
#include "ops/op.h"

static void lower_unsqueeze(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  int count, given;
  const hone_dim_t* listed = hone_op_list(l, "axes", 1, &given);
  if (!listed) {
    if (hone_builder_ok(l->b)) hone_op_fail(l, "no axes are given");
    return;
  }
  int rank = hone_rank(x) + given;
  if (rank > HONE_MAX_RANK) {
    hone_fail(l->b, HONE_UNSUPPORTED, "%d axes; hone allows %d", rank, HONE_MAX_RANK);
    return;
  }
  const int64_t* axes = hone_op_axes(l, "axes", 1, rank, &count);
  if (!axes) return;
  hone_dim_t shape[HONE_MAX_RANK];
  uint32_t fresh = 0;
  for (int i = 0; i < count; i++) fresh |= 1u << axes[i];
  for (int i = 0, k = 0; i < rank; i++)
    shape[i] = fresh & (1u << i) ? hone_d(1) : x->type.dims[k++];
  hone_op_out(l, 0, hone_reshape(l->b, x, rank, shape));
}

static const hone_op_t ops[] = {
    {.name = "Unsqueeze",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 2,
     .attrs = "axes",
     .lower = lower_unsqueeze},
};
HONE_OP_FAMILY(unsqueeze, ops)
