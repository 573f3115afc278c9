/* MultiHeadAttention (com.microsoft): attention over projected queries, keys
 * and values. These come apart, as [batch, sequence, width]; or keys and
 * values as heads; or packed, [batch, sequence, heads, 3, size] for all and
 * [batch, sequence, heads, 2, size] for keys and values. */
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

static bool read_heads(hone_lower_t* l, int64_t n, heads_t* h) {
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
  add_bias(b, hone_op_in(l, 3), h);
  return hone_builder_ok(b) && h->q && h->k && h->v;
}

static hone_value_t* after_past(hone_builder_t* b, hone_value_t* past, hone_value_t* x) {
  hone_value_t* parts[2] = {past, x};
  return past ? hone_concat(b, 2, parts, 2) : x;
}

static void lower_multi_head_attention(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  heads_t h = {0};
  int64_t n = hone_ms_heads_attr(l, "num_heads");
  if (hone_op_in(l, 8) || hone_op_in(l, 9)) {
    hone_fail(b, HONE_UNSUPPORTED, "a past shared with the present is not supported");
    return;
  }
  if (!n || !read_heads(l, n, &h)) return;
  hone_value_t* k = after_past(b, hone_op_in(l, 6), h.k);
  hone_value_t* v = after_past(b, hone_op_in(l, 7), h.v);
  if (!k) return;
  hone_dim_t batch = hone_dim(h.q, 0), sequence = hone_dim(h.q, 2), total = hone_dim(k, 2);
  double filter = hone_attr_float(l->node, "mask_filter_value", -10000);
  hone_value_t* bias = hone_ms_padding_bias(l, hone_op_in(l, 4), batch, total, filter);
  hone_value_t* added = hone_op_in(l, 5);
  if (added) bias = bias ? hone_add(b, bias, hone_cast(b, added, HONE_F32)) : added;
  bool causal = hone_attr_int(l->node, "unidirectional", 0) != 0;
  hone_ms_attention_t a = {.q = h.q,
                           .k = k,
                           .v = v,
                           .scale = hone_attr_float(l->node, "scale", 0),
                           .bias = bias,
                           .allowed = causal ? hone_ms_causal(b, sequence, total) : NULL};
  hone_op_out(l, 0, hone_ms_join_heads(b, hone_ms_attend(b, &a)));
  hone_op_out(l, 1, k);
  hone_op_out(l, 2, v);
  hone_op_out(l, 3, hone_cast(b, a.masked, hone_dtype_of(h.q)));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "MultiHeadAttention",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 10,
     .attrs = "mask_filter_value num_heads scale unidirectional",
     .lower = lower_multi_head_attention},
};
HONE_OP_FAMILY(ms_multi_head_attention, ops)
