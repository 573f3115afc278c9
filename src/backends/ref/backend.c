/* ref: slow, plain, exact. It interprets primitives one by one and is what
 * every other backend is checked against. */
#include "hone/backend.h"

#include <stdio.h>
#include <string.h>

#include "backends/ref/interpreter.h"
#include "backends/ref/kernels.h"
#include "base/memory.h"
#include "ops/lower.h"

struct hone_program {
  const hone_graph_t* graph;
  const hone_allocator_t* allocator;
};

static hone_status_t enumerate(int room, hone_device_info_t* out_devices, int* out_count) {
  *out_count = 1;
  if (room < 1) return NULL;
  *out_devices = (hone_device_info_t){.compute_units = 1, .usable = true};
  snprintf(out_devices->name, sizeof out_devices->name, "ref:0");
  snprintf(out_devices->description, sizeof out_devices->description,
           "reference interpreter: plain, exact, one thread");
  return NULL;
}

static hone_status_t compile(const hone_graph_t* graph, const hone_compile_options_t* options,
                             hone_program_t** out_program) {
  *out_program = hone_alloc(options->allocator, sizeof **out_program);
  if (!*out_program) return hone_oom();
  **out_program = (hone_program_t){.graph = graph, .allocator = options->allocator};
  return NULL;
}

static void destroy(hone_program_t* program) {
  if (program) hone_free(program->allocator, program, sizeof *program);
}

static hone_status_t take_outputs(const hone_allocator_t* allocator, int count, ref_view_t* views,
                                  hone_tensor_t** out_outputs) {
  hone_status_t status = NULL;
  for (int i = 0; i < count; i++) {
    if (!status && views[i].base) status = hone_ref_tensor(allocator, &views[i], &out_outputs[i]);
    hone_ref_drop(&views[i]);
  }
  for (int i = 0; status && i < count; i++) {
    hone_tensor_release(out_outputs[i]);
    out_outputs[i] = NULL;
  }
  return status;
}

static hone_status_t run(hone_program_t* program, const hone_run_options_t* options, int n_inputs,
                         hone_tensor_t* const* inputs, int n_outputs, hone_tensor_t** out_outputs) {
  ref_run_t state = {.allocator = program->allocator,
                     .seed = options->seed,
                     .round_key = options->round_key,
                     .profile = options->profile,
                     .profile_self = options->profile_self};
  memset(out_outputs, 0, (size_t)n_outputs * sizeof *out_outputs);
  size_t bytes = (size_t)(n_inputs + n_outputs) * sizeof(ref_view_t);
  ref_view_t* views = hone_alloc(program->allocator, bytes);
  if (!views) return hone_oom();
  for (int i = 0; i < n_inputs; i++) views[i] = hone_ref_view(inputs[i]); /* borrowed */
  ref_view_t* outputs = views + n_inputs;
  hone_status_t status = hone_ref_run_root(&state, program->graph, n_inputs, views, outputs);
  if (!status) status = take_outputs(program->allocator, n_outputs, outputs, out_outputs);
  hone_free(program->allocator, views, bytes);
  return status;
}

/* Of one node alone: what an interpreted step of another device is. */
static bool node_bytes(const hone_node_t* node, int n_inputs, const hone_extents_t* inputs,
                       uint64_t* out_bytes) {
  *out_bytes = 0;
  if (node->prim == HONE_PRIM_HOST) {
    const hone_host_t* host = node->host;
    if (host->deferred || !host->op->host_bytes) return false;
    *out_bytes = host->op->host_bytes(host->node, n_inputs, inputs);
    return true;
  }
  if (node->prim == HONE_PRIM_SORT)
    *out_bytes = hone_ref_sort_bytes(node, inputs[0].dims[node->axes[0]]);
  return hone_prim_info(node->prim)->family != HONE_FAMILY_CONTROL &&
         node->prim != HONE_PRIM_CONTRACT;
}

static bool working_bytes(const hone_program_t* program, int n_inputs, const hone_extents_t* inputs,
                          uint64_t* out_bytes) {
  const hone_node_t* only = NULL;
  int count = 0;
  for (int i = 0; i < program->graph->n_nodes; i++) {
    if (program->graph->nodes[i]->prim == HONE_PRIM_INPUT) continue;
    only = program->graph->nodes[i];
    count++;
  }
  return count == 1 && node_bytes(only, n_inputs, inputs, out_bytes);
}

extern const hone_backend_t hone_backend_ref;
const hone_backend_t hone_backend_ref = {
    .struct_size = sizeof(hone_backend_t),
    .name = "ref",
    .summary = "plain and exact: interprets primitives one by one",
    .enumerate = enumerate,
    .compile = compile,
    .run = run,
    .destroy = destroy,
    .working_bytes = working_bytes,
};
