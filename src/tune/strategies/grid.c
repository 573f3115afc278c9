/* Visits every candidate once, in strides that spread over the whole space, so
 * that a search stopped early has seen something of each region: the stride is
 * near the golden section of the size and has no factor in common with it. */
#include "base/memory.h"
#include "tune/search_impl.h"

enum { MOST_STEPS = 1 << 20 }; /* per proposal, where the rules refuse nearly all */

static uint64_t find_stride(uint64_t size) {
  uint64_t stride = (uint64_t)((double)size * 0.6180339887498949);
  if (stride < 1) stride = 1;
  while (hone_u64_gcd(stride, size) != 1) stride++;
  return stride;
}

static hone_status_t propose(hone_search_t* search, int most, hone_candidate_t* out_candidates,
                             int* out_count) {
  uint64_t size = hone_space_size(search->space), stride = find_stride(size);
  for (int steps = 0; search->cursor < size && *out_count < most && steps < MOST_STEPS; steps++) {
    uint64_t index = (uint64_t)((unsigned __int128)search->cursor++ * stride % size);
    hone_candidate_t candidate = hone_space_at(search->space, index);
    if (hone_search_is_new(search, &candidate))
      HONE_TRY(hone_search_take(search, &candidate, out_candidates, out_count));
  }
  return NULL;
}

extern const hone_strategy_t hone_strategy_grid;
const hone_strategy_t hone_strategy_grid = {
    .name = "grid",
    .summary = "visits every candidate once, in even strides",
    .propose = propose,
};
