/* RNN: h' = f(x W + h R + bias). */
#include "ops/common/recurrent.h"

static void cell(const hone_recurrent_step_t* s, hone_value_t** out_h, hone_value_t** out_c) {
  (void)out_c;
  hone_value_t* sum = hone_add(s->b, s->x, hone_recurrent_product(s, s->h, s->weights, s->bias));
  *out_h = hone_recurrent_activate(s, 0, sum);
}

static const hone_recurrent_kind_t kind = {
    .gates = 1, .functions = 1, .defaults = {"Tanh"}, .cell = cell};

static void lower_rnn(hone_lower_t* l) { hone_recurrent_lower(l, &kind); }

static const hone_op_t ops[] = {
    {.name = "RNN",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = 6,
     .attrs = "activation_alpha activation_beta activations clip direction hidden_size layout "
              "output_sequence",
     .lower = lower_rnn},
};
HONE_OP_FAMILY(rnn, ops)
