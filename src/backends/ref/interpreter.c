/* Runs a graph in the order of its nodes. Each value is a view; it is dropped
 * after its last use. Symbols get their values as soon as the value that
 * defines them exists, and attributes are evaluated just before a node runs. */
#include "backends/ref/interpreter.h"

#include <string.h>
#include <time.h>

#include "backends/ref/kernels.h"
#include "base/memory.h"

enum { MAX_DEPTH = 200 };

/* The values of one graph during a run. */
typedef struct frame {
  ref_run_t* run;
  const hone_graph_t* graph;
  ref_view_t* values; /* by value id */
  int* last_use;      /* by value id: index of the last node that reads it; n_nodes: an output */
} frame_t;

static size_t frame_bytes(const hone_graph_t* graph) {
  return (size_t)graph->n_values * (sizeof(ref_view_t) + sizeof(int));
}

static hone_status_t frame_open(ref_run_t* run, const hone_graph_t* graph, frame_t* frame) {
  *frame = (frame_t){.run = run, .graph = graph};
  frame->values = hone_alloc(run->allocator, frame_bytes(graph));
  if (!frame->values) return hone_oom();
  frame->last_use = (int*)(void*)(frame->values + graph->n_values);
  for (int v = 0; v < graph->n_values; v++) frame->last_use[v] = -1;
  for (int n = 0; n < graph->n_nodes; n++)
    for (int i = 0; i < graph->nodes[n]->n_inputs; i++)
      if (graph->nodes[n]->inputs[i]) frame->last_use[graph->nodes[n]->inputs[i]->id] = n;
  for (int i = 0; i < graph->n_outputs; i++)
    frame->last_use[graph->outputs[i]->id] = graph->n_nodes;
  return NULL;
}

static void frame_close(frame_t* frame) {
  for (int v = 0; v < frame->graph->n_values; v++) hone_ref_drop(&frame->values[v]);
  hone_free(frame->run->allocator, frame->values, frame_bytes(frame->graph));
}

/* ---- symbols ---- */

static void bind_symbols(const frame_t* frame, const hone_value_t* value) {
  const ref_view_t* view = &frame->values[value->id];
  for (const hone_bind_t* bind = value->binds; bind; bind = bind->next) {
    int64_t* symbol = &frame->run->symbols[bind->symbol];
    if (bind->is_dim) {
      *symbol = bind->index < view->rank ? view->dims[bind->index] : 0;
      continue;
    }
    const char* at = view->data;
    int64_t rest = bind->index;
    for (int i = view->rank - 1; i >= 0; i--) { /* the element's place in a strided view */
      at += rest % view->dims[i] * view->strides[i];
      rest /= view->dims[i];
    }
    hone_scalar_t number;
    hone_scalar_load(view->dtype, at, 0, 1, &number);
    *symbol = number.i;
  }
}

static void evaluate(const ref_run_t* run, int count, const hone_dim_t* dims, int64_t* out) {
  for (int i = 0; dims && i < count && i < HONE_MAX_RANK; i++)
    out[i] = hone_dim_eval(dims[i], run->symbols);
}

/* ---- checks ---- */

/* Host and deferred nodes promise a type: later nodes were built on it. */
static hone_status_t check_promise(const hone_value_t* value, const ref_view_t* view) {
  const hone_type_t* type = &value->type;
  if (type->kind != HONE_TYPE_TENSOR || view->kind != HONE_KIND_TENSOR || !view->base) return NULL;
  bool dtype_ok = type->dtype == HONE_UNKNOWN || type->dtype == view->dtype;
  bool ok = dtype_ok && (type->rank < 0 || type->rank == view->rank);
  if (ok) return NULL;
  return hone_status_make(HONE_INVALID_MODEL,
                          "result '%s' is %s of rank %d, but the model declares %s of rank %d",
                          value->name ? value->name : "", hone_dtype_name(view->dtype), view->rank,
                          hone_dtype_name(type->dtype), type->rank);
}

/* ---- nodes ---- */

static hone_status_t run_kernel(const frame_t* frame, const hone_node_t* node,
                                const ref_view_t* const* in, ref_view_t* out) {
  const ref_run_t* run = frame->run;
  ref_call_t call = {.allocator = run->allocator,
                     .node = node,
                     .in = in,
                     .out = out,
                     .run_seed = run->seed,
                     .round_key = run->round_key,
                     .symbols = run->symbols};
  evaluate(run, node->n_dims, node->shape, call.shape);
  evaluate(run, node->n_dims, node->lo, call.lo);
  evaluate(run, node->n_dims, node->hi, call.hi);
  evaluate(run, node->n_dims, node->step, call.step);
  return hone_ref_kernel(node->prim)(&call);
}

typedef hone_status_t (*control_fn)(ref_run_t*, const hone_node_t*, const ref_view_t*, ref_view_t*);

static control_fn control(hone_prim_t prim) {
  if (prim == HONE_PRIM_IF) return hone_ref_if;
  if (prim == HONE_PRIM_CALL) return hone_ref_call;
  return prim == HONE_PRIM_LOOP ? hone_ref_loop : hone_ref_host;
}

static hone_status_t run_control(const frame_t* frame, const hone_node_t* node,
                                 const ref_view_t* const* in, ref_view_t* out) {
  size_t bytes = (size_t)node->n_inputs * sizeof(ref_view_t);
  ref_view_t* inputs = hone_alloc(frame->run->allocator, bytes);
  if (!inputs) return hone_oom();
  for (int i = 0; i < node->n_inputs; i++)
    if (in[i]) inputs[i] = *in[i];
  hone_status_t status = control(node->prim)(frame->run, node, inputs, out);
  hone_free(frame->run->allocator, inputs, bytes);
  for (int i = 0; !status && i < node->n_outputs; i++)
    status = check_promise(node->outputs[i], &out[i]);
  return status;
}

