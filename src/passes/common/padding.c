#include "passes/common/padding.h"

#include "passes/common/match.h"

hone_value_t* hone_pad_more(hone_builder_t* b, hone_value_t* x, const hone_dim_t* more) {
  hone_dim_t lo[HONE_MAX_RANK] = {{0}}, hi[HONE_MAX_RANK];
  const hone_node_t* pad = hone_match_prim(x, HONE_PRIM_PAD);
  bool fills = false;
  for (int i = 0; i < hone_rank(x); i++) {
    fills |= !hone_dim_is(more[i], 0);
    hi[i] = pad ? hone_d_add(b, more[i], pad->hi[i]) : more[i];
  }
  if (!fills) return x;
  return pad ? hone_pad(b, pad->inputs[0], pad->lo, hi, pad->inputs[1])
             : hone_pad(b, x, lo, hi, NULL);
}
