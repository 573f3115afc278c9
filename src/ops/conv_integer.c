/* ConvInteger and QLinearConv: convolutions of quantized numbers, summed in i32. */
#include "ops/common/quantized.h"
#include "ops/common/sliding.h"

/* A list with an entry for each output channel, shaped for the weights. */
static hone_value_t* along_outputs(hone_builder_t* b, hone_value_t* list, int rank) {
  list = hone_quantized_scalar(b, list);
  if (!list || hone_rank(list) != 1) return list;
  for (int i = 1; i < rank; i++) list = hone_unsqueeze(b, list, -1);
  return list;
}

/* Sums of products, [N, M, o1, …] in i32; pads stand for the zero point. */
static hone_value_t* convolve(hone_lower_t* l, hone_value_t* x, hone_value_t* x_zero,
                              hone_value_t* w, hone_value_t* w_zero) {
  hone_builder_t* b = l->b;
  int64_t groups = hone_sliding_groups(l, x, w);
  hone_sliding_t s;
  if (!groups || !hone_sliding_read(l, x, w->type.dims + 2, &s)) return NULL;
  x = hone_quantized_centered(b, x, hone_quantized_scalar(b, x_zero));
  w = hone_quantized_centered(b, w, along_outputs(b, w_zero, hone_rank(w)));
  return hone_sliding_contract(b, &s, x, w, groups, HONE_I32);
}

static void lower_conv_integer(hone_lower_t* l) {
  hone_op_out(l, 0,
              convolve(l, hone_op_in(l, 0), hone_op_in(l, 2), hone_op_in(l, 1), hone_op_in(l, 3)));
}

/* A scalar, or a list along axis 1. */
static hone_value_t* along_channels(hone_builder_t* b, hone_value_t* list, int rank) {
  list = hone_quantized_scalar(b, list);
  return list && hone_rank(list) == 1 ? hone_along_channels(b, list, rank) : list;
}

/* Inputs: x, its scale and zero point; the same of w; scale and zero point of y; bias. */
static void lower_qlinear_conv(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int rank = hone_rank(x);
  hone_value_t* sums = convolve(l, x, hone_op_in(l, 2), hone_op_in(l, 3), hone_op_in(l, 5));
  sums = hone_sliding_bias(b, sums, hone_op_in(l, 8));
  hone_value_t* multiplier = hone_quantized_multiplier(
      b, hone_quantized_scalar(b, hone_op_in(l, 1)), along_channels(b, hone_op_in(l, 4), rank),
      hone_quantized_scalar(b, hone_op_in(l, 6)));
  hone_value_t* zero = hone_op_in(l, 7);
  hone_op_out(l, 0,
              hone_quantized_encode(b, hone_mul(b, hone_cast(b, sums, HONE_F32), multiplier),
                                    hone_quantized_scalar(b, zero), hone_dtype_of(zero), true));
}

#define WINDOW_ATTRS "auto_pad dilations group kernel_shape pads strides"

static const hone_op_t ops[] = {
    {.name = "ConvInteger",
     .min_opset = 10,
     .min_inputs = 2,
     .max_inputs = 4,
     .attrs = WINDOW_ATTRS,
     .lower = lower_conv_integer},
    {.name = "QLinearConv",
     .min_opset = 10,
     .min_inputs = 8,
     .max_inputs = 9,
     .attrs = WINDOW_ATTRS,
     .lower = lower_qlinear_conv},
};
HONE_OP_FAMILY(conv_integer, ops)
