/* Broadcasting of the first opsets: see the header. */
#include "ops/common/broadcast.h"

hone_value_t* hone_op_broadcast_operand(hone_lower_t* l, hone_value_t* x, hone_value_t* y) {
  if (!x || !y || l->opset >= 7 || !hone_attr_int(l->node, "broadcast", 0)) return y;
  int rank = hone_rank(x), own = hone_rank(y);
  int64_t axis = hone_attr_int(l->node, "axis", rank - own);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis + own > rank) {
    /* A tensor of one element goes anywhere. */
    if (hone_dim_is(hone_elements(l->b, y), 1)) return hone_reshape(l->b, y, 0, NULL);
    hone_op_fail(l, "axis %lld does not fit operands of rank %d and %d", (long long)axis, rank,
                 own);
    return NULL;
  }
  hone_dim_t shape[HONE_MAX_RANK];
  int n = rank - (int)axis;
  for (int i = 0; i < n; i++) shape[i] = i < own ? hone_dim(y, i) : hone_d(1);
  return hone_reshape(l->b, y, n, shape);
}
