/* Gelu and its relatives in com.microsoft: with a bias added before, by tanh
 * (FastGelu), by a sigmoid (QuickGelu), over a matrix product, or as a gate. */
#include "ops/common/formulas.h"
#include "ops/common/ms.h"

static hone_value_t* biased(hone_builder_t* b, hone_value_t* x, hone_value_t* bias) {
  return bias ? hone_add(b, x, bias) : x;
}

static void lower_bias_gelu(hone_lower_t* l) {
  hone_value_t* x = biased(l->b, hone_op_in(l, 0), hone_op_in(l, 1));
  hone_op_out(l, 0, hone_apply_wide(l->b, hone_gelu, x));
}

static void lower_fast_gelu(hone_lower_t* l) {
  hone_value_t* x = biased(l->b, hone_op_in(l, 0), hone_op_in(l, 1));
  hone_op_out(l, 0, hone_apply_wide(l->b, hone_gelu_tanh, x));
}

static void lower_quick_gelu(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  double alpha = hone_attr_float(l->node, "alpha", (double)1.702f);
  hone_op_out(l, 0, hone_cast(b, hone_swish(b, hone_widen(b, x), alpha), hone_dtype_of(x)));
}

static void lower_gemm_fast_gelu(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t* product = hone_matmul(b, x, hone_op_in(l, 1), hone_dtype_of(x));
  product = biased(b, product, hone_op_in(l, 2));
  hone_op_out(l, 0, hone_apply_wide(b, hone_gelu_tanh, product));
}

/* The first half of the last axis times Gelu of the second. */
static void lower_bias_split_gelu(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = biased(b, hone_op_in(l, 0), hone_op_in(l, 1));
  if (!x) return;
  if (hone_rank(x) == 0) {
    hone_op_fail(l, "the input is a scalar; it needs a last axis to split");
    return;
  }
  hone_dim_t width = hone_dim(x, -1), half = hone_d_floordiv(b, width, hone_d(2));
  hone_value_t* left = hone_slice_axis(b, x, -1, hone_d(0), half);
  hone_value_t* right = hone_slice_axis(b, x, -1, half, width);
  hone_op_out(l, 0, hone_mul(b, left, hone_apply_wide(b, hone_gelu, right)));
}

static void lower_bias_add(hone_lower_t* l) {
  hone_value_t* x = hone_add(l->b, hone_op_in(l, 0), hone_op_in(l, 1));
  hone_op_out(l, 0, hone_add(l->b, x, hone_op_in(l, 2)));
}

#define ROW(op_name, fn, least, most, names)                                            \
  {                                                                                     \
    .domain = HONE_MS_DOMAIN, .name = (op_name), .min_opset = 1, .min_inputs = (least), \
    .max_inputs = (most), .attrs = (names), .lower = (fn)                               \
  }

static const hone_op_t ops[] = {
    ROW("BiasGelu", lower_bias_gelu, 2, 2, ""),
    ROW("FastGelu", lower_fast_gelu, 1, 2, ""),
    ROW("QuickGelu", lower_quick_gelu, 1, 1, "alpha"),
    ROW("GemmFastGelu", lower_gemm_fast_gelu, 2, 3, ""),
    ROW("BiasSplitGelu", lower_bias_split_gelu, 2, 2, ""),
    ROW("BiasAdd", lower_bias_add, 3, 3, ""),
};
HONE_OP_FAMILY(ms_gelu, ops)
