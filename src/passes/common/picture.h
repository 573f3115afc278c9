/* Pictures that are convolved: few channels, in whatever order, and windows whose columns lie side
 * by side. Matrix instructions read a whole line of a window at once where the channels come last
 * and are four. */
#ifndef HONE_PASSES_COMMON_PICTURE_H
#define HONE_PASSES_COMMON_PICTURE_H

#include "ir/builder.h"

enum { HONE_PICTURE_CHANNELS = 4 };

typedef struct hone_picture {
  const hone_node_t* window;
  int data;             /* operand of the contraction */
  int channels;         /* axis of what the window looks at */
  int pair;             /* of the contraction's axes: the channels */
  int64_t column_count; /* of a window */
} hone_picture_t;

/* Whether a contraction of constant weights, for whole vectors of outputs, is a convolution of
 * pictures of two to four channels. */
bool hone_picture_find(const hone_node_t* contract, hone_picture_t* out);
/* Whether a line of its windows, of numbers of so many bytes, is enough for an instruction. */
bool hone_picture_pays(const hone_picture_t* picture, int64_t bytes);

/* Pictures whose channels, axis `channels`, have come last. */

/* Where an axis, of `rank`, is then. */
int hone_picture_axis(int rank, int channels, int64_t axis);
/* These give NULL where b has a status. */

/* A picture with HONE_PICTURE_CHANNELS, which come last: all, and the first again. */
hone_value_t* hone_picture_turn(hone_builder_t* b, hone_value_t* x, int channels);
/* Weights with the channels last, and zeros behind them; `out_axes`: which one each axis has
 * become. */
hone_value_t* hone_picture_turn_weights(hone_builder_t* b, const hone_node_t* contract,
                                        const hone_picture_t* p, int64_t* out_axes);
/* The contraction's axes, as hone_contract takes them, with the channels summed up last. Gives how
 * many pairs there are. */
int hone_picture_pairs(const hone_node_t* contract, const hone_picture_t* p,
                       const int64_t* weight_axes, int64_t (*out_pairs)[2]);
/* `x` padded, with `value`, and seen through a window, as the node did with the channels where they
 * were. */
hone_value_t* hone_picture_pad(hone_builder_t* b, const hone_node_t* pad, int channels,
                               hone_value_t* x, hone_value_t* value);
hone_value_t* hone_picture_slide(hone_builder_t* b, const hone_node_t* window, int channels,
                                 hone_value_t* x);

#endif
