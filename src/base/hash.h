/* Hashes of structures: words are mixed in one after another. For tables in
 * memory only: it is no promise that a later version gives the same numbers. */
#ifndef HONE_BASE_HASH_H
#define HONE_BASE_HASH_H

#include <stdint.h>

/* The hash so far with one more word; the finisher of MurmurHash3 spreads it. */
static inline uint64_t hone_hash_mix(uint64_t hash, uint64_t word) {
  hash ^= word + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

static inline uint64_t hone_hash_pointer(uint64_t hash, const void* pointer) {
  return hone_hash_mix(hash, (uint64_t)(uintptr_t)pointer);
}

#endif