static hone_status_t compute(const frame_t* frame, const hone_node_t* node) {
  const hone_allocator_t* allocator = frame->run->allocator;
  size_t in_bytes = (size_t)node->n_inputs * sizeof(ref_view_t*);
  size_t out_bytes = (size_t)node->n_outputs * sizeof(ref_view_t);
  const ref_view_t** in = hone_alloc(allocator, in_bytes);
  ref_view_t* out = hone_alloc(allocator, out_bytes);
  hone_status_t status = in && out ? NULL : hone_oom();
  if (!status) {
    for (int i = 0; i < node->n_inputs; i++)
      in[i] = node->inputs[i] ? &frame->values[node->inputs[i]->id] : NULL;
    bool is_control = hone_prim_info(node->prim)->family == HONE_FAMILY_CONTROL;
    status = (is_control ? run_control : run_kernel)(frame, node, in, out);
    for (int i = 0; i < node->n_outputs; i++) frame->values[node->outputs[i]->id] = out[i];
  }
  hone_free(allocator, in, in_bytes);
  hone_free(allocator, out, out_bytes);
  return status;
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t fresh_bytes(const frame_t* frame, const hone_node_t* node) {
  hone_prim_family_t family = hone_prim_info(node->prim)->family;
  bool view = node->prim == HONE_PRIM_CONSTANT ||
              (family == HONE_FAMILY_MOVEMENT && node->prim != HONE_PRIM_CONCAT &&
               node->prim != HONE_PRIM_PAD);
  uint64_t total = 0;
  for (int i = 0; !view && i < node->n_outputs; i++) {
    const ref_view_t* out = &frame->values[node->outputs[i]->id];
    if (out->base) total += hone_tensor_bytes(out->base);
  }
  return total;
}

static hone_status_t compute_profiled(const frame_t* frame, const hone_node_t* node) {
  uint64_t start = now_ns();
  HONE_TRY(compute(frame, node));
  hone_profile_event_t event = {.origin = node->origin ? node->origin : "",
                                .primitive = hone_prim_info(node->prim)->name,
                                .start_ns = start,
                                .duration_ns = now_ns() - start,
                                .output_bytes = fresh_bytes(frame, node)};
  frame->run->profile(frame->run->profile_self, &event);
  return NULL;
}

static void drop_used(const frame_t* frame, const hone_node_t* node, int index) {
  for (int i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] && frame->last_use[node->inputs[i]->id] == index)
      hone_ref_drop(&frame->values[node->inputs[i]->id]);
  for (int i = 0; i < node->n_outputs; i++)
    if (frame->last_use[node->outputs[i]->id] < 0)
      hone_ref_drop(&frame->values[node->outputs[i]->id]);
}

static hone_status_t run_node(const frame_t* frame, int index) {
  const hone_node_t* node = frame->graph->nodes[index];
  hone_status_t status = NULL;
  if (node->prim != HONE_PRIM_INPUT) {
    /* What is measured are the nodes in a call, not the call. */
    bool outermost = frame->run->depth == 1 + frame->run->call_depth;
    bool profiled = frame->run->profile && outermost && node->prim != HONE_PRIM_CALL;
    status = (profiled ? compute_profiled : compute)(frame, node);
  }
  if (status) return node->origin ? hone_status_annotate(status, "node %s", node->origin) : status;
  for (int i = 0; i < node->n_outputs; i++) bind_symbols(frame, node->outputs[i]);
  drop_used(frame, node, index);
  return NULL;
}

/* ---- graphs ---- */

static hone_status_t run_nodes(const frame_t* frame, ref_view_t* outputs) {
  const hone_graph_t* graph = frame->graph;
  for (int n = 0; n < graph->n_nodes; n++) HONE_TRY(run_node(frame, n));
  for (int i = 0; i < graph->n_outputs; i++)
    outputs[i] = hone_ref_share(&frame->values[graph->outputs[i]->id]);
  return NULL;
}

hone_status_t hone_ref_run_graph(ref_run_t* run, const hone_graph_t* graph, int n_inputs,
                                 const ref_view_t* inputs, ref_view_t* outputs) {
  if (n_inputs != graph->n_inputs)
    return hone_status_make(HONE_INTERNAL, "graph '%s' takes %d inputs, %d given", graph->name,
                            graph->n_inputs, n_inputs);
  if (run->depth >= MAX_DEPTH)
    return hone_status_make(HONE_INVALID_MODEL, "subgraphs nest more than %d deep", MAX_DEPTH);
  frame_t frame;
  HONE_TRY(frame_open(run, graph, &frame));
  for (int i = 0; i < n_inputs; i++)
    frame.values[graph->inputs[i]->id] = hone_ref_share(&inputs[i]);
  run->depth++;
  hone_status_t status = run_nodes(&frame, outputs);
  run->depth--;
  frame_close(&frame);
  return status;
}

hone_status_t hone_ref_run_root(ref_run_t* run, const hone_graph_t* graph, int n_inputs,
                                const ref_view_t* inputs, ref_view_t* outputs) {
  int64_t* outer = run->symbols;
  size_t bytes = (size_t)hone_dims_symbol_count(graph->dims) * sizeof *outer;
  run->symbols = hone_alloc(run->allocator, bytes);
  hone_status_t status =
      run->symbols ? hone_ref_run_graph(run, graph, n_inputs, inputs, outputs) : hone_oom();
  if (run->symbols) hone_free(run->allocator, run->symbols, bytes);
  run->symbols = outer;
  return status;
}
