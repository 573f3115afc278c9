/* Tensors of a model as run-time tensors and constants. */
#include <string.h>

#include "base/memory.h"
#include "ops/op.h"

static hone_status_t copy_strings(const hone_allocator_t* allocator,
                                  const hone_onnx_tensor_t* tensor, hone_tensor_t** out_tensor) {
  hone_tensor_t* copy;
  HONE_TRY(hone_tensor_create(allocator, HONE_STRING, tensor->rank, tensor->dims, &copy));
  const hone_string_t* strings = tensor->data;
  for (int64_t i = 0; i < tensor->count; i++) {
    hone_status_t status = hone_tensor_set_string(copy, i, strings[i].data, strings[i].size);
    if (status) {
      hone_tensor_release(copy);
      return status;
    }
  }
  *out_tensor = copy;
  return NULL;
}

hone_status_t hone_onnx_tensor_wrap(const hone_allocator_t* allocator,
                                    const hone_onnx_tensor_t* tensor, hone_tensor_t** out_tensor) {
  *out_tensor = NULL;
  if (tensor->dtype == HONE_STRING) return copy_strings(allocator, tensor, out_tensor);
  return hone_tensor_wrap(allocator, tensor->dtype, tensor->rank, tensor->dims,
                          (void*)(uintptr_t)tensor->data, NULL, NULL, out_tensor);
}

hone_value_t* hone_onnx_tensor_constant(hone_builder_t* b, const hone_onnx_tensor_t* tensor) {
  if (!tensor || !hone_builder_ok(b)) return NULL;
  hone_tensor_t* wrapped;
  hone_status_t status = hone_onnx_tensor_wrap(b->graph->allocator, tensor, &wrapped);
  if (status) return hone_fail_status(b, status);
  return hone_constant(b, wrapped);
}

/* Where a sparse element goes in the dense tensor; -1 when it is outside.
 * Indices are linear, or one row of `rank` of them an element. */
static int64_t dense_position(const hone_onnx_sparse_t* sparse, int64_t element, int64_t count) {
  const char* data = sparse->indices.data;
  int64_t at = 0, index;
  int n = sparse->indices.rank == 2 ? sparse->rank : 1;
  for (int i = 0; i < n; i++) {
    memcpy(&index, data + ((size_t)element * (size_t)n + (size_t)i) * sizeof index, sizeof index);
    if (index < 0 || (n > 1 && index >= sparse->dims[i])) return -1;
    at = n == 1 ? index : at * sparse->dims[i] + index;
  }
  return at < count ? at : -1;
}

static hone_status_t densify(const hone_allocator_t* allocator, const hone_onnx_sparse_t* sparse,
                             hone_tensor_t** out_tensor) {
  const hone_onnx_tensor_t* values = &sparse->values;
  size_t size = hone_dtype_size(values->dtype);
  int64_t per_element = sparse->indices.rank == 2 ? sparse->rank : 1, needed;
  if (values->dtype == HONE_STRING || sparse->indices.dtype != HONE_I64 ||
      !hone_i64_mul(values->count, per_element, &needed) || needed > sparse->indices.count)
    return hone_status_make(HONE_INVALID_MODEL, "sparse tensor '%s': indices do not fit its values",
                            values->name);
  hone_tensor_t* dense = NULL;
  HONE_TRY(hone_tensor_create(allocator, values->dtype, sparse->rank, sparse->dims, &dense));
  char* data = hone_tensor_data(dense);
  for (int64_t i = 0; i < values->count; i++) {
    int64_t at = dense_position(sparse, i, hone_tensor_count(dense));
    if (at < 0) {
      hone_tensor_release(dense);
      return hone_status_make(HONE_INVALID_MODEL, "sparse tensor '%s': an index is out of range",
                              values->name);
    }
    memcpy(data + (size_t)at * size, (const char*)values->data + (size_t)i * size, size);
  }
  *out_tensor = dense;
  return NULL;
}

hone_value_t* hone_onnx_sparse_constant(hone_builder_t* b, const hone_onnx_sparse_t* sparse) {
  if (!sparse || !hone_builder_ok(b)) return NULL;
  hone_tensor_t* dense = NULL;
  hone_status_t status = densify(b->graph->allocator, sparse, &dense);
  if (status) return hone_fail_status(b, status);
  return hone_constant(b, dense);
}
