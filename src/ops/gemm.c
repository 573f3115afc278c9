/* Gemm: alpha * A * B + beta * C, with A and B transposed as asked. */
#include "ops/common/formulas.h"

/* Factors of integer matrices need not be integers. */
static hone_dtype_t compute_dtype(hone_dtype_t dtype, double alpha, double beta) {
  if (hone_dtype_is_float(dtype)) return hone_wide_dtype(dtype);
  bool whole = alpha == (double)(int64_t)alpha && beta == (double)(int64_t)beta;
  return whole ? dtype : HONE_F64;
}

static hone_value_t* scale(hone_builder_t* b, hone_value_t* x, double factor) {
  return factor == 1 ? x : hone_mul_number(b, x, factor);
}

static void lower_gemm(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *y = hone_op_in(l, 1), *c = hone_op_in(l, 2);
  if (hone_rank(x) != 2 || hone_rank(y) != 2) {
    hone_op_fail(l, "inputs A and B have rank %d and %d; both must be matrices", hone_rank(x),
                 hone_rank(y));
    return;
  }
  double alpha = hone_attr_float(l->node, "alpha", 1), beta = hone_attr_float(l->node, "beta", 1);
  hone_dtype_t dtype = compute_dtype(hone_dtype_of(x), alpha, beta);
  int64_t pair[1][2] = {
      {hone_attr_int(l->node, "transA", 0) ? 0 : 1, hone_attr_int(l->node, "transB", 0) ? 1 : 0}};
  hone_value_t* product = hone_contract(b, x, y, 1, (const int64_t(*)[2])pair, 0, dtype);
  product = scale(b, product, alpha);
  if (c && beta != 0) product = hone_add(b, product, scale(b, hone_cast(b, c, dtype), beta));
  hone_op_out(l, 0, hone_cast(b, product, hone_dtype_of(x)));
}

static const hone_op_t ops[] = {
    {.name = "Gemm",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 3,
     .attrs = "alpha beta broadcast transA transB",
     .lower = lower_gemm},
};
HONE_OP_FAMILY(gemm, ops)
