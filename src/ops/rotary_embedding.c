/* RotaryEmbedding: pairs of elements of each head turn by the angle that
 * belongs to their position. */
#include "ops/common/heads.h"

/* [B, S, half] as [B, 1, S, half], of the positions where those are given. */
static hone_value_t* angles(hone_lower_t* l, int index, hone_dtype_t dtype) {
  hone_value_t *cache = hone_op_in(l, index), *positions = hone_op_in(l, 3);
  if (positions) cache = hone_take(l->b, cache, positions, 0);
  if (cache && hone_rank(cache) == 2) cache = hone_unsqueeze(l->b, cache, 0);
  if (!cache) return NULL;
  if (hone_rank(cache) != 3) {
    hone_op_fail(l, "the angles of input %d come out with rank %d; it must be 3", index,
                 hone_rank(cache));
    return NULL;
  }
  return hone_cast(l->b, hone_unsqueeze(l->b, cache, 1), dtype);
}

/* The first (0) or second (1) elements of the pairs: neighbours, or of two halves. */
static hone_value_t* side(hone_builder_t* b, hone_value_t* x, hone_dim_t half, bool neighbours,
                          int which) {
  if (!x) return NULL;
  hone_dim_t lo = hone_d_mul(b, hone_d(which), half);
  if (!neighbours) return hone_slice_axis(b, x, -1, lo, hone_d_add(b, lo, half));
  hone_dim_t shape[5];
  for (int i = 0; i < 3; i++) shape[i] = hone_dim(x, i);
  shape[3] = half;
  shape[4] = hone_d(2);
  return hone_pick(b, hone_reshape(b, x, 5, shape), -1, hone_d(which));
}

static hone_value_t* rotate(hone_lower_t* l, hone_value_t* x, hone_dim_t half) {
  hone_builder_t* b = l->b;
  if (!x) return NULL;
  bool neighbours = hone_attr_int(l->node, "interleaved", 0) != 0;
  hone_dtype_t dtype = hone_dtype_of(x);
  hone_value_t *c = angles(l, 1, dtype), *s = angles(l, 2, dtype);
  hone_value_t *u = side(b, x, half, neighbours, 0), *v = side(b, x, half, neighbours, 1);
  hone_value_t* turned[2] = {hone_sub(b, hone_mul(b, c, u), hone_mul(b, s, v)),
                             hone_add(b, hone_mul(b, s, u), hone_mul(b, c, v))};
  if (!neighbours) return hone_concat(b, 2, turned, -1);
  for (int i = 0; i < 2; i++) turned[i] = hone_unsqueeze(b, turned[i], -1);
  return hone_reshape_like(b, hone_concat(b, 2, turned, -1), x);
}

static void lower_rotary(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  bool flat = hone_rank(x) == 3;
  if (!flat && hone_rank(x) != 4) {
    hone_op_fail(l, "the input has rank %d; it must have 3 or 4", hone_rank(x));
    return;
  }
  if (flat) x = hone_heads_split(l, x, hone_attr_int(l->node, "num_heads", 0));
  if (!x) return;
  hone_dtype_t dtype = hone_dtype_of(x), work = dtype == HONE_F64 ? HONE_F64 : HONE_F32;
  x = hone_cast(b, x, work);
  int64_t given = hone_attr_int(l->node, "rotary_embedding_dim", 0);
  if (!x) return;
  hone_dim_t size = hone_dim(x, -1), turned = given > 0 ? hone_d(given) : size;
  hone_dim_t half = hone_d_floordiv(b, turned, hone_d(2));
  hone_value_t* parts[2] = {rotate(l, hone_slice_axis(b, x, -1, hone_d(0), turned), half),
                            hone_slice_axis(b, x, -1, turned, size)};
  hone_value_t* y = hone_dim_same(turned, size) ? parts[0] : hone_concat(b, 2, parts, -1);
  y = hone_cast(b, y, dtype);
  hone_op_out(l, 0, flat ? hone_heads_join(b, y) : y);
}

static const hone_op_t ops[] = {
    {.name = "RotaryEmbedding",
     .min_opset = 23,
     .min_inputs = 3,
     .max_inputs = 4,
     .attrs = "interleaved num_heads rotary_embedding_dim",
     .lower = lower_rotary},
};
HONE_OP_FAMILY(rotary_embedding, ops)
