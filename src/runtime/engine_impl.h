/* The inside of engines. */
#ifndef HONE_RUNTIME_ENGINE_IMPL_H
#define HONE_RUNTIME_ENGINE_IMPL_H

#include "base/file.h"
#include "hone/engine.h"
#include "runtime/compile.h"

struct hone_engine {
  const hone_allocator_t* allocator;
  const hone_backend_t* backend;
  hone_device_t* device;
  hone_program_t* program;
  hone_graph_t* graph; /* of a loaded one: its inputs and outputs only */
  hone_file_map_t file;
  hone_blob_t binary; /* what the kernels were loaded from */
  uint64_t model_digest;
  char version[32];
  const char* precision; /* a word of precision.c */
  bool runs_here;
  hone_compile_report_t report; /* of a compiled one */
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
} hone_engine_parts_t;
/* `checked` false leaves checksums out, for fuzzing what lies behind them. Texts
 * are in `arena`. Errors: INVALID_DATA, UNSUPPORTED, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_engine_take_apart(const void* data, size_t size, bool checked,
                                                   hone_arena_t* arena,
                                                   hone_engine_parts_t* out_parts);

#endif
