/* GroupQueryAttention (com.microsoft): attention in which groups of query heads
 * share a head of keys and values, with a cache of past keys and values that
 * may be longer than what it holds. Sequences of a batch may differ in how
 * many positions they hold already: seqlens_k + 1 after this call. */
#include <string.h>

#include "ops/common/formulas.h"
#include "ops/common/ms_attention.h"

typedef struct gqa {
  hone_lower_t* l;
  hone_builder_t* b;
  int64_t heads, kv_heads;
  hone_dim_t batch, sequence, size, past, total; /* past: the extent of the cache given */
  hone_value_t *q, *k, *v;                       /* [B, S, N, H] */
  hone_value_t* held;                            /* i64 [B]: positions held before this call */
} gqa_t;

/* ---- inputs ---- */

static hone_value_t* as_heads(gqa_t* g, hone_value_t* x, int64_t heads) {
  hone_dim_t shape[4] = {g->batch, g->sequence, hone_d(heads), g->size};
  return hone_reshape(g->b, x, 4, shape);
}

static hone_value_t* packed_part(gqa_t* g, hone_value_t* x, int64_t from, int64_t count) {
  hone_dim_t lo = hone_d_mul(g->b, hone_d(from), g->size);
  hone_dim_t hi = hone_d_mul(g->b, hone_d(from + count), g->size);
  return as_heads(g, hone_slice_axis(g->b, x, 2, lo, hi), count);
}

static void read_heads(gqa_t* g) {
  hone_lower_t* l = g->l;
  hone_value_t *q = hone_op_in(l, 0), *k = hone_op_in(l, 1), *v = hone_op_in(l, 2);
  g->batch = hone_dim(q, 0);
  g->sequence = hone_dim(q, 1);
  int64_t parts = k ? g->heads : g->heads + 2 * g->kv_heads;
  g->size = hone_d_floordiv(g->b, hone_dim(q, 2), hone_d(parts));
  g->q = packed_part(g, q, 0, g->heads);
  g->k = k ? as_heads(g, k, g->kv_heads) : packed_part(g, q, g->heads, g->kv_heads);
  g->v = k ? as_heads(g, v, g->kv_heads) : packed_part(g, q, g->heads + g->kv_heads, g->kv_heads);
}

/* In a first call (everything there is, is given) nothing is held yet, also
 * where shorter sequences are padded. */
static bool read_lengths(gqa_t* g) {
  hone_lower_t* l = g->l;
  hone_builder_t* b = g->b;
  int n;
  const hone_dim_t* total = hone_op_known_dims(l, 6, &n);
  if (!total || n != 1) {
    if (hone_builder_ok(b)) hone_op_fail(l, "total_sequence_length must be one number");
    return false;
  }
  g->past = hone_op_in(l, 3) ? hone_dim(hone_op_in(l, 3), 2) : hone_d(0);
  g->total = hone_d_max(b, g->past, total[0]);
  hone_dim_t first =
      hone_dim_select_eq(b->graph->dims, total[0], g->sequence, hone_d(0), hone_d(1));
  hone_value_t* held = hone_cast(b, hone_ravel(b, hone_op_in(l, 5)), HONE_I64);
  hone_dim_t new = hone_d_sub(b, hone_d(1), g->sequence);
  held = hone_add(b, held, hone_dim_scalar(b, HONE_I64, new));
  g->held = hone_mul(b, held, hone_dim_scalar(b, HONE_I64, first));
  return g->held != NULL;
}

static hone_value_t* column(gqa_t* g, hone_value_t* list) { return hone_unsqueeze(g->b, list, 1); }

/* ---- rotation and norms ---- */

static hone_value_t* normalized(gqa_t* g, hone_value_t* x, int weight) {
  if (!hone_op_in(g->l, weight)) return x;
  double epsilon = hone_attr_float(g->l->node, "qk_norm_epsilon", (double)1e-6f);
  return hone_ms_normalize(g->b, x, hone_op_in(g->l, weight), NULL, epsilon, true).y;
}

