/* Squeeze: takes away axes of extent 1; without a list all of them. */
#include "ops/op.h"

/* Axes of extent 1 as bits; defers where a symbol could be 1. */
static uint32_t single_axes(hone_lower_t* l, const hone_value_t* x) {
  uint32_t gone = 0;
  for (int i = 0; i < hone_rank(x); i++) {
    hone_dim_t extent = hone_dim(x, i);
    if (hone_dim_is(extent, 1))
      gone |= 1u << i;
    else if (hone_dim_min_value(extent) <= 1 && hone_dim_max_value(extent) >= 1)
      hone_defer(l->b, "which axes have extent 1 is not known, and no axes are given");
  }
  return gone;
}

static uint32_t listed_axes(hone_lower_t* l, const hone_value_t* x) {
  int count;
  uint32_t gone = 0;
  const int64_t* axes = hone_op_axes(l, "axes", 1, hone_rank(x), &count);
  for (int i = 0; axes && i < count; i++) {
    hone_dim_t extent = hone_dim(x, (int)axes[i]);
    if (hone_dim_min_value(extent) > 1 || hone_dim_max_value(extent) < 1)
      hone_op_fail(l, "axis %lld has not extent 1", (long long)axes[i]);
    gone |= 1u << axes[i];
  }
  return gone;
}

static void lower_squeeze(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  bool listed = hone_op_in(l, 1) || hone_attr_has(l->node, "axes");
  uint32_t gone = listed ? listed_axes(l, x) : single_axes(l, x);
  hone_dim_t shape[HONE_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < hone_rank(x); i++)
    if (!(gone & (1u << i))) shape[rank++] = hone_dim(x, i);
  hone_op_out(l, 0, hone_reshape(l->b, x, rank, shape));
}

static const hone_op_t ops[] = {
    {.name = "Squeeze",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 2,
     .attrs = "axes",
     .lower = lower_squeeze},
};
HONE_OP_FAMILY(squeeze, ops)
