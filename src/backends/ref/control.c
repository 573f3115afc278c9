/* Control flow and host nodes. */
#include <string.h>

#include "backends/ref/interpreter.h"
#include "backends/ref/kernels.h"
#include "base/memory.h"
#include "base/random.h"
#include "ops/lower.h"

static int64_t scalar_i64(const ref_view_t* view) {
  hone_scalar_t number;
  hone_scalar_load(view->dtype, view->data, 0, 1, &number);
  return number.i;
}

hone_status_t hone_ref_if(ref_run_t* run, const hone_node_t* node, const ref_view_t* in,
                          ref_view_t* out) {
  if (hone_ref_count(&in[0]) != 1)
    return hone_status_make(HONE_INVALID_ARGUMENT, "if: the condition is not one element");
  bool taken = scalar_i64(&in[0]) != 0;
  const hone_graph_t* region = node->regions[taken ? 0 : 1];
  const ref_view_t* captures = in + 1 + (taken ? 0 : node->regions[0]->n_inputs);
  return hone_ref_run_graph(run, region, region->n_inputs, captures, out);
}

hone_status_t hone_ref_call(ref_run_t* run, const hone_node_t* node, const ref_view_t* in,
                            ref_view_t* out) {
  bool outermost = run->depth == 1 + run->call_depth;
  run->call_depth += outermost;
  hone_status_t status = hone_ref_run_graph(run, node->regions[0], node->n_inputs, in, out);
  run->call_depth -= outermost;
  return status;
}

/* ---- loop ---- */

/* The values that one stacked output had in each round. */
typedef struct round_list {
  ref_view_t* parts;
  int64_t room;
} round_list_t;

/* A loop in flight. Parameters of the body: round, condition, carried, captures. */
typedef struct loop {
  ref_run_t* run;
  const hone_node_t* node;
  const hone_graph_t* body;
  int n_stacked;
  ref_view_t* params;   /* carried ones are owned from the first round's end on */
  ref_view_t* results;  /* condition, carried, stacked */
  round_list_t* stacks; /* n_stacked of them */
  int64_t rounds;       /* so far: entries in each stack */
} loop_t;

static hone_status_t scalar_view(ref_run_t* run, hone_dtype_t dtype, int64_t value,
                                 ref_view_t* out) {
  HONE_TRY(hone_ref_make(run->allocator, dtype, 0, NULL, out));
  hone_scalar_store(dtype, &(hone_scalar_t){.i = value}, 1, out->data);
  return NULL;
}

static hone_status_t grow_stacks(loop_t* loop) {
  const hone_allocator_t* allocator = loop->run->allocator;
  for (int i = 0; i < loop->n_stacked; i++) {
    round_list_t* list = &loop->stacks[i];
    if (loop->rounds < list->room) continue;
    int64_t room = list->room ? list->room * 2 : 16;
    ref_view_t* grown = hone_realloc(allocator, list->parts, (size_t)list->room * sizeof *grown,
                                     (size_t)room * sizeof *grown);
    if (!grown) return hone_oom();
    *list = (round_list_t){grown, room};
  }
  return NULL;
}

/* One round: runs the body, takes over its results. */
static hone_status_t run_round(loop_t* loop, bool* condition) {
  int n_carried = loop->node->n_carried;
  HONE_TRY(grow_stacks(loop));
  HONE_TRY(scalar_view(loop->run, HONE_I64, loop->rounds, &loop->params[0]));
  hone_status_t status = scalar_view(loop->run, HONE_BOOL, *condition, &loop->params[1]);
  uint64_t outer_key = loop->run->round_key;
  loop->run->round_key = hone_random_round_key(outer_key, loop->rounds);
  if (!status)
    status = hone_ref_run_graph(loop->run, loop->body, loop->body->n_inputs, loop->params,
                                loop->results);
  loop->run->round_key = outer_key;
  hone_ref_drop(&loop->params[0]);
  hone_ref_drop(&loop->params[1]);
  if (status) return hone_status_annotate(status, "round %lld", (long long)loop->rounds);
  *condition = scalar_i64(&loop->results[0]) != 0;
  hone_ref_drop(&loop->results[0]);
  for (int i = 0; i < n_carried; i++) {
    hone_ref_drop(&loop->params[2 + i]);
    loop->params[2 + i] = loop->results[1 + i];
  }
  for (int i = 0; i < loop->n_stacked; i++)
    loop->stacks[i].parts[loop->rounds] = loop->results[1 + n_carried + i];
  loop->rounds++;
  return NULL;
}