static void rotate(gqa_t* g) {
  hone_lower_t* l = g->l;
  hone_builder_t* b = g->b;
  g->q = normalized(g, g->q, 14);
  g->k = normalized(g, g->k, 15);
  if (!hone_attr_int(l->node, "do_rotary", 0)) return;
  if (!hone_op_in(l, 7) || !hone_op_in(l, 8)) {
    hone_op_fail(l, "do_rotary is set, but cos_cache or sin_cache is missing");
    return;
  }
  hone_value_t* at = hone_op_in(l, 9);
  if (!at) at = hone_add(b, column(g, g->held), hone_iota(b, HONE_I64, 1, &g->sequence, 0));
  hone_value_t* cosines = hone_gather(b, hone_op_in(l, 7), at);
  hone_value_t* sines = hone_gather(b, hone_op_in(l, 8), at);
  bool interleaved = hone_attr_int(l->node, "rotary_interleaved", 0) != 0;
  g->q = hone_ms_rotate(b, g->q, cosines, sines, interleaved);
  g->k = hone_ms_rotate(b, g->k, cosines, sines, interleaved);
}

/* ---- the cache ---- */

/* Which row of [past, new, one row of zeros] stands at each position after
 * this call: i64 [B, total], counted through the whole batch. */
static hone_value_t* cache_rows(gqa_t* g) {
  hone_builder_t* b = g->b;
  hone_dim_t all = hone_d_add(b, hone_d_add(b, g->past, g->sequence), hone_d(1));
  hone_value_t* t = hone_unsqueeze(b, hone_iota(b, HONE_I64, 1, &g->total, 0), 0);
  hone_value_t* held = column(g, g->held);
  hone_value_t* is_new = hone_sub(b, t, held);
  hone_value_t* from_new = hone_add(b, is_new, hone_dim_scalar(b, HONE_I64, g->past));
  hone_value_t* zeros = hone_dim_scalar(b, HONE_I64, hone_d_sub(b, all, hone_d(1)));
  hone_value_t* in_new = hone_lt(b, is_new, hone_dim_scalar(b, HONE_I64, g->sequence));
  hone_value_t* row =
      hone_select(b, hone_lt(b, t, held), t, hone_select(b, in_new, from_new, zeros));
  hone_value_t* start =
      hone_mul(b, hone_iota(b, HONE_I64, 1, &g->batch, 0), hone_dim_scalar(b, HONE_I64, all));
  return hone_add(b, row, column(g, start));
}

/* The cache with the new keys (or values) put in: [B, kv heads, total, H]. */
static hone_value_t* updated(gqa_t* g, int past_input, hone_value_t* new, hone_value_t* rows) {
  hone_builder_t* b = g->b;
  if (!hone_is_known(b, new)) return NULL;
  hone_value_t* past = hone_op_in(g->l, past_input);
  hone_dim_t one[4] = {g->batch, hone_d(1), hone_d(g->kv_heads), g->size};
  hone_value_t* parts[3] = {past ? hone_move_axis(b, past, 1, 2) : NULL, new,
                            hone_full(b, hone_dtype_of(new), 0, 4, one)};
  hone_value_t* all = hone_concat(b, past ? 3 : 2, past ? parts : parts + 1, 1);
  if (!all) return NULL;
  hone_dim_t flat[3] = {hone_d_mul(b, g->batch, hone_dim(all, 1)), hone_d(g->kv_heads), g->size};
  return hone_move_axis(b, hone_gather(b, hone_reshape(b, all, 3, flat), rows), 2, 1);
}

/* ---- attention ---- */

/* bool [B, 1, 1, S, total] */
static hone_value_t* allowed(gqa_t* g) {
  hone_builder_t* b = g->b;
  int64_t window = hone_attr_int(g->l->node, "local_window_size", -1);
  hone_dim_t shape[2] = {g->sequence, g->total};
  hone_dim_t lead[5] = {g->batch, hone_d(1), hone_d(1), hone_d(1), hone_d(1)};
  hone_value_t* key = hone_iota(b, HONE_I64, 2, shape, 1);
  hone_value_t* held = hone_reshape(b, g->held, 5, lead);
  if (hone_attr_int(g->l->node, "causal", 1) == 0) {
    hone_value_t* end = hone_add(b, held, hone_dim_scalar(b, HONE_I64, g->sequence));
    return hone_lt(b, key, end);
  }
  hone_value_t* query = hone_add(b, hone_iota(b, HONE_I64, 2, shape, 0), held);
  hone_value_t* seen = hone_le(b, key, query);
  if (window < 0) return seen;
  hone_value_t* oldest = hone_add_number(b, query, (double)-window);
  return hone_and(b, seen, hone_lt(b, oldest, key));
}

