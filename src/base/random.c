#include "base/random.h"

enum { ROUNDS = 10, WORDS = 4 };

void hone_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t a = (uint64_t)0xd2511f53u * c0, b = (uint64_t)0xcd9e8d57u * c2;
    uint32_t next0 = (uint32_t)(b >> 32) ^ c1 ^ k0, next2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
    c0 = next0, c1 = (uint32_t)b, c2 = next2, c3 = (uint32_t)a;
    k0 += 0x9e3779b9u; /* golden ratio */
    k1 += 0xbb67ae85u; /* sqrt(3) - 1 */
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

static void random_block(uint64_t seed, uint64_t block, uint32_t out[WORDS]) {
  const uint32_t counter[WORDS] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  hone_philox(counter, key, out);
}

uint32_t hone_random_u32(uint64_t seed, uint64_t index) {
  uint32_t words[WORDS];
  random_block(seed, index / WORDS, words);
  return words[index % WORDS];
}

void hone_random_fill_u32(uint64_t seed, uint64_t index, int64_t n, uint32_t* out) {
  uint32_t words[WORDS] = {0};
  for (int64_t i = 0; i < n; i++, index++) {
    if (i == 0 || index % WORDS == 0) random_block(seed, index / WORDS, words);
    out[i] = words[index % WORDS];
  }
}

uint64_t hone_random_round_key(uint64_t outer, int64_t round) {
  const uint64_t golden = 0x9e3779b97f4a7c15u;
  return (outer ^ (uint64_t)(round + 1)) * golden;
}
