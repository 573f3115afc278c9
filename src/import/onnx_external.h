/* External data: weights in files beside the model.
 *
 * A model may name any file, and models come from strangers: a location must
 * be relative, without "..", and what it leads to, links followed, must be a
 * regular file inside one folder. */
#ifndef HONE_IMPORT_ONNX_EXTERNAL_H
#define HONE_IMPORT_ONNX_EXTERNAL_H

#include "ir/model.h"

typedef struct hone_onnx_external hone_onnx_external_t;

/* External data of `model`, whose arena and clean-ups keep the mapped files.
 * `folder`: what locations start from, and where files must lie. */
HONE_MUST_USE hone_status_t hone_onnx_external_create(hone_model_t* model, const char* folder,
                                                      hone_onnx_external_t** out_external);

/* The `bytes` bytes that `entries` (location, offset, length) stand for.
 * Writes them to the data fields of `tensor`. */
HONE_MUST_USE hone_status_t hone_onnx_external_find(hone_onnx_external_t* external,
                                                    const hone_onnx_metadata_t* entries,
                                                    int64_t n_entries, size_t bytes,
                                                    hone_onnx_tensor_t* tensor,
                                                    const void** out_data);

#endif
