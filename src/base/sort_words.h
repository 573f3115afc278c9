/* Sorting and selecting numbers of 64 bits, none of which is there twice. */
#ifndef HONE_BASE_SORT_WORDS_H
#define HONE_BASE_SORT_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* Sorts upwards. `spare` has room for as many. O(n log n). */
void hone_sort_words(uint64_t* words, uint64_t* spare, size_t count);
/* Puts the `first` smallest, first <= count, in front of the others, in any order. `spare` has
 * room for as many as there are. O(n) as a rule, O(n log n) at worst. */
void hone_select_words(uint64_t* words, uint64_t* spare, size_t count, size_t first);

#endif
