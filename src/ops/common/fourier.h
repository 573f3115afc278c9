/* Discrete Fourier transforms as contractions with tables of twiddle factors,
 * which are computed in f64. */
#ifndef HONE_OPS_COMMON_FOURIER_H
#define HONE_OPS_COMMON_FOURIER_H

#include "ops/op.h"

typedef struct hone_fourier {
  hone_dim_t length; /* of the transform */
  int parts;         /* of an input element: 1 (real) or 2 (real, imaginary) */
  bool inverse;      /* sign of the exponent, and division by the length */
  bool onesided;     /* forward: the first length / 2 + 1 results; inverse: real results from so
                        many inputs */
} hone_fourier_t;

/* How many inputs the transform takes. */
hone_dim_t hone_fourier_inputs(hone_builder_t* b, const hone_fourier_t* f);
/* x has the signal along `axis` (hone_fourier_inputs long) and the parts along
 * `parts_axis`; both go away, and behind the others come the results' axis and
 * one for their parts. */
hone_value_t* hone_fourier_apply(hone_builder_t* b, const hone_fourier_t* f, hone_value_t* x,
                                 int axis, int parts_axis);

#endif
