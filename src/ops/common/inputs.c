/* What lowerings see of their inputs and outputs, and host nodes. */
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "ops/common/scope.h"

hone_value_t* hone_op_in(const hone_lower_t* l, int index) {
  return index < l->n_inputs ? l->inputs[index] : NULL;
}

bool hone_op_wants(const hone_lower_t* l, int index) {
  return index < l->n_outputs && l->node->outputs[index][0] != 0;
}

void hone_op_out(hone_lower_t* l, int index, hone_value_t* value) {
  if (index < l->n_outputs) l->outputs[index] = value;
}

const hone_tensor_t* hone_op_known(hone_lower_t* l, int index) {
  hone_value_t* value = hone_op_in(l, index);
  if (!value) return NULL;
  const hone_tensor_t* tensor = hone_known_tensor(l->b, value);
  if (!tensor) hone_defer(l->b, "an input must be known before the node can be built");
  return tensor;
}

const hone_dim_t* hone_op_known_dims(hone_lower_t* l, int index, int* out_count) {
  *out_count = 0;
  hone_value_t* value = hone_op_in(l, index);
  return value ? hone_known_dims(l->b, value, out_count) : NULL;
}

void hone_op_fail(hone_lower_t* l, const char* format, ...) {
  va_list args;
  va_start(args, format);
  hone_status_t status = hone_status_make_va(HONE_INVALID_MODEL, format, args);
  va_end(args);
  hone_fail_status(l->b, status);
}

double hone_tensor_f64(const hone_tensor_t* tensor, int64_t index) {
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  if (!hone_dtype_is_float(dtype)) return (double)hone_tensor_i64(tensor, index);
  const char* data = hone_tensor_data(tensor);
  return hone_to_double(dtype, data + (size_t)index * hone_dtype_size(dtype));
}

int64_t hone_tensor_i64(const hone_tensor_t* tensor, int64_t index) {
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  if (hone_dtype_is_float(dtype)) return (int64_t)hone_tensor_f64(tensor, index);
  const char* data = hone_tensor_data(tensor);
  int64_t value = 0;
  hone_load_i64(dtype, data + (size_t)index * hone_dtype_size(dtype), 0, 1, &value);
  return value;
}

/* ---- host nodes ---- */

hone_node_t* hone_host_emit(hone_builder_t* b, const hone_host_t* host, int n_inputs,
                            hone_value_t** inputs, int n_outputs, const hone_type_t* output_types) {
  hone_arena_t* arena = b->graph->arena;
  hone_type_t* types = hone_arena_array(arena, (size_t)n_outputs, sizeof *types);
  hone_value_t** resolved = hone_arena_array(arena, (size_t)n_inputs, sizeof *resolved);
  if (!types || !resolved) return (void*)hone_fail_status(b, hone_oom());
  int first_symbol = hone_dims_symbol_count(b->graph->dims);
  for (int i = 0; i < n_outputs; i++) types[i] = hone_fresh_extents(b, &output_types[i]);
  for (int i = 0; i < n_inputs; i++) resolved[i] = hone_resolve(b, inputs[i]);
  hone_node_t proto = {.prim = HONE_PRIM_HOST,
                       .n_inputs = n_inputs,
                       .inputs = resolved,
                       .n_outputs = n_outputs,
                       .host = host};
  hone_node_t* node = hone_emit_typed(b, &proto, types);
  for (int i = 0; node && i < n_outputs; i++) hone_bind_extents(b, node->outputs[i], first_symbol);
  return node;
}

void hone_op_host(hone_lower_t* l, const hone_type_t* output_types) {
  hone_builder_t* b = l->b;
  if (!hone_builder_ok(b)) return;
  hone_host_t* host = hone_arena_alloc(b->graph->arena, sizeof *host);
  if (!host) {
    hone_fail_status(b, hone_oom());
    return;
  }
  *host = (hone_host_t){.op = l->op,
                        .node = l->node,
                        .model = l->scope->lowering->model,
                        .n_opsets = l->scope->n_opsets,
                        .opsets = l->scope->opsets,
                        .opset = l->opset};
  hone_node_t* node = hone_host_emit(b, host, l->n_inputs, l->inputs, l->n_outputs, output_types);
  for (int i = 0; node && i < l->n_outputs; i++) l->outputs[i] = node->outputs[i];
}
