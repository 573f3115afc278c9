/* Attention: softmax(q k' · scale, capped, biased, masked) v, with the splitting
 * and joining of heads, as operators and as exported pieces. Runs after softmax,
 * whose calls it takes in. */
#include <string.h>

#include "passes/common/match.h"
#include "passes/common/recognise.h"

/* From the product of queries and keys to the weights, the sums and the joined
 * heads. Rows of which nothing is allowed are made zero by a mask of their own,
 * or where they turned out NaN. */
#define AFTER_PRODUCT                                                                         \
  "scaled := (mul(product, #scale) | div(product, #scale) | product);"                        \
  "capped := (mul(tanh((div(scaled, #cap) | mul(scaled, #cap))), #top_cap) | scaled);"        \
  "biased := moved((add(capped, ~bias) | capped));"                                           \
  "masked := (select(~mask, #low, biased) | select(~mask, biased, #low) | add(biased, ~mask)" \
  "           | biased);"                                                                     \
  "weights := softmax(moved(masked));"                                                        \
  "checked := (weights | select(xor(eq(p, p), 1), 0, p=weights)"                              \
  "            | select(eq(p, p), p=weights, 0)"                                              \
  "            | select(~dead, 0, weights) | select(~dead, weights, 0));"                     \
  "given := moved(checked);"                                                                  \
  "sums := (contract(given, *v) | contract(*v, given));"                                      \
  "(reshape(moved(sums)) | permute(moved(sums)) | cast(sums) | sums)"

static const char queries_first[] = "product := moved(contract(part(*q), part(*k)));" AFTER_PRODUCT;
static const char keys_first[] = "product := moved(contract(part(*k), part(*q)));" AFTER_PRODUCT;

/* ---- which axis is which ---- */

static bool has_node(const hone_pattern_match_t* m, const hone_node_t* node) {
  for (int i = 0; i < m->n_nodes; i++)
    if (m->nodes[i] == node) return true;
  return false;
}

/* Walks from `value` down nodes of the match to the first of primitive `prim`,
 * following *axis; NULL when it gets lost. */
static const hone_node_t* walk(const hone_pattern_match_t* m, const hone_value_t* value,
                               hone_prim_t prim, int* axis) {
  for (;;) {
    const hone_node_t* node = value->node;
    if (!has_node(m, node)) return NULL;
    if (node->prim == prim) return node;
    if (node->prim == HONE_PRIM_CONTRACT || node->prim == HONE_PRIM_CALL) return NULL;
    *axis = hone_match_axis_before(node, *axis);
    if (*axis < 0) return NULL;
    value = NULL;
    for (int i = 0; i < node->n_inputs && !value; i++) {
      int probe = *axis;
      if (node->n_inputs == 1 ||
          (has_node(m, node->inputs[i]->node) && node->inputs[i]->node->prim != HONE_PRIM_EXPAND &&
           walk(m, node->inputs[i], prim, &probe)))
        value = node->inputs[i];
    }
    if (!value) return NULL;
  }
}

/* The axis of a softmax's input, and so of its result, that it goes along; -1 when
 * there are several. */
static int softmax_axis(const hone_node_t* call) {
  const hone_graph_t* region = call->regions[0];
  const hone_node_t* node = NULL;
  for (int n = 0; n < region->n_nodes && !node; n++)
    if (region->nodes[n]->prim == HONE_PRIM_REDUCE) node = region->nodes[n];
  if (!node || node->n_axes != 1) return -1;
  int axis = (int)node->axes[0];
  for (node = node->inputs[0]->node; node->prim != HONE_PRIM_INPUT && axis >= 0;
       node = node->inputs[0]->node) {
    if (node->n_inputs == 0) return -1;
    axis = hone_match_axis_before(node, axis);
  }
  return axis;
}

/* The softmax before `sums`, along the one axis that is summed over. */
static const hone_node_t* find_softmax(const hone_pattern_match_t* m, const hone_node_t* sums) {
  if (sums->n_axes - 2 * sums->n_batch != 2) return NULL;
  for (int side = 0; side < 2; side++) {
    int axis = (int)sums->axes[2 * sums->n_batch + side];
    const hone_node_t* call = walk(m, sums->inputs[side], HONE_PRIM_CALL, &axis);
    if (call) return axis == softmax_axis(call) ? call : NULL;
  }
  return NULL;
}

/* Whether the softmax goes along an axis of operand `side` of the product. */
static bool keys_are(const hone_pattern_match_t* m, int side) {
  for (int i = 0; i < m->n_nodes; i++) {
    const hone_node_t* call =
        m->nodes[i]->prim == HONE_PRIM_CONTRACT ? find_softmax(m, m->nodes[i]) : NULL;
    if (!call) continue;
    int axis = softmax_axis(call);
    const hone_node_t* product = walk(m, call->inputs[0], HONE_PRIM_CONTRACT, &axis);
    if (!product) return false;
    int first_free = product->inputs[0]->type.rank - product->n_axes / 2;
    return axis >= product->n_batch && (axis >= product->n_batch + first_free) == (side == 1);
  }
  return false;
}

static bool keys_second(const hone_pattern_match_t* m) { return keys_are(m, 1); }
static bool keys_ahead(const hone_pattern_match_t* m) { return keys_are(m, 0); }

static const hone_recognition_t table[] = {
    {"attention", queries_first, "q k v mask bias", keys_second},
    {"attention", keys_first, "q k v mask bias", keys_ahead},
};

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  return hone_recognise(context, graph, sizeof table / sizeof *table, table);
}

extern const hone_pass_t hone_pass_attention;
const hone_pass_t hone_pass_attention = {
    .name = "attention",
    .summary = "attention, as an operator or in pieces, becomes calls that hold its softmax",
    .phases = {HONE_PHASE_RECOGNISE + 40},
    .run = run,
};
