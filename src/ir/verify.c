#include "ir/verify.h"

#include <string.h>

#include "base/memory.h"
#include "ir/infer.h"

static hone_status_t wrong(const hone_node_t* node, const char* what) {
  return hone_status_make(HONE_INVALID_MODEL, "%s (value %%%d%s%s): %s",
                          hone_prim_info(node->prim)->name,
                          node->n_outputs ? node->outputs[0]->id : -1,
                          node->origin ? ", node " : "", node->origin ? node->origin : "", what);
}

/* Inputs come from earlier nodes of the same graph. */
static hone_status_t check_inputs(const hone_graph_t* graph, const hone_node_t* node) {
  bool may_miss = node->prim == HONE_PRIM_HOST;
  int first = node->n_outputs ? node->outputs[0]->id : graph->n_values;
  for (int i = 0; i < node->n_inputs; i++) {
    const hone_value_t* input = node->inputs[i];
    if (!input && may_miss) continue;
    if (!input) return wrong(node, "an input is missing");
    if (input->node->graph != graph) return wrong(node, "an input is of another graph");
    if (input->id < 0 || input->id >= graph->n_values || graph->values[input->id] != input)
      return wrong(node, "an input is not a value of the graph");
    if (input->id >= first) return wrong(node, "an input is defined later");
  }
  return NULL;
}

static hone_status_t check_outputs(const hone_graph_t* graph, const hone_node_t* node,
                                   int* next_id) {
  for (int i = 0; i < node->n_outputs; i++) {
    const hone_value_t* output = node->outputs[i];
    if (output->node != node || output->index != i) return wrong(node, "an output is astray");
    if (output->id != *next_id || graph->values[output->id] != output)
      return wrong(node, "outputs are not numbered in order");
    ++*next_id;
    for (const hone_bind_t* bind = output->binds; bind; bind = bind->next)
      if (bind->symbol < 0 || bind->symbol >= hone_dims_symbol_count(graph->dims))
        return wrong(node, "binds a symbol that there is not");
  }
  return NULL;
}

/* False where both are numbers and differ; symbols are checked when they run. */
static bool extents_agree(hone_dim_t a, hone_dim_t b) {
  return !hone_dim_is_int(a) || !hone_dim_is_int(b) || a.k == b.k;
}

static hone_status_t check_types(hone_graph_t* graph, const hone_node_t* node) {
  hone_type_t types[HONE_MAX_INFERRED];
  HONE_TRY(hone_infer(graph, node, types));
  hone_prim_family_t family = hone_prim_info(node->prim)->family;
  if (family == HONE_FAMILY_CONTROL || node->prim == HONE_PRIM_INPUT) return NULL;
  if (node->n_outputs != hone_prim_info(node->prim)->outputs)
    return wrong(node, "has a wrong number of outputs");
  for (int i = 0; i < node->n_outputs; i++) {
    const hone_type_t *want = &types[i], *have = &node->outputs[i]->type;
    bool same = want->kind == have->kind && want->dtype == have->dtype && want->rank == have->rank;
    for (int k = 0; same && k < want->rank; k++) same = extents_agree(want->dims[k], have->dims[k]);
    if (!same) return wrong(node, "the type of an output does not follow from the inputs");
  }
  return NULL;
}

/* How many values each region takes and gives. */
static hone_status_t check_region_shapes(const hone_node_t* node) {
  if (node->prim == HONE_PRIM_IF) {
    int captures = node->regions[0]->n_inputs + node->regions[1]->n_inputs;
    if (node->n_inputs != 1 + captures) return wrong(node, "captures do not fit the regions");
    for (int r = 0; r < 2; r++)
      if (node->regions[r]->n_outputs != node->n_outputs)
        return wrong(node, "a region gives a wrong number of results");
  }
  if (node->prim == HONE_PRIM_LOOP) {
    if (node->n_carried < 0 || node->n_inputs < 2 + node->n_carried ||
        node->n_outputs < node->n_carried || node->regions[0]->n_inputs != node->n_inputs ||
        node->regions[0]->n_outputs != 1 + node->n_outputs)
      return wrong(node, "the body's parameters or results do not fit");
  }
  return NULL;
}

