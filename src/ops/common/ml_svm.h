/* What SVMClassifier and SVMRegressor share: the kernel function. */
#ifndef HONE_OPS_COMMON_ML_SVM_H
#define HONE_OPS_COMMON_ML_SVM_H

#include "ops/common/ml.h"

typedef enum hone_svm_kernel {
  HONE_SVM_LINEAR,
  HONE_SVM_POLY,
  HONE_SVM_RBF,
  HONE_SVM_SIGMOID,
} hone_svm_kernel_t;

/* The attribute kernel_type; an unknown one is an error. */
hone_svm_kernel_t hone_svm_kernel_attr(hone_lower_t* l);
/* The kernel function of each row of x [n, f] with each of y [m, f]: [n, m]. */
hone_value_t* hone_svm_apply(hone_lower_t* l, hone_svm_kernel_t kernel, hone_value_t* x,
                             hone_value_t* y);

#endif
