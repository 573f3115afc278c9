/* Activations of more than one primitive. */
#include "passes/common/recognise.h"

#define ERF "erf((mul(0.70710678118654752, x) | div(x, 1.4142135623730951)))"
#define CUBIC                                                                             \
  "(mul(0.7978845608028654, add(x, (mul(0.044715, x, x, x) | mul(0.044715, pow(x, 3)))))" \
  " | mul(0.7978845608028654, x, add(1, (mul(0.044715, x, x) | mul(0.044715, pow(x, 2))))))"
/* x / 2 * (1 + y) */
#define HALF_TIMES(y)                                                                  \
  "(mul(x, 0.5, add(1, " y ")) | mul(div(x, 2), add(1, " y ")) | mul(x, div(add(1, " y \
  "), 2))"                                                                             \
  " | div(mul(x, add(1, " y ")), 2))"
#define SIXTH(y) "(mul(" y ", 0.16666666666666667) | div(" y ", 6))"

static const hone_recognition_t table[] = {
    {"gelu", HALF_TIMES(ERF), "x"},
    {"gelu_tanh", HALF_TIMES("tanh(" CUBIC ")"), "x"},
    {"quick_gelu", "mul(x, (sigmoid(mul(1.702, x)) | div(1, add(1, exp(mul(-1.702, x))))))", "x"},
    {"silu", "(mul(x, sigmoid(x)) | div(x, add(1, exp(negated(x)))))", "x"},
    {"hard_swish", "mul(x, clamp(add(0.5, " SIXTH("x") "), 0, 1))", "x"},
    {"hard_swish",
     "(mul(x, 0.16666666666666667, clamp(add(x, 3), 0, 6)) | div(mul(x, clamp(add(x, 3), 0, 6)), 6)"
     " | mul(x, div(clamp(add(x, 3), 0, 6), 6)))",
     "x"},
};

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  return hone_recognise(context, graph, sizeof table / sizeof *table, table);
}

extern const hone_pass_t hone_pass_activation;
const hone_pass_t hone_pass_activation = {
    .name = "activation",
    .summary = "gelu, silu and hard swish, however they are spelt, become calls",
    .phases = {HONE_PHASE_RECOGNISE + 30},
    .run = run,
};
