/* CausalConvWithState: a convolution of each channel with its own kernel, over
 * present and past; the last positions are handed on as the next past. */
#include <string.h>

#include "ops/op.h"

/* [B, C, L] behind k - 1 positions of the past, or zeros. */
static hone_value_t* with_past(hone_builder_t* b, hone_value_t* x, hone_value_t* past,
                               hone_dim_t more) {
  if (past) return hone_concat(b, 2, (hone_value_t*[]){past, x}, 2);
  hone_dim_t lo[3] = {hone_d(0), hone_d(0), more}, hi[3] = {hone_d(0), hone_d(0), hone_d(0)};
  return hone_pad(b, x, lo, hi, NULL);
}

static void lower_causal_conv(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *w = hone_op_in(l, 1), *bias = hone_op_in(l, 2);
  const char* activation = hone_attr_string(l->node, "activation", "none");
  bool silu = strcmp(activation, "silu") == 0 || strcmp(activation, "swish") == 0;
  if (!silu && strcmp(activation, "none") != 0)
    hone_op_fail(l, "activation is '%s'; it must be none, silu or swish", activation);
  if (hone_rank(x) != 3 || hone_rank(w) != 3) {
    hone_op_fail(l, "input and weight have ranks %d and %d; both must have 3", hone_rank(x),
                 hone_rank(w));
    return;
  }
  hone_dim_t k = hone_dim(w, 2), one = hone_d(1), more = hone_d_sub(b, k, one);
  hone_value_t* padded = with_past(b, x, hone_op_in(l, 3), more);
  if (!padded) return;
  hone_value_t* windows = hone_window(b, padded, 1, &(int64_t){2}, &k, &one, &one);
  static const int64_t pairs[2][2] = {{1, 0}, {3, 1}};
  hone_value_t* y = hone_contract(b, windows, hone_squeeze(b, w, 1), 2, pairs, 1, HONE_F32);
  y = hone_move_axis(b, y, 0, 1);
  if (bias && y) y = hone_add(b, y, hone_cast(b, hone_unsqueeze(b, bias, 1), HONE_F32));
  if (silu) y = hone_mul(b, y, hone_sigmoid(b, y));
  hone_dim_t length = hone_dim(padded, 2);
  hone_op_out(l, 0, hone_cast(b, y, hone_dtype_of(x)));
  hone_op_out(l, 1, hone_slice_axis(b, padded, 2, hone_d_sub(b, length, more), length));
}

static const hone_op_t ops[] = {
    {.name = "CausalConvWithState",
     .min_opset = 27,
     .min_inputs = 2,
     .max_inputs = 4,
     .attrs = "activation",
     .lower = lower_causal_conv},
};
HONE_OP_FAMILY(causal_conv_with_state, ops)
