/* Operands of contractions, for passes that change the types in which they are stored. */
#ifndef HONE_PASSES_COMMON_OPERAND_H
#define HONE_PASSES_COMMON_OPERAND_H

#include "ir/graph.h"

/* Movement, after which the numbers are those of the node's operands. */
bool hone_operand_only_moves(const hone_node_t* node);
/* What is moved in the end. */
hone_value_t* hone_operand_origin(hone_value_t* value);
/* Whether products can stand side by side in pairs: an axis that is summed over has whole ones. */
bool hone_operand_has_pairs(const hone_node_t* contract);
/* How many products each number of operand `side` takes part in; INT64_MAX: not known. */
int64_t hone_operand_uses(const hone_node_t* contract, int side);

#endif
