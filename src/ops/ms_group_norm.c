/* GroupNorm and SkipGroupNorm (com.microsoft): channels in groups to mean 0 and
 * variance 1, then scaled, shifted and passed through Swish when asked; channels
 * are last unless channels_last is 0. The second adds a skip and a bias before,
 * and gives the sum out. */
#include "ops/common/formulas.h"
#include "ops/common/ms.h"

/* [N, …, C] normalized over each group of channels and all of the middle. */
static hone_value_t* normalize_groups(hone_lower_t* l, hone_value_t* x, int64_t groups) {
  hone_builder_t* b = l->b;
  hone_dim_t channels = hone_dim(x, -1);
  hone_dim_t middle = hone_dim_product(b->graph->dims, hone_rank(x) - 2, x->type.dims + 1);
  hone_dim_t shape[4] = {hone_dim(x, 0), middle, hone_d(groups),
                         hone_d_floordiv(b, channels, hone_d(groups))};
  static const int64_t axes[2] = {1, 3};
  hone_value_t *mean, *centered;
  hone_value_t* variance =
      hone_variance(b, hone_reshape(b, hone_widen(b, x), 4, shape), 2, axes, &mean, &centered);
  double epsilon = hone_attr_float(l->node, "epsilon", (double)1e-5f);
  hone_value_t* y = hone_mul(b, centered, hone_inverse_deviation(b, variance, epsilon));
  return hone_reshape_like(b, y, x);
}

/* A skip or bias that is one vector of channels for each image: [N, C] as [N, 1, 1, C]. */
static hone_value_t* over_image(hone_builder_t* b, hone_value_t* x) {
  if (!x || hone_rank(x) != 2) return x;
  return hone_unsqueeze(b, hone_unsqueeze(b, x, 1), 1);
}

static void lower_group_norm(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  bool skips = l->op->data != 0, last = hone_attr_int(l->node, "channels_last", 1) != 0;
  int64_t groups = hone_attr_int(l->node, "groups", 0);
  hone_value_t* x = hone_op_in(l, 0);
  if (groups < 1 || groups > INT32_MAX || hone_rank(x) < 3) {
    hone_op_fail(l, "%lld groups of an input of rank %d", (long long)groups, hone_rank(x));
    return;
  }
  hone_dtype_t dtype = hone_dtype_of(x);
  if (skips) {
    x = hone_add(b, x, over_image(b, hone_op_in(l, 3)));
    if (hone_op_in(l, 4)) x = hone_add(b, x, hone_op_in(l, 4));
    hone_op_out(l, 1, x);
  }
  if (!last) x = hone_ms_channels_last(b, x);
  if (!x) return;
  hone_value_t* y = normalize_groups(l, x, groups);
  y = hone_mul(b, y, hone_widen(b, hone_op_in(l, 1)));
  y = hone_add(b, y, hone_widen(b, hone_op_in(l, 2)));
  if (hone_attr_int(l->node, "activation", 0)) y = hone_swish(b, y, 1);
  y = hone_cast(b, y, dtype);
  hone_op_out(l, 0, last ? y : hone_ms_channels_first(b, y));
}

#define ROW(op_name, with_skip, least, most)                                                       \
  {                                                                                                \
    .domain = HONE_MS_DOMAIN, .name = (op_name), .min_opset = 1, .min_inputs = (least),            \
    .max_inputs = (most), .attrs = "activation channels_last epsilon groups", .data = (with_skip), \
    .lower = lower_group_norm                                                                      \
  }

static const hone_op_t ops[] = {
    ROW("GroupNorm", 0, 3, 3),
    ROW("SkipGroupNorm", 1, 4, 5),
};
HONE_OP_FAMILY(ms_group_norm, ops)
