/* Rows that come from either of two places: of two parts of a value that are concatenated, the
 * first has all rows where there are many, else the other, as the number of rows, which only a run
 * knows, decides.
 *
 * What is computed of such a value element by element is computed of the parts, so that each goes
 * its own way; where there are no rows, it takes no time. What makes the first part may make more
 * rows than there are, which goes on through what keeps finite numbers finite: who reads so many
 * can have those. */
#ifndef HONE_PASSES_COMMON_EITHER_H
#define HONE_PASSES_COMMON_EITHER_H

#include "passes/common/rewrite.h"

/* The extent of the first part: 0 of fewer `rows` than `least`, else all. */
hone_dim_t hone_either_many(hone_dims_t* dims, hone_dim_t rows, int64_t least);
/* Whether the node puts such parts side by side. */
bool hone_either_is(hone_dims_t* dims, const hone_node_t* node);
/* Whether the node takes one of such parts out of a value. */
bool hone_either_takes_part(hone_dims_t* dims, const hone_node_t* node);
/* The parts along `axis` of what is such a concat; of others, slices, the first of so many rows. */
void hone_either_parts(hone_builder_t* b, hone_value_t* x, int axis, hone_dim_t many,
                       hone_value_t** out_parts);
/* The value with rows behind the first ones, which nobody reads, where the part is a slice of
 * such; NULL: it is not. */
hone_value_t* hone_either_longer(hone_dims_t* dims, const hone_value_t* part, int axis);
/* `node`, element by element, of the parts of its operands; NULL: it is not so, or none of these
 * has such. */
hone_value_t* hone_either_apart(hone_rewriter_t* r, const hone_node_t* node);

#endif
