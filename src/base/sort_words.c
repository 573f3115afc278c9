/* Runs that insertion has sorted are merged, as long as it takes to make one of them; selection
 * parts what is left by a number of it until the border is where it is wanted (Hoare's). */
#include "base/sort_words.h"

#include <string.h>

enum { RUN = 16 };

static void insert_all(uint64_t* words, size_t count) {
  for (size_t i = 1; i < count; i++) hone_insert_word(words, i, words[i]);
}

/* Of [left, middle) and [middle, end). The choice between two is arithmetic, which nobody has to
 * guess. */
static void merge(const uint64_t* left, const uint64_t* middle, const uint64_t* end, uint64_t* to) {
  const uint64_t* right = middle;
  while (left < middle && right < end) {
    uint64_t a = *left, b = *right;
    size_t takes_right = b < a;
    *to++ = takes_right ? b : a;
    right += takes_right;
    left += 1 - takes_right;
  }
  memcpy(to, left, (size_t)(middle - left) * sizeof *to);
  memcpy(to + (middle - left), right, (size_t)(end - right) * sizeof *to);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

void hone_sort_words(uint64_t* words, uint64_t* spare, size_t count) {
  uint64_t *from = words, *to = spare;
  for (size_t at = 0; at < count; at += RUN) insert_all(words + at, least(RUN, count - at));
  for (size_t run = RUN; run < count; run *= 2) {
    for (size_t at = 0; at < count; at += 2 * run) {
      size_t middle = least(at + run, count), end = least(middle + run, count);
      merge(from + at, from + middle, from + end, to + at);
    }
    uint64_t* other = from;
    from = to;
    to = other;
  }
  if (from != words) memcpy(words, from, count * sizeof *words);
}

static uint64_t middle_of(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

/* Smaller ones before larger ones; gives where the larger ones begin, neither part being empty. */
static size_t part(uint64_t* words, size_t count, uint64_t by) {
  size_t low = 0, high = count - 1;
  for (;;) {
    while (words[low] < by) low++;
    while (words[high] > by) high--;
    if (low >= high) return high + 1;
    uint64_t word = words[low];
    words[low++] = words[high];
    words[high--] = word;
  }
}

void hone_select_words(uint64_t* words, uint64_t* spare, size_t count, size_t first) {
  int rounds = 8; /* twice as many as halving would take, and some: else sorting is quicker */
  for (size_t n = count; n > 1; n /= 2) rounds += 2;
  while (first > 0 && first < count) {
    if (count <= RUN || rounds-- == 0) {
      hone_sort_words(words, spare, count);
      return;
    }
    uint64_t by = middle_of(words[0], words[count / 2], words[count - 1]);
    size_t border = part(words, count, by);
    if (first < border) {
      count = border;
    } else {
      words += border;
      first -= border;
      count -= border;
    }
  }
}
