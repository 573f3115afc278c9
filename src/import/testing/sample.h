/* Models for the tests of src/import. */
#ifndef HONE_IMPORT_TESTING_SAMPLE_H
#define HONE_IMPORT_TESTING_SAMPLE_H

#include "ir/model.h"

/* A graph in the model's arena from short texts: `inputs` and `outputs` are
 * names parted by spaces, each of `nodes` (ending in NULL) is
 * "name Op input,input > output,output". NULL when memory is out. */
hone_onnx_graph_t* hone_sample_graph(hone_model_t* model, const char* name, const char* inputs,
                                     const char* outputs, const char* const* nodes);
/* A model with opset 20 and such a graph. */
HONE_MUST_USE hone_status_t hone_sample_model(const hone_allocator_t* allocator, const char* inputs,
                                              const char* outputs, const char* const* nodes,
                                              hone_model_t** out_model);
/* A tensor over `data`, which must live as long as the model. */
hone_onnx_tensor_t hone_sample_tensor(hone_model_t* model, const char* name, hone_dtype_t dtype,
                                      int rank, const int64_t* dims, const void* data);
/* Puts an attribute with a graph onto node `index` of `graph`; false when memory is out. */
bool hone_sample_attach(hone_model_t* model, hone_onnx_graph_t* graph, int64_t index,
                        hone_onnx_graph_t* inner);
/* A small model with something of everything: types of values, initializers of
 * several types, a sparse one, attributes of all kinds, a graph inside a node,
 * a function, metadata. */
HONE_MUST_USE hone_status_t hone_sample_rich_model(const hone_allocator_t* allocator,
                                                   hone_model_t** out_model);

#endif
