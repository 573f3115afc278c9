#include "import/onnx_taken.h"

#include "import/names.h"

/* The names that a graph inside a node makes itself, and those of the graphs
 * around it, up to the node. */
typedef struct scope {
  const struct scope* outer;
  hone_names_t own;
} scope_t;

typedef struct walk {
  hone_arena_t* scratch;
  hone_onnx_taken_fn visit;
  void* self;
} walk_t;

static bool in_scope(const scope_t* scope, const char* name) {
  for (; scope; scope = scope->outer) {
    if (hone_names_get(&scope->own, name) >= 0) return true;
  }
  return false;
}

static hone_status_t visit_name(const walk_t* walk, const scope_t* scope, const char* name) {
  return *name && !in_scope(scope, name) ? walk->visit(walk->self, name) : NULL;
}

static hone_status_t visit_graph(const walk_t* walk, const scope_t* outer,
                                 const hone_onnx_graph_t* graph);

static hone_status_t visit_node(const walk_t* walk, const scope_t* scope,
                                const hone_onnx_node_t* node) {
  for (int i = 0; i < node->n_inputs; i++) HONE_TRY(visit_name(walk, scope, node->inputs[i]));
  for (int a = 0; a < node->n_attrs; a++) {
    const hone_onnx_attr_t* attr = &node->attrs[a];
    if (attr->kind != HONE_ATTR_GRAPH && attr->kind != HONE_ATTR_GRAPHS) continue;
    for (int64_t i = 0; i < attr->count; i++) {
      HONE_TRY(visit_graph(walk, scope, attr->graphs[i]));
    }
  }
  return NULL;
}

static hone_status_t add_own(scope_t* scope, const char* name) {
  int64_t old;
  return hone_names_add(&scope->own, name, 0, &old);
}

static hone_status_t add_own_names(scope_t* scope, const hone_onnx_graph_t* graph) {
  for (int64_t i = 0; i < graph->n_inputs; i++) HONE_TRY(add_own(scope, graph->inputs[i].name));
  for (int64_t i = 0; i < graph->n_initializers; i++) {
    HONE_TRY(add_own(scope, graph->initializers[i].name));
  }
  for (int64_t i = 0; i < graph->n_sparse; i++) {
    HONE_TRY(add_own(scope, graph->sparse[i].values.name));
  }
  for (int64_t n = 0; n < graph->n_nodes; n++) {
    const hone_onnx_node_t* node = &graph->nodes[n];
    for (int i = 0; i < node->n_outputs; i++) HONE_TRY(add_own(scope, node->outputs[i]));
  }
  return NULL;
}

/* What `graph` takes from the graphs around its node. */
static hone_status_t visit_graph(const walk_t* walk, const scope_t* outer,
                                 const hone_onnx_graph_t* graph) {
  scope_t scope = {.outer = outer, .own = hone_names_in(walk->scratch)};
  HONE_TRY(add_own_names(&scope, graph));
  for (int64_t i = 0; i < graph->n_nodes; i++) {
    HONE_TRY(visit_node(walk, &scope, &graph->nodes[i]));
  }
  for (int64_t i = 0; i < graph->n_outputs; i++) {
    HONE_TRY(visit_name(walk, &scope, graph->outputs[i].name));
  }
  return NULL;
}

hone_status_t hone_onnx_visit_taken(hone_arena_t* scratch, const hone_onnx_node_t* node,
                                    hone_onnx_taken_fn visit, void* self) {
  return visit_node(&(walk_t){scratch, visit, self}, NULL, node);
}
