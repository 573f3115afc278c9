/* Movement: permute, reshape, expand, slice, pad, flip, concat and window cost
 * memory traffic where they stay, and models are full of them. This pass
 * cancels and joins them.
 *
 * Which way things move, and why it ends: permutes move towards the outputs
 * until another cancels them, or a contraction, reduction or window, which name
 * their axes, takes them in. Reshapes move the same way, below permutes where
 * they only add or drop extents of 1. Expands move behind both, and behind
 * elementwise primitives all of whose operands repeat. Nothing ever moves back.
 *
 * Permutes pass through reshapes that split or join whole axes; a reshape goes
 * below a permute only if all that it does is to add or drop extents of 1.
 *
 * A convolution of ONNX ends in a permute to (batch, channels, …); as these sink
 * through what follows into the next convolution, whole networks come out in
 * the order in which contractions give results, channels last. Permutes that are
 * pinned (hone_move_is_pinned) say what that order is, and stay. */
#include "passes/common/movement.h"

#include <inttypes.h>

static const hone_rule_fn rules[] = {hone_movement_chain, hone_movement_sink, hone_movement_absorb,
                                     hone_movement_contract};

static bool is_known(const hone_node_t* node) {
  for (int i = 0; i < node->n_inputs; i++)
    if (!node->inputs[i] || !hone_type_is_known(&node->inputs[i]->type)) return false;
  return node->n_outputs == 1 && node->n_inputs > 0 && hone_type_is_known(&node->outputs[0]->type);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  if (!is_known(node)) return NULL;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    hone_value_t* now = rules[i](r, node);
    if (!now) continue;
    hone_pass_did(r->context, node, "movement around %s simplified",
                  hone_prim_info(node->prim)->name);
    return now;
  }
  return NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(hone_rewrite(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "made %" PRId64 " steps towards less movement", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_movement;
const hone_pass_t hone_pass_movement = {
    .name = "movement",
    .summary = "permutes, reshapes and other movement cancel, join, or vanish in what follows",
    .phases = {HONE_PHASE_CLEAN + 20, HONE_PHASE_CLEAN + 40, HONE_PHASE_TIDY + 20},
    .run = run,
};
