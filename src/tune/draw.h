/* Draw: a stream of random numbers that is the same for the same seed, over
 * the counter-based numbers of base/random.h. */
#ifndef HONE_TUNE_DRAW_H
#define HONE_TUNE_DRAW_H

#include <stdint.h>

#include "base/random.h"

typedef struct hone_draw {
  uint64_t seed, at;
} hone_draw_t;

static inline uint64_t hone_draw_u64(hone_draw_t* draw) {
  uint32_t word[2];
  hone_random_fill_u32(draw->seed, draw->at, 2, word);
  draw->at += 2;
  return (uint64_t)word[0] << 32 | word[1];
}

/* From 0 to limit - 1. The bias, below limit / 2^64, is of no account here. `limit` is above 0. */
static inline uint64_t hone_draw_below(hone_draw_t* draw, uint64_t limit) {
  return hone_draw_u64(draw) % limit;
}

/* From 0 to below 1. */
static inline double hone_draw_unit(hone_draw_t* draw) {
  return (double)(hone_draw_u64(draw) >> 11) * 0x1p-53;
}

#endif
