/* Fusion: groups of nodes become calls labelled "kernel", each of which one
 * launch will compute.
 *
 * A group has at most one contraction, or reductions over the rows of one
 * shape, and elementwise and movement nodes around them. Nodes join forwards
 * (an activation joins the convolution before it), then groups that have
 * neither contraction nor reduction join the group that reads them. Last, chains
 * become one group: a contraction, reductions over rows of its results, and the
 * contraction that sums over those rows, as in attention. Movement nodes are
 * repeated for each reader first: they cost nothing in an index.
 *
 * What stays out, and is run by other means: host nodes and control flow,
 * strings and complex numbers, sorting and random numbers, values that give
 * symbols their numbers, and reshapes that are nothing but another view. */
#include <string.h>

#include "ir/outline.h"
#include "passes/common/either.h"
#include "passes/common/fusion.h"
#include "passes/common/match.h"
#include "passes/common/rewrite.h"

/* ---- narrow numbers ---- */

static bool is_narrowing(const hone_node_t* node) {
  return node->prim == HONE_PRIM_CAST && !node->inputs[0]->binds &&
         hone_dtype_bits(node->dtype) < hone_dtype_bits(node->inputs[0]->type.dtype);
}

static hone_value_t* narrow_before_reshape(hone_rewriter_t* r, const hone_node_t* cast) {
  hone_value_t* narrow = hone_rewrite_copy(r, cast, cast->inputs[0]->node->inputs);
  return narrow ? hone_reshape_like(r->b, narrow, cast->outputs[0]) : NULL;
}

/* What two ways make (common/either.h), of another shape maybe, is narrowed by each of them. */
static hone_value_t* narrow_apart(hone_rewriter_t* r, hone_node_t* node) {
  if (!is_narrowing(node) || !hone_rewrite_used_once(node->inputs[0])) return NULL;
  const hone_node_t* made = node->inputs[0]->node;
  if (made->prim != HONE_PRIM_RESHAPE) return hone_either_apart(r, node);
  if (!hone_rewrite_used_once(made->inputs[0]) ||
      !hone_either_is(r->graph->dims, made->inputs[0]->node))
    return NULL;
  const hone_value_t* narrow = hone_rewrite_copy(r, node, made->inputs);
  hone_value_t* parts = narrow ? hone_either_apart(r, narrow->node) : NULL;
  return parts ? hone_reshape_like(r->b, parts, node->outputs[0]) : NULL;
}

/* ---- movement nodes for each reader ---- */

/* The steps that make `value` of a narrower one, once more. */
static hone_value_t* widen_again(hone_rewriter_t* r, hone_value_t* value,
                                 const hone_value_t* narrow) {
  hone_value_t *inputs[2], *operand = hone_fusion_widened(value->node);
  if (value == narrow) return value;
  for (int i = 0; i < value->node->n_inputs; i++) {
    inputs[i] = value->node->inputs[i];
    if (inputs[i] == operand) inputs[i] = widen_again(r, operand, narrow);
  }
  hone_value_t* copy = hone_rewrite_copy(r, value->node, inputs);
  return copy ? copy : value;
}

/* Whether numbers are to be stored as wide as products want them (passes/halves.c). */
static bool is_for_products(const hone_node_t* reader, const hone_value_t* narrow) {
  return reader->prim == HONE_PRIM_CONTRACT && hone_dtype_is_float(narrow->type.dtype);
}

/* Whether bytes are to be stored in the shape that products sum along, as slight weights want them
 * (passes/slight.c). */
static bool is_summed_along(const hone_node_t* reader, const hone_value_t* value) {
  hone_dtype_t dtype = value->type.dtype;
  return reader->prim == HONE_PRIM_CONTRACT && value->node->prim == HONE_PRIM_RESHAPE &&
         (dtype == HONE_U8 || dtype == HONE_I8);
}

/* Repeats the operand's movement node for this reader, when it has others, unless what it looks up
 * is to lie side by side; and what makes wide numbers of narrow ones, so that the narrow ones are
 * stored. */
