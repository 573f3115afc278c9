/* Hashes of nodes, for finding those that are alike: equal ones have equal hashes. */
#ifndef HONE_PASSES_COMMON_NODE_HASH_H
#define HONE_PASSES_COMMON_NODE_HASH_H

#include "ir/graph.h"

/* The hash so far with all that a node says but for its operands and its constant. */
uint64_t hone_node_hash(uint64_t hash, const hone_node_t* node);
/* With the elements of a constant; of large ones a few from all over. */
uint64_t hone_node_hash_constant(uint64_t hash, const hone_tensor_t* tensor);
uint64_t hone_hash_dims(uint64_t hash, int count, const hone_dim_t* dims);
/* Whether its elements are bytes that can be compared. */
bool hone_tensor_is_plain(const hone_tensor_t* tensor);
/* Whether both do the same with their operands, which may differ. */
bool hone_node_does_same(const hone_node_t* a, const hone_node_t* b);

#endif
