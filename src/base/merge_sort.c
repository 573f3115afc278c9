/* Merging runs of twice the length each time, from the bottom up. */
#include "base/merge_sort.h"

#include <string.h>

typedef struct sorting {
  size_t size;
  int (*compare)(const void* a, const void* b);
} sorting_t;

static void put(char** to, const char** from, size_t size) {
  memcpy(*to, *from, size);
  *to += size;
  *from += size;
}

/* Of [left, middle) and [middle, end). */
static void merge(const sorting_t* s, const char* left, const char* middle, const char* end,
                  char* to) {
  const char* right = middle;
  while (left < middle && right < end)
    put(&to, s->compare(right, left) < 0 ? &right : &left, s->size);
  memcpy(to, left < middle ? left : right, (size_t)(left < middle ? middle - left : end - right));
}

void hone_merge_sort(void* items, void* spare, size_t count, size_t size,
                     int (*compare)(const void* a, const void* b)) {
  const sorting_t s = {size, compare};
  char *from = items, *to = spare;
  size_t whole = count * size;
  for (size_t run = size; run < whole; run *= 2) {
    for (size_t at = 0; at < whole; at += 2 * run) {
      size_t middle = at + run < whole ? at + run : whole;
      size_t end = middle + run < whole ? middle + run : whole;
      merge(&s, from + at, from + middle, from + end, to + at);
    }
    char* other = from;
    from = to;
    to = other;
  }
  if (from != items && whole) memcpy(items, from, whole);
}
