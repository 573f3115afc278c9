/* RelativePositionBias (com.microsoft): T5's bias by the distance between query
 * and key; distances fall into buckets, single ones first and then in
 * logarithmic steps up to max_distance. And GatedRelativePositionBias: a bias
 * scaled by gates made from the queries. */
#include <math.h>

#include "ops/common/ms_attention.h"

/* i64 [queries, keys]; `count` buckets for one direction. */
static hone_value_t* distance_bucket(hone_builder_t* b, hone_value_t* distance, int64_t count,
                                     int64_t max_distance) {
  int64_t exact = count / 2;
  hone_value_t* ratio = hone_div_number(b, hone_cast(b, distance, HONE_F32), (double)exact);
  double step = log((double)max_distance / (double)exact);
  hone_value_t* large =
      hone_div_number(b, hone_log(b, hone_max_number(b, ratio, 1)), (double)(float)step);
  large = hone_mul_number(b, large, (double)(count - exact));
  large = hone_add_number(b, hone_cast(b, large, HONE_I64), (double)exact);
  large = hone_min_number(b, large, (double)(count - 1));
  return hone_select(b, hone_lt_number(b, distance, (double)exact), distance, large);
}

static hone_value_t* buckets(hone_lower_t* l, const hone_dim_t* lengths, int64_t count) {
  hone_builder_t* b = l->b;
  int64_t max_distance = hone_attr_int(l->node, "max_distance", 0);
  bool both_ways = hone_attr_int(l->node, "is_bidirectional", 0) != 0;
  if (both_ways) count /= 2;
  if (count < 2 || max_distance <= count / 2) {
    hone_op_fail(l, "%lld buckets and max_distance %lld do not fit", (long long)count,
                 (long long)max_distance);
    return NULL;
  }
  hone_value_t* ahead =
      hone_sub(b, hone_iota(b, HONE_I64, 2, lengths, 1), hone_iota(b, HONE_I64, 2, lengths, 0));
  if (!both_ways)
    return distance_bucket(b, hone_neg(b, hone_min_number(b, ahead, 0)), count, max_distance);
  hone_value_t* base = hone_cast(b, hone_gt_number(b, ahead, 0), HONE_I64);
  return hone_add(b, hone_mul_number(b, base, (double)count),
                  distance_bucket(b, hone_abs(b, ahead), count, max_distance));
}

static void lower_relative_position_bias(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* table = hone_op_in(l, 0);
  int n, m;
  const hone_dim_t* queries = hone_op_known_dims(l, 1, &n);
  const hone_dim_t* keys = hone_op_known_dims(l, 2, &m);
  if (!queries || !keys || !hone_is_known(b, table)) return;
  if (n != 1 || m != 1 || hone_rank(table) != 2) {
    hone_op_fail(l, "the lengths must be one number each and the table a matrix");
    return;
  }
  if (!hone_dim_is_int(hone_dim(table, 0))) {
    hone_defer(b, "the number of buckets is not known");
    return;
  }
  hone_dim_t lengths[2] = {queries[0], keys[0]};
  hone_dim_t turned[2] = {hone_dim(table, 1), hone_dim(table, 0)}; /* stored by columns */
  hone_value_t* which = buckets(l, lengths, hone_dim(table, 0).k);
  hone_value_t* y = hone_take(b, hone_reshape(b, table, 2, turned), which, 1);
  hone_op_out(l, 0, hone_unsqueeze(b, y, 0));
}

/* ---- gated ---- */

/* Two gates for each query, from sums of half of D columns: [B, N, S, 2]. */
static hone_value_t* gates(hone_lower_t* l, int64_t heads) {
  hone_builder_t* b = l->b;
  hone_value_t* q = hone_add(b, hone_op_in(l, 0), hone_op_in(l, 1));
  q = hone_ms_split_heads(b, q, heads);
  if (!q) return NULL;
  hone_value_t* u = hone_matmul(b, q, hone_op_in(l, 3), hone_dtype_of(q));
  u = hone_add(b, u, hone_op_in(l, 4));
  if (!u) return NULL;
  hone_dim_t shape[5] = {hone_dim(u, 0), hone_dim(u, 1), hone_dim(u, 2), hone_d(2),
                         hone_d_floordiv(b, hone_dim(u, 3), hone_d(2))};
  hone_value_t* sums =
      hone_reduce_last(b, HONE_COMBINE_ADD, hone_reshape(b, u, 5, shape), 1, false);
  return hone_sigmoid(b, sums);
}

static void lower_gated(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  int64_t heads = hone_ms_heads_attr(l, "num_heads");
  if (hone_op_in(l, 6)) {
    hone_fail(b, HONE_UNSUPPORTED, "token_offset (packed batches) is not supported");
    return;
  }
  if (!heads) return;
  hone_value_t* g = gates(l, heads);
  hone_value_t* u = hone_slice_axis(b, g, 3, hone_d(0), hone_d(1));
  hone_value_t* r = hone_slice_axis(b, g, 3, hone_d(1), hone_d(2));
  hone_value_t* inner = hone_add_number(b, hone_mul(b, r, hone_op_in(l, 5)), -1);
  hone_value_t* gate = hone_add_number(b, hone_mul(b, u, inner), 2);
  hone_op_out(l, 0, hone_mul(b, gate, hone_op_in(l, 2)));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "RelativePositionBias",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = 3,
     .attrs = "is_bidirectional max_distance",
     .lower = lower_relative_position_bias},
    {.domain = HONE_MS_DOMAIN,
     .name = "GatedRelativePositionBias",
     .min_opset = 1,
     .min_inputs = 6,
     .max_inputs = 7,
     .attrs = "num_heads",
     .lower = lower_gated},
};
HONE_OP_FAMILY(ms_relative_position_bias, ops)
