/* Inputs of host functions, checked; copies of elements of any dtype. */
#include "ops/common/host.h"

#include <string.h>

static hone_status_t check_kind(const hone_host_call_t* call, int index, hone_kind_t kind,
                                const char* wanted, const hone_tensor_t** out) {
  *out = index < call->n_inputs ? call->inputs[index] : NULL;
  if (*out && hone_tensor_kind(*out) == kind) return NULL;
  return hone_status_make(HONE_INVALID_ARGUMENT, "%s: input %d is %s; %s is needed", call->op->name,
                          index, *out ? "of another kind" : "missing", wanted);
}

hone_status_t hone_host_sequence(const hone_host_call_t* call, int index,
                                 const hone_tensor_t** out_sequence) {
  return check_kind(call, index, HONE_KIND_SEQUENCE, "a sequence", out_sequence);
}

hone_status_t hone_host_tensor(const hone_host_call_t* call, int index,
                               const hone_tensor_t** out_tensor) {
  return check_kind(call, index, HONE_KIND_TENSOR, "a tensor", out_tensor);
}

hone_status_t hone_host_strings(const hone_host_call_t* call, int index,
                                const hone_tensor_t** out_tensor) {
  HONE_TRY(hone_host_tensor(call, index, out_tensor));
  hone_dtype_t dtype = hone_tensor_dtype(*out_tensor);
  if (dtype == HONE_STRING) return NULL;
  return hone_status_make(HONE_INVALID_ARGUMENT, "%s: input %d is %s; strings are needed",
                          call->op->name, index, hone_dtype_name(dtype));
}

hone_status_t hone_host_i64(const hone_host_call_t* call, int index, int64_t fallback,
                            int64_t* out_value) {
  *out_value = fallback;
  if (index >= call->n_inputs || !call->inputs[index]) return NULL;
  const hone_tensor_t* tensor;
  HONE_TRY(hone_host_tensor(call, index, &tensor));
  if (hone_tensor_count(tensor) != 1 || !hone_dtype_is_int(hone_tensor_dtype(tensor)))
    return hone_status_make(HONE_INVALID_ARGUMENT, "%s: input %d must be one integer",
                            call->op->name, index);
  *out_value = hone_tensor_i64(tensor, 0);
  return NULL;
}

hone_string_t hone_host_string(const hone_tensor_t* tensor, int64_t index) {
  return ((const hone_string_t*)hone_tensor_data(tensor))[index];
}

static hone_status_t copy_strings(hone_tensor_t* to, int64_t to_at, const hone_tensor_t* from,
                                  int64_t from_at, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    hone_string_t text = hone_host_string(from, from_at + i);
    HONE_TRY(hone_tensor_set_string(to, to_at + i, text.data, text.size));
  }
  return NULL;
}

hone_status_t hone_host_copy(hone_tensor_t* to, int64_t to_at, const hone_tensor_t* from,
                             int64_t from_at, int64_t count) {
  if (hone_tensor_dtype(to) == HONE_STRING) return copy_strings(to, to_at, from, from_at, count);
  size_t size = hone_dtype_size(hone_tensor_dtype(to));
  if (count > 0)
    memcpy((char*)hone_tensor_data(to) + (size_t)to_at * size,
           (const char*)hone_tensor_data(from) + (size_t)from_at * size, (size_t)count * size);
  return NULL;
}
