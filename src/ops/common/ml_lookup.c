/* See ml_lookup.h. */
#include "ops/common/ml_lookup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"

/* ---- tensors ---- */

void hone_ml_table_release(hone_ml_table_t* table) {
  hone_tensor_release(table->keys);
  hone_tensor_release(table->values);
  hone_tensor_release(table->fallback);
  *table = (hone_ml_table_t){0};
}

hone_status_t hone_ml_copy_element(const hone_tensor_t* source, int64_t from, hone_tensor_t* target,
                                   int64_t to) {
  hone_dtype_t dtype = hone_tensor_dtype(source);
  const char* data = hone_tensor_data(source);
  if (dtype == HONE_STRING) {
    const hone_string_t* strings = hone_tensor_data(source);
    return hone_tensor_set_string(target, to, strings[from].data, strings[from].size);
  }
  size_t size = hone_dtype_size(dtype);
  memcpy((char*)hone_tensor_data(target) + (size_t)to * size, data + (size_t)from * size, size);
  return NULL;
}

/* Takes over `tensor`, which is released after an error. */
static hone_status_t set_strings(hone_tensor_t* tensor, const hone_string_t* strings,
                                 hone_tensor_t** out_tensor) {
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++) {
    hone_status_t status = hone_tensor_set_string(tensor, i, strings[i].data, strings[i].size);
    if (!status) continue;
    hone_tensor_release(tensor);
    return status;
  }
  *out_tensor = tensor;
  return NULL;
}

static hone_status_t make_list(const hone_allocator_t* allocator, hone_dtype_t dtype, int64_t count,
                               const void* data, hone_tensor_t** out_tensor) {
  hone_tensor_t* tensor;
  HONE_TRY(hone_tensor_create(allocator, dtype, 1, &count, &tensor));
  if (dtype == HONE_STRING) return set_strings(tensor, data, out_tensor);
  if (count) memcpy(hone_tensor_data(tensor), data, (size_t)count * hone_dtype_size(dtype));
  *out_tensor = tensor;
  return NULL;
}

hone_status_t hone_ml_attr_tensor(const hone_allocator_t* allocator, const hone_onnx_node_t* node,
                                  const char* name, hone_tensor_t** out_tensor) {
  *out_tensor = NULL;
  const hone_onnx_attr_t* attr = hone_onnx_node_attr(node, name);
  if (!attr) return NULL;
  switch (attr->kind) {
    case HONE_ATTR_INT:
    case HONE_ATTR_INTS:
      return make_list(allocator, HONE_I64, attr->count, attr->ints, out_tensor);
    case HONE_ATTR_FLOAT:
    case HONE_ATTR_FLOATS:
      return make_list(allocator, HONE_F32, attr->count, attr->floats, out_tensor);
    case HONE_ATTR_STRING:
    case HONE_ATTR_STRINGS:
      return make_list(allocator, HONE_STRING, attr->count, attr->strings, out_tensor);
    case HONE_ATTR_TENSOR:
      return make_list(allocator, attr->tensors->dtype, attr->tensors->count, attr->tensors->data,
                       out_tensor);
    default:
      return hone_status_make(HONE_INVALID_MODEL, "attribute %s is of a wrong type", name);
  }
}

hone_status_t hone_ml_count_up(const hone_allocator_t* allocator, int64_t count,
                               hone_tensor_t** out_tensor) {
  HONE_TRY(hone_tensor_create(allocator, HONE_I64, 1, &count, out_tensor));
  int64_t* data = hone_tensor_data(*out_tensor);
  for (int64_t i = 0; i < count; i++) data[i] = i;
  return NULL;
}

hone_status_t hone_ml_one_int(const hone_allocator_t* allocator, int64_t value,
                              hone_tensor_t** out_tensor) {
  return make_list(allocator, HONE_I64, 1, &value, out_tensor);
}

hone_status_t hone_ml_one_string(const hone_allocator_t* allocator, const char* value,
                                 hone_tensor_t** out_tensor) {
  hone_string_t string = {value, strlen(value)};
  return make_list(allocator, HONE_STRING, 1, &string, out_tensor);
}

