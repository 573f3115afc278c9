/* See ms_attention.h. */
#include "ops/common/ms_attention.h"

#include <math.h>

#include "ops/common/formulas.h"

/* ---- the core ---- */

static hone_value_t* scaled(hone_builder_t* b, hone_value_t* scores, double scale,
                            hone_dim_t size) {
  if (scale != 0) return hone_mul_number(b, scores, scale);
  hone_value_t* root =
      scores ? hone_sqrt(b, hone_dim_scalar(b, hone_dtype_of(scores), size)) : NULL;
  return hone_mul(b, scores, hone_reciprocal(b, root));
}

/* Softmax of rows with one more score, whose share goes nowhere. */
static hone_value_t* softmax_with_sink(hone_builder_t* b, hone_value_t* x, hone_value_t* sink) {
  hone_value_t* top = hone_reduce_last(b, HONE_COMBINE_MAX, x, 1, true);
  top = hone_max(b, top, sink);
  hone_value_t* e = hone_exp(b, hone_sub(b, x, top));
  hone_value_t* sum = hone_reduce_last(b, HONE_COMBINE_ADD, e, 1, true);
  return hone_div(b, e, hone_add(b, sum, hone_exp(b, hone_sub(b, sink, top))));
}

hone_value_t* hone_ms_attend(hone_builder_t* b, hone_ms_attention_t* a) {
  if (!hone_is_known(b, a->q) || !hone_is_known(b, a->k) || !hone_is_known(b, a->v)) return NULL;
  hone_dtype_t wide = hone_wide_dtype(hone_dtype_of(a->q));
  hone_value_t* scores =
      hone_matmul(b, hone_cast(b, a->q, wide), hone_transpose(b, hone_cast(b, a->k, wide)), wide);
  scores = scaled(b, scores, a->scale, hone_dim(a->q, -1));
  if (a->softcap > 0)
    scores = hone_mul_number(b, hone_tanh(b, hone_div_number(b, scores, a->softcap)), a->softcap);
  a->scores = scores;
  if (a->bias) scores = hone_add(b, scores, hone_cast(b, a->bias, wide));
  if (a->allowed)
    scores =
        hone_select(b, a->allowed, scores, hone_scalar(b, wide, -(double)3.4028234663852886e38));
  a->masked = scores;
  a->chances = a->sink ? softmax_with_sink(b, scores, hone_cast(b, a->sink, wide))
                       : hone_softmax(b, scores, -1);
  hone_value_t* y = hone_matmul(b, a->chances, hone_cast(b, a->v, wide), wide);
  return hone_cast(b, y, hone_dtype_of(a->q));
}

/* ---- heads ---- */

int64_t hone_ms_heads_attr(hone_lower_t* l, const char* name) {
  int64_t heads = hone_attr_int(l->node, name, 0);
  if (heads >= 1 && heads <= INT32_MAX) return heads;
  hone_op_fail(l, "%s is %lld; it must be positive", name, (long long)heads);
  return 0;
}

hone_value_t* hone_ms_split_heads(hone_builder_t* b, hone_value_t* x, int64_t heads) {
  if (!hone_is_known(b, x)) return NULL;
  if (hone_rank(x) != 3)
    return hone_fail(b, HONE_INVALID_MODEL,
                     "a tensor of rank %d where [batch, sequence, width] "
                     "is needed",
                     hone_rank(x));
  hone_dim_t shape[4] = {hone_dim(x, 0), hone_dim(x, 1), hone_d(heads),
                         hone_d_floordiv(b, hone_dim(x, 2), hone_d(heads))};
  return hone_move_axis(b, hone_reshape(b, x, 4, shape), 2, 1);
}

hone_value_t* hone_ms_join_heads(hone_builder_t* b, hone_value_t* x) {
  x = hone_move_axis(b, x, 1, 2);
  if (!x) return NULL;
  hone_dim_t shape[3] = {hone_dim(x, 0), hone_dim(x, 1),
                         hone_d_mul(b, hone_dim(x, 2), hone_dim(x, 3))};
  return hone_reshape(b, x, 3, shape);
}

/* ---- masks ---- */

