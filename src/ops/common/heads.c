/* Layout of attention heads. */
#include "ops/common/heads.h"

hone_value_t* hone_heads_split(hone_lower_t* l, hone_value_t* x, int64_t heads) {
  hone_builder_t* b = l->b;
  if (!hone_is_known(b, x)) return NULL;
  hone_dim_t width = hone_rank(x) == 3 ? hone_dim(x, 2) : hone_d(0);
  if (hone_rank(x) != 3 || heads < 1 || heads > INT32_MAX ||
      (hone_dim_is_int(width) && width.k % heads != 0)) {
    hone_op_fail(l,
                 "an input of rank %d cannot be split into %lld heads; it must have rank 3, and "
                 "the heads must divide its last extent",
                 hone_rank(x), (long long)heads);
    return NULL;
  }
  hone_dim_t each = hone_d_floordiv(b, width, hone_d(heads));
  hone_dim_t shape[4] = {hone_dim(x, 0), hone_dim(x, 1), hone_d(heads), each};
  return hone_move_axis(b, hone_reshape(b, x, 4, shape), 2, 1);
}

hone_value_t* hone_heads_join(hone_builder_t* b, hone_value_t* x) {
  x = hone_move_axis(b, x, 1, 2);
  if (!x) return NULL;
  hone_dim_t shape[3] = {hone_dim(x, 0), hone_dim(x, 1),
                         hone_d_mul(b, hone_dim(x, 2), hone_dim(x, 3))};
  return hone_reshape(b, x, 3, shape);
}

/* [B, H, S, D] as [B, G, H / G, S, D]: each key head has its group of queries. */
static hone_value_t* group(hone_lower_t* l, hone_value_t* x, const hone_value_t* keys) {
  hone_builder_t* b = l->b;
  if (!hone_is_known(b, x) || !hone_is_known(b, keys)) return NULL;
  hone_dim_t heads = hone_dim(x, 1), groups = hone_dim(keys, 1);
  bool known = hone_dim_is_int(heads) && hone_dim_is_int(groups);
  if (known && (groups.k < 1 ? heads.k != 0 : heads.k % groups.k != 0)) {
    hone_op_fail(l, "%lld query heads are no multiple of %lld key heads", (long long)heads.k,
                 (long long)groups.k);
    return NULL;
  }
  hone_dim_t each = hone_dim_same(heads, groups) ? hone_d(1) : hone_d_floordiv(b, heads, groups);
  hone_dim_t shape[5] = {hone_dim(x, 0), groups, each, hone_dim(x, 2), hone_dim(x, 3)};
  return hone_reshape(b, x, 5, shape);
}

/* [B, G, H / G, S, n] as [B, H, S, n]. */
static hone_value_t* ungroup(hone_builder_t* b, hone_value_t* x, const hone_value_t* like) {
  if (!x) return NULL;
  hone_dim_t shape[4] = {hone_dim(x, 0), hone_dim(like, 1), hone_dim(x, 3), hone_dim(x, 4)};
  return hone_reshape(b, x, 4, shape);
}

hone_value_t* hone_heads_scores(hone_lower_t* l, hone_value_t* q, hone_value_t* k,
                                hone_dtype_t dtype) {
  static const int64_t pairs[3][2] = {{0, 0}, {1, 1}, {4, 3}};
  hone_value_t* scores = hone_contract(l->b, group(l, q, k), k, 3, pairs, 2, dtype);
  return ungroup(l->b, scores, q);
}

hone_value_t* hone_heads_values(hone_lower_t* l, hone_value_t* p, hone_value_t* v,
                                hone_dtype_t dtype) {
  static const int64_t pairs[3][2] = {{0, 0}, {1, 1}, {4, 2}};
  hone_value_t* sums = hone_contract(l->b, group(l, p, v), v, 3, pairs, 2, dtype);
  return ungroup(l->b, sums, p);
}

hone_value_t* hone_heads_scale(hone_builder_t* b, const hone_value_t* q, hone_dtype_t dtype) {
  return hone_reciprocal(b, hone_sqrt(b, hone_dim_scalar(b, dtype, hone_dim(q, -1))));
}
