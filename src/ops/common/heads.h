/* Attention heads: how queries, keys and values are laid out, and the two
 * contractions of attention with groups of query heads for each key head.
 *
 * B batch, H query heads, G key and value heads, S queries, T keys, D, E
 * elements of a key and of a value. */
#ifndef HONE_OPS_COMMON_HEADS_H
#define HONE_OPS_COMMON_HEADS_H

#include "ops/op.h"

/* [B, S, heads * D] as [B, heads, S, D]. */
hone_value_t* hone_heads_split(hone_lower_t* l, hone_value_t* x, int64_t heads);
/* [B, heads, S, D] as [B, S, heads * D]. */
hone_value_t* hone_heads_join(hone_builder_t* b, hone_value_t* x);
/* Scores of q [B, H, S, D] against k [B, G, T, D], in `dtype`: [B, H, S, T]. */
hone_value_t* hone_heads_scores(hone_lower_t* l, hone_value_t* q, hone_value_t* k,
                                hone_dtype_t dtype);
/* Weighted sums of v [B, G, T, E] by p [B, H, S, T], in `dtype`: [B, H, S, E]. */
hone_value_t* hone_heads_values(hone_lower_t* l, hone_value_t* p, hone_value_t* v,
                                hone_dtype_t dtype);
/* 1 / sqrt(extent of the last axis of q) as a scalar of `dtype`. */
hone_value_t* hone_heads_scale(hone_builder_t* b, const hone_value_t* q, hone_dtype_t dtype);

#endif
