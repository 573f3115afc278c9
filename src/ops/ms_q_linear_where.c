/* QLinearWhere (com.microsoft): elements of X or Y as a condition says, each
 * brought to the scale of the output. */
#include "ops/common/ms.h"

static hone_value_t* choice(hone_lower_t* l, int first, hone_value_t* z_scale,
                            hone_value_t* z_zero) {
  hone_builder_t* b = l->b;
  hone_value_t* real =
      hone_ms_dequantize(b, hone_op_in(l, first), hone_ms_scalar(b, hone_op_in(l, first + 1)),
                         hone_ms_scalar(b, hone_op_in(l, first + 2)));
  return hone_ms_quantize(b, real, z_scale, z_zero, hone_dtype_of(hone_op_in(l, first)));
}

static void lower_q_linear_where(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* z_scale = hone_ms_scalar(b, hone_op_in(l, 7));
  hone_value_t* z_zero = hone_ms_scalar(b, hone_op_in(l, 8));
  hone_op_out(l, 0,
              hone_select(b, hone_op_in(l, 0), choice(l, 1, z_scale, z_zero),
                          choice(l, 4, z_scale, z_zero)));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "QLinearWhere",
     .min_opset = 1,
     .min_inputs = 9,
     .max_inputs = 9,
     .attrs = "",
     .lower = lower_q_linear_where},
};
HONE_OP_FAMILY(ms_q_linear_where, ops)
