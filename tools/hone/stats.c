#include "stats.h"

#include <math.h>

#include "base/float_convert.h"

static void add(hone_stats_t* stats, double value) {
  if (isnan(value)) {
    stats->nan++;
  } else if (isinf(value)) {
    stats->infinite++;
  } else {
    bool first = stats->finite++ == 0;
    if (first || value < stats->min) stats->min = value;
    if (first || value > stats->max) stats->max = value;
    stats->mean += (value - stats->mean) / (double)stats->finite;
  }
}

bool hone_stats_find(const hone_tensor_t* tensor, hone_stats_t* out_stats) {
  enum { PIECE = 256 };
  *out_stats = (hone_stats_t){0};
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  bool numbers = hone_tensor_kind(tensor) == HONE_KIND_TENSOR && dtype != HONE_STRING &&
                 !hone_dtype_is_complex(dtype);
  int64_t count = numbers ? hone_tensor_count(tensor) : 0;
  int64_t size = (int64_t)hone_dtype_size(dtype);
  for (int64_t at = 0; at < count; at += PIECE) {
    double values[PIECE];
    int64_t n = count - at < PIECE ? count - at : PIECE;
    hone_load_f64(dtype, (const char*)hone_tensor_data(tensor) + at * size, size, n, values);
    for (int64_t i = 0; i < n; i++) add(out_stats, values[i]);
  }
  return numbers;
}
