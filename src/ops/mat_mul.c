/* MatMul: NumPy's matmul. Narrow floats are summed in f32. */
#include "ops/common/formulas.h"

static void lower_mat_mul(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  hone_dtype_t dtype = hone_dtype_of(x);
  hone_dtype_t sum = hone_dtype_is_float(dtype) ? hone_wide_dtype(dtype) : dtype;
  hone_op_out(l, 0, hone_cast(l->b, hone_matmul(l->b, x, hone_op_in(l, 1), sum), dtype));
}

static const hone_op_t ops[] = {
    {.name = "MatMul",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "",
     .lower = lower_mat_mul},
};
HONE_OP_FAMILY(mat_mul, ops)
