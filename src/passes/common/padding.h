/* Padding that passes add to what a model has. */
#ifndef HONE_PASSES_COMMON_PADDING_H
#define HONE_PASSES_COMMON_PADDING_H

#include "ir/builder.h"

/* `x` with so many more elements behind, along each axis: zeros, or, where `x` is padded, more of
 * the same. `x` itself where all of them are 0. */
hone_value_t* hone_pad_more(hone_builder_t* b, hone_value_t* x, const hone_dim_t* more);

#endif
