/* Sorting and selecting numbers of 64 bits, none of which is there twice: keys in front of places,
 * as a rule. */
#ifndef HONE_BASE_SORT_WORDS_H
#define HONE_BASE_SORT_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Ordered as the numbers are, NaN behind all others; 0 and -0 have the same one. */
static inline int32_t hone_key_of_float(float x) {
  enum { INFINITE = 0x7f800000 };
  int32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (bits == INT32_MIN) return 0;
  if ((bits & INT32_MAX) > INFINITE) return INT32_MAX;
  return bits < 0 ? bits ^ INT32_MAX : bits;
}

/* Words are ordered as their keys are, those with the same one as their places. */
static inline uint64_t hone_word_of(int32_t key, uint32_t place) {
  return (uint64_t)((uint32_t)key ^ 1u << 31) << 32 | place;
}

static inline int32_t hone_key_of_word(uint64_t word) {
  return (int32_t)((uint32_t)(word >> 32) ^ 1u << 31);
}

static inline int64_t hone_place_of_word(uint64_t word) { return (int64_t)(uint32_t)word; }

/* Puts the word among `count` that are sorted upwards; there is room for one more. */
static inline void hone_insert_word(uint64_t* words, size_t count, uint64_t word) {
  for (; count > 0 && words[count - 1] > word; count--) words[count] = words[count - 1];
  words[count] = word;
}

/* Sorts upwards. `spare` has room for as many. O(n log n). */
void hone_sort_words(uint64_t* words, uint64_t* spare, size_t count);
/* Puts the `first` smallest, first <= count, in front of the others, in any order. `spare` has
 * room for as many as there are. O(n) as a rule, O(n log n) at worst. */
void hone_select_words(uint64_t* words, uint64_t* spare, size_t count, size_t first);

#endif
