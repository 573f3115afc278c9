#include "runtime/output.h"

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "ops/common/host.h"

static bool is_in_weight(const hone_program_t* program, const hone_tensor_t* tensor) {
  bool found = false;
  for (int i = 0; i < program->n_weights && !found; i++) {
    const hone_tensor_t* weight = program->weights[i].tensor;
    found = (uintptr_t)tensor->data - (uintptr_t)weight->data < weight->bytes;
  }
  return found;
}

static bool is_borrowed(const hone_program_t* program, const hone_tensor_t* tensor) {
  bool found = false;
  if (tensor->kind == HONE_KIND_TENSOR) return is_in_weight(program, tensor);
  for (int64_t i = 0; i < tensor->count && !found; i++)
    found = is_borrowed(program, tensor->items[i]);
  return found;
}

static hone_status_t copy(const hone_program_t* program, const hone_tensor_t* from,
                          hone_tensor_t** out_copy) {
  hone_tensor_t* to;
  HONE_TRY(hone_tensor_create(program->allocator, from->dtype, from->rank, from->dims, &to));
  hone_status_t status = hone_host_copy(to, 0, from, 0, from->count);
  if (status)
    hone_tensor_release(to);
  else
    *out_copy = to;
  return status;
}

static void release_all(const hone_program_t* program, int64_t count, hone_tensor_t** items) {
  for (int64_t i = 0; i < count; i++) hone_tensor_release(items[i]);
  hone_free(program->allocator, items, (size_t)count * sizeof *items);
}

/* Of a sequence or a map. */
static hone_status_t copy_list(const hone_program_t* program, const hone_tensor_t* from,
                               hone_tensor_t** out_copy) {
  hone_tensor_t** items = hone_alloc(program->allocator, (size_t)from->count * sizeof *items);
  if (!items) return hone_oom();
  hone_status_t status = NULL;
  for (int64_t i = 0; i < from->count && !status; i++)
    status = hone_output_own(program, from->items[i], &items[i]);
  if (!status)
    status = hone_sequence_create(program->allocator, from->kind, from->count, items, out_copy);
  if (!status) (*out_copy)->dtype = from->dtype;
  release_all(program, from->count, items);
  return status;
}

hone_status_t hone_output_own(const hone_program_t* program, hone_tensor_t* result,
                              hone_tensor_t** out_output) {
  *out_output = NULL;
  if (!is_borrowed(program, result)) {
    hone_tensor_retain(result);
    *out_output = result;
    return NULL;
  }
  return result->kind == HONE_KIND_TENSOR ? copy(program, result, out_output)
                                          : copy_list(program, result, out_output);
}
