/* What is known about movement: how permute, reshape and expand compose, and
 * how they pass through other primitives. Used by the pass `movement`, whose
 * file says which way things move and why that ends. */
#ifndef HONE_PASSES_COMMON_MOVEMENT_H
#define HONE_PASSES_COMMON_MOVEMENT_H

#include "passes/common/rewrite.h"

/* The same shape but for extents of 1. */
bool hone_move_same_but_ones(const hone_type_t* a, int rank, const hone_dim_t* shape);

/* For each axis of the reshaped, which differs by ones, that of the plain that it
 * is; -1 for an extent of 1. */
void hone_move_partners(const hone_type_t* plain, const hone_type_t* reshaped, int* out_axes);
/* The same of a reshape that moves extents of 1, or drops some: theirs are those of the plain, in
 * their order. */
void hone_move_partners_of_all(const hone_type_t* plain, int rank, const hone_dim_t* shape,
                               int* out_axes);

/* Whether a permute stays where it is, because it says in which order what is
 * before it gives its results: that of a contraction with batch axes, such as a
 * depthwise convolution, which it puts behind the free axes of the first operand
 * (channels last); and that of a gather along an axis which it puts back in place. */
bool hone_move_is_pinned(const hone_node_t* permute);
/* The permute that made `value` and may move on; NULL when there is none. */
hone_node_t* hone_move_permute_of(const hone_value_t* value);

/* The order of axes in which a contraction with batch axes gives its results
 * channels last; false when that is the order it has. */
bool hone_move_channels_last(const hone_node_t* contract, int64_t* out_axes);
/* The order in which axis `axis` of `rank` comes first. */
void hone_move_to_front(int rank, int64_t axis, int64_t* out_axes);
/* The order in which the first `count` axes take the place of that axis again. */
void hone_move_back(int rank, int count, int64_t axis, int64_t* out_axes);

/* `x` permuted or reshaped, taking into account what x is made by: permutes
 * compose, those that move extents of 1 only are reshapes, a later reshape
 * hides an earlier one; expand comes last, before it reshapes of ones. */
hone_value_t* hone_move_permute(hone_builder_t* b, hone_value_t* x, const int64_t* axes);
hone_value_t* hone_move_reshape(hone_builder_t* b, hone_value_t* x, int rank,
                                const hone_dim_t* shape);

/* The value u for which permute(u, axes) is x, when it costs nothing at run
 * time; NULL otherwise. */
hone_value_t* hone_move_unpermute(hone_builder_t* b, hone_value_t* x, const int64_t* axes);
/* The value u of `shape` for which reshaping gives x, when it costs nothing; NULL otherwise. */
hone_value_t* hone_move_unreshape(hone_builder_t* b, hone_value_t* x, int rank,
                                  const hone_dim_t* shape);

/* `x`, a permuted value, reshaped where whole axes are split or joined: a reshape,
 * then a permute; NULL where that does not help. `may_gather`: axes that are joined
 * need not lie side by side, what brings them together stays in front. */
hone_value_t* hone_move_through_reshape(hone_builder_t* b, hone_value_t* x, int rank,
                                        const hone_dim_t* shape, bool may_gather);

/* Rules (see hone_rule_fn), one a file. */
hone_value_t* hone_movement_chain(hone_rewriter_t* r, hone_node_t* node); /* movement of movement */
hone_value_t* hone_movement_sink(hone_rewriter_t* r, hone_node_t* node);  /* of elementwise */
hone_value_t* hone_movement_absorb(hone_rewriter_t* r, hone_node_t* node);   /* of the rest */
hone_value_t* hone_movement_contract(hone_rewriter_t* r, hone_node_t* node); /* of contract */

#endif
