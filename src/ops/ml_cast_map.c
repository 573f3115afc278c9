/* CastMap (ai.onnx.ml): the values of a map with integer keys as one row, in
 * the order of the keys; with map_form SPARSE at the position that the key
 * is, in a row of max_map. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "ops/common/ml_lookup.h"

static hone_status_t target_dtype(const hone_onnx_node_t* node, hone_dtype_t* out_dtype) {
  static const char* const names[] = {"TO_FLOAT", "TO_STRING", "TO_INT64"};
  static const hone_dtype_t dtypes[] = {HONE_F32, HONE_STRING, HONE_I64};
  const char* name = hone_attr_string(node, "cast_to", "TO_FLOAT");
  for (int i = 0; i < 3; i++) {
    *out_dtype = dtypes[i];
    if (strcmp(name, names[i]) == 0) return NULL;
  }
  return hone_status_make(HONE_INVALID_MODEL,
                          "cast_to '%s' is unknown; it is TO_FLOAT, TO_STRING or TO_INT64", name);
}

static void lower_cast_map(hone_lower_t* l) {
  hone_dtype_t dtype;
  hone_status_t status = target_dtype(l->node, &dtype);
  if (status) {
    hone_fail_status(l->b, status);
    return;
  }
  hone_dim_t dims[2] = {hone_d(1), hone_d(-1)};
  hone_type_t type = hone_type_tensor(dtype, 2, dims);
  hone_op_host(l, &type);
}

/* A number written out in a string of the map. */
static hone_status_t parse_number(const hone_string_t* text, double* out_value) {
  char buffer[64], *end = buffer;
  size_t size = text->size < sizeof buffer ? text->size : 0;
  if (size) memcpy(buffer, text->data, size);
  buffer[size] = 0;
  *out_value = strtod(buffer, &end);
  if (end != buffer && *end == 0) return NULL;
  return hone_status_make(HONE_INVALID_MODEL, "'%.*s' in the map is not a number",
                          (int)(text->size < 64 ? text->size : 64), text->data);
}

static hone_status_t store_number(hone_tensor_t* out, int64_t at, double value) {
  if (hone_tensor_dtype(out) == HONE_F32)
    ((float*)hone_tensor_data(out))[at] = (float)value;
  else if (value > -9.2e18 && value < 9.2e18)
    ((int64_t*)hone_tensor_data(out))[at] = (int64_t)value;
  else
    return hone_status_make(HONE_INVALID_MODEL, "%g in the map does not fit an int64", value);
  return NULL;
}

/* Six digits behind the point, as onnxruntime writes floats here. */
static hone_status_t store_text(hone_tensor_t* out, int64_t at, double value) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_str_appendf(&text, "%f", value);
  hone_status_t status =
      text.failed ? hone_oom() : hone_tensor_set_string(out, at, text.data, text.size);
  hone_str_free(&text);
  return status;
}

static hone_status_t store(const hone_tensor_t* values, int64_t from, hone_tensor_t* out,
                           int64_t at) {
  bool text = hone_tensor_dtype(values) == HONE_STRING;
  if (text && hone_tensor_dtype(out) == HONE_STRING)
    return hone_ml_copy_element(values, from, out, at);
  double value;
  if (text)
    HONE_TRY(parse_number((const hone_string_t*)hone_tensor_data(values) + from, &value));
  else
    value = hone_tensor_f64(values, from);
  if (hone_tensor_dtype(out) == HONE_STRING) return store_text(out, at, value);
  return store_number(out, at, value);
}

/* Position of a key in the row: its rank among the keys, or itself. */
static int64_t position(const hone_tensor_t* keys, int64_t index, bool sparse) {
  int64_t key = hone_tensor_i64(keys, index), rank = 0;
  if (sparse) return key;
  for (int64_t i = 0; i < hone_tensor_count(keys); i++) rank += hone_tensor_i64(keys, i) < key;
  return rank;
}

static hone_status_t fill(hone_host_call_t* call, const hone_tensor_t* keys,
                          const hone_tensor_t* values, bool sparse) {
  int64_t width = hone_tensor_dims(call->outputs[0])[1];
  bool text = hone_tensor_dtype(call->outputs[0]) == HONE_STRING;
  for (int64_t i = 0; i < width && sparse && text; i++) /* as onnxruntime fills it up */
    HONE_TRY(hone_tensor_set_string(call->outputs[0], i, "0.f", 3));
  for (int64_t i = 0; i < hone_tensor_count(keys); i++) {
    int64_t at = position(keys, i, sparse);
    if (at < 0)
      return hone_status_make(HONE_INVALID_MODEL, "key %lld of the map is negative", (long long)at);
    if (at < width) HONE_TRY(store(values, i, call->outputs[0], at));
  }
  return NULL;
}

static hone_status_t run_cast_map(hone_host_call_t* call) {
  const char* form = hone_attr_string(call->node, "map_form", "DENSE");
  bool sparse = strcmp(form, "SPARSE") == 0;
  if (!sparse && strcmp(form, "DENSE") != 0)
    return hone_status_make(HONE_INVALID_MODEL, "map_form '%s' is unknown; it is DENSE or SPARSE",
                            form);
  const hone_tensor_t* map = call->inputs[0];
  const hone_tensor_t* keys = hone_sequence_item(map, 0);
  const hone_tensor_t* values = hone_sequence_item(map, 1);
  if (hone_tensor_kind(map) != HONE_KIND_MAP || !keys || !values ||
      !hone_dtype_is_int(hone_tensor_dtype(keys)) ||
      hone_tensor_count(keys) != hone_tensor_count(values))
    return hone_status_make(HONE_INVALID_MODEL, "the input is not a map with integer keys");
  int64_t dims[2] = {1, hone_tensor_count(keys)};
  if (sparse) dims[1] = hone_attr_int(call->node, "max_map", 1);
  hone_dtype_t dtype;
  HONE_TRY(target_dtype(call->node, &dtype));
  HONE_TRY(hone_tensor_create(call->allocator, dtype, 2, dims, &call->outputs[0]));
  return fill(call, keys, values, sparse);
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "CastMap",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "cast_to map_form max_map",
     .flags = HONE_OP_ANY_TYPE,
     .lower = lower_cast_map,
     .host = run_cast_map},
};
HONE_OP_FAMILY(ml_cast_map, ops)
