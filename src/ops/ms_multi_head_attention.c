/* MultiHeadAttention and DecoderMaskedMultiHeadAttention (com.microsoft):
 * attention over projected queries, keys and values. These come apart, as [batch, sequence, width];
 * or keys and values as heads; or packed, [batch, sequence, heads, 3, size] for all and [batch,
 * sequence, heads, 2, size] for keys and values. */
#include "ops/common/ms_attention.h"

typedef struct heads {
  hone_value_t *q, *k, *v; /* [B, N, S, H], … */
} heads_t;

/* Part `index` of a packed tensor, as heads. */
static hone_value_t* unpack(hone_builder_t* b, hone_value_t* packed, int index) {
  return hone_move_axis(b, hone_pick(b, packed, 3, hone_d(index)), 2, 1);
}

/* The stretch [from, from + heads * size) of a bias, as [heads, 1, size]. */
static hone_value_t* bias_part(hone_builder_t* b, hone_value_t* bias, hone_dim_t* from,
                               const hone_value_t* x) {
  if (!x) return NULL;
  hone_dim_t shape[3] = {hone_dim(x, 1), hone_d(1), hone_dim(x, 3)};
  hone_dim_t end = hone_d_add(b, *from, hone_d_mul(b, shape[0], shape[2]));
  hone_value_t* part = hone_slice_axis(b, bias, 0, *from, end);
  *from = end;
  return hone_reshape(b, part, 3, shape);
}

static void add_bias(hone_builder_t* b, hone_value_t* bias, heads_t* h) {
  hone_dim_t at = hone_d(0);
  if (!bias) return;
  h->q = hone_add(b, h->q, bias_part(b, bias, &at, h->q));
  h->k = hone_add(b, h->k, bias_part(b, bias, &at, h->k));
  h->v = hone_add(b, h->v, bias_part(b, bias, &at, h->v));
}

static bool read_heads(hone_lower_t* l, int64_t n, hone_value_t* bias, heads_t* h) {
  hone_builder_t* b = l->b;
  hone_value_t *q = hone_op_in(l, 0), *k = hone_op_in(l, 1), *v = hone_op_in(l, 2);
  if (hone_rank(q) == 5) {
    *h = (heads_t){unpack(b, q, 0), unpack(b, q, 1), unpack(b, q, 2)};
  } else if (k && hone_rank(k) == 5) {
    *h = (heads_t){hone_ms_split_heads(b, q, n), unpack(b, k, 0), unpack(b, k, 1)};
  } else if (k && v) {
    bool split = hone_rank(k) == 4;
    *h = (heads_t){hone_ms_split_heads(b, q, n), split ? k : hone_ms_split_heads(b, k, n),
                   hone_rank(v) == 4 ? v : hone_ms_split_heads(b, v, n)};
  } else {
    hone_op_fail(l, "key and value are missing, and the query is not packed with them");
  }
  add_bias(b, bias, h);
  return hone_builder_ok(b) && h->q && h->k && h->v;
}

/* ---- the past ---- */

/* Keys or values with those of the past in front: `all`, and what is given out.
 * `length` NULL: all of the past counts. Otherwise it is a buffer of which so
 * many positions count, and the new ones are put in behind them. */
typedef struct joined {
  hone_value_t *all, *present;
} joined_t;

static joined_t after_past(hone_builder_t* b, hone_value_t* past, const hone_dim_t* length,
                           hone_value_t* x) {
  if (!past || !x) return (joined_t){x, x};
  if (!length) {
    hone_value_t* parts[2] = {past, x};
    hone_value_t* all = hone_concat(b, 2, parts, 2);
    return (joined_t){all, all};
  }
  hone_dim_t end = hone_d_add(b, *length, hone_dim(x, 2));
  hone_value_t* parts[3] = {hone_slice_axis(b, past, 2, hone_d(0), *length), x,
                            hone_slice_axis(b, past, 2, end, hone_dim(past, 2))};
  return (joined_t){hone_concat(b, 2, parts, 2), hone_concat(b, 3, parts, 2)};
}

/* NULL where the node has no buffer that past and present share. */
static const hone_dim_t* past_length(hone_lower_t* l, int input) {
  if (!hone_op_in(l, input)) return NULL;
  int n;
  const hone_dim_t* length = hone_op_known_dims(l, input, &n);
  if (length && n != 1) hone_op_fail(l, "past_sequence_length must be one number");
  return length;
}

/* ---- the operators ---- */

/* Where the two operators have their inputs. */
typedef struct inputs {
  int bias, mask, added, past_key, past_value, past_length, beams;
} inputs_t;

static void attend(hone_lower_t* l, const inputs_t* at) {
  hone_builder_t* b = l->b;
  heads_t h = {0};
  int64_t n = hone_ms_heads_attr(l, "num_heads");
  if (hone_op_in(l, at->beams)) {
    hone_fail(b, HONE_UNSUPPORTED, "cache_indirection (several beams) is not supported");
    return;
  }
  const hone_dim_t* length = past_length(l, at->past_length);
  if (!n || !hone_builder_ok(b) || !read_heads(l, n, hone_op_in(l, at->bias), &h)) return;
  joined_t k = after_past(b, hone_op_in(l, at->past_key), length, h.k);
  joined_t v = after_past(b, hone_op_in(l, at->past_value), length, h.v);
  if (!k.all) return;
  hone_dim_t batch = hone_dim(h.q, 0), sequence = hone_dim(h.q, 2), total = hone_dim(k.all, 2);
  double filter = hone_attr_float(l->node, "mask_filter_value", -10000);
  hone_value_t* bias = hone_ms_padding_bias(l, hone_op_in(l, at->mask), batch, total, filter);
  hone_value_t* added = hone_op_in(l, at->added);
  if (added) bias = bias ? hone_add(b, bias, hone_cast(b, added, HONE_F32)) : added;
  bool causal = hone_attr_int(l->node, "unidirectional", 0) != 0;
  hone_ms_attention_t a = {.q = h.q,
                           .k = k.all,
                           .v = v.all,
                           .scale = hone_attr_float(l->node, "scale", 0),
                           .bias = bias,
                           .allowed = causal ? hone_ms_causal(b, sequence, total) : NULL};
  hone_op_out(l, 0, hone_ms_join_heads(b, hone_ms_attend(b, &a)));
  hone_op_out(l, 1, k.present);
  hone_op_out(l, 2, v.present);
  hone_op_out(l, 3, hone_cast(b, a.masked, hone_dtype_of(h.q)));
}

static void lower_multi_head_attention(hone_lower_t* l) {
  static const inputs_t at = {3, 4, 5, 6, 7, 8, 9};
  attend(l, &at);
}

static void lower_decoder_masked(hone_lower_t* l) {
  static const inputs_t at = {10, 3, 4, 5, 6, 7, 9};
  attend(l, &at);
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "MultiHeadAttention",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 10,
     .attrs = "mask_filter_value num_heads scale unidirectional",
     .lower = lower_multi_head_attention},
    {.domain = HONE_MS_DOMAIN,
     .name = "DecoderMaskedMultiHeadAttention",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 11,
     .attrs = "mask_filter_value num_heads output_qk past_present_share_buffer scale",
     .lower = lower_decoder_masked},
};
HONE_OP_FAMILY(ms_multi_head_attention, ops)
