/* Inverses: what activations divide by a constant is multiplied by its inverse.
 *
 *   hard_swish(x) = x * clip(x + 3, 0, 6) / 6   becomes   x * clip(x + 3, 0, 6) * 0.1666…
 *
 * A vector of quotients takes as long as twenty of products, which shows behind short sums.
 * Results may differ by their last bit. Divisions elsewhere are left alone: where a quotient is
 * rounded to a whole number, as quantizing does, that bit can make a step of it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "passes/common/match.h"
#include "passes/common/rewrite.h"

/* A normal number, so that nothing is lost beside the last bit. */
static bool find_inverse(const hone_node_t* node, double* out_inverse) {
  static const double least = 0x1p-126, most = 0x1p126;
  double number;
  if (node->prim != HONE_PRIM_DIV || node->inputs[0]->type.dtype != HONE_F32 ||
      !hone_match_number(node->inputs[1], &number) || fabs(number) < least || fabs(number) > most)
    return false;
  *out_inverse = 1 / number;
  return true;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  double inverse;
  if (!find_inverse(node, &inverse)) return NULL;
  const hone_type_t* type = &node->inputs[0]->type;
  hone_value_t* factor = hone_full(r->b, HONE_F32, inverse, type->rank, type->dims);
  hone_value_t* now = hone_mul(r->b, node->inputs[0], factor);
  if (now) hone_pass_did(r->context, node, "is multiplied by the inverse");
  return now;
}

static bool is_activation(const hone_node_t* node) {
  static const char* const labels[] = {"gelu", "gelu_tanh",  "quick_gelu",
                                       "silu", "hard_swish", "attention"};
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
    if (node->prim == HONE_PRIM_CALL && strcmp(node->label, labels[i]) == 0) return true;
  return false;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as regions are */
static hone_status_t look_for_activations(hone_pass_context_t* context, hone_graph_t* graph) {
  for (int i = 0; i < graph->n_nodes; i++) {
    hone_node_t* node = graph->nodes[i];
    for (int k = 0; k < node->n_regions; k++)
      HONE_TRY(is_activation(node) ? hone_rewrite_everywhere(context, node->regions[k], rule, NULL)
                                   : look_for_activations(context, node->regions[k]));
  }
  return NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  if (context->options->exact) return NULL;
  HONE_TRY(look_for_activations(context, graph));
  if (context->count) hone_pass_note(context, "%" PRId64 " divisions by constants", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_inverses;
const hone_pass_t hone_pass_inverses = {
    .name = "inverses",
    .summary = "activations multiply by inverses of what they divide by (rounds differently)",
    .phases = {HONE_PHASE_RECOGNISE + 90},
    .run = run,
};
