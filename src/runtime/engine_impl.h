/* The inside of engines. */
#ifndef HONE_RUNTIME_ENGINE_IMPL_H
#define HONE_RUNTIME_ENGINE_IMPL_H

#include "base/shared_file.h"
#include "hone/engine.h"
#include "runtime/compile.h"

struct hone_engine {
  const hone_allocator_t* allocator;
  const hone_backend_t* backend;
  hone_device_t* device;
  hone_program_t* program;
  hone_graph_t* graph;      /* of a loaded one: its inputs and outputs only */
  hone_shared_file_t* file; /* NULL: there is none */
  hone_blob_t binary;       /* what the kernels were loaded from */
  uint64_t model_digest;
  char version[32];
  const char* precision; /* a word of precision.c */
  bool runs_here;
  bool from_cache;
  struct hone_engine_keeping* keeping; /* runtime/engine_cache.h; may be NULL */
};

/* As hone_engine_compile, with those contractions narrow that `mixture` chooses (hone/mixed.h). */
HONE_MUST_USE hone_status_t hone_engine_compile_as(const hone_model_t* model,
                                                   const hone_engine_options_t* options,
                                                   hone_dtype_t dtype,
                                                   const hone_mixture_t* mixture,
                                                   hone_engine_t** out_engine);
/* The file's bytes (engine_file.c). */
HONE_MUST_USE hone_status_t hone_engine_write(hone_engine_t* engine, const char* path);
/* Fills an empty engine but for its device and what depends on it: checks the
 * bytes and hands out their parts. */
typedef struct hone_engine_parts {
  const char *backend, *target, *driver, *version, *precision;
  bool guard; /* it is to run with guards */
  uint64_t model_digest;
  const void *program, *binary, *weights;
  size_t program_size, binary_size, weights_size;
  size_t other_size; /* of the file, but for weights */
} hone_engine_parts_t;
/* The pieces of an engine's file, in order: what is not the program's own is in `arena`. Of `about`
 * version, precision, model_digest and the binary count. Errors: OUT_OF_MEMORY, UNSUPPORTED. */
HONE_MUST_USE hone_status_t hone_engine_put_together(hone_program_t* program,
                                                     const hone_graph_t* graph,
                                                     const hone_engine_parts_t* about,
                                                     hone_arena_t* arena, int* out_count,
                                                     hone_piece_t** out_pieces);
/* `checked` false leaves checksums out, for fuzzing what lies behind them. Texts
 * are in `arena`. Errors: INVALID_DATA, UNSUPPORTED, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_engine_take_apart(const void* data, size_t size, bool checked,
                                                   hone_arena_t* arena,
                                                   hone_engine_parts_t* out_parts);
/* A program of parts that are for this device, and the graph of its inputs and outputs, which must
 * outlive it. `file` is what the parts lie in, which weights hold on to; where that is NULL they
 * must outlive the program. Errors: INVALID_DATA, UNAVAILABLE, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_engine_load_program(
    const hone_engine_parts_t* parts, hone_shared_file_t* file, const hone_allocator_t* allocator,
    const hone_backend_t* backend, hone_device_t* device, hone_arena_t* arena,
    hone_graph_t** out_graph, hone_program_t** out_program);

#endif
