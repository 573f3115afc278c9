/* Draw: a stream of random numbers that is the same for the same seed, and
 * cheap: a search draws thousands for each candidate it proposes.
 *
 * SplitMix64, from G. Steele et al., "Fast Splittable Pseudorandom Number
 * Generators" (OOPSLA 2014), as a function of seed and place. */
#ifndef HONE_TUNE_DRAW_H
#define HONE_TUNE_DRAW_H

#include <stdint.h>

typedef struct hone_draw {
  uint64_t seed, at; /* `at`: how many were drawn */
} hone_draw_t;

static inline uint64_t hone_draw_mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static inline uint64_t hone_draw_u64(hone_draw_t* draw) {
  return hone_draw_mix(hone_draw_mix(draw->seed + 1) + ++draw->at * 0x9e3779b97f4a7c15u);
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
