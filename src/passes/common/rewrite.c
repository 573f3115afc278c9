#include "passes/common/rewrite.h"

#include <string.h>

#include "base/memory.h"

enum { MAX_SWEEPS = 16, MAX_RELEASE = 64 };

/* ---- counting uses ---- */

bool hone_rewrite_used_once(const hone_value_t* value) { return value->uses == 1 && !value->binds; }

static void use(hone_value_t* value) {
  if (value) value->uses++;
}

static void use_inputs(const hone_node_t* node) {
  for (int i = 0; i < node->n_inputs; i++) use(node->inputs[i]);
}

/* Takes one use away; of a value that has none left, those of its inputs too.
 * Stopping early leaves counts too high, which only makes rules careful. */
static void release(hone_value_t* value, int depth) {
  if (!value || --value->uses > 0 || value->binds || depth == MAX_RELEASE) return;
  const hone_node_t* node = value->node;
  if (node->n_outputs > 1) return;
  for (int i = 0; i < node->n_inputs; i++) release(node->inputs[i], depth + 1);
}

static void count_uses(hone_graph_t* graph) {
  for (int i = 0; i < graph->n_values; i++) {
    graph->values[i]->uses = 0;
    graph->values[i]->forward = NULL;
  }
  for (int n = 0; n < graph->n_nodes; n++) use_inputs(graph->nodes[n]);
  for (int i = 0; i < graph->n_outputs; i++) use(graph->outputs[i]);
}

/* ---- replacing ---- */

hone_value_t* hone_rewrite_resolve(hone_value_t* value) {
  while (value && value->forward) value = value->forward;
  return value;
}

static bool is_new(const hone_rewriter_t* r, const hone_value_t* value) {
  for (int n = r->first_new; n < r->graph->n_nodes; n++)
    if (r->graph->nodes[n] == value->node) return true;
  return false;
}

static void move_binds(hone_value_t* from, hone_value_t* to) {
  hone_bind_t** end = &to->binds;
  while (*end) end = &(*end)->next;
  *end = from->binds;
  from->binds = NULL;
}

static bool may_replace(const hone_type_t* old, const hone_type_t* now) {
  bool open = old->kind == HONE_TYPE_ANY || (old->kind == HONE_TYPE_TENSOR && old->rank < 0);
  if (open) return true;
  if (old->kind != now->kind || old->dtype != now->dtype || old->rank != now->rank) return false;
  for (int i = 0; old->kind == HONE_TYPE_TENSOR && i < old->rank; i++)
    if (hone_dim_is_int(old->dims[i]) && hone_dim_is_int(now->dims[i]) &&
        old->dims[i].k != now->dims[i].k)
      return false;
  return true;
}

void hone_rewrite_replace(hone_rewriter_t* r, hone_value_t* old, hone_value_t* now) {
  now = hone_rewrite_resolve(now);
  if (old == now) return;
  if (!may_replace(&old->type, &now->type)) {
    hone_fail(r->b, HONE_INTERNAL, "%s at node %s: what took its place is of another type",
              hone_prim_info(old->node->prim)->name, old->node->origin ? old->node->origin : "?");
    return;
  }
  bool vague = hone_prim_info(old->node->prim)->family == HONE_FAMILY_CONTROL;
  if (is_new(r, now)) { /* what is known of the old one is known of it */
    if (!vague) now->type = old->type;
    if (!now->content) now->content = old->content;
  }
  if (!now->name) now->name = old->name;
  move_binds(old, now);
  now->uses += old->uses;
  old->uses = 0;
  old->forward = now;
}

hone_value_t* hone_rewrite_copy(hone_rewriter_t* r, const hone_node_t* node,
                                hone_value_t* const* inputs) {
  hone_node_t copy = *node;
  copy.inputs = (hone_value_t**)(uintptr_t)inputs;
  return hone_emit(r->b, &copy);
}

void hone_rewrite_blend(hone_rewriter_t* r, const hone_node_t* also) {
  const char* here = r->b->origin;
  if (!also->origin || (here && strstr(here, also->origin))) return;
  const char* both =
      here ? hone_arena_format(r->graph->arena, "%s + %s", also->origin, here) : also->origin;
  if (both) r->b->origin = both;
}

/* ---- sweeping ---- */

static hone_status_t sweep_graph(hone_rewriter_t* r, hone_graph_t* graph);