/* Stacks the values of all rounds along a new first axis. */
static hone_status_t stack(const loop_t* loop, int which, ref_view_t* out) {
  const ref_view_t* parts = loop->stacks[which].parts;
  int64_t dims[HONE_MAX_RANK + 1] = {loop->rounds};
  for (int64_t r = 1; r < loop->rounds; r++)
    if (parts[r].rank != parts[0].rank ||
        memcmp(parts[r].dims, parts[0].dims, (size_t)parts[0].rank * sizeof *dims) != 0)
      return hone_status_make(HONE_INVALID_ARGUMENT,
                              "loop: stacked output %d changes its shape in round %lld", which,
                              (long long)r);
  memcpy(dims + 1, parts[0].dims, (size_t)parts[0].rank * sizeof *dims);
  HONE_TRY(hone_ref_make(loop->run->allocator, parts[0].dtype, parts[0].rank + 1, dims, out));
  for (int64_t r = 0; r < loop->rounds; r++) {
    ref_view_t slot = *out;
    slot.rank--;
    memmove(slot.dims, out->dims + 1, (size_t)slot.rank * sizeof *dims);
    memmove(slot.strides, out->strides + 1, (size_t)slot.rank * sizeof *dims);
    slot.data += r * out->strides[0];
    HONE_TRY(hone_ref_copy(&parts[r], &slot));
  }
  return NULL;
}

/* Without a round nothing tells the shape but the type. */
static hone_status_t empty_stack(const loop_t* loop, int which, ref_view_t* out) {
  int index = 1 + loop->node->n_carried + which;
  const hone_type_t* type = &loop->body->outputs[index]->type;
  int64_t dims[HONE_MAX_RANK + 1] = {0};
  int rank = type->rank < 0 ? 0 : type->rank;
  for (int i = 0; i < rank; i++) {
    int64_t extent = hone_dim_eval(type->dims[i], loop->run->symbols);
    dims[i + 1] = extent < 0 ? 0 : extent;
  }
  hone_dtype_t dtype = type->dtype == HONE_UNKNOWN ? HONE_F32 : type->dtype;
  return hone_ref_make(loop->run->allocator, dtype, rank + 1, dims, out);
}

static hone_status_t finish(loop_t* loop, ref_view_t* out) {
  int n_carried = loop->node->n_carried;
  for (int i = 0; i < n_carried; i++) out[i] = hone_ref_share(&loop->params[2 + i]);
  for (int i = 0; i < loop->n_stacked; i++)
    HONE_TRY(loop->rounds ? stack(loop, i, &out[n_carried + i])
                          : empty_stack(loop, i, &out[n_carried + i]));
  return NULL;
}

static void close_loop(loop_t* loop, size_t bytes) {
  const hone_allocator_t* allocator = loop->run->allocator;
  for (int i = 0; i < loop->node->n_carried; i++) hone_ref_drop(&loop->params[2 + i]);
  for (int i = 0; i < loop->n_stacked; i++) {
    const round_list_t* list = &loop->stacks[i];
    for (int64_t r = 0; r < loop->rounds; r++) hone_ref_drop(&list->parts[r]);
    hone_free(allocator, list->parts, (size_t)list->room * sizeof(ref_view_t));
  }
  hone_free(allocator, loop->params, bytes);
}

static hone_status_t run_rounds(loop_t* loop, int64_t limit, bool condition) {
  while (condition && loop->rounds < limit) HONE_TRY(run_round(loop, &condition));
  return NULL;
}

