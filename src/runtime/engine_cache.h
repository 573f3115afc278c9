/* The engine cache: compiled models on disk, found by what they were compiled from.
 *
 * An entry is an engine file. Its key is made of the model's contents, what was asked of the
 * compiler, the device, what was tuned, and this build of hone. A model that was compiled before
 * is mapped in place of being compiled again: its weights are where they were, laid out as kernels
 * read them, and processes share them.
 *
 * Nothing here is an error to the caller: what cannot be kept is compiled again. */
#ifndef HONE_RUNTIME_ENGINE_CACHE_H
#define HONE_RUNTIME_ENGINE_CACHE_H

#include "codegen/cache.h"
#include "hone/dim_option.h"
#include "runtime/engine_impl.h"

/* What an engine is compiled from. */
typedef struct hone_engine_request {
  const hone_allocator_t* allocator;
  const hone_model_t* model;
  hone_digest_t
      contents; /* of the model (runtime/model_digest.h), which making the key finds out */
  const hone_backend_t* backend;
  hone_device_t* device;
  int n_dims;
  const hone_dim_option_t* dims;
  bool names_are_per_input; /* hone_lower_options_t */
  const hone_pass_options_t* passes;
  const char* precision; /* a word of precision.c */
  bool no_tuned;
  const char* tuned_database;
} hone_engine_request_t;

/* What it is found by; false where such engines are not kept: the cache is off, memory is counted
 * (a mapped engine takes none), the model has no file, or the device reads weights from memory of
 * its own. */
bool hone_engine_cache_key(hone_engine_request_t* request, hone_cache_key_t* out_key);

/* A program that was found, and the graph of its inputs and outputs, which must outlive it. */
typedef struct hone_engine_found {
  hone_shared_file_t* file; /* which holds the parts; the caller's to release after the program */
  hone_graph_t* graph;
  hone_program_t* program;
  hone_blob_t binary; /* of the kernels, in the file */
} hone_engine_found_t;
bool hone_engine_cache_find(const hone_engine_request_t* request, hone_cache_key_t key,
                            hone_engine_found_t* out_found);

/* Keeps a program that was just compiled, and its graph with all nodes, if it is large enough to be
 * worth a file, and has no nodes that sessions compile again for the sizes of a run. The file is
 * written by a thread of its own, beside what the program is used for. NULL: there is nothing to
 * wait for. */
typedef struct hone_engine_keeping hone_engine_keeping_t;
hone_engine_keeping_t* hone_engine_cache_keep(const hone_engine_request_t* request,
                                              hone_cache_key_t key, hone_program_t* program,
                                              const hone_graph_t* graph);
/* Returns when the file is written; comes before the program goes. NULL is allowed. */
void hone_engine_keeping_finish(hone_engine_keeping_t* keeping);

#endif
