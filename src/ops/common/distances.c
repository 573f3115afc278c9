/* See distances.h. |x|^2 + |y|^2 - 2 x.y in f64 is as good as the differences
 * themselves for rows of f32, and needs no room for [n, m, f]. Rows of f64 are
 * subtracted, as nothing wider is there. */
#include "ops/common/distances.h"

static hone_value_t* square_sums(hone_builder_t* b, hone_value_t* x) {
  return hone_reduce_last(b, HONE_COMBINE_ADD, hone_square(b, x), 1, false);
}

hone_value_t* hone_squared_distances(hone_builder_t* b, hone_value_t* x, hone_value_t* y) {
  if (!hone_is_known(b, x) || !hone_is_known(b, y)) return NULL;
  hone_dtype_t dtype = hone_dtype_of(x);
  if (dtype == HONE_F64)
    return square_sums(b, hone_sub(b, hone_unsqueeze(b, x, 1), hone_unsqueeze(b, y, 0)));
  static const int64_t pairs[1][2] = {{1, 1}};
  x = hone_cast(b, x, HONE_F64);
  y = hone_cast(b, y, HONE_F64);
  hone_value_t* dots = hone_contract(b, x, y, 1, pairs, 0, HONE_F64);
  hone_value_t* sums = hone_add(b, hone_unsqueeze(b, square_sums(b, x), 1), square_sums(b, y));
  hone_value_t* squares = hone_sub(b, sums, hone_mul_number(b, dots, 2));
  return hone_cast(b, hone_max_number(b, squares, 0), dtype);
}