hone_value_t* hone_ms_causal(hone_builder_t* b, hone_dim_t sequence, hone_dim_t total) {
  hone_dim_t shape[2] = {sequence, total};
  hone_value_t* key = hone_iota(b, HONE_I64, 2, shape, 1);
  hone_value_t* query = hone_iota(b, HONE_I64, 2, shape, 0);
  hone_value_t* past = hone_dim_scalar(b, HONE_I64, hone_d_sub(b, total, sequence));
  return hone_le(b, key, hone_add(b, query, past));
}

/* bool [B, 1, 1, T] from ends [B], or ends and starts [2 B] (exclusive, inclusive). */
static hone_value_t* within_limits(hone_builder_t* b, hone_value_t* limits, hone_dim_t batch,
                                   hone_dim_t total) {
  hone_dim_t count = hone_dim(limits, 0), column[4] = {batch, hone_d(1), hone_d(1), hone_d(1)};
  hone_value_t* key = hone_iota(b, HONE_I64, 1, &total, 0);
  hone_value_t* wide = hone_cast(b, limits, HONE_I64);
  hone_value_t* end = hone_slice_axis(b, wide, 0, hone_d(0), batch);
  hone_value_t* inside = hone_lt(b, key, hone_reshape(b, end, 4, column));
  if (hone_dim_same(count, batch)) return inside;
  hone_value_t* start = hone_slice_axis(b, wide, 0, batch, hone_d_mul(b, hone_d(2), batch));
  return hone_and(b, inside, hone_le(b, hone_reshape(b, start, 4, column), key));
}

/* [B] and [2 B] must be told apart; where that cannot be seen yet, the node waits. */
static bool is_decided(hone_builder_t* b, hone_dim_t count, hone_dim_t batch) {
  if (hone_dim_same(count, batch) || hone_dim_same(count, hone_d_mul(b, hone_d(2), batch)))
    return true;
  if (!hone_dim_is_int(count) || !hone_dim_is_int(batch))
    hone_defer(b, "whether a mask holds lengths, or ends and starts, is not known");
  else
    hone_fail(b, HONE_INVALID_MODEL, "a mask of %lld entries for a batch of %lld",
              (long long)count.k, (long long)batch.k);
  return false;
}

hone_value_t* hone_ms_padding_bias(hone_lower_t* l, hone_value_t* mask, hone_dim_t batch,
                                   hone_dim_t total, double filter) {
  hone_builder_t* b = l->b;
  if (!mask) return NULL;
  hone_value_t* keep;
  int rank = hone_rank(mask);
  if (rank == 1) {
    if (!is_decided(b, hone_dim(mask, 0), batch)) return NULL;
    keep = within_limits(b, mask, batch, total);
  } else if (rank == 2) {
    keep = hone_unsqueeze(b, hone_unsqueeze(b, hone_gt_number(b, mask, 0), 1), 1);
  } else if (rank == 3) {
    keep = hone_unsqueeze(b, hone_gt_number(b, mask, 0), 1);
  } else {
    hone_op_fail(l, "a mask of rank %d is not supported; ranks 1 to 3 are", rank);
    return NULL;
  }
  return hone_select(b, keep, hone_scalar(b, HONE_F32, 0), hone_scalar(b, HONE_F32, filter));
}

/* ---- Attention and QAttention ---- */

/* Keys (0) or values (1) with those of the past in front. */
static hone_value_t* with_past(hone_builder_t* b, hone_value_t* past, int index, hone_value_t* x) {
  if (!past) return x;
  hone_value_t* parts[2] = {hone_pick(b, past, 0, hone_d(index)), x};
  return hone_concat(b, 2, parts, 2);
}

static bool is_supported(hone_lower_t* l) {
  static const char* const refused[] = {"past_present_share_buffer", "do_rotary"};
  for (int i = 0; i < 2; i++)
    if (hone_attr_int(l->node, refused[i], 0)) {
      hone_fail(l->b, HONE_UNSUPPORTED, "%s is not supported", refused[i]);
      return false;
    }
  return true;
}

