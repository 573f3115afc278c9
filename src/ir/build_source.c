/* Builder calls for values out of nothing: inputs, constants, indices. */
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "ir/builder.h"

hone_value_t* hone_input(hone_builder_t* b, const char* name, const hone_type_t* type) {
  hone_node_t node = {.prim = HONE_PRIM_INPUT, .n_outputs = 1};
  hone_type_t copy = *type;
  if (type->dims && type->rank > 0) {
    copy.dims =
        hone_arena_memdup(b->graph->arena, type->dims, (size_t)type->rank * sizeof *type->dims);
    if (!copy.dims) return hone_fail_status(b, hone_oom());
  }
  hone_node_t* made = hone_emit_typed(b, &node, &copy);
  if (!made) return NULL;
  if (name) {
    made->outputs[0]->name = hone_arena_strdup(b->graph->arena, name);
    if (!made->outputs[0]->name) return hone_fail_status(b, hone_oom());
  }
  return made->outputs[0];
}

hone_value_t* hone_constant(hone_builder_t* b, hone_tensor_t* tensor) {
  if (!tensor) return hone_fail(b, HONE_INTERNAL, "a constant without content");
  if (!hone_graph_keep_constant(b->graph, tensor)) return hone_fail_status(b, hone_oom());
  hone_node_t node = {.prim = HONE_PRIM_CONSTANT, .constant = tensor};
  return hone_emit(b, &node);
}

hone_value_t* hone_constant_data(hone_builder_t* b, hone_dtype_t dtype, int rank,
                                 const int64_t* dims, const void* data) {
  if (!hone_builder_ok(b)) return NULL;
  hone_tensor_t* tensor;
  hone_status_t status = hone_tensor_create(b->graph->allocator, dtype, rank, dims, &tensor);
  if (status) return hone_fail_status(b, status);
  if (hone_tensor_bytes(tensor)) memcpy(hone_tensor_data(tensor), data, hone_tensor_bytes(tensor));
  return hone_constant(b, tensor);
}

hone_value_t* hone_scalar(hone_builder_t* b, hone_dtype_t dtype, double value) {
  unsigned char element[16] = {0};
  if (hone_dtype_is_float(dtype)) {
    hone_from_double(dtype, value, false, element);
  } else if (dtype == HONE_C64) {
    memcpy(element, &(float){(float)value}, sizeof(float));
  } else if (dtype == HONE_C128) {
    memcpy(element, &value, sizeof value);
  } else if (dtype == HONE_STRING) { /* the empty one */
    return hone_constant_data(b, dtype, 0, NULL, &(hone_string_t){NULL, 0});
  } else {
    return hone_scalar_i64(b, dtype, (int64_t)value);
  }
  return hone_constant_data(b, dtype, 0, NULL, element);
}

hone_value_t* hone_scalar_i64(hone_builder_t* b, hone_dtype_t dtype, int64_t value) {
  if (!hone_dtype_is_int(dtype) && dtype != HONE_BOOL) return hone_scalar(b, dtype, (double)value);
  if (dtype == HONE_BOOL) value = value != 0;
  return hone_constant_data(b, dtype, 0, NULL, &value); /* little endian */
}

hone_value_t* hone_list_i64(hone_builder_t* b, int count, const int64_t* values) {
  return hone_constant_data(b, HONE_I64, 1, &(int64_t){count}, values);
}

hone_value_t* hone_full(hone_builder_t* b, hone_dtype_t dtype, double value, int rank,
                        const hone_dim_t* shape) {
  return hone_expand(b, hone_scalar(b, dtype, value), rank, shape);
}

hone_value_t* hone_iota(hone_builder_t* b, hone_dtype_t dtype, int rank, const hone_dim_t* shape,
                        int axis) {
  int64_t at = hone_axis(b, axis, rank);
  hone_node_t node = {.prim = HONE_PRIM_IOTA,
                      .dtype = dtype,
                      .n_axes = 1,
                      .axes = &at,
                      .n_dims = rank,
                      .shape = shape};
  return hone_emit(b, &node);
}

hone_value_t* hone_dims_value(hone_builder_t* b, int count, const hone_dim_t* dims) {
  int64_t numbers[64];
  bool all = count <= 64;
  for (int i = 0; i < count && all; i++) {
    all = hone_dim_is_int(dims[i]);
    numbers[i] = dims[i].k;
  }
  if (all) return hone_list_i64(b, count, numbers);
  hone_node_t node = {.prim = HONE_PRIM_DIMS, .n_dims = count, .shape = dims};
  return hone_emit(b, &node);
}

hone_value_t* hone_dim_scalar(hone_builder_t* b, hone_dtype_t dtype, hone_dim_t dim) {
  if (hone_dim_is_int(dim)) return hone_scalar_i64(b, dtype, dim.k);
  hone_value_t* list = hone_dims_value(b, 1, &dim);
  return hone_cast(b, hone_reshape(b, list, 0, NULL), dtype);
}

hone_value_t* hone_random(hone_builder_t* b, hone_dtype_t dtype, int rank, const hone_dim_t* shape,
                          int64_t seed, bool seeded) {
  hone_node_t node = {.prim = HONE_PRIM_RANDOM,
                      .dtype = dtype,
                      .n_dims = rank,
                      .shape = shape,
                      .seed = seed,
                      .flags = seeded ? 0 : HONE_FLAG_UNSEEDED};
  return hone_emit(b, &node);
}
