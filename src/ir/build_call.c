/* Builder calls for `call`: a region whose parameters are what it captures. */
#include "base/memory.h"
#include "ir/builder.h"

void hone_call_open(hone_builder_t* b, const char* label, hone_builder_t* body) {
  hone_region_open(b, label, body);
  body->is_call = true;
}

/* What `value` is outside of the body; NULL for what was made in it. */
static hone_value_t* seen_outside(const hone_builder_t* body, hone_value_t* value) {
  if (value->node->graph != body->graph) return value;
  for (const hone_capture_t* c = body->captures; c; c = c->next)
    if (c->inner == value) return c->outer;
  return NULL;
}

/* The captured values, first captured first. */
static hone_value_t** call_inputs(hone_builder_t* b, const hone_builder_t* body) {
  int at = body->n_captures;
  hone_value_t** inputs = hone_arena_array(b->graph->arena, (size_t)at, sizeof *inputs);
  if (!inputs) return (void*)hone_fail_status(b, hone_oom());
  for (const hone_capture_t* c = body->captures; c; c = c->next) inputs[--at] = c->outer;
  return inputs;
}

/* The values made inside, each once, as the region's outputs. */
static hone_status_t set_call_results(hone_graph_t* region, int count,
                                      hone_value_t* const* results) {
  hone_value_t** list = hone_arena_array(region->arena, (size_t)count, sizeof *list);
  if (!list) return hone_oom();
  int n = 0;
  for (int i = 0; i < count; i++) {
    int k = 0;
    while (k < n && list[k] != results[i]) k++;
    if (k == n && results[i]->node->graph == region && results[i]->node->prim != HONE_PRIM_INPUT)
      list[n++] = results[i];
  }
  return hone_graph_set_outputs(region, n, list, NULL);
}

static hone_node_t* append_call(hone_builder_t* b, hone_builder_t* body) {
  hone_graph_t* region = body->graph;
  hone_value_t** inputs = call_inputs(b, body);
  hone_type_t* types = hone_arena_array(b->graph->arena, (size_t)region->n_outputs, sizeof *types);
  if (!inputs || !types) {
    hone_fail_status(b, hone_oom());
    return NULL;
  }
  for (int i = 0; i < region->n_outputs; i++) types[i] = region->outputs[i]->type;
  hone_node_t node = {.prim = HONE_PRIM_CALL,
                      .label = region->name,
                      .n_inputs = body->n_captures,
                      .inputs = inputs,
                      .n_outputs = region->n_outputs,
                      .n_regions = 1,
                      .regions = {region}};
  hone_node_t* made = hone_emit_typed(b, &node, types);
  for (int i = 0; made && i < region->n_outputs; i++)
    made->outputs[i]->content = region->outputs[i]->content;
  return made;
}

static bool check_results(hone_builder_t* body, int count, hone_value_t* const* results) {
  for (int i = 0; i < count && hone_builder_ok(body); i++)
    if (!results[i]) hone_fail(body, HONE_INTERNAL, "a result is missing");
  return hone_builder_ok(body);
}

void hone_call_close(hone_builder_t* b, hone_builder_t* body, int count,
                     hone_value_t* const* results, hone_value_t** outputs) {
  for (int i = 0; i < count; i++) outputs[i] = NULL;
  if (check_results(body, count, results)) {
    hone_status_t status = set_call_results(body->graph, count, results);
    if (status) hone_fail_status(body, status);
  }
  if (body->status) hone_fail_status(b, body->status);
  if (body->deferred) hone_defer(b, body->deferred);
  body->status = NULL;
  if (!hone_builder_ok(b)) return;
  hone_node_t* node = append_call(b, body);
  for (int i = 0; node && i < count; i++) {
    outputs[i] = seen_outside(body, results[i]);
    for (int k = 0; !outputs[i] && k < node->n_outputs; k++)
      if (body->graph->outputs[k] == results[i]) outputs[i] = node->outputs[k];
    outputs[i] = hone_resolve(b, outputs[i]);
  }
}