hone_status_t hone_ref_loop(ref_run_t* run, const hone_node_t* node, const ref_view_t* in,
                            ref_view_t* out) {
  const hone_graph_t* body = node->regions[0];
  loop_t loop = {
      .run = run, .node = node, .body = body, .n_stacked = node->n_outputs - node->n_carried};
  if (hone_ref_count(&in[0]) != 1 || hone_ref_count(&in[1]) != 1)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "loop: trip count and condition must have one element");
  size_t views = (size_t)body->n_inputs + (size_t)body->n_outputs;
  size_t bytes = views * sizeof(ref_view_t) + (size_t)loop.n_stacked * sizeof(round_list_t);
  loop.params = hone_alloc(run->allocator, bytes);
  if (!loop.params) return hone_oom();
  loop.results = loop.params + body->n_inputs;
  loop.stacks = (round_list_t*)(void*)(loop.results + body->n_outputs);
  for (int i = 2; i < body->n_inputs; i++) {
    bool carried = i < 2 + node->n_carried;
    loop.params[i] = carried ? hone_ref_share(&in[i]) : in[i];
  }
  hone_status_t status = run_rounds(&loop, scalar_i64(&in[0]), scalar_i64(&in[1]) != 0);
  if (!status) status = finish(&loop, out);
  close_loop(&loop, bytes);
  return status;
}

/* ---- host nodes ---- */

static void release_all(int count, hone_tensor_t** tensors) {
  for (int i = 0; i < count; i++) hone_tensor_release(tensors[i]);
}

static hone_status_t call_host(ref_run_t* run, const hone_node_t* node, hone_tensor_t** inputs,
                               hone_tensor_t** outputs, ref_view_t* out) {
  hone_host_call_t call = {.op = node->host->op,
                           .node = node->host->node,
                           .opset = node->host->opset,
                           .allocator = run->allocator,
                           .n_inputs = node->n_inputs,
                           .inputs = inputs,
                           .n_outputs = node->n_outputs,
                           .outputs = outputs};
  hone_status_t status = node->host->op->host(&call);
  for (int i = 0; i < node->n_outputs; i++) {
    if (status)
      hone_tensor_release(outputs[i]);
    else if (outputs[i])
      out[i] = hone_ref_view(outputs[i]);
  }
  return status;
}

/* Lowers the node now that its inputs are there, and runs what comes out. */
static hone_status_t run_deferred(ref_run_t* run, const hone_node_t* node, hone_tensor_t** inputs,
                                  ref_view_t* out) {
  hone_graph_t* graph;
  HONE_TRY(hone_lower_deferred(node->host, run->allocator, node->n_inputs, inputs, &graph));
  size_t bytes = (size_t)graph->n_outputs * sizeof(ref_view_t);
  ref_view_t* results = hone_alloc(run->allocator, bytes);
  hone_status_t status = results ? hone_ref_run_root(run, graph, 0, NULL, results) : hone_oom();
  for (int i = 0, k = 0; !status && i < node->n_outputs; i++)
    if (node->host->node->outputs[i][0]) out[i] = results[k++];
  if (results) hone_free(run->allocator, results, bytes);
  hone_graph_destroy(graph);
  return status;
}

hone_status_t hone_ref_host(ref_run_t* run, const hone_node_t* node, const ref_view_t* in,
                            ref_view_t* out) {
  size_t count = (size_t)node->n_inputs + (size_t)node->n_outputs;
  hone_tensor_t** inputs = hone_alloc(run->allocator, count * sizeof *inputs);
  if (!inputs) return hone_oom();
  hone_status_t status = NULL;
  for (int i = 0; i < node->n_inputs && !status; i++)
    if (in[i].base) status = hone_ref_tensor(run->allocator, &in[i], &inputs[i]);
  if (!status)
    status = node->host->deferred ? run_deferred(run, node, inputs, out)
                                  : call_host(run, node, inputs, inputs + node->n_inputs, out);
  release_all(node->n_inputs, inputs);
  hone_free(run->allocator, inputs, count * sizeof *inputs);
  return status;
}
