/* ONNX files in and out: bytes to and from the model form of ir/model.h.
 *
 * Loading is checked throughout: any input gives a model or a status that
 * names file, node, tensor or byte. A loaded model has passed
 * hone_onnx_check, and its nodes are in an order in which they can run.
 *
 * Weights are not copied. Elements that lie in a file as in memory are pointed
 * at where they are, whatever their alignment: read them with memcpy. 6-, 4-
 * and 2-bit elements are unpacked to one byte each.
 *
 * Texts come out as UTF-8: bytes in a file that are none become '?'.
 *
 * Not kept: metadata of anything but the model, training information,
 * quantization annotations, sharding.
 *
 * Thread-safety: each call works on its own data. */
#ifndef HONE_IMPORT_ONNX_H
#define HONE_IMPORT_ONNX_H

#include "ir/model.h"

/* All zeros is the default. External data must lie in the model's folder or
 * below it, symbolic links followed. */
typedef struct hone_onnx_options {
  int max_depth; /* of nested messages; 0: 100, which is what protobuf takes */
  bool copy;     /* load_memory: copy the bytes, so that the caller may free them */
  bool no_check; /* leave the checks, and the order of nodes, to the caller */
} hone_onnx_options_t;

/* Loads a model file. `allocator` NULL: the system's. `options` may be NULL.
 * The caller owns the model: hone_model_destroy. Errors: NOT_FOUND, IO,
 * INVALID_MODEL, UNSUPPORTED, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_onnx_load_file(const hone_allocator_t* allocator, const char* path,
                                                const hone_onnx_options_t* options,
                                                hone_model_t** out_model);
/* Loads from memory, which must outlive the model unless options->copy.
 * `folder` is where external data is looked for; NULL: it is an error. */
HONE_MUST_USE hone_status_t hone_onnx_load_memory(const hone_allocator_t* allocator,
                                                  const void* data, size_t size, const char* folder,
                                                  const hone_onnx_options_t* options,
                                                  hone_model_t** out_model);

/* Puts the nodes of every graph and function into an order in which each comes
 * after those it needs. A list already in order stays as it is; cycles are left
 * to hone_onnx_check. */
HONE_MUST_USE hone_status_t hone_onnx_sort(hone_model_t* model);

/* One thing that is wrong with a model. */
typedef struct hone_onnx_problem {
  const char* where;   /* "graph 'g': node 'n' (Conv)" */
  const char* message; /* what is wrong, and what to do */
} hone_onnx_problem_t;

enum { HONE_ONNX_MAX_PROBLEMS = 1000 };

typedef struct hone_onnx_problems {
  hone_arena_t* arena;
  int64_t count; /* at most HONE_ONNX_MAX_PROBLEMS are kept */
  hone_onnx_problem_t* items;
} hone_onnx_problems_t;

/* Looks for everything that is wrong with the structure of a sorted model:
 * names that are missing or given twice, values that nothing makes, cycles,
 * recursive functions, absent graphs and opsets. Whether operators are known is not
 * asked here. Fails only for want of memory; the caller destroys the problems. */
HONE_MUST_USE hone_status_t hone_onnx_check(const hone_model_t* model,
                                            hone_onnx_problems_t* out_problems);
void hone_onnx_problems_destroy(hone_onnx_problems_t* problems);

/* Writes a model file; weights go into it as raw bytes. A file at `path` is
 * replaced once the new one is whole. Errors: IO, OUT_OF_MEMORY, UNSUPPORTED
 * (more than 2 GiB, which no protobuf reader takes). */
HONE_MUST_USE hone_status_t hone_onnx_save_file(const hone_model_t* model, const char* path);
/* The same to memory from the model's allocator, which the caller frees with
 * hone_free(model->allocator, data, size). */
HONE_MUST_USE hone_status_t hone_onnx_save_memory(const hone_model_t* model, void** out_data,
                                                  size_t* out_size);

/* Values in files (.pb): a TensorProto, SequenceProto, OptionalProto or
 * MapProto. The bytes do not say which, so the caller does: NONE and TENSOR
 * are a tensor, SPARSE a sparse tensor, which becomes a dense one. The tensor
 * owns its elements. */
HONE_MUST_USE hone_status_t hone_onnx_load_tensor_file(const hone_allocator_t* allocator,
                                                       const char* path, hone_onnx_type_kind_t kind,
                                                       hone_tensor_t** out_tensor);
HONE_MUST_USE hone_status_t hone_onnx_load_tensor_memory(const hone_allocator_t* allocator,
                                                         const void* data, size_t size,
                                                         hone_onnx_type_kind_t kind,
                                                         hone_tensor_t** out_tensor);
/* Writes `tensor` as the message of `kind`, to memory of `allocator`. NONE:
 * the kind that the tensor is. */
HONE_MUST_USE hone_status_t hone_onnx_save_tensor(const hone_allocator_t* allocator,
                                                  const hone_tensor_t* tensor,
                                                  hone_onnx_type_kind_t kind, void** out_data,
                                                  size_t* out_size);

#endif
