/* See ms_packed.h. */
#include "ops/common/ms_packed.h"

hone_value_t* hone_ms_unpack(hone_builder_t* b, hone_value_t* x, int64_t bits) {
  if (!hone_is_known(b, x) || bits == 8) return x;
  int rank = hone_rank(x);
  hone_dim_t per_byte = hone_d(8 / bits), shape[HONE_MAX_RANK];
  hone_value_t* amount = hone_iota(b, HONE_U8, 1, &per_byte, 0);
  amount = hone_mul(b, amount, hone_scalar_i64(b, HONE_U8, bits));
  hone_value_t* wide = hone_unsqueeze(b, x, rank);
  wide = hone_binary(b, HONE_PRIM_SHR, wide, amount);
  wide = hone_and(b, wide, hone_scalar_i64(b, HONE_U8, (1 << bits) - 1));
  for (int i = 0; i < rank; i++) shape[i] = hone_dim(x, i);
  shape[rank - 1] = hone_d_mul(b, shape[rank - 1], per_byte);
  return hone_reshape(b, wide, rank, shape);
}
