/* Attention: softmax(q k' * scale, capped, masked) v, with a cache of earlier
 * keys and values in front, or keys and values that are padded behind. */
#include <math.h>

#include "ops/common/heads.h"

typedef struct attention {
  hone_lower_t* l;
  hone_dtype_t dtype;      /* of the inputs */
  hone_dtype_t work;       /* scores are computed in */
  hone_value_t *q, *k, *v; /* [B, heads, length, size], with the cache */
  hone_dim_t queries, keys, past;
  hone_value_t* filled;  /* i64 [B, 1, 1, 1]: how many keys are no padding; NULL: all */
  hone_value_t* allowed; /* bool, broadcasts to the scores; NULL: all */
  hone_value_t* bias;    /* the same in `work`; NULL: none */
  bool guarded;          /* rows without any allowed key can occur */
} attention_t;

/* ---- inputs ---- */

static hone_value_t* take_heads(attention_t* a, int index, const char* heads) {
  hone_value_t* x = hone_op_in(a->l, index);
  if (hone_rank(x) == 3) return hone_heads_split(a->l, x, hone_attr_int(a->l->node, heads, 0));
  if (hone_rank(x) == 4) return x;
  hone_op_fail(a->l, "input %d has rank %d; it must have 3 or 4", index, hone_rank(x));
  return NULL;
}

static hone_value_t* behind(hone_builder_t* b, hone_value_t* past, hone_value_t* x) {
  return past && x ? hone_concat(b, 2, (hone_value_t*[]){past, x}, 2) : x;
}

static bool read_inputs(hone_lower_t* l, attention_t* a) {
  hone_builder_t* b = l->b;
  *a = (attention_t){.l = l, .dtype = hone_dtype_of(hone_op_in(l, 0))};
  a->work = a->dtype;
  hone_value_t *past_key = hone_op_in(l, 4), *past_value = hone_op_in(l, 5);
  if (!past_key != !past_value) hone_op_fail(l, "past_key and past_value go together");
  a->q = take_heads(a, 0, "q_num_heads");
  a->k = behind(b, past_key, take_heads(a, 1, "kv_num_heads"));
  a->v = behind(b, past_value, take_heads(a, 2, "kv_num_heads"));
  if (!a->q || !a->k || !a->v) return false;
  a->queries = hone_dim(a->q, 2);
  a->keys = hone_dim(a->k, 2);
  a->past = past_key ? hone_dim(past_key, 2) : hone_d(0);
  hone_value_t* filled = hone_op_in(l, 6);
  if (!filled) return true;
  hone_dim_t shape[4] = {hone_elements(b, filled), hone_d(1), hone_d(1), hone_d(1)};
  a->filled = hone_cast(b, hone_reshape(b, filled, 4, shape), HONE_I64);
  return a->filled != NULL;
}

/* ---- masks ---- */

static void allow(attention_t* a, hone_value_t* mask) {
  a->allowed = a->allowed ? hone_and(a->l->b, a->allowed, mask) : mask;
}

/* Position of the key minus that of the query, which stands behind the cache
 * (or at the end of what is filled): [S, T] or [B, 1, S, T]. */
static hone_value_t* distances(const attention_t* a) {
  hone_builder_t* b = a->l->b;
  hone_dim_t shape[2] = {a->queries, a->keys};
  hone_value_t* query = hone_iota(b, HONE_I64, 2, shape, 0);
  hone_value_t* key = hone_iota(b, HONE_I64, 2, shape, 1);
  hone_value_t* offset = hone_dim_scalar(b, HONE_I64, a->past);
  if (a->filled && !hone_op_in(a->l, 4))
    offset = hone_sub(b, a->filled, hone_dim_scalar(b, HONE_I64, a->queries));
  return hone_sub(b, key, hone_add(b, query, offset));
}

static void mask_by_position(attention_t* a) {
  hone_builder_t* b = a->l->b;
  int64_t left = hone_attr_int(a->l->node, "left_window_size", -1);
  int64_t right = hone_attr_int(a->l->node, "right_window_size", -1);
  bool causal = hone_attr_int(a->l->node, "is_causal", 0) != 0;
  if (left < -1 || right < -1)
    hone_op_fail(a->l, "window sizes are %lld and %lld; they must be -1 (no bound) or more",
                 (long long)left, (long long)right);
  if (causal) right = 0;
  if (right >= 0) {
    hone_value_t* end = hone_scalar_i64(b, HONE_I64, right);
    allow(a, hone_le(b, distances(a), end));
  }
  if (left >= 0) {
    hone_value_t* start = hone_scalar_i64(b, HONE_I64, -left);
    allow(a, hone_ge(b, distances(a), start));
    a->guarded = true;
  }
}

static void mask_padding(attention_t* a) {
  if (!a->filled) return;
  hone_dim_t shape[4] = {hone_d(1), hone_d(1), hone_d(1), a->keys};
  hone_value_t* key = hone_iota(a->l->b, HONE_I64, 4, shape, 3);
  allow(a, hone_lt(a->l->b, key, a->filled));
  a->guarded = true;
}

