/* Tiles of Winograd's algorithm for windows of two or three elements along an axis, in floats and
 * in integers. */
#ifndef HONE_PASSES_COMMON_WINOGRAD_H
#define HONE_PASSES_COMMON_WINOGRAD_H

#include <stddef.h>

#include "ir/builder.h"

enum {
  HONE_WINOGRAD_WINDOW = 3,
  HONE_WINOGRAD_TILE = 4,
  HONE_WINOGRAD_PATCH = HONE_WINOGRAD_TILE + HONE_WINOGRAD_WINDOW - 1,
  HONE_WINOGRAD_LANES = 32 /* filters whose weights are transformed at once */
};

/* One size of tiles, along an axis. The last place is the one at infinity: its weight is the
 * window's last element. Of integers, G and A' have whole numbers, and what A' gives along an axis
 * is the result times 3 2^k, or 2^k, where unit[i] makes k the same for all, which is `shift`.
 * After one axis, and after two, `inverse` takes the factor 3, or 9, away, modulo 2^32. */
typedef struct hone_winograd {
  int tile, window, patch;                                   /* results, elements, inputs */
  double weights[HONE_WINOGRAD_PATCH][HONE_WINOGRAD_WINDOW]; /* G */
  double points[2]; /* of six inputs: polynomials are evaluated at these two, with either sign */
  double near[HONE_WINOGRAD_TILE], far[HONE_WINOGRAD_TILE]; /* A': factors for the one; the other */
  bool is_whole;
  double unit[HONE_WINOGRAD_TILE];
  double inverse[2];
  int shift;
} hone_winograd_t;

/* Larger tiles and windows first; NULL past the last. */
const hone_winograd_t* hone_winograd_at(bool is_whole, int index);
/* B' x along an axis: `count` places, from `first` on. */
hone_value_t* hone_winograd_inputs(hone_builder_t* b, const hone_winograd_t* w, hone_value_t* x,
                                   int axis, int first, int count);
/* A' x along an axis, where x is cut into `count` pieces; of integers, in their unit, and behind
 * the last of one or two `axes` without the factor 3 or 9. Else `axes` is 0. */
hone_value_t* hone_winograd_results(hone_builder_t* b, const hone_winograd_t* w, int count,
                                    hone_value_t* const* x, int axis, int axes);
/* G: out[r] = sum of weights[r][k] in[k], each of HONE_WINOGRAD_LANES numbers at once; these lie
 * `stride` of their kind apart. `in` and `out` do not overlap. */
void hone_winograd_weights(const hone_winograd_t* w, double (*in)[HONE_WINOGRAD_LANES],
                           ptrdiff_t in_stride, double (*out)[HONE_WINOGRAD_LANES],
                           ptrdiff_t out_stride);

#endif
