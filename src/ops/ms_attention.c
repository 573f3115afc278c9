/* Attention and QAttention (com.microsoft): a projection to queries, keys and
 * values (of quantized numbers in the second), then multi-head attention. */
#include "ops/common/ms_attention.h"

#include "ops/common/quantized.h"

static bool read_widths(hone_lower_t* l, hone_value_t* qkv, hone_dim_t* widths) {
  int n;
  const int64_t* sizes = hone_attr_ints(l->node, "qkv_hidden_sizes", &n);
  if (!hone_is_known(l->b, qkv)) return false;
  if (hone_rank(qkv) != 3 || (n != 0 && n != 3)) {
    hone_op_fail(l,
                 "the input must be [batch, sequence, width], and qkv_hidden_sizes have 3 "
                 "entries");
    return false;
  }
  for (int i = 0; i < 3; i++)
    widths[i] = n ? hone_d(sizes[i]) : hone_d_floordiv(l->b, hone_dim(qkv, 2), hone_d(3));
  return true;
}

static void lower_attention(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t* qkv = hone_matmul(b, x, hone_op_in(l, 1), hone_dtype_of(x));
  if (hone_op_in(l, 2)) qkv = hone_add(b, qkv, hone_op_in(l, 2));
  hone_ms_self_attention_t s = {
      .qkv = qkv, .mask = hone_op_in(l, 3), .past = hone_op_in(l, 4), .bias = hone_op_in(l, 5)};
  if (read_widths(l, qkv, s.widths)) hone_ms_self_attend(l, &s);
}

static void lower_q_attention(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x_zero = hone_op_in(l, 6), *w_zero = hone_op_in(l, 7);
  if (x_zero) x_zero = hone_ms_scalar(b, x_zero);
  if (w_zero) w_zero = hone_quantized_scalar(b, w_zero);
  hone_value_t* sum = hone_matmul(b, hone_quantized_centered(b, hone_op_in(l, 0), x_zero),
                                  hone_quantized_centered(b, hone_op_in(l, 1), w_zero), HONE_I32);
  hone_value_t* scale =
      hone_mul(b, hone_ms_scalar(b, hone_op_in(l, 3)), hone_quantized_scalar(b, hone_op_in(l, 4)));
  hone_value_t* qkv = hone_mul(b, hone_cast(b, sum, HONE_F32), hone_cast(b, scale, HONE_F32));
  qkv = hone_add(b, qkv, hone_cast(b, hone_op_in(l, 2), HONE_F32));
  if (!qkv) return;
  qkv = hone_cast(b, qkv, hone_dtype_of(hone_op_in(l, 2)));
  hone_ms_self_attention_t s = {.qkv = qkv, .mask = hone_op_in(l, 5), .past = hone_op_in(l, 8)};
  if (read_widths(l, qkv, s.widths)) hone_ms_self_attend(l, &s);
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "Attention",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 7,
     .attrs = "do_rotary mask_filter_value num_heads past_present_share_buffer qkv_hidden_sizes "
              "rotary_embedding_dim scale unidirectional",
     .lower = lower_attention},
    {.domain = HONE_MS_DOMAIN,
     .name = "QAttention",
     .min_opset = 1,
     .min_inputs = 5,
     .max_inputs = 9,
     .attrs = "do_rotary mask_filter_value num_heads past_present_share_buffer scale "
              "unidirectional",
     .lower = lower_q_attention},
};
HONE_OP_FAMILY(ms_attention, ops)
