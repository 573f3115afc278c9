/* Deferred nodes: kept whole in the graph, lowered when they run and all their
 * inputs are there as constants. */
#include <string.h>

#include "base/memory.h"
#include "ops/common/scope.h"

/* Names that a subgraph takes from outside. */
typedef struct free_names {
  hone_arena_t* arena;
  int count, room;
  const char** names;
  bool failed;
} free_names_t;

/* Names defined by the subgraphs on the way down. */
typedef struct defined {
  const struct defined* outer;
  const hone_onnx_graph_t* graph;
  int64_t n_nodes; /* nodes so far */
} defined_t;

static bool graph_defines(const defined_t* d, const char* name) {
  const hone_onnx_graph_t* graph = d->graph;
  for (int64_t i = 0; i < graph->n_inputs; i++)
    if (strcmp(graph->inputs[i].name, name) == 0) return true;
  for (int64_t i = 0; i < graph->n_initializers; i++)
    if (strcmp(graph->initializers[i].name, name) == 0) return true;
  for (int64_t i = 0; i < graph->n_sparse; i++)
    if (strcmp(graph->sparse[i].values.name, name) == 0) return true;
  for (int64_t n = 0; n < d->n_nodes; n++)
    for (int o = 0; o < graph->nodes[n].n_outputs; o++)
      if (strcmp(graph->nodes[n].outputs[o], name) == 0) return true;
  return false;
}

static void add_name(free_names_t* free_names, const defined_t* defined, const char* name) {
  if (!name[0]) return;
  for (const defined_t* d = defined; d; d = d->outer)
    if (graph_defines(d, name)) return;
  for (int i = 0; i < free_names->count; i++)
    if (strcmp(free_names->names[i], name) == 0) return;
  if (free_names->count == free_names->room) {
    int room = free_names->room ? free_names->room * 2 : 8;
    const char** names = hone_arena_array(free_names->arena, (size_t)room, sizeof *names);
    if (!names) {
      free_names->failed = true;
      return;
    }
    if (free_names->count)
      memcpy(names, free_names->names, (size_t)free_names->count * sizeof *names);
    free_names->names = names;
    free_names->room = room;
  }
  free_names->names[free_names->count++] = name;
}

static void visit_attrs(free_names_t* free_names, const defined_t* outer,
                        const hone_onnx_node_t* node);

static void visit_graph(free_names_t* free_names, const defined_t* outer,
                        const hone_onnx_graph_t* graph) {
  defined_t here = {.outer = outer, .graph = graph};
  for (int64_t n = 0; n < graph->n_nodes; n++) {
    const hone_onnx_node_t* node = &graph->nodes[n];
    for (int i = 0; i < node->n_inputs; i++) add_name(free_names, &here, node->inputs[i]);
    visit_attrs(free_names, &here, node);
    here.n_nodes = n + 1;
  }
  for (int64_t i = 0; i < graph->n_outputs; i++)
    add_name(free_names, &here, graph->outputs[i].name);
}

static void visit_attrs(free_names_t* free_names, const defined_t* outer,
                        const hone_onnx_node_t* node) {
  for (int i = 0; i < node->n_attrs; i++) {
    const hone_onnx_attr_t* attr = &node->attrs[i];
    if (attr->kind != HONE_ATTR_GRAPH && attr->kind != HONE_ATTR_GRAPHS) continue;
    for (int64_t k = 0; k < attr->count; k++) visit_graph(free_names, outer, attr->graphs[k]);
  }
}

/* What the file declares for output `name`: dtype and rank are believed and
 * checked when it runs; extents are not, files often have them wrong. */
static hone_type_t declared_type(const hone_scope_t* scope, const char* name) {
  for (int64_t i = 0; i < scope->n_value_infos; i++) {
    const hone_onnx_value_info_t* info = &scope->value_infos[i];
    if (strcmp(info->name, name) != 0) continue;
    if (info->type.kind != HONE_ONNX_TYPE_TENSOR || info->type.rank < 0 ||
        info->type.rank > HONE_MAX_RANK)
      break;
    return hone_type_tensor(info->type.dtype, info->type.rank, NULL);
  }
  return hone_type_any();
}

static hone_host_t* make_host(hone_lower_t* l, const char* reason, const free_names_t* free_names) {
  hone_host_t* host = hone_arena_alloc(l->b->graph->arena, sizeof *host);
  if (!host) return NULL;
  *host = (hone_host_t){.op = l->op,
                        .node = l->node,
                        .model = l->scope->lowering->model,
                        .n_opsets = l->scope->n_opsets,
                        .opsets = l->scope->opsets,
                        .opset = l->opset,
                        .deferred = true,
                        .reason = reason,
                        .n_captures = free_names->count,
                        .capture_names = free_names->names};
  return host;
}

