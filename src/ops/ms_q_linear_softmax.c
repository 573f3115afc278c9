/* QLinearSoftmax (com.microsoft), as onnxruntime computes it: exponentials of
 * whole steps of the input scale, shifted up so far that their sum just stays
 * finite in f32; the output scale counts as one over a whole number. */
#include <float.h>

#include "ops/common/ms.h"

/* max(0, log(FLT_MAX / count) - 5) / x_scale, f64. */
static hone_value_t* shift(hone_builder_t* b, hone_value_t* count, hone_value_t* x_scale) {
  hone_value_t* most = hone_div(b, hone_scalar(b, HONE_F32, (double)FLT_MAX), count);
  hone_value_t* bits = hone_log(b, hone_cast(b, most, HONE_F64));
  return hone_div(b, hone_max_number(b, hone_add_number(b, bits, -5), 0), x_scale);
}

/* Along the last axis of x. */
static hone_value_t* softmax(hone_lower_t* l, hone_value_t* x) {
  hone_builder_t* b = l->b;
  if (!hone_is_known(b, x)) return NULL;
  hone_value_t* x_scale = hone_cast(b, hone_ms_scalar(b, hone_op_in(l, 1)), HONE_F64);
  hone_value_t* count = hone_dim_scalar(b, HONE_F32, hone_dim(x, -1));
  hone_value_t* wide = hone_cast(b, x, HONE_I32);
  hone_value_t* steps = hone_sub(b, wide, hone_reduce_last(b, HONE_COMBINE_MAX, wide, 1, true));
  hone_value_t* power = hone_add(b, hone_cast(b, steps, HONE_F64), shift(b, count, x_scale));
  hone_value_t* e = hone_cast(b, hone_exp(b, hone_mul(b, power, x_scale)), HONE_F32);
  hone_value_t* sum = hone_reduce_last(b, HONE_COMBINE_ADD, e, 1, true);
  hone_value_t* units = hone_floor(b, hone_reciprocal(b, hone_ms_scalar(b, hone_op_in(l, 3))));
  hone_value_t* y = hone_round(b, hone_div(b, hone_mul(b, e, units), sum));
  y = hone_cast(b, y, HONE_I32);
  if (hone_op_in(l, 4))
    y = hone_add(b, y, hone_cast(b, hone_ms_scalar(b, hone_op_in(l, 4)), HONE_I32));
  return hone_cast(b, hone_min_number(b, y, 255), hone_dtype_of(x));
}

static void lower_q_linear_softmax(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int rank = hone_rank(x), axis = hone_axis(b, hone_attr_int(l->node, "axis", -1), rank);
  if (!hone_builder_ok(b)) return;
  if (hone_attr_int(l->node, "opset", 13) < 13) {
    hone_op_out(l, 0, hone_reshape_like(b, softmax(l, hone_flatten(b, x, axis)), x));
    return;
  }
  hone_value_t* y = softmax(l, hone_move_axis(b, x, axis, rank - 1));
  hone_op_out(l, 0, hone_move_axis(b, y, rank - 1, axis));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "QLinearSoftmax",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 5,
     .attrs = "axis opset",
     .lower = lower_q_linear_softmax},
};
HONE_OP_FAMILY(ms_q_linear_softmax, ops)
