/* Slight weights: i8 constants that are small enough to be multiplied by bytes without a sign in
 * pairs of 16 bits, and two such pairs to be added up in 16 bits, with no sum that does not fit.
 *
 * Along an axis, in each eight numbers w[0] … w[7] that follow one another from a multiple of
 * eight on, w[0], w[1], w[4] and w[5] make a sum of four products, and w[2], w[3], w[6], w[7] the
 * other. Of each four those above zero add up to 128 at most, and so do the magnitudes of those
 * below: 255 * 128 is within 2^15, in whatever order they are added. */
#ifndef HONE_IR_SLIGHT_H
#define HONE_IR_SLIGHT_H

#include <stdbool.h>
#include <stdint.h>

enum {
  HONE_SLIGHT_GROUP = 8,  /* numbers whose products are added up at once */
  HONE_SLIGHT_HALVES = 2, /* sums of them */
  HONE_SLIGHT_MOST = 128, /* what those of one sign in a sum add up to */
  HONE_SLIGHT_LANES = 64  /* columns that are looked at together */
};

/* Which of the sums of its eight a number is in, by its index along the axis. */
static inline int hone_slight_half(int64_t index) { return (int)(index >> 1 & 1); }

/* Which of at most HONE_SLIGHT_LANES columns, `step` apart, are not slight in the eight rows from
 * `group` on, `row` apart; gives how many; `out_wrong` is set where there are any. */
int hone_slight_look(const int8_t* group, int64_t row, int64_t step, int64_t n, bool* out_wrong);

/* Whether data[outer][extent][inner] is slight along its middle axis, whose extent is a multiple of
 * eight. */
bool hone_slight_is(const int8_t* data, int64_t outer, int64_t extent, int64_t inner);

#endif
