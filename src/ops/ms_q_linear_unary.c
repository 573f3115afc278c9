/* QLinearSigmoid, QLinearLeakyRelu and QLinearReduceMean (com.microsoft): the
 * function of the real values, quantized again. */
#include "ops/common/ms.h"

enum { SIGMOID, LEAKY_RELU, REDUCE_MEAN };

static hone_value_t* reduce_mean(hone_lower_t* l, hone_value_t* x) {
  int n;
  const int64_t* axes = hone_attr_ints(l->node, "axes", &n);
  return hone_mean(l->b, x, n, axes, hone_attr_int(l->node, "keepdims", 1) != 0);
}

static hone_value_t* leaky_relu(hone_lower_t* l, hone_value_t* x) {
  double alpha = hone_attr_float(l->node, "alpha", (double)0.01f);
  return hone_select(l->b, hone_lt_number(l->b, x, 0), hone_mul_number(l->b, x, alpha), x);
}

static void lower_q_linear_unary(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t *x_zero = hone_op_in(l, 2), *y_zero = hone_op_in(l, 4);
  if (x_zero) x_zero = hone_ms_scalar(b, x_zero);
  if (y_zero) y_zero = hone_ms_scalar(b, y_zero);
  hone_value_t* real = hone_ms_dequantize(b, x, hone_ms_scalar(b, hone_op_in(l, 1)), x_zero);
  if (!real) return;
  if (l->op->data == SIGMOID)
    real = hone_sigmoid(b, real);
  else
    real = l->op->data == LEAKY_RELU ? leaky_relu(l, real) : reduce_mean(l, real);
  hone_op_out(
      l, 0,
      hone_ms_quantize(b, real, hone_ms_scalar(b, hone_op_in(l, 3)), y_zero, hone_dtype_of(x)));
}

#define ROW(op_name, number, names)                                                                \
  {                                                                                                \
    .domain = HONE_MS_DOMAIN, .name = (op_name), .min_opset = 1, .min_inputs = 2, .max_inputs = 5, \
    .attrs = (names), .data = (number), .lower = lower_q_linear_unary                              \
  }

static const hone_op_t ops[] = {
    ROW("QLinearSigmoid", SIGMOID, ""),
    ROW("QLinearLeakyRelu", LEAKY_RELU, "alpha"),
    ROW("QLinearReduceMean", REDUCE_MEAN, "axes keepdims"),
};
HONE_OP_FAMILY(ms_q_linear_unary, ops)
