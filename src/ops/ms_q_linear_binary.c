/* QLinearAdd and QLinearMul (com.microsoft), to the bit as onnxruntime on x86
 * has them: the scales are divided first, and the zero points are gathered in
 * one number. 16-bit types go the plain way by real values. */
#include "ops/common/ms.h"
#include "ops/common/quantized.h"

typedef struct operands {
  hone_value_t *a, *a_scale, *a_zero, *b, *b_scale, *b_zero, *c_scale, *c_zero;
  hone_dtype_t dtype;
} operands_t;

static operands_t read_operands(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* in[8];
  for (int i = 0; i < 8; i++) {
    in[i] = hone_op_in(l, i);
    if (in[i] && i != 0 && i != 3) in[i] = hone_ms_scalar(b, in[i]);
  }
  return (operands_t){in[0], in[1], in[2],
                      in[3], in[4], in[5],
                      in[6], in[7], in[0] ? hone_dtype_of(in[0]) : HONE_UNKNOWN};
}

/* The zero point as f32; 0 when it was left out. */
static hone_value_t* zero_f32(hone_builder_t* b, hone_value_t* zero) {
  return zero ? hone_cast(b, zero, HONE_F32) : hone_scalar(b, HONE_F32, 0);
}

static hone_value_t* add_8bit(hone_builder_t* b, const operands_t* o) {
  hone_value_t* a_ratio = hone_div(b, o->a_scale, o->c_scale);
  hone_value_t* b_ratio = hone_div(b, o->b_scale, o->c_scale);
  hone_value_t* zeros = hone_add(b, hone_mul(b, a_ratio, zero_f32(b, o->a_zero)),
                                 hone_mul(b, b_ratio, zero_f32(b, o->b_zero)));
  hone_value_t* fixed = hone_sub(b, zero_f32(b, o->c_zero), zeros);
  hone_value_t* sum = hone_ms_fma(b, hone_cast(b, o->b, HONE_F32), b_ratio, fixed);
  sum = hone_ms_fma(b, hone_cast(b, o->a, HONE_F32), a_ratio, sum);
  return hone_ms_round_to(b, sum, o->dtype);
}

static hone_value_t* mul_8bit(hone_builder_t* b, const operands_t* o) {
  hone_value_t* ratio = hone_div(b, hone_mul(b, o->a_scale, o->b_scale), o->c_scale);
  hone_value_t* product = hone_mul(b, hone_quantized_centered(b, o->a, o->a_zero),
                                   hone_quantized_centered(b, o->b, o->b_zero));
  product = hone_mul(b, hone_cast(b, product, HONE_F32), ratio);
  return hone_ms_round_to(b, hone_add(b, product, zero_f32(b, o->c_zero)), o->dtype);
}

static void lower_q_linear_binary(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  bool is_mul = l->op->data != 0;
  operands_t o = read_operands(l);
  if (hone_dtype_bits(o.dtype) == 8) {
    hone_op_out(l, 0, is_mul ? mul_8bit(b, &o) : add_8bit(b, &o));
    return;
  }
  hone_value_t* x = hone_ms_dequantize(b, o.a, o.a_scale, o.a_zero);
  hone_value_t* y = hone_ms_dequantize(b, o.b, o.b_scale, o.b_zero);
  hone_value_t* z = hone_div(b, is_mul ? hone_mul(b, x, y) : hone_add(b, x, y), o.c_scale);
  hone_op_out(l, 0, hone_ms_round_to(b, hone_add(b, z, zero_f32(b, o.c_zero)), o.dtype));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "QLinearAdd",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 8,
     .attrs = "",
     .lower = lower_q_linear_binary},
    {.domain = HONE_MS_DOMAIN,
     .name = "QLinearMul",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 8,
     .attrs = "",
     .data = 1,
     .lower = lower_q_linear_binary},
};
HONE_OP_FAMILY(ms_q_linear_binary, ops)
