/* Resampling: reading a tensor at positions between its elements. */
#ifndef HONE_OPS_COMMON_RESAMPLE_H
#define HONE_OPS_COMMON_RESAMPLE_H

#include "ops/op.h"

typedef enum hone_filter {
  HONE_FILTER_LINEAR,
  HONE_FILTER_CUBIC,
} hone_filter_t;

/* How an axis is read between its elements: a weighted sum of `taps` (even)
 * neighbours of each position, the weight a function of the distance. */
typedef struct hone_taps {
  hone_filter_t filter;
  double cubic_a;        /* the coefficient "a" of cubic convolution */
  hone_dim_t count;      /* neighbours; 2 for plain linear, 4 for plain cubic */
  hone_value_t* stretch; /* f64 scalar that scales distances (< 1: a wider filter); NULL: 1 */
  bool exclude_outside;  /* neighbours outside weigh nothing (else they are the edge) */
} hone_taps_t;

/* Linear: 1 - d; cubic: Keys' convolution kernel. `distance` >= 0, float. */
hone_value_t* hone_filter_weight(hone_builder_t* b, hone_filter_t filter, double cubic_a,
                                 hone_value_t* distance);

/* x read along `axis` at `at` (f64, 1-D; its length becomes the extent).
 * x is float, or cast by the caller. */
hone_value_t* hone_resample_axis(hone_builder_t* b, hone_value_t* x, int axis, hone_value_t* at,
                                 const hone_taps_t* taps);

/* The float type in which sums over elements of `dtype` are made. */
hone_dtype_t hone_resample_dtype(hone_dtype_t dtype);
/* Back to `dtype`: integers are rounded and clamped to their range. */
hone_value_t* hone_saturate(hone_builder_t* b, hone_value_t* x, hone_dtype_t dtype);

#endif
