/* Looking at graphs: short questions that rules ask. NULL and false mean no. */
#ifndef HONE_PASSES_COMMON_MATCH_H
#define HONE_PASSES_COMMON_MATCH_H

#include "ir/graph.h"

/* The node that made `value`, when it is of this primitive. */
hone_node_t* hone_match_prim(const hone_value_t* value, hone_prim_t prim);
/* The same when nobody else uses the value, so that it goes away. */
hone_node_t* hone_match_prim_once(const hone_value_t* value, hone_prim_t prim);
/* Whether it is a tensor of f32; NULL is none. */
bool hone_match_is_f32(const hone_value_t* value);
/* The dense constant tensor that `value` is, borrowed. */
const hone_tensor_t* hone_match_constant(const hone_value_t* value);

/* Whether `value` follows from constants alone in a few steps. */
bool hone_match_from_constants(const hone_value_t* value);

/* The one number that all elements are: of a constant, also behind movement
 * that only repeats it (expand, reshape, permute, slice, flip, concat-free).
 * Real types only; integers too large for a double are no match. */
bool hone_match_number(const hone_value_t* value, double* out_number);
bool hone_match_is_number(const hone_value_t* value, double number);
/* Of a two-operand node: the operand that is one number, and the other one. */
bool hone_match_with_number(const hone_node_t* node, hone_value_t** out_other, double* out_number);

/* Same extents as far as the expressions show. */
bool hone_match_same_shape(const hone_value_t* a, const hone_value_t* b);
/* Static number of elements; -1 when it is not known. */
int64_t hone_match_count(const hone_type_t* type);
/* Whether the node looks numbers up in a table of all that a byte can be (passes/table.c), one that
 * is there from the start. */
bool hone_match_is_table(const hone_node_t* node);
/* Static size in bytes; -1 when it is not known. */
int64_t hone_match_bytes(const hone_type_t* type);
/* The axis of a node's first operand that becomes axis `axis` of its result, where it is a
 * permute, a reshape, or gives each element from that at the same place; -1: none does. */
int hone_match_axis_before(const hone_node_t* node, int axis);
/* The axis of the other operand that is paired with axis `axis` of operand `side` of a contraction;
 * -1: none is. */
int hone_match_partner(const hone_node_t* contract, int side, int64_t axis);
/* The permutation with perm[axes[i]] == i. */
void hone_match_invert(int count, const int64_t* axes, int64_t* out_inverse);

#endif
