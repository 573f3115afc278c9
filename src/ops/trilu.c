/* Trilu: the upper or lower triangle of matrices, zeros elsewhere. */
#include "ops/op.h"

static void lower_trilu(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *k = hone_op_in(l, 1);
  int rank = hone_rank(x);
  if (rank < 2) {
    hone_op_fail(l, "needs a matrix, not rank %d", rank);
    return;
  }
  const hone_dim_t* shape = x->type.dims + rank - 2;
  k = k ? hone_reshape(b, hone_cast(b, k, HONE_I64), 0, NULL) : hone_scalar_i64(b, HONE_I64, 0);
  hone_value_t* diagonal = hone_add(b, hone_iota(b, HONE_I64, 2, shape, 0), k);
  hone_value_t* column = hone_iota(b, HONE_I64, 2, shape, 1);
  bool upper = hone_attr_int(l->node, "upper", 1) != 0;
  hone_value_t* keep = upper ? hone_ge(b, column, diagonal) : hone_le(b, column, diagonal);
  hone_op_out(l, 0, hone_select(b, keep, x, hone_scalar(b, hone_dtype_of(x), 0)));
}

static const hone_op_t ops[] = {
    {.name = "Trilu",
     .min_opset = 14,
     .min_inputs = 1,
     .max_inputs = 2,
     .attrs = "upper",
     .lower = lower_trilu},
};
HONE_OP_FAMILY(trilu, ops)
