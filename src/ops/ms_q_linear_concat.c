/* QLinearConcat (com.microsoft): inputs come in threes (tensor, scale, zero
 * point), are brought to the scale of the output, and joined. */
#include "base/memory.h"
#include "ops/common/ms.h"

static void lower_q_linear_concat(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  int count = (l->n_inputs - 2) / 3;
  if (count < 1 || (l->n_inputs - 2) % 3 != 0) {
    hone_op_fail(l, "%d inputs: after two, they must come in threes", l->n_inputs);
    return;
  }
  hone_value_t* y_scale = hone_ms_scalar(b, hone_op_in(l, 0));
  hone_value_t* y_zero = hone_ms_scalar(b, hone_op_in(l, 1));
  hone_value_t** parts = hone_arena_array(b->graph->arena, (size_t)count, sizeof *parts);
  if (!parts) hone_fail_status(b, hone_oom());
  if (!parts || !y_zero) return;
  for (int i = 0; i < count; i++) {
    hone_value_t* x = hone_op_in(l, 2 + 3 * i);
    hone_value_t* scale = hone_ms_scalar(b, hone_op_in(l, 3 + 3 * i));
    hone_value_t* zero = hone_op_in(l, 4 + 3 * i);
    hone_value_t* real = hone_ms_dequantize(b, x, scale, zero ? hone_ms_scalar(b, zero) : NULL);
    parts[i] = hone_ms_quantize(b, real, y_scale, y_zero, hone_dtype_of(y_zero));
  }
  hone_op_out(l, 0, hone_concat(b, count, parts, (int)hone_attr_int(l->node, "axis", 0)));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "QLinearConcat",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = -1,
     .attrs = "axis",
     .lower = lower_q_linear_concat},
};
HONE_OP_FAMILY(ms_q_linear_concat, ops)
