/* Tensor: a value at run time. Most are dense arrays; ONNX also has
 * sequences, optionals and maps, which are the other kinds of the same type.
 *
 * A dense tensor is row-major without gaps. Tensors are counted: create
 * gives one reference, retain adds one, release drops one. Their contents
 * must not change once shared.
 *
 * Thread-safety: counting is atomic; contents may be read by many threads. */
#ifndef HONE_TENSOR_H
#define HONE_TENSOR_H

#include "hone/allocator.h"
#include "hone/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hone_kind {
  HONE_KIND_TENSOR,   /* dtype, rank, dims, data */
  HONE_KIND_SEQUENCE, /* items */
  HONE_KIND_MAP,      /* items[0]: 1-D keys, items[1]: 1-D tensor or sequence of values */
  HONE_KIND_NONE,     /* an optional without content; an optional with content is its content */
} hone_kind_t;

enum { HONE_MAX_RANK = 16 };

typedef struct hone_tensor hone_tensor_t;

/* Makes a dense tensor of zeros (strings: empty). `dims` has `rank` entries,
 * each >= 0. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. `allocator` NULL is the
 * system's; it must outlive the tensor. */
HONE_API HONE_MUST_USE hone_status_t hone_tensor_create(const hone_allocator_t* allocator,
                                                        hone_dtype_t dtype, int rank,
                                                        const int64_t* dims,
                                                        hone_tensor_t** out_tensor);
/* The same over memory of the caller, which is not copied. `free_data` (may
 * be NULL) is called with `owner` when the last reference goes; not when this
 * call fails. */
HONE_API HONE_MUST_USE hone_status_t hone_tensor_wrap(const hone_allocator_t* allocator,
                                                      hone_dtype_t dtype, int rank,
                                                      const int64_t* dims, void* data,
                                                      void (*free_data)(void* owner), void* owner,
                                                      hone_tensor_t** out_tensor);
/* A sequence (or map) of `count` items, each retained. */
HONE_API HONE_MUST_USE hone_status_t hone_sequence_create(const hone_allocator_t* allocator,
                                                          hone_kind_t kind, int64_t count,
                                                          hone_tensor_t* const* items,
                                                          hone_tensor_t** out_sequence);
/* An optional without content. */
HONE_API HONE_MUST_USE hone_status_t hone_none_create(const hone_allocator_t* allocator,
                                                      hone_tensor_t** out_none);

HONE_API void hone_tensor_retain(hone_tensor_t* tensor);
HONE_API void hone_tensor_release(hone_tensor_t* tensor); /* NULL is allowed */

HONE_API hone_kind_t hone_tensor_kind(const hone_tensor_t* tensor);
/* Of an empty sequence too, where it was set; HONE_UNKNOWN otherwise. */
HONE_API hone_dtype_t hone_tensor_dtype(const hone_tensor_t* tensor);
HONE_API int hone_tensor_rank(const hone_tensor_t* tensor);
HONE_API const int64_t* hone_tensor_dims(const hone_tensor_t* tensor);
HONE_API int64_t hone_tensor_count(const hone_tensor_t* tensor); /* elements, or items */
HONE_API size_t hone_tensor_bytes(const hone_tensor_t* tensor);
HONE_API void* hone_tensor_data(const hone_tensor_t* tensor);
/* Borrowed; NULL when `index` is out of range. */
HONE_API hone_tensor_t* hone_sequence_item(const hone_tensor_t* sequence, int64_t index);

/* Sets element `index` of a string tensor to a copy of `size` bytes. */
HONE_API HONE_MUST_USE hone_status_t hone_tensor_set_string(hone_tensor_t* tensor, int64_t index,
                                                            const char* data, size_t size);

#ifdef __cplusplus
}
#endif
#endif
