/* CategoryMapper (ai.onnx.ml): strings to integers or the other way, by two
 * lists of the same length. */
#include "ops/common/ml_lookup.h"

/* What it read so far is in `table` also after an error. */
static hone_status_t read_table(const hone_allocator_t* allocator, const hone_onnx_node_t* node,
                                bool from_string, hone_ml_table_t* table) {
  hone_tensor_t *ints = NULL, *strings = NULL;
  *table = (hone_ml_table_t){0};
  hone_status_t status = hone_ml_attr_tensor(allocator, node, "cats_int64s", &ints);
  if (!status) status = hone_ml_attr_tensor(allocator, node, "cats_strings", &strings);
  table->keys = from_string ? strings : ints;
  table->values = from_string ? ints : strings;
  if (status) return status;
  if (!ints || !strings || hone_tensor_count(ints) != hone_tensor_count(strings))
    return hone_status_make(HONE_INVALID_MODEL, "%s",
                            "cats_int64s and cats_strings must be there, of the same length");
  if (from_string)
    return hone_ml_one_int(allocator, hone_attr_int(node, "default_int64", -1), &table->fallback);
  return hone_ml_one_string(allocator, hone_attr_string(node, "default_string", "_Unused"),
                            &table->fallback);
}

static void lower_category_mapper(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  bool from_string = hone_dtype_of(x) == HONE_STRING;
  hone_ml_table_t table;
  hone_status_t status = read_table(b->graph->allocator, l->node, from_string, &table);
  if (status)
    hone_fail_status(b, status);
  else if (from_string)
    hone_ml_host_like(l, x, HONE_I64);
  else
    hone_op_out(l, 0, hone_ml_lookup(l, x, &table, false));
  hone_ml_table_release(&table);
}

static hone_status_t run_category_mapper(hone_host_call_t* call) {
  hone_ml_table_t table;
  hone_status_t status = read_table(call->allocator, call->node, true, &table);
  if (!status) status = hone_ml_lookup_strings(call, &table);
  hone_ml_table_release(&table);
  return status;
}

static const hone_op_t ops[] = {
    {.domain = HONE_ML_DOMAIN,
     .name = "CategoryMapper",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "cats_int64s cats_strings default_int64 default_string",
     .lower = lower_category_mapper,
     .host = run_category_mapper},
};
HONE_OP_FAMILY(ml_category_mapper, ops)
