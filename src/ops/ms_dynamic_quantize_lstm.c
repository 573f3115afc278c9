/* DynamicQuantizeLSTM (com.microsoft): LSTM with 8-bit weights, transposed, of
 * one scale for each direction or column. Inputs as a whole, and the state in
 * each step, are quantized to u8 by the range that they have; products are
 * integers. */
#include "ops/common/ms.h"
#include "ops/common/quantized.h"
#include "ops/common/recurrent.h"

/* Scale or zero point of a direction: a scalar or one number for each column. */
static hone_value_t* of_direction(hone_builder_t* b, hone_value_t* parameter, int direction) {
  return hone_quantized_scalar(b, hone_pick(b, parameter, 0, hone_d(direction)));
}

/* Weights as i32 without their zero point: [inputs, 4 * H]. */
static hone_value_t* prepare(hone_lower_t* l, int input, int direction) {
  hone_builder_t* b = l->b;
  hone_value_t* w = hone_pick(b, hone_op_in(l, input), 0, hone_d(direction));
  hone_value_t* zero = of_direction(b, hone_op_in(l, input == 1 ? 9 : 11), direction);
  return w && zero ? hone_quantized_centered(b, w, zero) : NULL;
}

static hone_value_t* multiply(hone_lower_t* l, hone_builder_t* b, hone_value_t* x,
                              hone_value_t* weights, int input, int direction) {
  hone_lower_t here = *l;
  here.b = b;
  hone_value_t* q[3];
  if (!hone_ms_delegate(&here, "DynamicQuantizeLinear", 11, 1, &x, 3, q)) return NULL;
  hone_value_t* sum = hone_matmul(b, hone_quantized_centered(b, q[0], q[2]), weights, HONE_I32);
  hone_value_t* scale = of_direction(b, hone_op_in(l, input == 1 ? 8 : 10), direction);
  return hone_mul(b, hone_cast(b, sum, HONE_F32), hone_mul(b, q[1], scale));
}

static void lower_dynamic_quantize_lstm(hone_lower_t* l) {
  static const hone_recurrent_kind_t kind = {.gates = 4,
                                             .functions = 3,
                                             .defaults = {"Sigmoid", "Tanh", "Tanh"},
                                             .has_cells = true,
                                             .cell = hone_lstm_cell,
                                             .prepare = prepare,
                                             .multiply = multiply};
  for (int i = 8; i < 12; i++)
    if (!hone_op_in(l, i)) {
      hone_op_fail(l, "input %d, a scale or zero point of the weights, is missing", i);
      return;
    }
  hone_recurrent_lower(l, &kind);
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "DynamicQuantizeLSTM",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = 12,
     .attrs = "activation_alpha activation_beta activations clip direction hidden_size "
              "input_forget",
     .lower = lower_dynamic_quantize_lstm},
};
HONE_OP_FAMILY(ms_dynamic_quantize_lstm, ops)
