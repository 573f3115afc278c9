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

#ifdef __cplusplus
}
#endif
#endif
