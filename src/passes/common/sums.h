/* Sums of products of bytes, which are exact in i32 and, where they are small, in f32. */
#ifndef HONE_PASSES_COMMON_SUMS_H
#define HONE_PASSES_COMMON_SUMS_H

#include "ir/graph.h"

enum { HONE_SUMS_EXACT = 1 << 24 /* whole numbers up to this are numbers of f32 */ };

/* The contraction that `value` is, behind movement, and a cast to i32 where it adds up in f32;
 * NULL: it is none. */
const hone_node_t* hone_sums_find(const hone_value_t* value);
/* The largest size that a sum can have, of bytes and of floats that are such; 0: nobody knows. */
int64_t hone_sums_reach(const hone_node_t* contract);

#endif
