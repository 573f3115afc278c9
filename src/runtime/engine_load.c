/* A program out of the parts of an engine's file. */
#include "base/memory.h"
#include "runtime/engine_impl.h"
#include "runtime/engine_program.h"

static hone_status_t load_kernels(hone_program_t* program, const hone_engine_parts_t* parts,
                                  hone_arena_t* arena) {
  if (!program->n_kernels) return NULL;
  const char** names = hone_arena_array(arena, (size_t)program->n_kernels, sizeof *names);
  if (!names) return hone_oom();
  for (int i = 0; i < program->n_kernels; i++)
    names[program->kernels[i].entry] = program->kernels[i].name;
  for (int i = 0; i < program->n_kernels; i++)
    if (!names[i]) return hone_status_make(HONE_INVALID_DATA, "kernel %d has no name", i);
  const hone_blob_t binary = {(void*)(uintptr_t)parts->binary, parts->binary_size};
  return program->backend->load(program->device, &binary, program->n_kernels, names,
                                &program->module);
}

static hone_status_t fill(hone_program_t* program, const hone_engine_parts_t* parts,
                          hone_shared_file_t* file, hone_arena_t* arena, hone_graph_t** out_graph) {
  HONE_TRY(hone_program_read(program, parts->program, parts->program_size, parts->weights,
                             parts->weights_size, file, out_graph));
  program->code_bytes = parts->binary_size;
  program->file_bytes = parts->other_size;
  HONE_TRY(load_kernels(program, parts, arena));
  return hone_program_finish(program);
}

hone_status_t hone_engine_load_program(const hone_engine_parts_t* parts, hone_shared_file_t* file,
                                       const hone_allocator_t* allocator,
                                       const hone_backend_t* backend, hone_device_t* device,
                                       hone_arena_t* arena, hone_graph_t** out_graph,
                                       hone_program_t** out_program) {
  *out_graph = NULL;
  *out_program = NULL;
  hone_program_t* program;
  hone_expect_large_blocks();
  HONE_TRY(hone_program_create(allocator, backend, device, &program));
  hone_status_t status = fill(program, parts, file, arena, out_graph);
  if (!status) {
    *out_program = program;
    return NULL;
  }
  hone_program_destroy(program);
  hone_graph_destroy(*out_graph);
  *out_graph = NULL;
  return status;
}