void hone_ms_self_attend(hone_lower_t* l, const hone_ms_self_attention_t* s) {
  hone_builder_t* b = l->b;
  int64_t heads = hone_ms_heads_attr(l, "num_heads");
  if (!heads || !is_supported(l) || !hone_is_known(b, s->qkv)) return;
  hone_value_t* part[3];
  hone_dim_t at = hone_d(0);
  for (int i = 0; i < 3; i++) {
    hone_dim_t end = hone_d_add(b, at, s->widths[i]);
    part[i] = hone_ms_split_heads(b, hone_slice_axis(b, s->qkv, 2, at, end), heads);
    at = end;
  }
  hone_value_t* k = with_past(b, s->past, 0, part[1]);
  hone_value_t* v = with_past(b, s->past, 1, part[2]);
  if (!k || !v) return;
  hone_dim_t batch = hone_dim(s->qkv, 0), sequence = hone_dim(s->qkv, 1), total = hone_dim(k, 2);
  double filter = hone_attr_float(l->node, "mask_filter_value", -10000);
  hone_value_t* bias = hone_ms_padding_bias(l, s->mask, batch, total, filter);
  if (s->bias) bias = bias ? hone_add(b, bias, hone_cast(b, s->bias, HONE_F32)) : s->bias;
  bool causal = hone_attr_int(l->node, "unidirectional", 0) != 0;
  hone_ms_attention_t a = {.q = part[0],
                           .k = k,
                           .v = v,
                           .scale = hone_attr_float(l->node, "scale", 0),
                           .bias = bias,
                           .allowed = causal ? hone_ms_causal(b, sequence, total) : NULL};
  hone_op_out(l, 0, hone_ms_join_heads(b, hone_ms_attend(b, &a)));
  if (!hone_op_wants(l, 1)) return;
  hone_value_t* both[2] = {hone_unsqueeze(b, k, 0), hone_unsqueeze(b, v, 0)};
  hone_op_out(l, 1, hone_concat(b, 2, both, 0));
}

/* ---- rotation ---- */

/* Every second element of the last axis, from `first`; or one half of it. */
static hone_value_t* component(hone_builder_t* b, hone_value_t* x, int first, bool interleaved,
                               hone_dim_t half) {
  hone_dim_t shape[HONE_MAX_RANK];
  int rank = hone_rank(x);
  for (int i = 0; i < rank - 1; i++) shape[i] = hone_dim(x, i);
  shape[rank - 1] = interleaved ? half : hone_d(2);
  shape[rank] = interleaved ? hone_d(2) : half;
  return hone_pick(b, hone_reshape(b, x, rank + 1, shape), interleaved ? rank : rank - 1,
                   hone_d(first));
}

hone_value_t* hone_ms_rotate(hone_builder_t* b, hone_value_t* x, hone_value_t* cosines,
                             hone_value_t* sines, bool interleaved) {
  if (!hone_is_known(b, x) || !hone_is_known(b, cosines)) return NULL;
  int rank = hone_rank(x);
  hone_dim_t half = hone_dim(cosines, -1), width = hone_d_mul(b, hone_d(2), half);
  hone_value_t* turned = hone_widen(b, hone_slice_axis(b, x, -1, hone_d(0), width));
  hone_value_t* rest = hone_slice_axis(b, x, -1, width, hone_dim(x, -1));
  hone_value_t* c = hone_unsqueeze(b, hone_widen(b, cosines), 2);
  hone_value_t* s = hone_unsqueeze(b, hone_widen(b, sines), 2);
  if (!turned) return NULL;
  hone_value_t* re = component(b, turned, 0, interleaved, half);
  hone_value_t* im = component(b, turned, 1, interleaved, half);
  hone_value_t* new_re = hone_sub(b, hone_mul(b, re, c), hone_mul(b, im, s));
  hone_value_t* new_im = hone_add(b, hone_mul(b, im, c), hone_mul(b, re, s));
  int axis = interleaved ? rank : rank - 1;
  hone_value_t* parts[2] = {hone_unsqueeze(b, new_re, axis), hone_unsqueeze(b, new_im, axis)};
  hone_value_t* both = hone_concat(b, 2, parts, axis);
  hone_value_t* ends[2] = {hone_cast(b, hone_reshape_like(b, both, turned), hone_dtype_of(x)),
                           rest};
  return hone_concat(b, 2, ends, rank - 1);
}
