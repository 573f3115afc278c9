/* Movement sinks through elementwise primitives, and through what looks numbers up one by one: it
 * is done after them instead of before, to meet other movement there and cancel, or a primitive
 * that takes it in. What only repeats is repeated late, so that less is computed. */
#include "passes/common/match.h"
#include "passes/common/movement.h"

enum { MAX_OPERANDS = 3 };

/* All operands only repeat along some axis: computed once, repeated after. */
static hone_value_t* sink_expand(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* operands[MAX_OPERANDS];
  const hone_type_t* type = &node->outputs[0]->type;
  hone_dim_t narrow[HONE_MAX_RANK];
  for (int i = 0; i < type->rank; i++) narrow[i] = hone_dim_int(1);
  for (int k = 0; k < node->n_inputs; k++) {
    hone_node_t* expand = hone_match_prim(node->inputs[k], HONE_PRIM_EXPAND);
    if (!expand) return NULL;
    operands[k] = expand->inputs[0];
    for (int i = 0; i < type->rank; i++)
      if (!hone_dim_is(operands[k]->type.dims[i], 1)) narrow[i] = type->dims[i];
  }
  bool less = false;
  for (int i = 0; i < type->rank; i++) less = less || !hone_dim_same(narrow[i], type->dims[i]);
  if (!less) return NULL;
  for (int k = 0; k < node->n_inputs; k++) {
    operands[k] = hone_expand(r->b, operands[k], type->rank, narrow);
    if (!operands[k]) return NULL;
  }
  return hone_expand(r->b, hone_rewrite_copy(r, node, operands), type->rank, type->dims);
}

static hone_node_t* first_of(const hone_node_t* node, hone_prim_t prim) {
  for (int k = 0; k < node->n_inputs; k++) {
    hone_node_t* found = hone_match_prim(node->inputs[k], prim);
    if (found) return found;
  }
  return NULL;
}

/* The permute of an operand; where there is none, one of what an operand repeats,
 * which is the case of all operands whose extents only a run can tell apart from 1. */
static hone_node_t* find_permute(const hone_node_t* node) {
  hone_node_t* permute = NULL;
  for (int k = 0; k < node->n_inputs && !permute; k++)
    permute = hone_move_permute_of(node->inputs[k]);
  for (int k = 0; k < node->n_inputs && !permute; k++) {
    const hone_node_t* expand = hone_match_prim(node->inputs[k], HONE_PRIM_EXPAND);
    if (expand) permute = hone_move_permute_of(expand->inputs[0]);
  }
  return permute;
}

static hone_value_t* sink_permute(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* permute = find_permute(node);
  hone_value_t* operands[MAX_OPERANDS];
  for (int k = 0; permute && k < node->n_inputs; k++) {
    operands[k] = hone_move_unpermute(r->b, node->inputs[k], permute->axes);
    if (!operands[k]) return NULL;
  }
  if (!permute) return NULL;
  return hone_permute(r->b, hone_rewrite_copy(r, node, operands), permute->axes);
}

static bool same_type_dims(const hone_type_t* a, const hone_type_t* b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (!hone_dim_same(a->dims[i], b->dims[i])) return false;
  return true;
}

static hone_value_t* sink_reshape(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* reshape = first_of(node, HONE_PRIM_RESHAPE);
  if (!reshape) return NULL;
  const hone_type_t *before = &reshape->inputs[0]->type, *after = &node->outputs[0]->type;
  hone_value_t* operands[MAX_OPERANDS];
  for (int k = 0; k < node->n_inputs; k++) {
    hone_node_t* same = hone_match_prim(node->inputs[k], HONE_PRIM_RESHAPE);
    if (same && same_type_dims(&same->inputs[0]->type, before))
      operands[k] = same->inputs[0];
    else
      operands[k] = hone_move_unreshape(r->b, node->inputs[k], before->rank, before->dims);
    if (!operands[k]) return NULL;
  }
  return hone_reshape(r->b, hone_rewrite_copy(r, node, operands), after->rank, after->dims);
}

/* A number of a table for each index. */
static hone_value_t* sink_lookup(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* table = node->inputs[0];
  const hone_node_t* permute = hone_move_permute_of(node->inputs[1]);
  if (hone_rank(table) != 1 || !permute) return NULL;
  return hone_permute(r->b, hone_gather(r->b, table, permute->inputs[0]), permute->axes);
}

hone_value_t* hone_movement_sink(hone_rewriter_t* r, hone_node_t* node) {
  if (node->prim == HONE_PRIM_GATHER) return sink_lookup(r, node);
  if (!hone_prim_is_elementwise(node->prim)) return NULL;
  hone_value_t* x = sink_expand(r, node);
  if (!x) x = sink_permute(r, node);
  return x ? x : sink_reshape(r, node);
}
