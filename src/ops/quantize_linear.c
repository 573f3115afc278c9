/* QuantizeLinear and DequantizeLinear: for a whole tensor, an axis, or blocks. */
#include "ops/common/quantized.h"

/* A dtype given as an attribute of ONNX's numbers; HONE_UNKNOWN when absent. */
static hone_dtype_t dtype_attr(hone_lower_t* l, const char* name) {
  int64_t number = hone_attr_int(l->node, name, 0);
  if (number == 0) return HONE_UNKNOWN;
  if (number > 0 && number < HONE_DTYPE_COUNT) return (hone_dtype_t)number;
  hone_op_fail(l, "%s is %lld, which is no element type", name, (long long)number);
  return HONE_UNKNOWN;
}

/* In which type x is divided: as asked, else that of the scale. */
static hone_dtype_t division_dtype(hone_lower_t* l) {
  hone_dtype_t asked = dtype_attr(l, "precision");
  if (asked != HONE_UNKNOWN) return asked;
  hone_dtype_t scale = hone_dtype_of(hone_op_in(l, 1)), x = hone_dtype_of(hone_op_in(l, 0));
  if (hone_dtype_is_int(scale)) return HONE_F64;
  if (scale != HONE_F8E8M0) return scale;
  return hone_dtype_is_float(x) ? x : HONE_F32;
}

static hone_dtype_t quantized_dtype(hone_lower_t* l) {
  hone_dtype_t asked = dtype_attr(l, "output_dtype");
  const hone_value_t* zero = hone_op_in(l, 2);
  if (!zero) return asked == HONE_UNKNOWN ? HONE_U8 : asked;
  if (asked != HONE_UNKNOWN && asked != hone_dtype_of(zero))
    hone_op_fail(l, "output_dtype is %s but the zero point is %s", hone_dtype_name(asked),
                 hone_dtype_name(hone_dtype_of(zero)));
  return hone_dtype_of(zero);
}

static void lower_quantize(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int64_t axis = hone_attr_int(l->node, "axis", 1);
  int64_t block = hone_attr_int(l->node, "block_size", 0);
  hone_dtype_t dtype = quantized_dtype(l), precision = division_dtype(l);
  if (!hone_dtype_is_float(precision) ||
      !(hone_dtype_is_int(dtype) || hone_dtype_is_float(dtype))) {
    hone_op_fail(l, "cannot quantize to %s by a division in %s", hone_dtype_name(dtype),
                 hone_dtype_name(precision));
    return;
  }
  hone_value_t* scale = hone_quantized_spread(l, hone_op_in(l, 1), x, axis, block);
  hone_value_t* zero = hone_quantized_spread(l, hone_op_in(l, 2), x, axis, block);
  hone_value_t* quotient = hone_div(b, hone_cast(b, x, precision), hone_cast(b, scale, precision));
  bool saturate = hone_attr_int(l->node, "saturate", 1) != 0;
  hone_op_out(l, 0, hone_quantized_encode(b, quotient, zero, dtype, saturate));
}

static void lower_dequantize(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *raw_scale = hone_op_in(l, 1);
  int64_t axis = hone_attr_int(l->node, "axis", 1);
  int64_t block = hone_attr_int(l->node, "block_size", 0);
  hone_dtype_t dtype = dtype_attr(l, "output_dtype");
  if (dtype == HONE_UNKNOWN) dtype = hone_dtype_of(raw_scale);
  hone_dtype_t work = dtype == HONE_F64 ? HONE_F64 : HONE_F32;
  hone_value_t* scale = hone_quantized_spread(l, raw_scale, x, axis, block);
  hone_value_t* zero = hone_quantized_spread(l, hone_op_in(l, 2), x, axis, block);
  if (hone_dtype_is_int(hone_dtype_of(x))) {
    x = hone_quantized_centered(b, x, zero);
  } else if (zero && hone_quantized_has_offset(hone_dtype_of(x))) {
    x = hone_sub(b, hone_cast(b, x, work), hone_cast(b, zero, work));
  }
  hone_value_t* y = hone_mul(b, hone_cast(b, x, work), hone_cast(b, scale, work));
  hone_op_out(l, 0, hone_cast(b, y, dtype));
}

static const hone_op_t ops[] = {
    {.name = "QuantizeLinear",
     .min_opset = 10,
     .min_inputs = 2,
     .max_inputs = 3,
     .attrs = "axis block_size output_dtype precision saturate",
     .lower = lower_quantize},
    {.name = "DequantizeLinear",
     .min_opset = 10,
     .min_inputs = 2,
     .max_inputs = 3,
     .attrs = "axis block_size output_dtype",
     .lower = lower_dequantize},
};
HONE_OP_FAMILY(quantize_linear, ops)
