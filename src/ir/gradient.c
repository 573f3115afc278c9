/* The walk: forwards to mark what depends on the xs, backwards with the rules. */
#include "ir/gradient.h"

#include "base/memory.h"
#include "ir/gradient_impl.h"
#include "ir/outline.h"

bool hone_gradient_wanted(const hone_gradient_t* s, const hone_node_t* node, int index) {
  return s->depends[node->inputs[index]->id];
}

void hone_gradient_add(hone_gradient_t* s, const hone_node_t* node, int index, hone_value_t* g) {
  if (!hone_gradient_wanted(s, node, index)) return;
  hone_value_t** sum = &s->adjoints[node->inputs[index]->id];
  *sum = *sum ? hone_add(s->b, *sum, g) : g;
}

/* Marks what depends on the xs; they themselves begin marked. */
static void mark_dependent(hone_gradient_t* s, int n_nodes) {
  for (int n = 0; n < n_nodes; n++) {
    const hone_node_t* node = s->b->graph->nodes[n];
    bool any = false;
    for (int i = 0; i < node->n_inputs; i++)
      any = any || (node->inputs[i] && s->depends[node->inputs[i]->id]);
    for (int i = 0; i < node->n_outputs && any; i++) s->depends[node->outputs[i]->id] = true;
  }
}

/* The gradient of a node's outputs, handed on. Only the first output of any
 * primitive that has a rule is a float. */
static void pass_back(hone_gradient_t* s, const hone_node_t* node) {
  bool any = false, depends = false;
  for (int i = 0; i < node->n_outputs; i++) any = any || s->adjoints[node->outputs[i]->id];
  for (int i = 0; i < node->n_inputs; i++)
    depends = depends || (node->inputs[i] && hone_gradient_wanted(s, node, i));
  if (!any || !depends) return;
  hone_gradient_rule_t rule = hone_gradient_rules[node->prim];
  if (rule)
    rule(s, node, s->adjoints[node->outputs[0]->id]);
  else
    hone_fail(s->b, HONE_UNSUPPORTED, "the primitive %s has no gradient%s%s",
              hone_prim_info(node->prim)->name, node->origin ? ", at node " : "",
              node->origin ? node->origin : "");
}

static bool is_one_of(const hone_value_t* value, int count, hone_value_t* const* list) {
  for (int i = 0; i < count; i++)
    if (list[i] == value) return true;
  return false;
}

static bool check_values(hone_builder_t* b, int count, hone_value_t* const* values) {
  for (int i = 0; i < count; i++) {
    if (!hone_is_known(b, values[i])) return false;
    if (values[i]->node->graph != b->graph) {
      hone_fail(b, HONE_UNSUPPORTED, "a gradient with respect to a value outside of the subgraph");
      return false;
    }
    if (!hone_dtype_is_float(hone_dtype_of(values[i]))) {
      hone_fail(b, HONE_INVALID_MODEL, "a gradient of, or with respect to, values of dtype %s",
                hone_dtype_name(hone_dtype_of(values[i])));
      return false;
    }
  }
  return true;
}

/* A call is differentiated as the nodes in it. */
static bool open_calls(hone_builder_t* b) {
  hone_status_t status = hone_graph_inline(b->graph, NULL);
  if (status) hone_fail_status(b, status);
  return !status;
}

static hone_value_t* full_like(hone_builder_t* b, const hone_value_t* x, double value) {
  return hone_full(b, hone_dtype_of(x), value, hone_rank(x), x->type.dims);
}

void hone_gradient(hone_builder_t* b, hone_value_t* y, int n_xs, hone_value_t* const* xs,
                   hone_value_t** out) {
  for (int i = 0; i < n_xs; i++) out[i] = NULL;
  if (!open_calls(b) || !check_values(b, 1, &y) || !check_values(b, n_xs, xs)) return;
  hone_graph_t* graph = b->graph;
  int n_nodes = graph->n_nodes;
  hone_gradient_t s = {.b = b, .n_values = graph->n_values};
  s.depends = hone_arena_array(graph->arena, (size_t)s.n_values, sizeof *s.depends);
  s.adjoints = hone_arena_array(graph->arena, (size_t)s.n_values, sizeof(hone_value_t*));
  if (!s.depends || !s.adjoints) {
    hone_fail_status(b, hone_oom());
    return;
  }
  for (int i = 0; i < n_xs; i++) s.depends[xs[i]->id] = true;
  mark_dependent(&s, n_nodes);
  s.adjoints[y->id] = full_like(b, y, 1);
  for (int n = n_nodes - 1; n >= 0 && hone_builder_ok(b); n--) {
    const hone_node_t* node = graph->nodes[n];
    if (node->n_outputs && !is_one_of(node->outputs[0], n_xs, xs)) pass_back(&s, node);
  }
  for (int i = 0; i < n_xs && hone_builder_ok(b); i++) {
    out[i] = s.adjoints[xs[i]->id];
    if (!out[i]) out[i] = full_like(b, xs[i], 0);
  }
}

/* ---- substitution ---- */

/* The node anew, with its inputs replaced where `map` says so. */
static void copy_node(hone_builder_t* b, const hone_node_t* node, hone_value_t** map) {
  hone_value_t** inputs = hone_arena_array(b->graph->arena, (size_t)node->n_inputs, sizeof *inputs);
  bool any = false;
  if (!inputs) {
    hone_fail_status(b, hone_oom());
    return;
  }
  for (int i = 0; i < node->n_inputs; i++) {
    hone_value_t* fresh = node->inputs[i] ? map[node->inputs[i]->id] : NULL;
    inputs[i] = fresh ? fresh : node->inputs[i];
    any = any || fresh;
  }
  if (!any || map[node->outputs[0]->id]) return;
  if (hone_prim_info(node->prim)->family == HONE_FAMILY_CONTROL) {
    hone_fail(b, HONE_UNSUPPORTED, "a gradient at other values, through the primitive %s",
              hone_prim_info(node->prim)->name);
    return;
  }
  hone_node_t copy = *node;
  copy.inputs = inputs;
  hone_value_t* first = hone_emit(b, &copy);
  for (int i = 0; first && i < node->n_outputs; i++)
    map[node->outputs[i]->id] = first->node->outputs[i];
}

hone_value_t* hone_substitute(hone_builder_t* b, hone_value_t* y, int count,
                              hone_value_t* const* from, hone_value_t* const* to) {
  if (!open_calls(b)) return NULL;
  hone_graph_t* graph = b->graph;
  hone_value_t** map = hone_arena_array(graph->arena, (size_t)graph->n_values, sizeof *map);
  if (!map) return hone_fail_status(b, hone_oom());
  int n_nodes = graph->n_nodes;
  for (int i = 0; i < count; i++) map[from[i]->id] = to[i];
  for (int n = 0; n < n_nodes && hone_builder_ok(b); n++)
    if (graph->nodes[n]->n_outputs) copy_node(b, graph->nodes[n], map);
  return map[y->id] ? map[y->id] : y;
}
