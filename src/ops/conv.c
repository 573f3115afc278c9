/* Conv: windows on the padded input, contracted with the weights. Groups are a
 * batch axis of the contraction. */
#include "ops/common/sliding.h"

static void lower_conv(hone_lower_t* l) {
  hone_value_t *x = hone_op_in(l, 0), *w = hone_op_in(l, 1);
  int64_t groups = hone_sliding_groups(l, x, w);
  hone_sliding_t s;
  if (!groups || !hone_sliding_read(l, x, w->type.dims + 2, &s)) return;
  hone_value_t* y = hone_sliding_contract(l->b, &s, x, w, groups, hone_dtype_of(x));
  hone_op_out(l, 0, hone_sliding_bias(l->b, y, hone_op_in(l, 2)));
}

static const hone_op_t ops[] = {
    {.name = "Conv",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 3,
     .attrs = "auto_pad dilations group kernel_shape pads strides",
     .lower = lower_conv},
};
HONE_OP_FAMILY(conv, ops)
