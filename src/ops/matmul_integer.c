/* MatMulInteger and QLinearMatMul: matrix products of quantized numbers,
 * summed in i32. */
#include "ops/common/quantized.h"

static void lower_matmul_integer(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x =
      hone_quantized_centered(b, hone_op_in(l, 0), hone_quantized_rows(b, hone_op_in(l, 2)));
  hone_value_t* y =
      hone_quantized_centered(b, hone_op_in(l, 1), hone_quantized_scalar(b, hone_op_in(l, 3)));
  hone_op_out(l, 0, hone_matmul(b, x, y, HONE_I32));
}

/* Inputs: a, its scale and zero point; the same of b; scale and zero point of y. */
static void lower_qlinear_matmul(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *y = hone_op_in(l, 3), *product;
  if (hone_dtype_is_int(hone_dtype_of(x))) {
    x = hone_quantized_centered(b, x, hone_quantized_rows(b, hone_op_in(l, 2)));
    y = hone_quantized_centered(b, y, hone_quantized_scalar(b, hone_op_in(l, 5)));
    product = hone_cast(b, hone_matmul(b, x, y, HONE_I32), HONE_F32);
  } else { /* f8, whose zero points are zero */
    product = hone_matmul(b, hone_cast(b, x, HONE_F32), hone_cast(b, y, HONE_F32), HONE_F32);
  }
  hone_value_t* multiplier = hone_quantized_multiplier(b, hone_quantized_rows(b, hone_op_in(l, 1)),
                                                       hone_quantized_scalar(b, hone_op_in(l, 4)),
                                                       hone_quantized_rows(b, hone_op_in(l, 6)));
  hone_value_t* zero = hone_op_in(l, 7);
  hone_op_out(l, 0,
              hone_quantized_encode(b, hone_mul(b, product, multiplier),
                                    hone_quantized_rows(b, zero), hone_dtype_of(zero), true));
}

static const hone_op_t ops[] = {
    {.name = "MatMulInteger",
     .min_opset = 10,
     .min_inputs = 2,
     .max_inputs = 4,
     .attrs = "",
     .lower = lower_matmul_integer},
    {.name = "QLinearMatMul",
     .min_opset = 10,
     .min_inputs = 8,
     .max_inputs = 8,
     .attrs = "",
     .lower = lower_qlinear_matmul},
};
HONE_OP_FAMILY(matmul_integer, ops)
