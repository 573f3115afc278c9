/* Model: a loaded model file, before it is made to run anywhere.
 *
 * Thread-safety: immutable once loaded, so it may be shared. */
#ifndef HONE_MODEL_H
#define HONE_MODEL_H

#include "hone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_model hone_model_t;

/* All zeros is the default. */
typedef struct hone_model_options {
  size_t struct_size;                /* sizeof(hone_model_options_t), or 0 */
  const hone_allocator_t* allocator; /* NULL: the system's; must outlive the model */
  const char* folder; /* for models in memory: where external data lies; NULL: refuse it */
} hone_model_options_t;

/* Loads an ONNX file. Weights stay in the mapped file, which must not change
 * while the model lives. `options` may be NULL. Errors: NOT_FOUND, IO,
 * INVALID_MODEL (with file, node, tensor or byte), OUT_OF_MEMORY. */
HONE_API HONE_MUST_USE hone_status_t hone_model_load(const char* path,
                                                     const hone_model_options_t* options,
                                                     hone_model_t** out_model);
/* Loads from memory; the bytes are copied. */
HONE_API HONE_MUST_USE hone_status_t hone_model_load_memory(const void* data, size_t size,
                                                            const hone_model_options_t* options,
                                                            hone_model_t** out_model);
/* NULL is allowed. Sessions of the model must be destroyed before. */
HONE_API void hone_model_destroy(hone_model_t* model);

/* The text that the file keeps under `key` (an entry of metadata_props, such
 * as a dictionary); NULL when it keeps none. Valid as long as the model. */
HONE_API const char* hone_model_metadata(const hone_model_t* model, const char* key);

/* One node of the model's graph as the file has it. Valid as long as the model. */
typedef struct hone_model_node {
  const char* name; /* "" when the file gives none */
  const char* op_type;
  const char* domain; /* "": ai.onnx */
  int n_inputs;
  const char* const* inputs; /* "" marks one left out */
  int n_outputs;
  const char* const* outputs; /* "" marks one not wanted */
} hone_model_node_t;

/* Nodes of the main graph; those of subgraphs and functions are not counted. */
HONE_API int64_t hone_model_node_count(const hone_model_t* model);
/* False, with zeros in `out_node`, when `index` is out of range. */
HONE_API bool hone_model_node_at(const hone_model_t* model, int64_t index,
                                 hone_model_node_t* out_node);

#ifdef __cplusplus
}
#endif
#endif
