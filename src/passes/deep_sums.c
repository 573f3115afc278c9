/* Deep sums: where a hundred convolutions stand one behind the other, their sums are added up part
 * by part, since each of them takes over what those before it have rounded and some nets magnify
 * it:
 *
 *   contract(x, w)   becomes   contract(x, w) by_parts
 *
 * A sum of n numbers that is added up one by one is off by about sqrt(n / 2) roundings, one of
 * parts of p numbers by sqrt(p / 2 + n / p / 2): of 576 numbers by 17, in parts of 16 by five
 * (after N. Higham, "The accuracy of floating point summation", 1993). It takes a few more
 * additions. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

enum { DEEP = 100 /* convolutions */, PICTURES = 4 /* axes */ };

/* Whether weights add up numbers of pictures. */
static bool is_convolution(const hone_node_t* node) {
  return node->prim == HONE_PRIM_CONTRACT && node->dtype == HONE_F32 &&
         node->inputs[0]->type.rank >= PICTURES &&
         hone_match_constant(hone_operand_origin(node->inputs[1]));
}

/* How many convolutions stand in front of a node and at it, at most. `depths` are those of values.
 */
static int depth_of(const hone_node_t* node, const int* depths) {
  int depth = 0;
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] && depths[node->inputs[i]->id] > depth) depth = depths[node->inputs[i]->id];
  return depth + is_convolution(node);
}

static int find_depth(const hone_graph_t* graph, int* depths) {
  int deepest = 0;
  for (int i = 0; i < graph->n_nodes; i++) {
    const hone_node_t* node = graph->nodes[i];
    int depth = depth_of(node, depths);
    if (depth > deepest) deepest = depth;
    for (int j = 0; j < node->n_outputs; j++) depths[node->outputs[j]->id] = depth;
  }
  return deepest;
}

static void mark(hone_pass_context_t* context, hone_graph_t* graph) {
  for (int i = 0; i < graph->n_nodes; i++) {
    hone_node_t* node = graph->nodes[i];
    if (!is_convolution(node)) continue;
    node->flags |= HONE_FLAG_BY_PARTS;
    hone_pass_did(context, node, "by parts");
  }
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  size_t bytes = ((size_t)graph->n_values + 1) * sizeof(int);
  int* depths = hone_alloc(graph->allocator, bytes);
  if (!depths) return hone_oom();
  memset(depths, 0, bytes);
  int depth = find_depth(graph, depths);
  hone_free(graph->allocator, depths, bytes);
  if (depth < DEEP) return NULL;
  mark(context, graph);
  hone_pass_note(context, "sums of %" PRId64 " convolutions, %d of them one behind the other",
                 context->count, depth);
  return NULL;
}

extern const hone_pass_t hone_pass_deep_sums;
const hone_pass_t hone_pass_deep_sums = {
    .name = "deep_sums",
    .summary = "sums of a hundred convolutions in a row are added up part by part, to lose less",
    .phases = {HONE_PHASE_TIDY + 93},
    .run = run,
};
