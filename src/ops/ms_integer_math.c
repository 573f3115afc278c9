/* MulInteger and ReduceSumInteger (com.microsoft): 8-bit numbers, results i32. */
#include "ops/common/ms.h"
#include "ops/common/quantized.h"

static hone_value_t* centered(hone_lower_t* l, int index) {
  hone_builder_t* b = l->b;
  hone_value_t* zero = hone_op_in(l, index + 1);
  if (zero) zero = hone_ms_scalar(b, zero);
  return hone_op_in(l, index) ? hone_quantized_centered(b, hone_op_in(l, index), zero) : NULL;
}

static void lower_mul_integer(hone_lower_t* l) {
  hone_op_out(l, 0, hone_mul(l->b, centered(l, 0), centered(l, 2)));
}

static void lower_reduce_sum_integer(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  bool is_unsigned = hone_dtype_is_unsigned(hone_dtype_of(x));
  int n;
  const int64_t* axes = hone_attr_ints(l->node, "axes", &n);
  bool keep = hone_attr_int(l->node, "keepdims", 1) != 0;
  x = hone_cast(b, x, is_unsigned ? HONE_U32 : HONE_I32);
  hone_op_out(l, 0, hone_reduce(b, HONE_COMBINE_ADD, x, n, axes, keep));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "MulInteger",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 4,
     .attrs = "",
     .lower = lower_mul_integer},
    {.domain = HONE_MS_DOMAIN,
     .name = "ReduceSumInteger",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "axes keepdims",
     .lower = lower_reduce_sum_integer},
};
HONE_OP_FAMILY(ms_integer_math, ops)
