/* Slight weights (ir/slight.h) of contractions, for passes that decide who multiplies bytes. */
#ifndef HONE_PASSES_COMMON_SLIGHT_H
#define HONE_PASSES_COMMON_SLIGHT_H

#include "ir/graph.h"
#include "passes/pass.h"

/* The weights of a contraction as data[outer][extent][inner], summed over along `extent`. */
typedef struct hone_slight_weights {
  int side;   /* which operand they are */
  bool flips; /* the other has a sign, of which it would have to be rid first */
  const hone_tensor_t* tensor;
  int64_t outer, extent, inner;
} hone_slight_weights_t;

/* Whether the device would add up such products in 16 bits, were the weights slight and the bytes
 * that they multiply without a sign: summed over along one axis, which lies side by side in these,
 * in whole eights. */
bool hone_slight_find(const hone_pass_options_t* options, const hone_node_t* contract,
                      hone_slight_weights_t* out);
/* Whether it would, and they are, or are nearly all zeros, of which something else makes use. */
bool hone_slight_fits(const hone_pass_options_t* options, const hone_node_t* contract);

/* Weights as the sum of slight ones and of a rest, few of whose numbers are not zero. */
typedef struct hone_slight_split {
  hone_tensor_t *slight, *rest;
  int64_t numbers; /* that are not zero, of the rest */
} hone_slight_split_t;

/* Errors: OUT_OF_MEMORY. The tensors are the caller's. */
HONE_MUST_USE hone_status_t hone_slight_split(const hone_allocator_t* allocator,
                                              const hone_slight_weights_t* w,
                                              hone_slight_split_t* out);

#endif
