/* Indexing that several operators share. */
#ifndef HONE_OPS_COMMON_INDEXING_H
#define HONE_OPS_COMMON_INDEXING_H

#include "ops/op.h"

/* Positions of the true elements of a 1-D bool tensor, ascending, i64. Their
 * number becomes an extent that is known once the tensor is there. */
hone_value_t* hone_true_positions(hone_builder_t* b, hone_value_t* flags);

/* Row-major position for index tuples: the last axis of `index` holds `count`
 * numbers, one for each of extents[], negative ones counting from the end. */
hone_value_t* hone_tuple_position(hone_builder_t* b, hone_value_t* index, int count,
                                  const hone_dim_t* extents);

/* i64 tensor of `shape` with the row-major number of its first `n_axes` axes. */
hone_value_t* hone_row_number(hone_builder_t* b, int rank, const hone_dim_t* shape, int n_axes);

/* a - floor(a / b) * b for i64 tensors and b > 0; 0 where b is 0. */
hone_value_t* hone_floor_mod(hone_builder_t* b, hone_value_t* x, hone_value_t* y);

/* How ScatterElements, ScatterND name their ways to combine; COUNT for none of them. */
hone_combine_t hone_scatter_combine(hone_lower_t* l);

#endif