void hone_lower_defer_node(hone_lower_t* l, const char* reason) {
  hone_builder_t* b = l->b;
  hone_arena_t* arena = b->graph->arena;
  if (l->scope->at_run_time) {
    hone_fail(b, HONE_INTERNAL, "cannot be built although all inputs are known: %s", reason);
    return;
  }
  free_names_t free_names = {.arena = arena};
  visit_attrs(&free_names, NULL, l->node);
  int n_inputs = l->n_inputs + free_names.count;
  hone_value_t** inputs = hone_arena_array(arena, (size_t)n_inputs, sizeof *inputs);
  hone_type_t* types = hone_arena_array(arena, (size_t)l->n_outputs, sizeof *types);
  hone_host_t* host = make_host(l, reason, &free_names);
  if (!inputs || !types || !host || free_names.failed) {
    hone_fail_status(b, hone_oom());
    return;
  }
  if (l->n_inputs) memcpy(inputs, l->inputs, (size_t)l->n_inputs * sizeof *inputs);
  for (int i = 0; i < free_names.count; i++) {
    inputs[l->n_inputs + i] = hone_scope_get(l->scope, free_names.names[i]);
    if (!inputs[l->n_inputs + i]) {
      hone_fail(b, HONE_INVALID_MODEL, "'%s', used in a subgraph, is produced by no node",
                free_names.names[i]);
      return;
    }
  }
  for (int i = 0; i < l->n_outputs; i++) types[i] = declared_type(l->scope, l->node->outputs[i]);
  hone_node_t* node = hone_host_emit(b, host, n_inputs, inputs, l->n_outputs, types);
  for (int i = 0; node && i < l->n_outputs; i++) l->outputs[i] = node->outputs[i];
}

/* ---- when more is known ---- */

static bool still_deferred(const hone_graph_t* graph, int first_node) {
  for (int n = first_node; n < graph->n_nodes; n++)
    if (graph->nodes[n]->host && graph->nodes[n]->host->deferred) return true;
  return false;
}

/* The names of its inputs, captures behind, stand for its operands. */
static void define_operands(hone_scope_t* scope, const hone_node_t* node) {
  const hone_host_t* host = node->host;
  for (int i = 0; i < node->n_inputs && hone_builder_ok(scope->b); i++) {
    int capture = i - host->node->n_inputs;
    const char* name = capture < 0 ? host->node->inputs[i] : host->capture_names[capture];
    if (node->inputs[i] && name[0]) hone_scope_set(scope, name, node->inputs[i]);
  }
}

bool hone_lower_again(hone_builder_t* b, const hone_node_t* node, hone_value_t** outputs) {
  const hone_host_t* host = node->host;
  for (int i = 0; i < node->n_outputs; i++)
    if (i >= host->node->n_outputs || !host->node->outputs[i][0]) return false;
  int first_node = b->graph->n_nodes;
  hone_lowering_t lowering = {.model = host->model};
  hone_scope_t scope = {.lowering = &lowering,
                        .b = b,
                        .n_opsets = host->n_opsets,
                        .opsets = host->opsets,
                        .path = ""};
  define_operands(&scope, node);
  hone_lower_nodes(&scope, 1, host->node);
  if (!hone_builder_ok(b) || still_deferred(b->graph, first_node)) return false;
  for (int i = 0; i < node->n_outputs; i++) {
    outputs[i] = hone_scope_output(&scope, host->node->outputs[i]);
    if (!outputs[i]) return false;
  }
  return hone_builder_ok(b);
}

/* ---- when it runs ---- */

static void define_inputs(hone_scope_t* scope, const hone_host_t* host, int n_inputs,
                          hone_tensor_t* const* inputs) {
  for (int i = 0; i < n_inputs && hone_builder_ok(scope->b); i++) {
    int capture = i - host->node->n_inputs;
    const char* name = capture < 0 ? host->node->inputs[i] : host->capture_names[capture];
    if (!inputs[i] || !name[0]) continue;
    hone_tensor_retain(inputs[i]);
    hone_scope_set(scope, name, hone_constant(scope->b, inputs[i]));
  }
}

static void set_outputs(hone_scope_t* scope, const hone_onnx_node_t* node) {
  hone_builder_t* b = scope->b;
  hone_value_t** values =
      hone_arena_array(b->graph->arena, (size_t)node->n_outputs, sizeof *values);
  if (!values) {
    hone_fail_status(b, hone_oom());
    return;
  }
  int n = 0;
  for (int i = 0; i < node->n_outputs; i++)
    if (node->outputs[i][0]) values[n++] = hone_scope_output(scope, node->outputs[i]);
  if (!hone_builder_ok(b)) return;
  hone_status_t status = hone_graph_set_outputs(b->graph, n, values, NULL);
  if (status) hone_fail_status(b, status);
}

hone_status_t hone_lower_deferred(const hone_host_t* host, const hone_allocator_t* allocator,
                                  int n_inputs, hone_tensor_t* const* inputs,
                                  hone_graph_t** out_graph) {
  *out_graph = NULL;
  hone_graph_t* graph;
  HONE_TRY(hone_graph_create(allocator, "deferred", &graph));
  hone_builder_t b = {.graph = graph};
  hone_lowering_t lowering = {.model = host->model};
  hone_scope_t scope = {.lowering = &lowering,
                        .b = &b,
                        .n_opsets = host->n_opsets,
                        .opsets = host->opsets,
                        .path = "",
                        .at_run_time = true};
  define_inputs(&scope, host, n_inputs, inputs);
  hone_lower_nodes(&scope, 1, host->node);
  if (hone_builder_ok(&b)) set_outputs(&scope, host->node);
  if (b.status) {
    hone_graph_destroy(graph);
    return b.status;
  }
  hone_graph_drop_dead(graph);
  *out_graph = graph;
  return NULL;
}

int hone_lower_deferred_count(const hone_graph_t* graph) {
  int count = 0;
  for (int i = 0; i < graph->n_nodes; i++) {
    const hone_node_t* node = graph->nodes[i];
    count += node->host && node->host->deferred;
    for (int r = 0; r < node->n_regions; r++) count += hone_lower_deferred_count(node->regions[r]);
  }
  return count;
}