/* ---- numbers ---- */

typedef struct sort_entry {
  double f;
  int64_t i;
  int64_t index; /* into the table */
} sort_entry_t;

static int compare_entries(const void* a, const void* b) {
  const sort_entry_t *x = a, *y = b;
  if (x->f != y->f) return x->f < y->f ? -1 : 1;
  if (x->i != y->i) return x->i < y->i ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Keys in order, without repetitions; NaN is set apart. */
typedef struct sorted {
  bool is_float;
  int64_t count;
  sort_entry_t* entries;
  int64_t nan_index; /* -1: none */
} sorted_t;

static bool sort_keys(hone_builder_t* b, const hone_tensor_t* keys, sorted_t* out) {
  int64_t n = hone_tensor_count(keys), count = 0;
  *out = (sorted_t){.is_float = hone_dtype_is_float(hone_tensor_dtype(keys)), .nan_index = -1};
  out->entries = hone_arena_array(b->graph->arena, (size_t)n, sizeof *out->entries);
  if (!out->entries) {
    hone_fail_status(b, hone_oom());
    return false;
  }
  for (int64_t i = 0; i < n; i++) {
    sort_entry_t entry = {.index = i};
    if (out->is_float)
      entry.f = hone_tensor_f64(keys, i);
    else
      entry.i = hone_tensor_i64(keys, i);
    if (!isnan(entry.f))
      out->entries[count++] = entry;
    else if (out->nan_index < 0)
      out->nan_index = i;
  }
  if (count) qsort(out->entries, (size_t)count, sizeof *out->entries, compare_entries);
  for (int64_t i = 0; i < count; i++) {
    const sort_entry_t* last = out->count ? &out->entries[out->count - 1] : NULL;
    const sort_entry_t* next = &out->entries[i];
    if (!last || last->f != next->f || last->i != next->i) out->entries[out->count++] = *next;
  }
  return true;
}

static hone_value_t* key_constant(hone_builder_t* b, const sorted_t* sorted) {
  int64_t* ints = hone_arena_array(b->graph->arena, (size_t)sorted->count, sizeof *ints);
  double* floats = hone_arena_array(b->graph->arena, (size_t)sorted->count, sizeof *floats);
  if (!ints || !floats) return hone_fail_status(b, hone_oom());
  for (int64_t i = 0; i < sorted->count; i++) {
    ints[i] = sorted->entries[i].i;
    floats[i] = sorted->entries[i].f;
  }
  return hone_constant_data(b, sorted->is_float ? HONE_F64 : HONE_I64, 1, &sorted->count,
                            sorted->is_float ? (void*)floats : (void*)ints);
}

/* Values in the order of the keys. */
static hone_value_t* value_constant(hone_builder_t* b, const sorted_t* sorted,
                                    const hone_tensor_t* values) {
  hone_tensor_t* tensor;
  hone_status_t status = hone_tensor_create(b->graph->allocator, hone_tensor_dtype(values), 1,
                                            &sorted->count, &tensor);
  if (status) return hone_fail_status(b, status);
  for (int64_t i = 0; i < sorted->count && !status; i++)
    status = hone_ml_copy_element(values, sorted->entries[i].index, tensor, i);
  if (!status) return hone_constant(b, tensor);
  hone_tensor_release(tensor);
  return hone_fail_status(b, status);
}

static hone_value_t* element_constant(hone_builder_t* b, const hone_tensor_t* values,
                                      int64_t index) {
  hone_tensor_t* tensor;
  hone_status_t status =
      hone_tensor_create(b->graph->allocator, hone_tensor_dtype(values), 0, NULL, &tensor);
  if (status) return hone_fail_status(b, status);
  status = hone_ml_copy_element(values, index, tensor, 0);
  if (!status) return hone_constant(b, tensor);
  hone_tensor_release(tensor);
  return hone_fail_status(b, status);
}

/* Index of the last key that is not above x; 0 when all are. */
static hone_value_t* search(hone_builder_t* b, hone_value_t* keys, int64_t count, hone_value_t* x) {
  if (!hone_is_known(b, x)) return NULL;
  hone_value_t* at = hone_full(b, HONE_I64, 0, hone_rank(x), x->type.dims);
  int64_t step = 1;
  while (step * 2 < count) step *= 2;
  for (; step > 0; step /= 2) {
    hone_value_t* next = hone_add_number(b, at, (double)step);
    hone_value_t* key = hone_gather(b, keys, hone_min_number(b, next, (double)(count - 1)));
    hone_value_t* ok = hone_and(b, hone_lt_number(b, next, (double)count), hone_le(b, key, x));
    at = hone_select(b, ok, next, at);
  }
  return at;
}

hone_value_t* hone_ml_lookup(hone_lower_t* l, hone_value_t* x, const hone_ml_table_t* table,
                             bool finds_nan) {
  hone_builder_t* b = l->b;
  sorted_t sorted;
  if (!hone_is_known(b, x) || !sort_keys(b, table->keys, &sorted)) return NULL;
  hone_value_t* fallback = element_constant(b, table->fallback, 0);
  hone_value_t* wide = hone_cast(b, x, sorted.is_float ? HONE_F64 : HONE_I64);
  hone_value_t* out = hone_expand(b, fallback, hone_rank(x), x->type.dims);
  if (sorted.count) {
    hone_value_t* keys = key_constant(b, &sorted);
    hone_value_t* at = search(b, keys, sorted.count, wide);
    hone_value_t* found = hone_eq(b, hone_gather(b, keys, at), wide);
    hone_value_t* values = value_constant(b, &sorted, table->values);
    out = hone_select(b, found, hone_gather(b, values, at), out);
  }
  if (sorted.nan_index < 0 || !finds_nan) return out;
  hone_value_t* of_nan = element_constant(b, table->values, sorted.nan_index);
  return hone_select(b, hone_is_nan(b, wide), of_nan, out);
}

/* ---- strings ---- */

static hone_status_t index_keys(hone_map_t* map, const hone_tensor_t* keys) {
  const hone_string_t* strings = hone_tensor_data(keys);
  for (int64_t i = 0; i < hone_tensor_count(keys); i++) {
    if (hone_map_find_n(map, strings[i].data, strings[i].size)) continue;
    HONE_TRY(hone_map_put_n(map, strings[i].data, strings[i].size, (void*)(uintptr_t)(i + 1)));
  }
  return NULL;
}

static hone_status_t look_up_all(const hone_map_t* map, const hone_tensor_t* x,
                                 const hone_ml_table_t* table, hone_tensor_t* out) {
  const hone_string_t* strings = hone_tensor_data(x);
  for (int64_t i = 0; i < hone_tensor_count(x); i++) {
    void* found = hone_map_get_n(map, strings[i].data, strings[i].size);
    int64_t index = (int64_t)(uintptr_t)found - 1;
    HONE_TRY(
        hone_ml_copy_element(found ? table->values : table->fallback, found ? index : 0, out, i));
  }
  return NULL;
}

hone_status_t hone_ml_lookup_strings(hone_host_call_t* call, const hone_ml_table_t* table) {
  const hone_tensor_t* x = call->inputs[0];
  if (hone_tensor_kind(x) != HONE_KIND_TENSOR || hone_tensor_dtype(x) != HONE_STRING)
    return hone_status_make(HONE_INVALID_MODEL, "the keys are strings, the input is not");
  HONE_TRY(hone_tensor_create(call->allocator, hone_tensor_dtype(table->values),
                              hone_tensor_rank(x), hone_tensor_dims(x), &call->outputs[0]));
  hone_map_t map;
  hone_map_init(&map, call->allocator);
  hone_status_t status = index_keys(&map, table->keys);
  if (!status) status = look_up_all(&map, x, table, call->outputs[0]);
  hone_map_free(&map);
  return status;
}

void hone_ml_host_like(hone_lower_t* l, const hone_value_t* x, hone_dtype_t dtype) {
  if (!hone_is_known(l->b, x)) return;
  hone_type_t type = hone_type_tensor(dtype, hone_rank(x), x->type.dims);
  hone_op_host(l, &type);
}
