/* null: compiles and records, computes nothing. It shows what a model asks of a
 * device without one, and is the smallest complete backend: the one to copy.
 *
 * A run visits every node (as profile events that take no time) and gives
 * outputs of the right type, full of zeros. */
#include "hone/backend.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "ir/graph.h"

struct hone_program {
  const hone_graph_t* graph;
  const hone_allocator_t* allocator;
};

static hone_status_t enumerate(int room, hone_device_info_t* out_devices, int* out_count) {
  *out_count = 1;
  if (room < 1) return NULL;
  *out_devices = (hone_device_info_t){.usable = true};
  snprintf(out_devices->name, sizeof out_devices->name, "null:0");
  snprintf(out_devices->description, sizeof out_devices->description,
           "no device: records what would run and gives zeros");
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

static void record(const hone_graph_t* graph, const hone_run_options_t* options) {
  for (int n = 0; options->profile && n < graph->n_nodes; n++) {
    const hone_node_t* node = graph->nodes[n];
    hone_profile_event_t event = {.origin = node->origin ? node->origin : "",
                                  .primitive = hone_prim_info(node->prim)->name};
    options->profile(options->profile_self, &event);
  }
}

/* Gives the symbols of the inputs' extents their values. */
static void bind_inputs(const hone_graph_t* graph, hone_tensor_t* const* inputs, int64_t* symbols) {
  for (int i = 0; i < graph->n_inputs; i++)
    for (const hone_bind_t* bind = graph->inputs[i]->binds; bind; bind = bind->next)
      if (bind->is_dim && bind->index < hone_tensor_rank(inputs[i]))
        symbols[bind->symbol] = hone_tensor_dims(inputs[i])[bind->index];
}

/* Extents that only a computation would tell are 0. */
static hone_status_t make_output(const hone_program_t* program, const hone_value_t* value,
                                 const int64_t* symbols, hone_tensor_t** out_tensor) {
  const hone_type_t* type = &value->type;
  if (!hone_type_is_known(type))
    return hone_status_make(HONE_UNSUPPORTED,
                            "null: the type of output '%s' is not known before it is computed",
                            value->name ? value->name : "");
  int64_t dims[HONE_MAX_RANK];
  for (int i = 0; i < type->rank; i++) {
    dims[i] = hone_dim_eval(type->dims[i], symbols);
    if (dims[i] < 0) dims[i] = 0;
  }
  return hone_tensor_create(program->allocator, type->dtype, type->rank, dims, out_tensor);
}

static hone_status_t run(hone_program_t* program, const hone_run_options_t* options, int n_inputs,
                         hone_tensor_t* const* inputs, int n_outputs, hone_tensor_t** out_outputs) {
  (void)n_inputs;
  const hone_graph_t* graph = program->graph;
  size_t bytes = (size_t)hone_dims_symbol_count(graph->dims) * sizeof(int64_t);
  int64_t* symbols = hone_alloc(program->allocator, bytes);
  if (!symbols) return hone_oom();
  memset(out_outputs, 0, (size_t)n_outputs * sizeof *out_outputs);
  bind_inputs(graph, inputs, symbols);
  record(graph, options);
  hone_status_t status = NULL;
  for (int i = 0; i < n_outputs && !status; i++)
    status = make_output(program, graph->outputs[i], symbols, &out_outputs[i]);
  for (int i = 0; status && i < n_outputs; i++) {
    hone_tensor_release(out_outputs[i]);
    out_outputs[i] = NULL;
  }
  hone_free(program->allocator, symbols, bytes);
  return status;
}

extern const hone_backend_t hone_backend_null;
const hone_backend_t hone_backend_null = {
    .struct_size = sizeof(hone_backend_t),
    .name = "null",
    .summary = "records what would run and computes nothing",
    .enumerate = enumerate,
    .compile = compile,
    .run = run,
    .destroy = destroy,
};
