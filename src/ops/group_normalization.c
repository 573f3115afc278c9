/* GroupNormalization: each group of channels of each sample to mean 0 and
 * variance 1, then scaled and shifted: by group before opset 21, by channel
 * since. Computed in f32 (f64 for f64), at least what `stash_type` asks for. */
#include "ops/common/formulas.h"

/* Scale or bias, against the shape (sample, group, channel of it, the rest). */
static hone_value_t* parameter(hone_lower_t* l, int index, hone_dim_t groups,
                               hone_dim_t per_group) {
  hone_value_t* value = hone_op_in(l, index);
  hone_dtype_t dtype = hone_wide_dtype(hone_dtype_of(hone_op_in(l, 0)));
  hone_dim_t each = l->opset < 21 ? hone_d(1) : per_group;
  hone_dim_t shape[4] = {hone_d(1), groups, each, hone_d(1)};
  return hone_reshape(l->b, hone_cast(l->b, value, dtype), 4, shape);
}

static void lower_group_normalization(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *centered;
  int64_t n_groups = hone_attr_int(l->node, "num_groups", 0);
  int rank = hone_rank(x);
  if (rank < 2 || n_groups < 1 ||
      (hone_dim_is_int(hone_dim(x, 1)) && hone_dim(x, 1).k % n_groups)) {
    hone_op_fail(l, "num_groups is %lld; it must divide the channels, axis 1 of input X",
                 (long long)n_groups);
    return;
  }
  hone_dim_t groups = hone_d(n_groups);
  hone_dim_t per_group = hone_d_floordiv(b, hone_dim(x, 1), groups);
  hone_dim_t rest = hone_dim_product(b->graph->dims, rank - 2, x->type.dims + 2);
  hone_dim_t shape[4] = {hone_dim(x, 0), groups, per_group, rest};
  hone_value_t* grouped = hone_reshape(b, hone_widen(b, x), 4, shape);
  int64_t axes[2] = {2, 3};
  hone_value_t* variance = hone_variance(b, grouped, 2, axes, NULL, &centered);
  double epsilon = hone_attr_float(l->node, "epsilon", 1e-5f);
  hone_value_t* y = hone_mul(b, centered, hone_inverse_deviation(b, variance, epsilon));
  y = hone_mul(b, y, parameter(l, 1, groups, per_group));
  y = hone_add(b, y, parameter(l, 2, groups, per_group));
  hone_op_out(l, 0, hone_cast(b, hone_reshape_like(b, y, x), hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.name = "GroupNormalization",
     .min_opset = 18,
     .min_inputs = 3,
     .max_inputs = 3,
     .attrs = "epsilon num_groups stash_type",
     .lower = lower_group_normalization},
};
HONE_OP_FAMILY(group_normalization, ops)
