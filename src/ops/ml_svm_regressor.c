/* SVMRegressor (ai.onnx.ml): the kernel of x with each support vector, weighted
 * by coefficients, plus rho; without support vectors a linear form. one_class
 * turns the sign into 1 or -1. */
#include "ops/common/ml_svm.h"

static hone_value_t* regress(hone_lower_t* l, hone_value_t* x, int64_t n_supports) {
  hone_builder_t* b = l->b;
  int total, n_coefficients;
  hone_attr_floats(l->node, "support_vectors", &total);
  hone_attr_floats(l->node, "coefficients", &n_coefficients);
  hone_value_t* w = hone_ml_floats(l, "coefficients", n_supports > 0 ? n_supports : -1);
  w = hone_reshape(b, w, 2, (const hone_dim_t[]){hone_d(1), hone_d(n_coefficients)});
  if (n_supports <= 0) return hone_svm_apply(l, HONE_SVM_LINEAR, x, w);
  if (total % n_supports != 0) {
    hone_op_fail(l, "%d numbers in support_vectors do not make %lld vectors", total,
                 (long long)n_supports);
    return NULL;
  }
  hone_dim_t shape[2] = {hone_d(n_supports), hone_d(total / n_supports)};
  hone_value_t* vectors = hone_reshape(b, hone_ml_floats(l, "support_vectors", -1), 2, shape);
  hone_value_t* kernel = hone_svm_apply(l, hone_svm_kernel_attr(l), x, vectors);
  return hone_svm_apply(l, HONE_SVM_LINEAR, kernel, w);
}

static void lower_svm_regressor(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_ml_post_attr(l); /* has no effect, but must be one that exists */
  int n_rho;
  const float* rho = hone_attr_floats(l->node, "rho", &n_rho);
  if (n_rho < 1) {
    hone_op_fail(l, "rho is missing");
    return;
  }
  hone_value_t* x = hone_ml_rows(l, hone_op_in(l, 0), HONE_F32);
  hone_value_t* y = regress(l, x, hone_attr_int(l->node, "n_supports", 0));
  y = hone_add_number(b, y, (double)rho[0]);
  if (hone_attr_int(l->node, "one_class", 0))
    y = hone_select(b, hone_gt_number(b, y, 0), hone_scalar(b, HONE_F32, 1),
                    hone_scalar(b, HONE_F32, -1));
  hone_op_out(l, 0, y);
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "SVMRegressor",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "coefficients kernel_params kernel_type n_supports one_class post_transform rho "
              "support_vectors",
     .lower = lower_svm_regressor},
};
HONE_OP_FAMILY(ml_svm_regressor, ops)
