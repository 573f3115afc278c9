/* EyeLike: ones on a diagonal of a matrix of the input's shape. */
#include "ops/op.h"

static void lower_eye_like(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int64_t dtype = hone_attr_int(l->node, "dtype", hone_dtype_of(x));
  if (hone_rank(x) != 2 || !hone_dtype_is_valid((int)dtype)) {
    hone_op_fail(l, "needs a matrix and a valid dtype, not rank %d and dtype %lld", hone_rank(x),
                 (long long)dtype);
    return;
  }
  hone_value_t* row = hone_iota(b, HONE_I64, 2, x->type.dims, 0);
  hone_value_t* column = hone_iota(b, HONE_I64, 2, x->type.dims, 1);
  hone_value_t* k = hone_scalar_i64(b, HONE_I64, hone_attr_int(l->node, "k", 0));
  hone_op_out(l, 0, hone_cast(b, hone_eq(b, column, hone_add(b, row, k)), (hone_dtype_t)dtype));
}

static const hone_op_t ops[] = {
    {.name = "EyeLike",
     .min_opset = 9,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "dtype k",
     .lower = lower_eye_like},
};
HONE_OP_FAMILY(eye_like, ops)
