/* Random numbers for property tests: the same for the same seed. */
#ifndef HONE_BASE_TESTING_DRAW_H
#define HONE_BASE_TESTING_DRAW_H

#include "base/random.h"

typedef struct test_draw {
  uint64_t seed, index; /* of the next number */
} test_draw_t;

/* One of 0 … n - 1. */
static inline int test_draw_below(test_draw_t* draw, int n) {
  return (int)(hone_random_u32(draw->seed, draw->index++) % (uint32_t)n);
}

#endif
