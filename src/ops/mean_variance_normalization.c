/* MeanVarianceNormalization: (x - mean) / (deviation + 1e-9) over `axes`. */
#include "ops/common/formulas.h"

static void lower_mean_variance_normalization(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *centered;
  static const int64_t default_axes[3] = {0, 2, 3};
  int n_axes;
  const int64_t* axes = hone_attr_ints(l->node, "axes", &n_axes);
  if (!axes) {
    axes = default_axes;
    n_axes = 3;
  }
  hone_value_t* variance = hone_variance(b, hone_widen(b, x), n_axes, axes, NULL, &centered);
  hone_value_t* deviation = hone_add_number(b, hone_sqrt(b, variance), 1e-9);
  hone_op_out(l, 0, hone_cast(b, hone_div(b, centered, deviation), hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.name = "MeanVarianceNormalization",
     .min_opset = 9,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "axes",
     .lower = lower_mean_variance_normalization},
};
HONE_OP_FAMILY(mean_variance_normalization, ops)
