/* The activation functions that recurrent layers name, with their numbers. */
#include <strings.h>

#include "ops/common/formulas.h"
#include "ops/common/recurrent_impl.h"

typedef hone_builder_t builder;
typedef hone_value_t value;

static value* relu(builder* b, value* x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return hone_max_number(b, x, 0);
}

static value* tangent(builder* b, value* x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return hone_tanh(b, x);
}

static value* sigmoid(builder* b, value* x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return hone_sigmoid(b, x);
}

static value* affine(builder* b, value* x, double alpha, double beta) {
  return hone_add_number(b, hone_mul_number(b, x, alpha), beta);
}

static value* leaky_relu(builder* b, value* x, double alpha, double beta) {
  (void)beta;
  return x ? hone_select(b, hone_lt_number(b, x, 0), hone_mul_number(b, x, alpha), x) : NULL;
}

static value* thresholded_relu(builder* b, value* x, double alpha, double beta) {
  (void)beta;
  if (!x) return NULL;
  return hone_select(b, hone_gt_number(b, x, alpha), x, hone_scalar(b, hone_dtype_of(x), 0));
}

static value* scaled_tanh(builder* b, value* x, double alpha, double beta) {
  return hone_mul_number(b, hone_tanh(b, hone_mul_number(b, x, beta)), alpha);
}

static value* hard_sigmoid(builder* b, value* x, double alpha, double beta) {
  return hone_min_number(b, hone_max_number(b, affine(b, x, alpha, beta), 0), 1);
}

static value* elu(builder* b, value* x, double alpha, double beta) {
  (void)beta;
  return hone_elu(b, x, alpha);
}

static value* softsign(builder* b, value* x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return hone_div(b, x, hone_add_number(b, hone_abs(b, x), 1));
}

static value* softplus(builder* b, value* x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return hone_softplus(b, x);
}

static const hone_activation_row_t rows[] = {
    {"Relu", 0, {relu, 0, 0}},
    {"Tanh", 0, {tangent, 0, 0}},
    {"Sigmoid", 0, {sigmoid, 0, 0}},
    {"Affine", 2, {affine, 1, 0}},
    {"LeakyRelu", 1, {leaky_relu, 0.01, 0}},
    {"ThresholdedRelu", 1, {thresholded_relu, 1, 0}},
    {"ScaledTanh", 2, {scaled_tanh, 1, 1}},
    {"HardSigmoid", 2, {hard_sigmoid, 0.2, 0.5}},
    {"Elu", 1, {elu, 1, 0}},
    {"Softsign", 0, {softsign, 0, 0}},
    {"Softplus", 0, {softplus, 0, 0}},
};

const hone_activation_row_t* hone_activation_find(const char* name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcasecmp(rows[i].name, name) == 0) return &rows[i];
  return NULL;
}
