/* The most likely classes of a tensor of scores, with their labels. */
#ifndef HONE_TOOLS_TOP_K_H
#define HONE_TOOLS_TOP_K_H

#include "base/arena.h"
#include "hone/tensor.h"

typedef struct hone_labels {
  int64_t count; /* 0: there are none */
  const char** texts;
} hone_labels_t;

/* One label a line; an empty last line does not count. */
HONE_MUST_USE hone_status_t hone_labels_read(hone_arena_t* arena, const char* path,
                                             hone_labels_t* out_labels);

typedef struct hone_top_entry {
  int64_t index;
  const char* label; /* NULL: there are no labels */
  double probability;
} hone_top_entry_t;

typedef struct hone_top {
  bool softmax;       /* the values were no probabilities, so their softmax was taken */
  int64_t rows, size; /* `size` entries for each of the rows, the best first */
  hone_top_entry_t* entries;
} hone_top_t;

/* Classes lie along the last axis that is longer than 1; all axes before it
 * are rows. Where the values of every row lie in 0 … 1 and sum to 1 (within 0.001)
 * they are taken as probabilities, else their softmax is. Errors:
 * INVALID_ARGUMENT (no numbers; another number of labels than classes). */
HONE_MUST_USE hone_status_t hone_top_find(hone_arena_t* arena, const hone_tensor_t* tensor,
                                          int64_t k, const hone_labels_t* labels,
                                          hone_top_t* out_top);

#endif
