/* Transpose: axis perm[i] becomes axis i; without perm the order is reversed. */
#include "ops/op.h"

static void lower_transpose(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  int rank = hone_rank(x), count;
  const int64_t* perm = hone_op_axes(l, "perm", -1, rank, &count);
  int64_t axes[HONE_MAX_RANK];
  for (int i = 0; i < rank; i++) axes[i] = perm && i < count ? perm[i] : rank - 1 - i;
  if (perm && count != rank) {
    hone_op_fail(l, "perm has %d entries, the input %d axes", count, rank);
    return;
  }
  hone_op_out(l, 0, hone_permute(l->b, x, axes));
}

static const hone_op_t ops[] = {
    {.name = "Transpose",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "perm",
     .lower = lower_transpose},
};
HONE_OP_FAMILY(transpose, ops)
