/* ref: slow, plain, exact. It interprets primitives one by one and is what
 * every other backend is checked against. */
#include "hone/backend.h"

#include <stdio.h>
#include <string.h>

#include "backends/ref/interpreter.h"
#include "base/memory.h"

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

extern const hone_backend_t hone_backend_ref;
const hone_backend_t hone_backend_ref = {
    .struct_size = sizeof(hone_backend_t),
    .name = "ref",
    .summary = "plain and exact: interprets primitives one by one",
    .enumerate = enumerate,
    .compile = compile,
    .run = run,
    .destroy = destroy,
};
