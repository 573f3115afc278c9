/* FusedConv, NhwcConv and NhwcFusedConv (com.microsoft): Conv, with a tensor Z
 * added and an activation function; the Nhwc ones have channels last in the
 * input, the output and Z, not in the weights. */
#include "ops/common/ms.h"

enum { MAX_PARAMS = 4 };

static hone_value_t* activated(hone_lower_t* l, hone_value_t* y) {
  int n;
  const float* floats = hone_attr_floats(l->node, "activation_params", &n);
  double params[MAX_PARAMS];
  if (n > MAX_PARAMS) n = MAX_PARAMS;
  for (int i = 0; i < n; i++) params[i] = (double)floats[i];
  return hone_ms_activate(l, y, hone_attr_string(l->node, "activation", ""), n, params);
}

static void lower_fused_conv(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  bool last = l->op->data != 0;
  hone_value_t *x = hone_op_in(l, 0), *z = hone_op_in(l, 3);
  hone_value_t* inputs[3] = {last ? hone_ms_channels_first(b, x) : x, hone_op_in(l, 1),
                             hone_op_in(l, 2)};
  hone_value_t* y = hone_ms_as(l, "Conv", 11, inputs[2] ? 3 : 2, inputs);
  if (last) y = hone_ms_channels_last(b, y);
  if (z) y = hone_add(b, y, z);
  hone_op_out(l, 0, activated(l, y));
}

#define CONV_ATTRS "auto_pad dilations group kernel_shape pads strides"
#define ROW(op_name, channels_last, most, names)                                               \
  {                                                                                            \
    .domain = HONE_MS_DOMAIN, .name = (op_name), .min_opset = 1, .min_inputs = 2,              \
    .max_inputs = (most), .attrs = (names), .data = (channels_last), .lower = lower_fused_conv \
  }

static const hone_op_t ops[] = {
    ROW("FusedConv", 0, 4, CONV_ATTRS " activation activation_params"),
    ROW("NhwcConv", 1, 3, CONV_ATTRS),
    ROW("NhwcFusedConv", 1, 4, CONV_ATTRS " activation activation_params"),
};
HONE_OP_FAMILY(ms_fused_conv, ops)
