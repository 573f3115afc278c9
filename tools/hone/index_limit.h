/* Inputs of a model that are numbers of rows of a table of weights: ids of words,
 * positions. Values that are made up have to be rows that there are. */
#ifndef HONE_TOOLS_INDEX_LIMIT_H
#define HONE_TOOLS_INDEX_LIMIT_H

#include "base/map.h"
#include "ir/model.h"

/* By the name of an input that a Gather looks up with, on the way perhaps cast or
 * reshaped: an int64_t in the arena, the rows of the smallest table. Others are not in
 * the map. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_index_limits(hone_arena_t* arena, const hone_model_t* model,
                                              hone_map_t* out_limits);

#endif
