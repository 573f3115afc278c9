/* LabelEncoder (ai.onnx.ml): replaces keys by values. Opset 1 has one list of
 * strings, which stand for their positions, either way; opset 2 has lists of
 * keys and of values; opset 4 adds tensors of either. */
#include <string.h>

#include "ops/common/ml_lookup.h"

/* The first of the attributes `names` that is there. */
static hone_status_t first_list(const hone_allocator_t* allocator, const hone_onnx_node_t* node,
                                const char* const* names, hone_tensor_t** out_tensor) {
  for (; *names; names++)
    if (hone_attr_has(node, *names))
      return hone_ml_attr_tensor(allocator, node, *names, out_tensor);
  return hone_status_make(HONE_INVALID_MODEL, "%s", "keys_… or values_… is missing");
}

static hone_status_t default_float(const hone_allocator_t* allocator, const hone_onnx_node_t* node,
                                   hone_tensor_t** out_tensor) {
  HONE_TRY(hone_tensor_create(allocator, HONE_F32, 1, &(int64_t){1}, out_tensor));
  *(float*)hone_tensor_data(*out_tensor) = (float)hone_attr_float(node, "default_float", -0.0);
  return NULL;
}

static hone_status_t read_default(const hone_allocator_t* allocator, const hone_onnx_node_t* node,
                                  hone_dtype_t dtype, hone_tensor_t** out_tensor) {
  if (hone_attr_has(node, "default_tensor"))
    return hone_ml_attr_tensor(allocator, node, "default_tensor", out_tensor);
  if (dtype == HONE_STRING)
    return hone_ml_one_string(allocator, hone_attr_string(node, "default_string", "_Unused"),
                              out_tensor);
  if (dtype == HONE_F32) return default_float(allocator, node, out_tensor);
  if (dtype == HONE_I64)
    return hone_ml_one_int(allocator, hone_attr_int(node, "default_int64", -1), out_tensor);
  /* Without default_tensor: -1 for integers and -0 for floats. */
  HONE_TRY(hone_tensor_create(allocator, dtype, 1, &(int64_t){1}, out_tensor));
  if (hone_dtype_is_int(dtype))
    memset(hone_tensor_data(*out_tensor), 0xff, hone_dtype_size(dtype));
  else if (dtype == HONE_F64)
    *(double*)hone_tensor_data(*out_tensor) = -0.0;
  return NULL;
}

static hone_status_t read_classes(const hone_allocator_t* allocator, const hone_onnx_node_t* node,
                                  bool from_string, hone_ml_table_t* table) {
  hone_tensor_t *strings = NULL, *numbers = NULL;
  hone_status_t status = hone_ml_attr_tensor(allocator, node, "classes_strings", &strings);
  if (!status && !strings)
    status = hone_status_make(HONE_INVALID_MODEL, "%s", "classes_strings is missing");
  if (!status) status = hone_ml_count_up(allocator, hone_tensor_count(strings), &numbers);
  table->keys = from_string ? strings : numbers;
  table->values = from_string ? numbers : strings;
  if (status) return status;
  return read_default(allocator, node, from_string ? HONE_I64 : HONE_STRING, &table->fallback);
}

static hone_status_t check_table(const hone_ml_table_t* table) {
  if (hone_tensor_count(table->keys) != hone_tensor_count(table->values))
    return hone_status_make(HONE_INVALID_MODEL, "there are %lld keys and %lld values",
                            (long long)hone_tensor_count(table->keys),
                            (long long)hone_tensor_count(table->values));
  if (hone_tensor_count(table->fallback) != 1 ||
      hone_tensor_dtype(table->fallback) != hone_tensor_dtype(table->values))
    return hone_status_make(HONE_INVALID_MODEL, "%s",
                            "default_tensor must be one element of the type of the values");
  return NULL;
}

/* What it read so far is in `table` also after an error. */
static hone_status_t read_table(const hone_allocator_t* allocator, const hone_onnx_node_t* node,
                                int64_t opset, bool from_string, hone_ml_table_t* table) {
  static const char* const keys[] = {"keys_tensor", "keys_strings", "keys_int64s", "keys_floats",
                                     NULL};
  static const char* const values[] = {"values_tensor", "values_strings", "values_int64s",
                                       "values_floats", NULL};
  *table = (hone_ml_table_t){0};
  if (opset == 1) {
    HONE_TRY(read_classes(allocator, node, from_string, table));
    return check_table(table);
  }
  HONE_TRY(first_list(allocator, node, keys, &table->keys));
  HONE_TRY(first_list(allocator, node, values, &table->values));
  HONE_TRY(read_default(allocator, node, hone_tensor_dtype(table->values), &table->fallback));
  return check_table(table);
}

static void lower_label_encoder(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  bool from_string = hone_dtype_of(x) == HONE_STRING;
  hone_ml_table_t table;
  hone_status_t status = read_table(b->graph->allocator, l->node, l->opset, from_string, &table);
  if (status) {
    hone_fail_status(b, status);
  } else if ((hone_tensor_dtype(table.keys) == HONE_STRING) != from_string) {
    hone_op_fail(l, "the input holds %s, the keys %s", hone_dtype_name(hone_dtype_of(x)),
                 hone_dtype_name(hone_tensor_dtype(table.keys)));
  } else if (from_string) {
    hone_ml_host_like(l, x, hone_tensor_dtype(table.values));
  } else {
    hone_op_out(l, 0, hone_ml_lookup(l, x, &table, l->opset >= 4));
  }
  hone_ml_table_release(&table);
}

static hone_status_t run_label_encoder(hone_host_call_t* call) {
  hone_ml_table_t table;
  hone_status_t status = read_table(call->allocator, call->node, call->opset, true, &table);
  if (!status) status = hone_ml_lookup_strings(call, &table);
  hone_ml_table_release(&table);
  return status;
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "LabelEncoder",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "classes_strings default_float default_int64 default_string default_tensor "
              "keys_floats keys_int64s keys_strings keys_tensor values_floats values_int64s "
              "values_strings values_tensor",
     .lower = lower_label_encoder,
     .host = run_label_encoder},
};
HONE_OP_FAMILY(ml_label_encoder, ops)