/* The mask that was given; one that is too short forbids the keys behind it. */
static void mask_given(attention_t* a) {
  hone_builder_t* b = a->l->b;
  hone_value_t* mask = hone_op_in(a->l, 3);
  if (!mask) return;
  int rank = hone_rank(mask);
  if (rank < 1 || rank > 4) {
    hone_op_fail(a->l, "attn_mask has rank %d; it must have 1 to 4", rank);
    return;
  }
  a->guarded = true;
  bool is_bool = hone_dtype_of(mask) == HONE_BOOL;
  if (!is_bool) mask = hone_cast(b, mask, a->work);
  hone_dim_t lo[4], hi[4], zero = hone_d(0), room = hone_d_sub(b, a->keys, hone_dim(mask, -1));
  for (int i = 0; i < rank; i++) lo[i] = hi[i] = zero;
  hi[rank - 1] = hone_d_max(b, room, zero);
  mask = hone_pad(b, mask, lo, hi, is_bool ? NULL : hone_scalar(b, a->work, -INFINITY));
  if (is_bool)
    allow(a, mask);
  else
    a->bias = mask;
}

/* All masks as one number to add: 0 or what was given, -inf where forbidden. */
static hone_value_t* total_bias(const attention_t* a) {
  hone_builder_t* b = a->l->b;
  if (!a->allowed) return a->bias;
  hone_value_t* allowed = a->bias ? a->bias : hone_scalar(b, a->work, 0);
  return hone_select(b, a->allowed, allowed, hone_scalar(b, a->work, -INFINITY));
}

/* ---- scores to weights ---- */

static hone_value_t* cap(hone_lower_t* l, hone_value_t* scores) {
  double limit = hone_attr_float(l->node, "softcap", 0);
  if (!(limit > 0)) return scores;
  hone_value_t* bent = hone_tanh(l->b, hone_div_number(l->b, scores, limit));
  return hone_mul_number(l->b, bent, limit);
}

/* Queries and keys are each scaled by the root of the scale, so that products
 * of half floats do not overflow. */
static hone_value_t* scaled_scores(const attention_t* a) {
  hone_builder_t* b = a->l->b;
  hone_value_t* scale;
  if (hone_attr_has(a->l->node, "scale"))
    scale = hone_scalar(b, HONE_F64, hone_attr_float(a->l->node, "scale", 1));
  else
    scale = hone_heads_scale(b, a->q, HONE_F64);
  scale = hone_cast(b, hone_sqrt(b, scale), a->dtype);
  hone_value_t* q = hone_mul(b, a->q, scale);
  return hone_cast(b, hone_heads_scores(a->l, q, hone_mul(b, a->k, scale), a->dtype), a->work);
}

/* Softmax in the wanted precision; rows that may attend nothing become zero. */
static hone_value_t* weights(const attention_t* a, hone_value_t* scores, hone_value_t* bias) {
  hone_builder_t* b = a->l->b;
  int64_t precision = hone_attr_int(a->l->node, "softmax_precision", (int64_t)a->work);
  if (precision != HONE_F32 && precision != HONE_F16 && precision != HONE_F64 &&
      precision != HONE_BF16) {
    hone_op_fail(a->l, "softmax_precision is %lld; it must be 1, 10, 11 or 16",
                 (long long)precision);
    return NULL;
  }
  hone_value_t* p = hone_softmax(b, hone_cast(b, scores, (hone_dtype_t)precision), -1);
  if (!p || !bias || !a->guarded) return p;
  hone_value_t* top = hone_reduce_last(b, HONE_COMBINE_MAX, bias, 1, true);
  hone_value_t* dead = hone_eq_number(b, top, -INFINITY);
  return hone_select(b, dead, hone_scalar(b, hone_dtype_of(p), 0), p);
}

static void lower_attention(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  attention_t a;
  if (!read_inputs(l, &a)) return;
  mask_by_position(&a);
  mask_padding(&a);
  mask_given(&a);
  hone_value_t* bias = total_bias(&a);
  hone_value_t* stages[4]; /* what qk_matmul_output_mode chooses from */
  stages[0] = scaled_scores(&a);
  stages[1] = cap(l, stages[0]);
  stages[2] = bias ? hone_add(b, stages[1], bias) : stages[1];
  stages[3] = hone_cast(b, weights(&a, stages[2], bias), a.dtype);
  hone_value_t* y = hone_heads_values(l, stages[3], a.v, a.work);
  y = hone_cast(b, y, a.dtype);
  if (hone_rank(hone_op_in(l, 0)) == 3) y = hone_heads_join(b, y);
  int64_t mode = hone_attr_int(l->node, "qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) {
    hone_op_fail(l, "qk_matmul_output_mode is %lld; it must be 0 to 3", (long long)mode);
    return;
  }
  hone_op_out(l, 0, y);
  hone_op_out(l, 1, a.k);
  hone_op_out(l, 2, a.v);
  hone_op_out(l, 3, hone_cast(b, stages[mode], a.dtype));
}

static const hone_op_t ops[] = {
    {.name = "Attention",
     .min_opset = 23,
     .min_inputs = 3,
     .max_inputs = 7,
     .attrs = "is_causal kv_num_heads left_window_size q_num_heads qk_matmul_output_mode "
              "right_window_size scale softcap softmax_precision",
     .lower = lower_attention},
};
HONE_OP_FAMILY(attention, ops)
