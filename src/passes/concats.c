/* Concats: what is joined, or repeated as by Resize, and then quantized, by one scale for all, is
 * quantized before.
 *
 * The same numbers come out; but the parts are joined, and numbers looked up, as bytes, each
 * quantized where it is made, and never stored as floats. It runs while quantization still stands
 * as it was written. */
#include <inttypes.h>

#include "passes/common/match.h"
#include "passes/common/rewrite.h"

enum { MOST_STEPS = 12 };

/* What is done to the results of a node, the last step first. */
typedef struct chain {
  const hone_node_t *made, *steps[MOST_STEPS];
  double numbers[MOST_STEPS]; /* beside its operand, where the step has two */
  int count;
} chain_t;

/* The operand of a step that works element by element, with a number alone beside it; NULL: it is
 * no such step. */
static hone_value_t* operand_of(const hone_node_t* node, double* out_number) {
  hone_prim_family_t family = hone_prim_info(node->prim)->family;
  if (family == HONE_FAMILY_UNARY || family == HONE_FAMILY_CAST) return node->inputs[0];
  if (family != HONE_FAMILY_BINARY || !hone_match_number(node->inputs[1], out_number)) return NULL;
  return node->inputs[0];
}

/* Whether it only moves the elements of its first operand, or looks them up. */
static bool repeats(const hone_node_t* node) {
  return node->prim == HONE_PRIM_GATHER || node->prim == HONE_PRIM_RESHAPE ||
         node->prim == HONE_PRIM_PERMUTE;
}

static bool find_chain(const hone_node_t* last, chain_t* c) {
  *c = (chain_t){0};
  for (const hone_node_t* node = last; c->count < MOST_STEPS;) {
    hone_value_t* operand = operand_of(node, &c->numbers[c->count]);
    if (!operand || !hone_rewrite_used_once(operand)) return false;
    c->steps[c->count++] = node;
    node = c->made = operand->node;
    if (node->prim == HONE_PRIM_CONCAT || repeats(node))
      return hone_dtype_is_float(operand->type.dtype);
  }
  return false;
}

/* Numbers are those for all shapes. */
static hone_value_t* do_steps(hone_rewriter_t* r, const chain_t* c, hone_value_t* part) {
  for (int i = c->count - 1; i >= 0 && part; i--) {
    const hone_node_t* step = c->steps[i];
    if (hone_prim_info(step->prim)->family != HONE_FAMILY_BINARY) {
      part = hone_rewrite_copy(r, step, &part);
      continue;
    }
    hone_value_t* number = hone_scalar(r->b, step->inputs[1]->type.dtype, c->numbers[i]);
    part = hone_binary(r->b, step->prim, part, number);
  }
  return part;
}

static bool is_quantized(const hone_node_t* node) {
  return node->prim == HONE_PRIM_CAST && (node->dtype == HONE_U8 || node->dtype == HONE_I8);
}

static hone_value_t* before_joining(hone_rewriter_t* r, const hone_node_t* node, const chain_t* c) {
  enum { MOST_PARTS = 32 };
  hone_value_t* parts[MOST_PARTS];
  if (c->made->n_inputs > MOST_PARTS) return NULL;
  for (int i = 0; i < c->made->n_inputs; i++) {
    parts[i] = do_steps(r, c, c->made->inputs[i]);
    if (!parts[i]) return NULL;
  }
  hone_pass_did(r->context, node, "before it is joined");
  return hone_rewrite_copy(r, c->made, parts);
}

/* ---- what is repeated ---- */

enum { MOST_MOVES = 16 };

/* Nodes that only move the elements of their first operand, or look them up, the last one first,
 * down to a value that has no more elements than what is looked up of it; 0: nothing is looked up.
 */
static int find_moves(const hone_node_t* last, const hone_node_t* moves[MOST_MOVES]) {
  int n = 0, lookups = 0;
  for (const hone_node_t* node = last; n < MOST_MOVES; node = node->inputs[0]->node) {
    if (!repeats(node) || (n && !hone_rewrite_used_once(node->outputs[0]))) break;
    moves[n++] = node;
    if (node->prim == HONE_PRIM_GATHER) lookups = n;
  }
  if (!lookups) return 0;
  const hone_value_t* from = moves[lookups - 1]->inputs[0];
  int64_t before = hone_match_count(&from->type), after = hone_match_count(&last->outputs[0]->type);
  return before > 0 && before <= after && !hone_match_from_constants(from) ? lookups : 0;
}

static hone_value_t* before_looking_up(hone_rewriter_t* r, const hone_node_t* node,
                                       const chain_t* c) {
  const hone_node_t* moves[MOST_MOVES];
  int n = find_moves(c->made, moves);
  hone_value_t* x = n ? do_steps(r, c, moves[n - 1]->inputs[0]) : NULL;
  for (int i = n - 1; i >= 0 && x; i--) {
    hone_value_t* inputs[] = {x, moves[i]->n_inputs > 1 ? moves[i]->inputs[1] : NULL};
    x = hone_rewrite_copy(r, moves[i], inputs);
  }
  if (x) hone_pass_did(r->context, node, "before it is looked up");
  return x;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  chain_t c;
  if (!is_quantized(node) || !find_chain(node, &c)) return NULL;
  return c.made->prim == HONE_PRIM_CONCAT ? before_joining(r, node, &c)
                                          : before_looking_up(r, node, &c);
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "%" PRId64 " concats and lookups of bytes", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_concats;
const hone_pass_t hone_pass_concats = {
    .name = "concats",
    .summary = "what is joined, or looked up, and then quantized is quantized first",
    .phases = {HONE_PHASE_QUANT - 5},
    .run = run,
};
