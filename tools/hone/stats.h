/* What a tensor of numbers looks like from afar. */
#ifndef HONE_TOOLS_STATS_H
#define HONE_TOOLS_STATS_H

#include "hone/tensor.h"

typedef struct hone_stats {
  int64_t finite, nan, infinite; /* how many of each */
  double min, mean, max;         /* of the finite ones; 0 when there are none */
} hone_stats_t;

/* False, and nothing found, for strings, complex numbers, and what is no tensor. */
bool hone_stats_find(const hone_tensor_t* tensor, hone_stats_t* out_stats);

#endif
