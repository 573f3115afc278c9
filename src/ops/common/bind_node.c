/* Binding of a function's nodes to a call: an attribute may refer to one of the
 * function's own, which the call gives a value; and an input of the function
 * that the call leaves out is left out wherever the body reads it. */
#include <string.h>

#include "ops/common/scope.h"

static const hone_onnx_attr_t* find_default(const hone_onnx_function_t* function,
                                            const char* name) {
  for (int i = 0; i < function->n_attr_defaults; i++)
    if (strcmp(function->attr_defaults[i].name, name) == 0) return &function->attr_defaults[i];
  return NULL;
}

static bool bind_graph(const hone_scope_t* scope, hone_onnx_graph_t** graph);

/* Subgraphs of an attribute, bound in copies. */
static bool bind_subgraphs(const hone_scope_t* scope, hone_onnx_attr_t* attr) {
  if (attr->kind != HONE_ATTR_GRAPH && attr->kind != HONE_ATTR_GRAPHS) return true;
  attr->graphs = hone_arena_memdup(scope->b->graph->arena, attr->graphs,
                                   (size_t)attr->count * sizeof *attr->graphs);
  if (!attr->graphs) return false;
  for (int64_t i = 0; i < attr->count; i++)
    if (!bind_graph(scope, &attr->graphs[i])) return false;
  return true;
}

/* Appends the bound form of `attr`; a reference to something that the call
 * leaves out and that has no default vanishes. */
static bool bind_attr(const hone_scope_t* scope, const hone_onnx_attr_t* attr,
                      hone_onnx_node_t* node) {
  hone_onnx_attr_t* out = &node->attrs[node->n_attrs];
  if (!attr->ref) {
    *out = *attr;
    node->n_attrs++;
    return bind_subgraphs(scope, out);
  }
  const hone_onnx_attr_t* given = hone_onnx_node_attr(scope->call, attr->ref);
  if (!given) given = find_default(scope->function, attr->ref);
  if (!given) return true;
  *out = *given;
  out->name = attr->name;
  node->n_attrs++;
  return true;
}

/* An input that the call leaves out is left out in the body too. */
static bool drops_input(const hone_scope_t* scope, const char* name) {
  if (!name[0] || hone_scope_get(scope, name)) return false;
  for (int i = 0; i < scope->function->n_inputs; i++)
    if (strcmp(scope->function->inputs[i], name) == 0) return true;
  return false;
}

static bool drop_missing_inputs(const hone_scope_t* scope, hone_onnx_node_t* node) {
  const char** inputs = hone_arena_memdup(scope->b->graph->arena, node->inputs,
                                          (size_t)node->n_inputs * sizeof *inputs);
  if (!inputs) return false;
  for (int i = 0; i < node->n_inputs; i++)
    if (drops_input(scope, inputs[i])) inputs[i] = "";
  while (node->n_inputs && !inputs[node->n_inputs - 1][0]) node->n_inputs--;
  node->inputs = inputs;
  return true;
}

static bool bind_node(const hone_scope_t* scope, const hone_onnx_node_t* node,
                      hone_onnx_node_t* out) {
  *out = *node;
  if (!drop_missing_inputs(scope, out)) return false;
  out->n_attrs = 0;
  out->attrs = hone_arena_array(scope->b->graph->arena, (size_t)node->n_attrs, sizeof *out->attrs);
  if (!out->attrs) return false;
  for (int i = 0; i < node->n_attrs; i++)
    if (!bind_attr(scope, &node->attrs[i], out)) return false;
  return true;
}

static bool bind_graph(const hone_scope_t* scope, hone_onnx_graph_t** graph) {
  hone_arena_t* arena = scope->b->graph->arena;
  hone_onnx_graph_t* copy = hone_arena_memdup(arena, *graph, sizeof **graph);
  if (!copy) return false;
  copy->nodes = hone_arena_array(arena, (size_t)copy->n_nodes, sizeof *copy->nodes);
  if (!copy->nodes) return false;
  for (int64_t i = 0; i < copy->n_nodes; i++)
    if (!bind_node(scope, &(*graph)->nodes[i], &copy->nodes[i])) return false;
  *graph = copy;
  return true;
}

const hone_onnx_node_t* hone_bind_node(const hone_scope_t* scope, const hone_onnx_node_t* node) {
  hone_onnx_node_t* copy = hone_arena_alloc(scope->b->graph->arena, sizeof *copy);
  return copy && bind_node(scope, node, copy) ? copy : NULL;
}
