/* LSTM: gates in the order i (input), o (output), f (forget), c (cell);
 * peepholes in the order i, o, f. */
#include "ops/common/recurrent.h"

/* x plus the peephole `index` on the cells. */
static hone_value_t* peep(const hone_recurrent_step_t* s, hone_value_t* x, int index,
                          hone_value_t* cells) {
  if (!s->peepholes) return x;
  return hone_add(s->b, x, hone_mul(s->b, hone_recurrent_part(s, s->peepholes, index), cells));
}

void hone_lstm_cell(const hone_recurrent_step_t* s, hone_value_t** out_h, hone_value_t** out_c) {
  hone_builder_t* b = s->b;
  hone_value_t* sums = hone_add(b, s->x, hone_recurrent_product(s, s->h, s->weights, s->bias));
  hone_value_t* part[4];
  for (int i = 0; i < 4; i++) part[i] = hone_recurrent_part(s, sums, i);
  hone_value_t* input = hone_recurrent_activate(s, 0, peep(s, part[0], 0, s->c));
  if (!input) return;
  hone_value_t* forget;
  if (hone_attr_int(s->l->node, "input_forget", 0))
    forget = hone_sub(b, hone_scalar(b, hone_dtype_of(input), 1), input);
  else
    forget = hone_recurrent_activate(s, 0, peep(s, part[2], 2, s->c));
  hone_value_t* fresh = hone_recurrent_activate(s, 1, part[3]);
  *out_c = hone_add(b, hone_mul(b, forget, s->c), hone_mul(b, input, fresh));
  hone_value_t* output = hone_recurrent_activate(s, 0, peep(s, part[1], 1, *out_c));
  hone_recurrent_step_t unclipped = *s;
  unclipped.clip = 0;
  *out_h = hone_mul(b, output, hone_recurrent_activate(&unclipped, 2, *out_c));
}

static const hone_recurrent_kind_t kind = {.gates = 4,
                                           .functions = 3,
                                           .defaults = {"Sigmoid", "Tanh", "Tanh"},
                                           .has_cells = true,
                                           .cell = hone_lstm_cell};

static void lower_lstm(hone_lower_t* l) { hone_recurrent_lower(l, &kind); }

static const hone_op_t ops[] = {
    {.name = "LSTM",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = 8,
     .attrs = "activation_alpha activation_beta activations clip direction hidden_size "
              "input_forget layout output_sequence",
     .lower = lower_lstm},
};
HONE_OP_FAMILY(lstm, ops)
