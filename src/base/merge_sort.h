/* Sorting in memory that the caller gives: the C library's qsort takes as much again by itself,
 * or nothing, as it likes. */
#ifndef HONE_BASE_MERGE_SORT_H
#define HONE_BASE_MERGE_SORT_H

#include <stddef.h>

/* Sorts `count` items of `size` bytes; equal ones keep their order. `spare` has room for as many
 * items. */
void hone_merge_sort(void* items, void* spare, size_t count, size_t size,
                     int (*compare)(const void* a, const void* b));

#endif
