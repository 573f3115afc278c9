/* Softmax and its logarithm. */
#include "passes/common/recognise.h"

static const hone_recognition_t table[] = {
    {"log_softmax", "sub(c=sub(x, top(x)), log(sum(exp(c))))", "x"},
    {"softmax", "div(e=exp(sub(x, top(x))), sum(e))", "x"},
    {"softmax", "mul(e=exp(sub(x, top(x))), div(1, sum(e)))", "x"},
    {"softmax", "div(e=exp(x), sum(e))", "x"},
};

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  return hone_recognise(context, graph, sizeof table / sizeof *table, table);
}

extern const hone_pass_t hone_pass_softmax;
const hone_pass_t hone_pass_softmax = {
    .name = "softmax",
    .summary = "softmax and log-softmax, however they are spelt, become calls",
    .phases = {HONE_PHASE_RECOGNISE + 10},
    .run = run,
};
