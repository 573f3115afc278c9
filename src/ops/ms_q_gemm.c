/* QGemm, MatMulIntegerToFloat, DynamicQuantizeMatMul and MatMulInteger16
 * (com.microsoft): products of integer matrices, exact in i32, and what is made
 * of them. Scales and zero points of B may differ from column to column. */
#include "ops/common/ms.h"
#include "ops/common/quantized.h"

/* One number as a scalar, one for each column as [columns]. */
static hone_value_t* columns(hone_builder_t* b, hone_value_t* parameter) {
  return parameter ? hone_quantized_scalar(b, parameter) : NULL;
}

static hone_value_t* scalar_or_null(hone_builder_t* b, hone_value_t* x) {
  return x ? hone_ms_scalar(b, x) : NULL;
}

static hone_value_t* transposed(hone_lower_t* l, hone_value_t* x, const char* flag) {
  return hone_attr_int(l->node, flag, 0) ? hone_transpose(l->b, x) : x;
}

static void lower_q_gemm(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x =
      hone_quantized_centered(b, hone_op_in(l, 0), scalar_or_null(b, hone_op_in(l, 2)));
  hone_value_t* w = transposed(l, hone_op_in(l, 3), "transB");
  w = hone_quantized_centered(b, w, columns(b, hone_op_in(l, 5)));
  hone_value_t* sum = hone_matmul(b, transposed(l, x, "transA"), w, HONE_I32);
  if (hone_op_in(l, 6)) sum = hone_add(b, sum, hone_op_in(l, 6));
  hone_value_t *y_scale = hone_op_in(l, 7), *y_zero = hone_op_in(l, 8);
  double alpha = hone_attr_float(l->node, "alpha", 1);
  hone_value_t* scale = hone_mul_number(b, hone_ms_scalar(b, hone_op_in(l, 1)), alpha);
  scale = hone_mul(b, scale, columns(b, hone_op_in(l, 4)));
  if (y_scale) scale = hone_div(b, scale, hone_ms_scalar(b, y_scale));
  hone_value_t* y = hone_mul(b, hone_cast(b, sum, HONE_F32), scale);
  if (y_zero && y)
    y = hone_quantized_encode(b, y, hone_ms_scalar(b, y_zero), hone_dtype_of(y_zero), true);
  hone_op_out(l, 0, y);
}

/* sum(x * w) in i32, times both scales, plus bias. */
static hone_value_t* scaled_product(hone_builder_t* b, hone_value_t* x, hone_value_t* x_zero,
                                    hone_value_t* x_scale, hone_value_t* w, hone_value_t* w_zero,
                                    hone_value_t* w_scale, hone_value_t* bias) {
  hone_value_t* sum = hone_matmul(b, hone_quantized_centered(b, x, x_zero),
                                  hone_quantized_centered(b, w, columns(b, w_zero)), HONE_I32);
  hone_value_t* scale = hone_mul(b, x_scale, columns(b, w_scale));
  hone_value_t* y = hone_mul(b, hone_cast(b, sum, HONE_F32), hone_cast(b, scale, HONE_F32));
  return bias ? hone_add(b, y, bias) : y;
}

static void lower_mat_mul_integer_to_float(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* a_scale = hone_quantized_rows(b, hone_op_in(l, 2));
  hone_value_t* a_zero = hone_op_in(l, 4) ? hone_quantized_rows(b, hone_op_in(l, 4)) : NULL;
  hone_op_out(l, 0,
              scaled_product(b, hone_op_in(l, 0), a_zero, a_scale, hone_op_in(l, 1),
                             hone_op_in(l, 5), hone_op_in(l, 3), hone_op_in(l, 6)));
}

static void lower_dynamic_quantize_mat_mul(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *a = hone_op_in(l, 0), *quantized[3];
  if (!hone_ms_delegate(l, "DynamicQuantizeLinear", 11, 1, &a, 3, quantized)) return;
  hone_op_out(l, 0,
              scaled_product(b, quantized[0], quantized[2], quantized[1], hone_op_in(l, 1),
                             hone_op_in(l, 3), hone_op_in(l, 2), hone_op_in(l, 4)));
}

static void lower_mat_mul_integer_16(hone_lower_t* l) {
  hone_op_out(l, 0, hone_matmul(l->b, hone_op_in(l, 0), hone_op_in(l, 1), HONE_I32));
}

#define ROW(op_name, fn, least, most, names)                                            \
  {                                                                                     \
    .domain = HONE_MS_DOMAIN, .name = (op_name), .min_opset = 1, .min_inputs = (least), \
    .max_inputs = (most), .attrs = (names), .lower = (fn)                               \
  }

static const hone_op_t ops[] = {
    ROW("QGemm", lower_q_gemm, 6, 9, "alpha transA transB"),
    ROW("MatMulIntegerToFloat", lower_mat_mul_integer_to_float, 4, 7, ""),
    ROW("DynamicQuantizeMatMul", lower_dynamic_quantize_mat_mul, 3, 5, ""),
    ROW("MatMulInteger16", lower_mat_mul_integer_16, 2, 2, ""),
};
HONE_OP_FAMILY(ms_q_gemm, ops)
