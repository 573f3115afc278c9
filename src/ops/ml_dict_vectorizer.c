/* DictVectorizer (ai.onnx.ml): a map as one row, its values in the order of a
 * vocabulary of keys; 0 (or "") where the map lacks a key. */
#include <string.h>

#include "ops/common/ml_lookup.h"

static bool same_key(const hone_tensor_t* a, int64_t i, const hone_tensor_t* b, int64_t k) {
  if (hone_tensor_dtype(a) != HONE_STRING) return hone_tensor_i64(a, i) == hone_tensor_i64(b, k);
  const hone_string_t* x = (const hone_string_t*)hone_tensor_data(a) + i;
  const hone_string_t* y = (const hone_string_t*)hone_tensor_data(b) + k;
  return x->size == y->size && (x->size == 0 || memcmp(x->data, y->data, x->size) == 0);
}

static hone_status_t fill_row(hone_host_call_t* call, const hone_tensor_t* vocabulary) {
  const hone_tensor_t* keys = hone_sequence_item(call->inputs[0], 0);
  const hone_tensor_t* values = hone_sequence_item(call->inputs[0], 1);
  bool fits =
      keys && values && hone_tensor_kind(values) == HONE_KIND_TENSOR &&
      (hone_tensor_dtype(keys) == HONE_STRING) == (hone_tensor_dtype(vocabulary) == HONE_STRING) &&
      hone_tensor_count(keys) == hone_tensor_count(values);
  if (!fits)
    return hone_status_make(HONE_INVALID_MODEL, "the map's keys are not of the vocabulary's type");
  const int64_t dims[2] = {1, hone_tensor_count(vocabulary)};
  HONE_TRY(
      hone_tensor_create(call->allocator, hone_tensor_dtype(values), 2, dims, &call->outputs[0]));
  for (int64_t i = 0; i < dims[1]; i++)
    for (int64_t k = 0; k < hone_tensor_count(keys); k++)
      if (same_key(vocabulary, i, keys, k))
        HONE_TRY(hone_ml_copy_element(values, k, call->outputs[0], i));
  return NULL;
}

static hone_status_t run_dict_vectorizer(hone_host_call_t* call) {
  if (hone_tensor_kind(call->inputs[0]) != HONE_KIND_MAP)
    return hone_status_make(HONE_INVALID_MODEL, "the input is not a map");
  bool strings = hone_attr_has(call->node, "string_vocabulary");
  hone_tensor_t* vocabulary = NULL;
  HONE_TRY(hone_ml_attr_tensor(call->allocator, call->node,
                               strings ? "string_vocabulary" : "int64_vocabulary", &vocabulary));
  hone_status_t status =
      vocabulary ? fill_row(call, vocabulary)
                 : hone_status_make(HONE_INVALID_MODEL, "there is no vocabulary of keys");
  hone_tensor_release(vocabulary);
  return status;
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "DictVectorizer",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "int64_vocabulary string_vocabulary",
     .flags = HONE_OP_ANY_TYPE,
     .host = run_dict_vectorizer},
};
HONE_OP_FAMILY(ml_dict_vectorizer, ops)
