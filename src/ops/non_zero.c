/* NonZero: the coordinates of all elements that are not 0, in row-major
 * order, one row of the result for each axis. A scalar counts as a list of one. */
#include "ops/common/indexing.h"

static void lower_non_zero(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  if (hone_rank(x) == 0) x = hone_ravel(b, x);
  if (!x) return;
  hone_value_t* flat = hone_ravel(b, x);
  if (hone_dtype_of(x) != HONE_BOOL) flat = hone_ne(b, flat, hone_scalar(b, hone_dtype_of(x), 0));
  hone_value_t* at = hone_true_positions(b, flat);
  hone_value_t* rows[HONE_MAX_RANK];
  for (int i = hone_rank(x) - 1; i >= 0; i--) {
    hone_value_t* extent = hone_dim_scalar(b, HONE_I64, hone_dim(x, i));
    rows[i] = hone_unsqueeze(b, i ? hone_rem(b, at, extent) : at, 0);
    at = hone_div(b, at, extent);
  }
  hone_op_out(l, 0, hone_concat(b, hone_rank(x), rows, 0));
}

static const hone_op_t ops[] = {
    {.name = "NonZero",
     .min_opset = 9,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "",
     .lower = lower_non_zero},
};
HONE_OP_FAMILY(non_zero, ops)
