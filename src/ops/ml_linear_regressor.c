/* LinearRegressor (ai.onnx.ml): x times the coefficients plus intercepts. */
#include "ops/common/ml.h"

static void lower_linear_regressor(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_ml_post_t post = hone_ml_post_attr(l);
  int64_t targets = hone_attr_int(l->node, "targets", 1);
  int total, n_intercepts;
  hone_attr_floats(l->node, "coefficients", &total);
  hone_attr_floats(l->node, "intercepts", &n_intercepts);
  if (targets < 1 || total % targets != 0) {
    hone_op_fail(l, "%d coefficients do not make %lld targets", total, (long long)targets);
    return;
  }
  hone_value_t* x = hone_ml_rows(l, hone_op_in(l, 0), HONE_F32);
  hone_dim_t shape[2] = {hone_d(targets), hone_d(total / targets)};
  hone_value_t* w = hone_reshape(b, hone_ml_floats(l, "coefficients", -1), 2, shape);
  const int64_t pairs[1][2] = {{1, 1}};
  hone_value_t* y = hone_contract(b, x, w, 1, pairs, 0, HONE_F32);
  if (n_intercepts) y = hone_add(b, y, hone_ml_floats(l, "intercepts", targets));
  hone_op_out(l, 0, targets == 1 ? hone_ml_post_rows(b, y, post) : hone_ml_post(b, y, post));
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "LinearRegressor",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "coefficients intercepts post_transform targets",
     .lower = lower_linear_regressor},
};
HONE_OP_FAMILY(ml_linear_regressor, ops)
