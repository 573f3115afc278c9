/* Activation functions with attributes, computed in f32 (f64 for f64). */
#include <string.h>

#include "ops/common/formulas.h"

typedef hone_value_t* (*activation_fn)(hone_lower_t* l, hone_value_t* x);

/* Below 0 alpha * (exp(x / alpha) - 1) has the sign of x, whatever that of alpha. */
static hone_value_t* celu(hone_lower_t* l, hone_value_t* x) {
  hone_builder_t* b = l->b;
  double alpha = hone_attr_float(l->node, "alpha", 1);
  hone_value_t* ratio = hone_div_number(b, x, alpha);
  hone_value_t* curve = alpha > 0 ? hone_expm1_below(b, ratio) : hone_expm1(b, ratio);
  return hone_select(b, hone_lt_number(b, x, 0), hone_mul_number(b, curve, alpha), x);
}

static hone_value_t* elu(hone_lower_t* l, hone_value_t* x) {
  return hone_elu(l->b, x, hone_attr_float(l->node, "alpha", 1));
}

static hone_value_t* gelu(hone_lower_t* l, hone_value_t* x) {
  const char* approximate = hone_attr_string(l->node, "approximate", "none");
  if (strcmp(approximate, "tanh") == 0) return hone_gelu_tanh(l->b, x);
  if (strcmp(approximate, "none") != 0)
    hone_op_fail(l, "attribute approximate is '%s'; use none or tanh", approximate);
  return hone_gelu(l->b, x);
}

static hone_value_t* hard_sigmoid(hone_lower_t* l, hone_value_t* x) {
  return hone_hard_sigmoid(l->b, x, hone_attr_float(l->node, "alpha", 0.2f),
                           hone_attr_float(l->node, "beta", 0.5));
}

static hone_value_t* leaky_relu(hone_lower_t* l, hone_value_t* x) {
  hone_builder_t* b = l->b;
  hone_value_t* below = hone_mul_number(b, x, hone_attr_float(l->node, "alpha", 0.01f));
  return hone_select(b, hone_lt_number(b, x, 0), below, x);
}

/* The first opset's defaults are the others' rounded to four digits. */
static hone_value_t* selu(hone_lower_t* l, hone_value_t* x) {
  hone_builder_t* b = l->b;
  double alpha = hone_attr_float(l->node, "alpha", l->opset < 6 ? 1.6732f : 1.67326319217681884766);
  double gamma = hone_attr_float(l->node, "gamma", l->opset < 6 ? 1.0507f : 1.05070102214813232422);
  return hone_mul_number(b, hone_elu(b, x, alpha), gamma);
}

static hone_value_t* shrink(hone_lower_t* l, hone_value_t* x) {
  hone_builder_t* b = l->b;
  double lambda = hone_attr_float(l->node, "lambd", 0.5);
  double bias = hone_attr_float(l->node, "bias", 0);
  hone_value_t* above = hone_select(b, hone_gt_number(b, x, lambda), hone_add_number(b, x, -bias),
                                    hone_scalar(b, hone_dtype_of(x), 0));
  return hone_select(b, hone_lt_number(b, x, -lambda), hone_add_number(b, x, bias), above);
}

static hone_value_t* swish(hone_lower_t* l, hone_value_t* x) {
  return hone_swish(l->b, x, hone_attr_float(l->node, "alpha", 1));
}

static hone_value_t* swiglu(hone_lower_t* l, hone_value_t* x) {
  return hone_mul(l->b, swish(l, x), hone_widen(l->b, hone_op_in(l, 1)));
}

static hone_value_t* thresholded_relu(hone_lower_t* l, hone_value_t* x) {
  hone_builder_t* b = l->b;
  hone_value_t* above = hone_gt_number(b, x, hone_attr_float(l->node, "alpha", 1));
  return hone_select(b, above, x, hone_scalar(b, hone_dtype_of(x), 0));
}

typedef enum kind {
  CELU,
  ELU,
  GELU,
  HARD_SIGMOID,
  LEAKY_RELU,
  SELU,
  SHRINK,
  SWIGLU,
  SWISH,
  THRESHOLDED_RELU,
} kind_t;

static const activation_fn activations[] = {
    [CELU] = celu,     [ELU] = elu,
    [GELU] = gelu,     [HARD_SIGMOID] = hard_sigmoid,
    [SELU] = selu,     [SHRINK] = shrink,
    [SWIGLU] = swiglu, [LEAKY_RELU] = leaky_relu,
    [SWISH] = swish,   [THRESHOLDED_RELU] = thresholded_relu,
};

static void lower_activation(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t* wide = hone_widen(l->b, x);
  if (wide) hone_op_out(l, 0, hone_cast(l->b, activations[l->op->data](l, wide), hone_dtype_of(x)));
}

#define ROW(op_name, since, inputs, number, names)                                           \
  {                                                                                          \
    .name = (op_name), .min_opset = (since), .min_inputs = (inputs), .max_inputs = (inputs), \
    .attrs = names, .data = (number), .lower = lower_activation                              \
  }

static const hone_op_t ops[] = {
    ROW("Celu", 12, 1, CELU, "alpha"),
    ROW("Elu", 1, 1, ELU, "alpha consumed_inputs"),
    ROW("Gelu", 20, 1, GELU, "approximate"),
    ROW("HardSigmoid", 1, 1, HARD_SIGMOID, "alpha beta consumed_inputs"),
    ROW("LeakyRelu", 1, 1, LEAKY_RELU, "alpha consumed_inputs"),
    ROW("Selu", 1, 1, SELU, "alpha gamma consumed_inputs"),
    ROW("Shrink", 9, 1, SHRINK, "bias lambd"),
    ROW("SwiGLU", 28, 2, SWIGLU, "alpha"),
    ROW("Swish", 24, 1, SWISH, "alpha"),
    ROW("ThresholdedRelu", 1, 1, THRESHOLDED_RELU, "alpha"),
};
HONE_OP_FAMILY(activations, ops)