/* The regions of a node, each with a builder of its own. */
static hone_status_t sweep_regions(const hone_rewriter_t* r, hone_node_t* node) {
  if (r->skip_regions || node->prim == HONE_PRIM_CALL) return NULL;
  for (int i = 0; i < node->n_regions; i++) {
    hone_rewriter_t inner = *r;
    HONE_TRY(sweep_graph(&inner, node->regions[i]));
  }
  return NULL;
}

/* What went wrong while a rule was building; a deferral means that it could
 * not, and nothing more. */
static hone_status_t take_status(hone_builder_t* b) {
  hone_status_t status = b->status;
  b->status = NULL;
  b->deferred = NULL;
  return status;
}

static bool all_replaced(const hone_node_t* node) {
  for (int i = 0; i < node->n_outputs; i++)
    if (!node->outputs[i]->forward) return false;
  return true;
}

static hone_status_t visit(hone_rewriter_t* r, hone_node_t* node) {
  for (int i = 0; i < node->n_inputs; i++) node->inputs[i] = hone_rewrite_resolve(node->inputs[i]);
  if (node->n_regions) HONE_TRY(sweep_regions(r, node));
  r->first_new = r->graph->n_nodes;
  r->b->origin = node->origin;
  hone_value_t* now = r->rule(r, node);
  for (int n = r->first_new; n < r->graph->n_nodes; n++) use_inputs(r->graph->nodes[n]);
  if (now) hone_rewrite_replace(r, node->outputs[0], now);
  HONE_TRY(take_status(r->b));
  if (node->n_outputs && all_replaced(node)) {
    for (int i = 0; i < node->n_inputs; i++) release(node->inputs[i], 0);
    return NULL;
  }
  return hone_graph_append_again(r->graph, node) ? NULL : hone_oom();
}

static hone_status_t visit_all(hone_rewriter_t* r, hone_graph_t* graph) {
  hone_node_t** nodes = graph->nodes;
  int count = graph->n_nodes;
  graph->nodes = NULL;
  graph->values = NULL;
  graph->n_nodes = graph->nodes_room = graph->n_values = graph->values_room = 0;
  for (int n = 0; n < count; n++) HONE_TRY(visit(r, nodes[n]));
  for (int i = 0; i < graph->n_outputs; i++)
    graph->outputs[i] = hone_rewrite_resolve(graph->outputs[i]);
  return NULL;
}

static hone_status_t sweep_graph(hone_rewriter_t* r, hone_graph_t* graph) {
  hone_builder_t builder = {.graph = graph};
  builder.first_symbol = hone_dims_symbol_count(graph->dims);
  r->graph = graph;
  r->b = &builder;
  count_uses(graph);
  hone_status_t status = visit_all(r, graph);
  r->b = NULL;
  return status;
}

hone_status_t hone_rewrite_sweep(hone_rewriter_t* rewriter, hone_graph_t* graph) {
  HONE_TRY(sweep_graph(rewriter, graph));
  hone_graph_drop_dead(graph);
  hone_graph_drop_constants(graph->root);
  return NULL;
}

hone_status_t hone_rewrite_once(hone_pass_context_t* context, hone_graph_t* graph,
                                hone_rule_fn rule, void* self) {
  hone_rewriter_t rewriter = {.context = context, .rule = rule, .self = self};
  return hone_rewrite_sweep(&rewriter, graph);
}

hone_status_t hone_rewrite(hone_pass_context_t* context, hone_graph_t* graph, hone_rule_fn rule,
                           void* self) {
  for (int i = 0; i < MAX_SWEEPS; i++) {
    int64_t before = context->count;
    HONE_TRY(hone_rewrite_once(context, graph, rule, self));
    if (context->count == before) break;
  }
  return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as regions are */
hone_status_t hone_rewrite_everywhere(hone_pass_context_t* context, hone_graph_t* graph,
                                      hone_rule_fn rule, void* self) {
  for (int i = 0; i < graph->n_nodes; i++)
    for (int k = 0; k < graph->nodes[i]->n_regions; k++)
      HONE_TRY(hone_rewrite_everywhere(context, graph->nodes[i]->regions[k], rule, self));
  hone_rewriter_t rewriter = {.context = context, .self = self, .rule = rule, .skip_regions = true};
  return hone_rewrite_sweep(&rewriter, graph);
}