/* Whether `have` may stand for `want`: unknown parts go with anything. */
static bool types_agree(const hone_type_t* want, const hone_type_t* have) {
  if (want->kind != have->kind || want->dtype != have->dtype || want->rank != have->rank)
    return false;
  for (int i = 0; want->dims && have->dims && i < want->rank; i++)
    if (!extents_agree(want->dims[i], have->dims[i])) return false;
  return true;
}

static bool is_label(const char* text) {
  return text && *text && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(text);
}

/* The results of a call: made inside, each once (`seen` marks them by id), typed
 * as the outputs are. */
static hone_status_t check_call_results(const hone_node_t* node, bool* seen) {
  for (int i = 0; i < node->n_outputs; i++) {
    const hone_value_t* result = node->regions[0]->outputs[i];
    if (result->node->prim == HONE_PRIM_INPUT) return wrong(node, "a parameter is a result");
    if (seen[result->id]) return wrong(node, "a value is a result twice");
    seen[result->id] = true;
    if (!types_agree(&result->type, &node->outputs[i]->type))
      return wrong(node, "a result has another type than the output");
  }
  return NULL;
}

static hone_status_t check_call(const hone_node_t* node) {
  const hone_graph_t* region = node->regions[0];
  if (!is_label(node->label)) return wrong(node, "the label is not a word of a-z, 0-9 and _");
  if (region->n_inputs != node->n_inputs || region->n_outputs != node->n_outputs)
    return wrong(node, "the region's parameters or results do not fit");
  for (int i = 0; i < node->n_inputs; i++)
    if (!types_agree(&node->inputs[i]->type, &region->inputs[i]->type))
      return wrong(node, "a parameter has another type than the input");
  for (int v = 0; v < region->n_values; v++)
    if (region->values[v]->binds) return wrong(node, "a value inside binds a symbol");
  size_t bytes = (size_t)region->n_values * sizeof(bool);
  bool* seen = hone_alloc(region->allocator, bytes);
  if (!seen) return hone_oom();
  hone_status_t status = check_call_results(node, seen);
  hone_free(region->allocator, seen, bytes);
  return status;
}

static hone_status_t check_regions(const hone_node_t* node) {
  if (node->n_regions != hone_prim_info(node->prim)->regions)
    return wrong(node, "has a wrong number of regions");
  for (int r = 0; r < node->n_regions; r++) {
    if (node->regions[r]->parent != node->graph) return wrong(node, "a region is astray");
    HONE_TRY(hone_graph_verify(node->regions[r]));
  }
  if (node->prim == HONE_PRIM_CALL) return check_call(node);
  return check_region_shapes(node);
}

static hone_status_t check_node(hone_graph_t* graph, const hone_node_t* node, int* next_id) {
  if (node->graph != graph) return wrong(node, "is of another graph");
  HONE_TRY(check_inputs(graph, node));
  HONE_TRY(check_outputs(graph, node, next_id));
  HONE_TRY(check_types(graph, node));
  if (node->prim == HONE_PRIM_HOST && !node->host) return wrong(node, "calls nothing");
  return check_regions(node);
}

hone_status_t hone_graph_verify(hone_graph_t* graph) {
  int next_id = 0;
  for (int n = 0; n < graph->n_nodes; n++) HONE_TRY(check_node(graph, graph->nodes[n], &next_id));
  if (next_id != graph->n_values)
    return hone_status_make(HONE_INVALID_MODEL, "graph '%s' has values that no node makes",
                            graph->name);
  for (int i = 0; i < graph->n_outputs; i++) {
    const hone_value_t* output = graph->outputs[i];
    if (output->id >= graph->n_values || graph->values[output->id] != output)
      return hone_status_make(HONE_INVALID_MODEL,
                              "output %d of graph '%s' is not one of its values", i, graph->name);
  }
  return NULL;
}
