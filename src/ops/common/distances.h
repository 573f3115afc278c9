/* Distances between rows. */
#ifndef HONE_OPS_COMMON_DISTANCES_H
#define HONE_OPS_COMMON_DISTANCES_H

#include "ops/op.h"

/* Squares of the distances of each row of x [n, f] to each of y [m, f]: [n, m]. */
hone_value_t* hone_squared_distances(hone_builder_t* b, hone_value_t* x, hone_value_t* y);

#endif
