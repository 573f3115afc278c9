/* Fuzzes the ONNX reader: as a model, and as a value of each kind. What can be
 * read must be writable, and read back. */
#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"
#include "import/onnx.h"

enum { LIMIT = 256 << 20 }; /* bytes; damaged dimensions may ask for anything */

static void must(bool holds) {
  if (!holds) abort();
}

static void fuzz_model(const hone_allocator_t* allocator, const void* data, size_t size) {
  hone_model_t *model, *again;
  hone_status_t status = hone_onnx_load_memory(allocator, data, size, NULL, NULL, &model);
  void* saved = NULL;
  size_t saved_size = 0;
  if (!status) {
    status = hone_onnx_save_memory(model, &saved, &saved_size);
    if (!status) {
      status = hone_onnx_load_memory(allocator, saved, saved_size, NULL, NULL, &again);
      must(!status || hone_status_code(status) == HONE_OUT_OF_MEMORY);
      hone_model_destroy(again);
      hone_free(allocator, saved, saved_size);
    }
  }
  hone_status_free(status);
  hone_model_destroy(model);
}

static void fuzz_value(const hone_allocator_t* allocator, const void* data, size_t size,
                       hone_onnx_type_kind_t kind) {
  hone_tensor_t* tensor;
  void* saved;
  size_t saved_size;
  hone_status_t status = hone_onnx_load_tensor_memory(allocator, data, size, kind, &tensor);
  if (!status) {
    status = hone_onnx_save_tensor(allocator, tensor, HONE_ONNX_TYPE_NONE, &saved, &saved_size);
    if (!status) hone_free(allocator, saved, saved_size);
  }
  hone_status_free(status);
  hone_tensor_release(tensor);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone_limit_allocator_t* limit;
  hone_status_t status = hone_limit_allocator_create(NULL, LIMIT, &limit);
  if (status) abort();
  const hone_allocator_t* allocator = hone_limit_allocator_get(limit);
  fuzz_model(allocator, data, size);
  for (int kind = HONE_ONNX_TYPE_TENSOR; kind <= HONE_ONNX_TYPE_SPARSE; kind++) {
    fuzz_value(allocator, data, size, (hone_onnx_type_kind_t)kind);
  }
  must(hone_limit_allocator_in_use(limit) == 0);
  hone_limit_allocator_destroy(limit);
  return 0;
}
