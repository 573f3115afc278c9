/* What a program takes by being there, whatever the sizes of its inputs: the file that it was read
 * from but for its weights, its kernels' code, its tables, and the contexts that a run works in. */
#include "base/tensor_impl.h"
#include "ops/lower.h"
#include "runtime/context.h"

enum {
  PAGE = 4096,
  SEGMENTS = 5,          /* of the library that the code is: each is a page or so longer */
  SMALL_BLOCK = 64 + 16, /* what the allocator adds to one, base/memory.c */
  HEADER = sizeof(hone_tensor_t) + sizeof(hone_block_t) + 2 * SMALL_BLOCK, /* of a weight */
};

/* Nodes of the host that came with an engine have a model of their own each. */
static size_t host_models(const hone_graph_t* graph) {
  size_t bytes = 0;
  for (int n = 0; n < graph->n_nodes; n++)
    if (graph->nodes[n]->host) bytes += hone_arena_used(graph->nodes[n]->host->model->arena);
  return bytes;
}

static size_t routine_graphs(const hone_routine_t* routine, bool is_engine) {
  size_t bytes = 0;
  for (int s = 0; s < routine->n_steps; s++) {
    const hone_graph_t* graph = routine->steps[s].graph;
    if (graph) bytes += hone_arena_used(graph->arena) + (is_engine ? host_models(graph) : 0);
  }
  return bytes;
}

/* The slots of a context, and what an instance knows of each launch and value. */
static size_t routine_slots(const hone_routine_t* routine) {
  return sizeof(hone_frame_t) + (size_t)routine->n_values * sizeof(hone_slot_t);
}

static size_t instance_bytes(const hone_routine_t* routine) {
  size_t numbers = (size_t)routine->n_key + (size_t)routine->n_numbers;
  return sizeof(hone_instance_t) + numbers * sizeof(int64_t) +
         (size_t)routine->n_values * sizeof(size_t);
}

static size_t context_bytes(const hone_program_t* program) {
  size_t bytes = sizeof(hone_context_t) + (size_t)program->n_errors * HONE_ERROR_STRIDE;
  bytes += (size_t)hone_dims_symbol_count(program->dims) * sizeof(int64_t);
  for (int r = 0; r < program->n_routines; r++) bytes += routine_slots(program->routines[r]);
  return bytes;
}

/* The kernels' code is there twice: as it came, and loaded. */
size_t hone_program_tables(const hone_program_t* program, size_t contexts) {
  size_t came = program->file_bytes ? program->file_bytes : program->binary.size;
  size_t bytes = came + program->code_bytes + hone_arena_used(program->arena);
  if (program->code_bytes) bytes += SEGMENTS * PAGE;
  bytes += (size_t)program->n_weights * HEADER;
  for (int r = 0; r < program->n_routines; r++)
    bytes += routine_graphs(program->routines[r], program->file_bytes) +
             instance_bytes(program->routines[r]);
  return bytes + contexts * context_bytes(program);
}

/* A thread runs one kernel at a time. */
size_t hone_program_stacks(const hone_program_t* program) {
  int64_t most = 0;
  for (int i = 0; i < program->n_kernels; i++)
    if (program->kernels[i].stack_bytes > most) most = program->kernels[i].stack_bytes;
  return (size_t)most * (size_t)program->properties.compute_units;
}
