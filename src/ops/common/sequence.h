/* Sequences while lowering. A sequence whose members are all values of the
 * graph (SequenceConstruct) is looked into, so that taking one of them, or
 * joining them, costs nothing; any other is made and read by host functions. */
#ifndef HONE_OPS_COMMON_SEQUENCE_H
#define HONE_OPS_COMMON_SEQUENCE_H

#include "ops/op.h"

/* How many members `sequence` is known to have, and which; -1: not known. */
int hone_sequence_members(const hone_value_t* sequence, hone_value_t* const** out_members);
/* The sequence of these values, in the graph that `b` builds. */
hone_value_t* hone_sequence_of(hone_lower_t* l, hone_builder_t* b, int count,
                               hone_value_t* const* members);
/* One of the host functions for sequences, as if the model had that operator there. */
hone_value_t* hone_sequence_call(hone_lower_t* l, hone_builder_t* b, const char* op_name,
                                 int n_inputs, hone_value_t* const* inputs,
                                 const hone_type_t* type);
/* The type of a sequence whose elements are of type `element` (NULL: not known). */
hone_type_t hone_sequence_type(hone_builder_t* b, const hone_type_t* element);
/* The type of what a sequence (or optional) holds; extents open. */
hone_type_t hone_sequence_element(const hone_type_t* type);
/* The sequence's type after `item` has joined it. */
hone_type_t hone_sequence_joined(hone_builder_t* b, const hone_type_t* sequence,
                                 const hone_type_t* item);
/* The member at a position that may be negative, or NULL when it is not known. */
hone_value_t* hone_sequence_member(hone_lower_t* l, hone_value_t* sequence, hone_value_t* at);

#endif
