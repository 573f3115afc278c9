/* QLinearConv of com.microsoft: that of ai.onnx, with channels last in input
 * and output when asked. */
#include "ops/common/ms.h"

static void lower_q_linear_conv(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  bool last = hone_attr_int(l->node, "channels_last", 0) != 0;
  hone_value_t* inputs[9];
  for (int i = 0; i < 9; i++) inputs[i] = hone_op_in(l, i);
  if (last) inputs[0] = hone_ms_channels_first(b, inputs[0]);
  hone_value_t* y = hone_ms_as(l, "QLinearConv", 10, inputs[8] ? 9 : 8, inputs);
  hone_op_out(l, 0, last ? hone_ms_channels_last(b, y) : y);
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "QLinearConv",
     .min_opset = 1,
     .min_inputs = 8,
     .max_inputs = 9,
     .attrs = "auto_pad channels_last dilations group kernel_shape pads strides",
     .lower = lower_q_linear_conv},
};
HONE_OP_FAMILY(ms_q_linear_conv, ops)
