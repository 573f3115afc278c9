/* Nodes out of calls. A region's results become the call's outputs (the same
 * values as before), its parameters the call's inputs. Nodes keep the label. */
#include <string.h>

#include "base/memory.h"
#include "ir/graph_impl.h"
#include "ir/outline.h"

static bool is_wanted(const hone_node_t* node, const char* label) {
  return node->prim == HONE_PRIM_CALL && (!label || strcmp(node->label, label) == 0);
}

/* Puts `outer`, an output of the call, in the place of the region's result. */
static void take_place(hone_value_t* outer, const hone_value_t* inner) {
  inner->node->outputs[inner->index] = outer;
  outer->node = inner->node;
  outer->index = inner->index;
  if (!outer->name) outer->name = inner->name;
}

/* What the region's values are in the graph of the call, by id. */
static void fill_map(const hone_node_t* call, hone_value_t** map) {
  const hone_graph_t* region = call->regions[0];
  for (int v = 0; v < region->n_values; v++) map[v] = region->values[v];
  for (int i = 0; i < region->n_inputs; i++) map[region->inputs[i]->id] = call->inputs[i];
  for (int i = 0; i < region->n_outputs; i++) map[region->outputs[i]->id] = call->outputs[i];
}

/* Moves the region's nodes to the end of `graph`. */
static hone_status_t splice(hone_graph_t* graph, const hone_node_t* call) {
  const hone_graph_t* region = call->regions[0];
  size_t bytes = (size_t)region->n_values * sizeof(hone_value_t*);
  hone_value_t** map = hone_alloc(graph->allocator, bytes);
  if (!map) return hone_oom();
  fill_map(call, map);
  for (int i = 0; i < region->n_outputs; i++) take_place(call->outputs[i], region->outputs[i]);
  bool ok = true;
  for (int n = 0; ok && n < region->n_nodes; n++) {
    hone_node_t* node = region->nodes[n];
    if (node->prim == HONE_PRIM_INPUT) continue;
    if (node->prim != HONE_PRIM_CALL) node->label = call->label;
    for (int i = 0; i < node->n_inputs; i++)
      if (node->inputs[i]) node->inputs[i] = map[node->inputs[i]->id];
    ok = hone_graph_place(graph, node);
  }
  hone_free(graph->allocator, map, bytes);
  return ok ? NULL : hone_oom();
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as regions are nested */
hone_status_t hone_graph_inline(hone_graph_t* graph, const char* label) {
  bool any = false;
  for (int n = 0; n < graph->n_nodes; n++) {
    for (int r = 0; r < graph->nodes[n]->n_regions; r++)
      HONE_TRY(hone_graph_inline(graph->nodes[n]->regions[r], label));
    any = any || is_wanted(graph->nodes[n], label);
  }
  if (!any) return NULL;
  hone_node_t** nodes = graph->nodes;
  int n_nodes = graph->n_nodes;
  graph->nodes = NULL;
  graph->n_nodes = graph->nodes_room = 0;
  for (int n = 0; n < n_nodes; n++) {
    if (is_wanted(nodes[n], label))
      HONE_TRY(splice(graph, nodes[n]));
    else if (!hone_graph_place(graph, nodes[n]))
      return hone_oom();
  }
  return hone_graph_number(graph) ? NULL : hone_oom();
}