/* [B, N or 1, S, H] as [B, kv heads, N / kv heads, S, H]. */
static hone_value_t* grouped(gqa_t* g, hone_value_t* x) {
  if (!x) return NULL;
  hone_dim_t full[4] = {hone_dim(x, 0), hone_d(g->heads), hone_dim(x, 2), hone_dim(x, 3)};
  hone_dim_t shape[5] = {full[0], hone_d(g->kv_heads), hone_d(g->heads / g->kv_heads), full[2],
                         full[3]};
  return hone_reshape(g->b, hone_expand(g->b, x, 4, full), 5, shape);
}

static hone_value_t* sink(gqa_t* g) {
  hone_builder_t* b = g->b;
  hone_value_t* sinks = hone_op_in(g->l, 11);
  hone_dim_t shape[4] = {hone_d(g->kv_heads), hone_d(g->heads / g->kv_heads), hone_d(1), hone_d(1)};
  if (sinks) return hone_reshape(b, sinks, 4, shape);
  return hone_attr_int(g->l->node, "smooth_softmax", -1) > 0 ? hone_scalar(b, HONE_F32, 0) : NULL;
}

static void attend(gqa_t* g, hone_value_t* k, hone_value_t* v) {
  hone_lower_t* l = g->l;
  hone_builder_t* b = g->b;
  hone_ms_attention_t a = {.q = grouped(g, hone_move_axis(b, g->q, 1, 2)),
                           .k = hone_unsqueeze(b, k, 2),
                           .v = hone_unsqueeze(b, v, 2),
                           .scale = hone_attr_float(l->node, "scale", 0),
                           .softcap = hone_attr_float(l->node, "softcap", 0),
                           .bias = hone_op_in(l, 10) ? grouped(g, hone_op_in(l, 10)) : NULL,
                           .allowed = allowed(g),
                           .sink = sink(g)};
  hone_value_t* y = hone_ms_attend(b, &a);
  hone_dim_t shape[4] = {g->batch, hone_d(g->heads), g->sequence, g->size};
  hone_op_out(l, 0, hone_ms_join_heads(b, hone_reshape(b, y, 4, shape)));
}

static bool is_supported(hone_lower_t* l) {
  bool quantized = strcmp(hone_attr_string(l->node, "k_quant_type", "NONE"), "NONE") != 0 ||
                   strcmp(hone_attr_string(l->node, "v_quant_type", "NONE"), "NONE") != 0 ||
                   hone_op_in(l, 12) || hone_op_in(l, 13);
  if (quantized) hone_fail(l->b, HONE_UNSUPPORTED, "a quantized cache is not supported");
  if (hone_attr_int(l->node, "sliding_window_cache", 0))
    hone_fail(l->b, HONE_UNSUPPORTED, "sliding_window_cache is not supported");
  if (hone_rank(hone_op_in(l, 0)) != 3)
    hone_op_fail(l, "the query has rank %d; it must be [batch, sequence, width]",
                 hone_rank(hone_op_in(l, 0)));
  return hone_builder_ok(l->b);
}

static void lower_group_query_attention(hone_lower_t* l) {
  gqa_t g = {.l = l,
             .b = l->b,
             .heads = hone_ms_heads_attr(l, "num_heads"),
             .kv_heads = hone_ms_heads_attr(l, "kv_num_heads")};
  if (!g.heads || !g.kv_heads || !is_supported(l)) return;
  if (g.heads % g.kv_heads != 0) {
    hone_op_fail(l, "num_heads is %lld, which kv_num_heads (%lld) does not divide",
                 (long long)g.heads, (long long)g.kv_heads);
    return;
  }
  read_heads(&g);
  if (!read_lengths(&g)) return;
  rotate(&g);
  hone_value_t* rows = cache_rows(&g);
  hone_value_t* k = updated(&g, 3, g.k, rows);
  hone_value_t* v = updated(&g, 4, g.v, rows);
  attend(&g, k, v);
  hone_op_out(l, 1, k);
  hone_op_out(l, 2, v);
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "GroupQueryAttention",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 16,
     .attrs = "causal do_rotary k_quant_type kv_cache_bit_width kv_num_heads local_window_size "
              "num_heads qk_norm_epsilon qk_output rotary_interleaved scale sliding_window_cache "
              "smooth_softmax softcap v_quant_type",
     .lower = lower_group_query_attention},
};
HONE_OP_FAMILY(ms_group_query_attention, ops)
