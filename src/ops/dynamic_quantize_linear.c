/* DynamicQuantizeLinear: to u8, with the scale that just covers the data and zero. */
#include "ops/common/quantized.h"

static hone_value_t* extreme(hone_builder_t* b, hone_combine_t combine, hone_value_t* x) {
  return hone_reduce(b, combine, hone_ravel(b, x), 1, &(int64_t){0}, false);
}

static void lower_dynamic_quantize(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  hone_value_t* high = hone_max_number(b, extreme(b, HONE_COMBINE_MAX, x), 0);
  hone_value_t* low = hone_min_number(b, extreme(b, HONE_COMBINE_MIN, x), 0);
  hone_value_t* range = hone_sub(b, high, low);
  if (!range) return;
  hone_value_t* one = hone_scalar(b, hone_dtype_of(x), 1);
  hone_value_t* scale =
      hone_select(b, hone_eq_number(b, range, 0), one, hone_div_number(b, range, 255));
  hone_value_t* zero =
      hone_quantized_encode(b, hone_div(b, hone_neg(b, low), scale), NULL, HONE_U8, true);
  hone_op_out(l, 0, hone_quantized_encode(b, hone_div(b, x, scale), zero, HONE_U8, true));
  hone_op_out(l, 1, scale);
  hone_op_out(l, 2, zero);
}

static const hone_op_t ops[] = {
    {.name = "DynamicQuantizeLinear",
     .min_opset = 11,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "",
     .lower = lower_dynamic_quantize},
};
HONE_OP_FAMILY(dynamic_quantize_linear, ops)
