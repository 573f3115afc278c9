/* RotaryEmbedding (com.microsoft): rotates pairs of each head's elements by
 * angles that grow with the position. */
#include "ops/common/ms_attention.h"

/* Rows of a cache [positions, R] for each token: [B or 1, S, R]. One position
 * is that of the first token. */
static hone_value_t* rows(hone_builder_t* b, hone_value_t* cache, hone_value_t* positions,
                          hone_dim_t sequence) {
  if (!hone_is_known(b, positions)) return NULL;
  if (hone_rank(positions) == 1) {
    hone_value_t* steps = hone_iota(b, HONE_I64, 1, &sequence, 0);
    positions = hone_add(b, hone_cast(b, hone_ms_scalar(b, positions), HONE_I64), steps);
    positions = hone_unsqueeze(b, positions, 0);
  }
  return hone_gather(b, cache, positions);
}

static void lower_rotary_embedding(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *cosines = hone_op_in(l, 2);
  int64_t n = hone_attr_int(l->node, "num_heads", 0);
  if ((hone_rank(x) != 3 && hone_rank(x) != 4) || hone_rank(cosines) != 2) {
    hone_op_fail(l, "the input has rank %d (3 or 4 are taken) and cos_cache %d (2)", hone_rank(x),
                 hone_rank(cosines));
    return;
  }
  hone_value_t* heads = NULL;
  if (hone_rank(x) == 4) {
    heads = hone_move_axis(b, x, 1, 2);
  } else {
    hone_dim_t size = n > 0 ? hone_d_floordiv(b, hone_dim(x, 2), hone_d(n))
                            : hone_d_mul(b, hone_d(2), hone_dim(cosines, 1));
    hone_dim_t count = n > 0 ? hone_d(n) : hone_d_floordiv(b, hone_dim(x, 2), size);
    hone_dim_t shape[4] = {hone_dim(x, 0), hone_dim(x, 1), count, size};
    heads = hone_reshape(b, x, 4, shape);
  }
  if (!heads) return;
  hone_dim_t sequence = hone_dim(heads, 1);
  bool interleaved = hone_attr_int(l->node, "interleaved", 0) != 0;
  hone_value_t* y =
      hone_ms_rotate(b, heads, rows(b, cosines, hone_op_in(l, 1), sequence),
                     rows(b, hone_op_in(l, 3), hone_op_in(l, 1), sequence), interleaved);
  hone_op_out(l, 0, hone_rank(x) == 4 ? hone_move_axis(b, y, 2, 1) : hone_reshape_like(b, y, x));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "RotaryEmbedding",
     .min_opset = 1,
     .min_inputs = 4,
     .max_inputs = 4,
     .attrs = "interleaved is_packed_batching num_heads rotary_embedding_dim scale",
     .lower = lower_rotary_embedding},
};
HONE_OP_FAMILY(ms_rotary_embedding, ops)
