/* Dictionaries from keys to values, as LabelEncoder and CategoryMapper have
 * them. Numbers are looked up by primitives (a binary search over the sorted
 * keys); strings on the host. */
#ifndef HONE_OPS_COMMON_ML_LOOKUP_H
#define HONE_OPS_COMMON_ML_LOOKUP_H

#include "ops/common/ml.h"

/* Owned 1-D tensors; of equal keys the first counts. */
typedef struct hone_ml_table {
  hone_tensor_t* keys;
  hone_tensor_t* values;   /* as many */
  hone_tensor_t* fallback; /* one element, for keys that are not there */
} hone_ml_table_t;

void hone_ml_table_release(hone_ml_table_t* table);
/* An attribute (ints, floats, strings, a tensor, or one of those types alone)
 * as a 1-D tensor; NULL when it is absent. */
HONE_MUST_USE hone_status_t hone_ml_attr_tensor(const hone_allocator_t* allocator,
                                                const hone_onnx_node_t* node, const char* name,
                                                hone_tensor_t** out_tensor);
/* The list 0, 1, … of int64. */
HONE_MUST_USE hone_status_t hone_ml_count_up(const hone_allocator_t* allocator, int64_t count,
                                             hone_tensor_t** out_tensor);
/* One element of int64 or a string. */
HONE_MUST_USE hone_status_t hone_ml_one_int(const hone_allocator_t* allocator, int64_t value,
                                            hone_tensor_t** out_tensor);
HONE_MUST_USE hone_status_t hone_ml_one_string(const hone_allocator_t* allocator, const char* value,
                                               hone_tensor_t** out_tensor);
/* Element `from` of `source` becomes element `to` of `target`, of the same type. */
HONE_MUST_USE hone_status_t hone_ml_copy_element(const hone_tensor_t* source, int64_t from,
                                                 hone_tensor_t* target, int64_t to);

/* The value of each element of x, which must be numbers, as the keys. NaN is
 * a key like any other only when `finds_nan`. */
hone_value_t* hone_ml_lookup(hone_lower_t* l, hone_value_t* x, const hone_ml_table_t* table,
                             bool finds_nan);
/* The same for strings: makes output 0 out of input 0. */
HONE_MUST_USE hone_status_t hone_ml_lookup_strings(hone_host_call_t* call,
                                                   const hone_ml_table_t* table);
/* Emits the node as a host node whose output is like x but of `dtype`. */
void hone_ml_host_like(hone_lower_t* l, const hone_value_t* x, hone_dtype_t dtype);

#endif
