/* What host functions share: reading their inputs with checks, copying elements. */
#ifndef HONE_OPS_COMMON_HOST_H
#define HONE_OPS_COMMON_HOST_H

#include "ops/op.h"

/* Input `index`, which must be a sequence (a tensor): INVALID_ARGUMENT otherwise. */
HONE_MUST_USE hone_status_t hone_host_sequence(const hone_host_call_t* call, int index,
                                               const hone_tensor_t** out_sequence);
HONE_MUST_USE hone_status_t hone_host_tensor(const hone_host_call_t* call, int index,
                                             const hone_tensor_t** out_tensor);
/* The same for a tensor of strings. */
HONE_MUST_USE hone_status_t hone_host_strings(const hone_host_call_t* call, int index,
                                              const hone_tensor_t** out_tensor);
/* The single integer in input `index`; `fallback` when it was left out. */
HONE_MUST_USE hone_status_t hone_host_i64(const hone_host_call_t* call, int index, int64_t fallback,
                                          int64_t* out_value);
/* Copies `count` elements; both tensors have one dtype. */
HONE_MUST_USE hone_status_t hone_host_copy(hone_tensor_t* to, int64_t to_at,
                                           const hone_tensor_t* from, int64_t from_at,
                                           int64_t count);
/* String `index` of a string tensor. */
hone_string_t hone_host_string(const hone_tensor_t* tensor, int64_t index);

#endif
