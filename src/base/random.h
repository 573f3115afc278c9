/* Counter-based random numbers: element `index` of the stream of `seed` is a
 * function of the two, so that every device and every split of the work among
 * threads draws the same numbers.
 *
 * Philox4x32 with 10 rounds, from J. Salmon et al., "Parallel Random Numbers:
 * As Easy as 1, 2, 3" (SC 2011). All functions are pure. */
#ifndef HONE_BASE_RANDOM_H
#define HONE_BASE_RANDOM_H

#include <stdint.h>

/* The cipher itself: 128 bits of `counter` under 64 bits of `key`. */
void hone_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Number `index` of the stream: word index % 4 of block index / 4. */
uint32_t hone_random_u32(uint64_t seed, uint64_t index);
/* Numbers index, index + 1, … index + n - 1. */
void hone_random_fill_u32(uint64_t seed, uint64_t index, int64_t n, uint32_t* out);
/* The key of the numbers that are drawn in a round of a loop; `outer`: the key around it. */
uint64_t hone_random_round_key(uint64_t outer, int64_t round);

#endif
