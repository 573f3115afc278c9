/* See ml_svm.h. Kernel parameters are gamma, coef0 and degree. */
#include "ops/common/ml_svm.h"

#include <string.h>

#include "ops/common/distances.h"

hone_svm_kernel_t hone_svm_kernel_attr(hone_lower_t* l) {
  static const char* const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  const char* name = hone_attr_string(l->node, "kernel_type", "LINEAR");
  for (int i = 0; i < 4; i++)
    if (strcmp(name, names[i]) == 0) return (hone_svm_kernel_t)i;
  hone_op_fail(l, "kernel_type '%s' is unknown; it is LINEAR, POLY, RBF or SIGMOID", name);
  return HONE_SVM_LINEAR;
}

/* exp(-gamma * |x - y|^2) */
static hone_value_t* apply_rbf(hone_builder_t* b, hone_value_t* x, hone_value_t* y, double gamma) {
  return hone_exp(b, hone_mul_number(b, hone_squared_distances(b, x, y), -gamma));
}

static hone_value_t* apply_power(hone_builder_t* b, hone_value_t* x, double degree) {
  if (!x) return NULL;
  if (degree == 1) return x;
  if (degree == 2) return hone_square(b, x);
  if (degree == 3) return hone_mul(b, hone_square(b, x), x);
  return hone_pow(b, x, hone_scalar(b, x->type.dtype, degree));
}

hone_value_t* hone_svm_apply(hone_lower_t* l, hone_svm_kernel_t kernel, hone_value_t* x,
                             hone_value_t* y) {
  hone_builder_t* b = l->b;
  int n;
  const float* params = hone_attr_floats(l->node, "kernel_params", &n);
  if (kernel != HONE_SVM_LINEAR && n < 3) {
    hone_op_fail(l, "kernel_params has %d entries; gamma, coef0 and degree are needed", n);
    return NULL;
  }
  if (!hone_is_known(b, x) || !hone_is_known(b, y)) return NULL;
  if (kernel == HONE_SVM_RBF) return apply_rbf(b, x, y, (double)params[0]);
  const int64_t pairs[1][2] = {{1, 1}};
  hone_value_t* dot = hone_contract(b, x, y, 1, pairs, 0, HONE_F32);
  if (kernel == HONE_SVM_LINEAR) return dot;
  dot = hone_add_number(b, hone_mul_number(b, dot, (double)params[0]), (double)params[1]);
  return kernel == HONE_SVM_POLY ? apply_power(b, dot, (double)params[2]) : hone_tanh(b, dot);
}