static hone_value_t* private_copy(hone_rewriter_t* r, hone_value_t* value,
                                  const hone_node_t* reader) {
  const hone_node_t* node = value ? value->node : NULL;
  if (!node || value->binds || hone_rewrite_used_once(value)) return value;
  if (value == reader->inputs[0] && hone_fusion_turned_rows(r->graph, reader)) return value;
  const hone_value_t* narrow = hone_fusion_narrow(value);
  if (narrow) return is_for_products(reader, narrow) ? value : widen_again(r, value, narrow);
  if (!hone_fusion_is_view(node) || is_summed_along(reader, value)) return value;
  hone_value_t* inputs[1] = {private_copy(r, node->inputs[0], reader)};
  hone_value_t* copy = hone_rewrite_copy(r, node, inputs);
  return copy ? copy : value;
}

static hone_value_t* unshare(hone_rewriter_t* r, hone_node_t* node) {
  if (!hone_fusion_is_member(node) || node->n_outputs != 1 || hone_fusion_is_view(node))
    return NULL;
  /* Narrowed where the numbers are made, and stored so, though others read them as they are. */
  if (is_narrowing(node) && node->inputs[0]->node->prim == HONE_PRIM_RESHAPE &&
      !hone_rewrite_used_once(node->inputs[0]))
    return narrow_before_reshape(r, node);
  hone_value_t* inputs[64];
  bool changed = false;
  if (node->n_inputs > 64) return NULL;
  for (int i = 0; i < node->n_inputs; i++) {
    inputs[i] = private_copy(r, node->inputs[i], node);
    changed |= inputs[i] != node->inputs[i];
  }
  if (!changed) return NULL;
  return hone_rewrite_copy(r, node, inputs);
}

/* ---- grouping ---- */

static hone_status_t outline(hone_pass_context_t* context, hone_graph_t* graph,
                             hone_fusion_t* fusion) {
  hone_group_t* groups = hone_arena_array(graph->arena, (size_t)fusion->n_groups, sizeof *groups);
  if (!groups) return hone_status_make(HONE_OUT_OF_MEMORY, "out of memory");
  for (int i = 0; i < fusion->n_groups; i++)
    groups[i] = (hone_group_t){.label = "kernel", .origin = hone_fusion_origin(fusion, i)};
  HONE_TRY(hone_graph_outline(graph, fusion->n_groups, groups, fusion->group_of));
  for (int i = 0; i < fusion->n_groups; i++)
    if (groups[i].call) hone_pass_did(context, groups[i].call, "is a kernel");
  return NULL;
}

/* Elements of a row of scores: blocks of so many rows stay in a core's own cache, and on the
 * stack of a thread. */
static int64_t find_longest_row(const hone_pass_options_t* options) {
  enum { ROWS = 16, USUAL = 2048, MOST = 8192 };
  int64_t length = (int64_t)(options->near_cache / (ROWS * sizeof(float)));
  return length < USUAL ? USUAL : length < MOST ? length : MOST;
}

static hone_status_t fuse_graph(hone_pass_context_t* context, hone_graph_t* graph);

static hone_status_t fuse_regions(hone_pass_context_t* context, hone_graph_t* graph) {
  for (int i = 0; i < graph->n_nodes; i++) {
    hone_node_t* node = graph->nodes[i];
    if (node->prim == HONE_PRIM_CALL) continue;
    for (int k = 0; k < node->n_regions; k++) HONE_TRY(fuse_graph(context, node->regions[k]));
  }
  return NULL;
}

static hone_status_t fuse_graph(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(fuse_regions(context, graph));
  hone_fusion_t fusion;
  HONE_TRY(hone_fusion_plan(graph, find_longest_row(context->options), &fusion));
  hone_status_t status = fusion.n_groups ? outline(context, graph, &fusion) : NULL;
  hone_fusion_free(&fusion);
  return status;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(hone_graph_inline(graph, NULL));
  int64_t count = context->count;
  HONE_TRY(hone_rewrite_once(context, graph, narrow_apart, NULL));
  HONE_TRY(hone_rewrite_once(context, graph, unshare, NULL));
  context->count = count;
  HONE_TRY(fuse_graph(context, graph));
  hone_graph_drop_dead(graph);
  if (context->count > count)
    hone_pass_note(context, "made %lld kernels", (long long)(context->count - count));
  return NULL;
}

extern const hone_pass_t hone_pass_fuse;
const hone_pass_t hone_pass_fuse = {
    .name = "fuse",
    .summary = "groups of nodes become kernels",
    .phases = {HONE_PHASE_FUSE},

    .run = run,
};
