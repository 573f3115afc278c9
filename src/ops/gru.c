/* GRU: gates in the order z (update), r (reset), h (hidden). The reset gate
 * acts on h before its product with the weights, or (linear_before_reset)
 * behind it. */
#include "ops/common/recurrent.h"

/* The candidate for the next h. */
static hone_value_t* candidate(const hone_recurrent_step_t* s, hone_value_t* reset) {
  hone_builder_t* b = s->b;
  hone_value_t* weights = hone_recurrent_rows(s, s->weights, 2, 3);
  hone_value_t* bias = hone_recurrent_rows(s, s->bias, 2, 3);
  hone_value_t* past;
  if (hone_attr_int(s->l->node, "linear_before_reset", 0))
    past = hone_mul(b, reset, hone_recurrent_product(s, s->h, weights, bias));
  else
    past = hone_recurrent_product(s, hone_mul(b, reset, s->h), weights, bias);
  return hone_recurrent_activate(s, 1, hone_add(b, hone_recurrent_part(s, s->x, 2), past));
}

static void cell(const hone_recurrent_step_t* s, hone_value_t** out_h, hone_value_t** out_c) {
  (void)out_c;
  hone_builder_t* b = s->b;
  hone_value_t* past = hone_recurrent_product(s, s->h, hone_recurrent_rows(s, s->weights, 0, 2),
                                              hone_recurrent_rows(s, s->bias, 0, 2));
  hone_value_t* gates[2];
  for (int i = 0; i < 2; i++) {
    hone_value_t* sum =
        hone_add(b, hone_recurrent_part(s, s->x, i), hone_recurrent_part(s, past, i));
    gates[i] = hone_recurrent_activate(s, 0, sum);
  }
  hone_value_t *update = gates[0], *fresh = candidate(s, gates[1]);
  if (!update) return;
  hone_value_t* rest = hone_sub(b, hone_scalar(b, hone_dtype_of(update), 1), update);
  *out_h = hone_add(b, hone_mul(b, rest, fresh), hone_mul(b, update, s->h));
}

static const hone_recurrent_kind_t kind = {
    .gates = 3, .functions = 2, .defaults = {"Sigmoid", "Tanh"}, .cell = cell};

static void lower_gru(hone_lower_t* l) { hone_recurrent_lower(l, &kind); }

static const hone_op_t ops[] = {
    {.name = "GRU",
     .min_opset = 1,
     .min_inputs = 3,
     .max_inputs = 6,
     .attrs = "activation_alpha activation_beta activations clip direction hidden_size layout "
              "linear_before_reset output_sequence",
     .lower = lower_gru},
};
HONE_OP_FAMILY(gru, ops)
