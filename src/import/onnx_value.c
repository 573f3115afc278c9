/* Values in files: TensorProto, SequenceProto, MapProto and OptionalProto to
 * tensors. */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "import/onnx.h"
#include "import/onnx_read.h"

enum { MAX_DEPTH = 100 };

/* A list of tensors under construction; owns one reference to each. */
typedef struct items {
  const hone_allocator_t* allocator;
  hone_tensor_t** items;
  int64_t room;
  int64_t count;
} items_t;

static hone_status_t items_make(const hone_allocator_t* allocator, int64_t room, items_t* items) {
  size_t size;
  *items = (items_t){.allocator = allocator, .room = room};
  if (!hone_size_mul((size_t)room, sizeof *items->items, &size)) return hone_oom();
  items->items = hone_alloc(allocator, size);
  return items->items ? NULL : hone_oom();
}

/* Makes a sequence or map of the items, when `status` is success, and drops
 * the references in any case. */
static hone_status_t items_finish(items_t* items, hone_kind_t kind, hone_status_t status,
                                  hone_tensor_t** out_tensor) {
  if (!status) {
    status = hone_sequence_create(items->allocator, kind, items->count, items->items, out_tensor);
  }
  for (int64_t i = 0; i < items->count; i++) hone_tensor_release(items->items[i]);
  hone_free(items->allocator, items->items, (size_t)items->room * sizeof *items->items);
  return status;
}

static hone_status_t set_strings(hone_tensor_t* tensor, const hone_string_t* strings) {
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++) {
    HONE_TRY(hone_tensor_set_string(tensor, i, strings[i].data, strings[i].size));
  }
  return NULL;
}

/* A tensor that owns a copy of `data`. */
static hone_status_t copy_elements(const hone_allocator_t* allocator, hone_dtype_t dtype, int rank,
                                   const int64_t* dims, const void* data,
                                   hone_tensor_t** out_tensor) {
  HONE_TRY(hone_tensor_create(allocator, dtype, rank, dims, out_tensor));
  hone_status_t status = NULL;
  if (dtype == HONE_STRING) {
    status = set_strings(*out_tensor, data);
  } else if (hone_tensor_bytes(*out_tensor)) {
    memcpy(hone_tensor_data(*out_tensor), data, hone_tensor_bytes(*out_tensor));
  }
  if (status) {
    hone_tensor_release(*out_tensor);
    *out_tensor = NULL;
  }
  return status;
}

static hone_status_t from_tensor(const hone_allocator_t* allocator, const void* proto,
                                 hone_tensor_t** out_tensor) {
  const hone_onnx_tensor_t* tensor = proto;
  return copy_elements(allocator, tensor->dtype, tensor->rank, tensor->dims, tensor->data,
                       out_tensor);
}

/* Where value `i` of a sparse tensor goes, counted in elements. The reader has
 * checked that it is inside. */
static int64_t sparse_place(const hone_onnx_sparse_t* sparse, int64_t i) {
  const char* indices = sparse->indices.data;
  int per_value = sparse->indices.rank == 1 ? 1 : sparse->rank;
  int64_t place = 0, index;
  for (int axis = 0; axis < per_value; axis++) {
    memcpy(&index, indices + (size_t)(i * per_value + axis) * sizeof index, sizeof index);
    place = per_value == 1 ? index : place * sparse->dims[axis] + index;
  }
  return place;
}

static hone_status_t from_sparse(const hone_allocator_t* allocator, const void* proto,
                                 hone_tensor_t** out_tensor) {
  const hone_onnx_sparse_t* sparse = proto;
  hone_dtype_t dtype = sparse->values.dtype;
  if (dtype == HONE_STRING) {
    return hone_status_make(HONE_UNSUPPORTED, "a sparse tensor of strings is not supported");
  }
  HONE_TRY(hone_tensor_create(allocator, dtype, sparse->rank, sparse->dims, out_tensor));
  size_t size = hone_dtype_size(dtype);
  for (int64_t i = 0; i < sparse->values.count; i++) {
    memcpy((char*)hone_tensor_data(*out_tensor) + (size_t)sparse_place(sparse, i) * size,
           (const char*)sparse->values.data + (size_t)i * size, size);
  }
  return NULL;
}

static hone_status_t from_sequence(const hone_allocator_t* allocator, const void* proto,
                                   hone_tensor_t** out_tensor);
static hone_status_t from_map(const hone_allocator_t* allocator, const void* proto,
                              hone_tensor_t** out_tensor);
static hone_status_t from_optional(const hone_allocator_t* allocator, const void* proto,
                                   hone_tensor_t** out_tensor);

typedef struct element_form {
  hone_status_t (*make)(const hone_allocator_t* allocator, const void* proto,
                        hone_tensor_t** out_tensor);
  size_t size; /* of the struct */
} element_form_t;

static const element_form_t element_forms[] = {
    [HONE_ELEMENT_TENSOR] = {from_tensor, sizeof(hone_onnx_tensor_t)},
    [HONE_ELEMENT_SPARSE] = {from_sparse, sizeof(hone_onnx_sparse_t)},
    [HONE_ELEMENT_SEQUENCE] = {from_sequence, sizeof(hone_proto_value_t)},
    [HONE_ELEMENT_MAP] = {from_map, sizeof(hone_proto_value_t)},
    [HONE_ELEMENT_OPTIONAL] = {from_optional, sizeof(hone_proto_value_t)},
};

/* The list that has something in it; HONE_ELEMENT_NONE when none has. Files
 * do not always state the kind of elements, and it says no more than this. */
static int filled_list(const hone_proto_value_t* value) {
  for (int kind = HONE_ELEMENT_TENSOR; kind <= HONE_ELEMENT_OPTIONAL; kind++) {
    if (value->lists[kind].count) return kind;
  }
  return HONE_ELEMENT_NONE;
}

static hone_status_t from_sequence(const hone_allocator_t* allocator, const void* proto,
                                   hone_tensor_t** out_tensor) {
  const hone_proto_value_t* value = proto;
  int kind = filled_list(value);
  const hone_proto_list_t* list = &value->lists[kind];
  items_t items;
  HONE_TRY(items_make(allocator, list->count, &items));
  hone_status_t status = NULL;
  for (int64_t i = 0; i < list->count && !status; i++) {
    const char* item = (const char*)list->items + (size_t)i * element_forms[kind].size;
    status = element_forms[kind].make(allocator, item, &items.items[i]);
    if (!status) items.count++;
  }
  return items_finish(&items, HONE_KIND_SEQUENCE, status, out_tensor);
}

static hone_status_t from_optional(const hone_allocator_t* allocator, const void* proto,
                                   hone_tensor_t** out_tensor) {
  const hone_proto_value_t* value = proto;
  int kind = filled_list(value);
  if (kind == HONE_ELEMENT_NONE) return hone_none_create(allocator, out_tensor);
  return element_forms[kind].make(allocator, value->lists[kind].items, out_tensor);
}

static hone_status_t map_keys(const hone_allocator_t* allocator, const hone_proto_value_t* map,
                              hone_tensor_t** out_tensor) {
  bool strings = map->element == HONE_STRING;
  int64_t count = strings ? map->n_string_keys : map->n_keys;
  return copy_elements(allocator, strings ? HONE_STRING : HONE_I64, 1, &count,
                       strings ? (const void*)map->string_keys : map->keys, out_tensor);
}

static hone_status_t map_values(const hone_allocator_t* allocator, const hone_proto_value_t* map,
                                hone_tensor_t** out_tensor) {
  static const hone_proto_value_t nothing;
  const hone_proto_list_t* values = &map->lists[HONE_ELEMENT_SEQUENCE];
  return from_sequence(allocator, values->count ? values->items : &nothing, out_tensor);
}

static hone_status_t from_map(const hone_allocator_t* allocator, const void* proto,
                              hone_tensor_t** out_tensor) {
  items_t items;
  HONE_TRY(items_make(allocator, 2, &items));
  hone_status_t status = map_keys(allocator, proto, &items.items[0]);
  if (!status) items.count = 1;
  if (!status) status = map_values(allocator, proto, &items.items[1]);
  if (!status) items.count = 2;
  if (!status && hone_tensor_count(items.items[0]) != hone_tensor_count(items.items[1])) {
    status =
        hone_status_make(HONE_INVALID_MODEL, "a map has %" PRId64 " keys and %" PRId64 " values",
                         hone_tensor_count(items.items[0]), hone_tensor_count(items.items[1]));
  }
  return items_finish(&items, HONE_KIND_MAP, status, out_tensor);
}

/* How a value of each kind of type is stored. */
static const hone_proto_message_t* const messages[] = {
    [HONE_ONNX_TYPE_NONE] = &hone_proto_tensor,       [HONE_ONNX_TYPE_TENSOR] = &hone_proto_tensor,
    [HONE_ONNX_TYPE_SEQUENCE] = &hone_proto_sequence, [HONE_ONNX_TYPE_MAP] = &hone_proto_map,
    [HONE_ONNX_TYPE_OPTIONAL] = &hone_proto_optional, [HONE_ONNX_TYPE_SPARSE] = &hone_proto_sparse,
};
static const int elements[] = {
    [HONE_ONNX_TYPE_NONE] = HONE_ELEMENT_TENSOR,
    [HONE_ONNX_TYPE_TENSOR] = HONE_ELEMENT_TENSOR,
    [HONE_ONNX_TYPE_SEQUENCE] = HONE_ELEMENT_SEQUENCE,
    [HONE_ONNX_TYPE_MAP] = HONE_ELEMENT_MAP,
    [HONE_ONNX_TYPE_OPTIONAL] = HONE_ELEMENT_OPTIONAL,
    [HONE_ONNX_TYPE_SPARSE] = HONE_ELEMENT_SPARSE,
};

static hone_status_t read_value(hone_arena_t* arena, hone_string_t body, hone_onnx_type_kind_t kind,
                                void** out_proto) {
  *out_proto = hone_arena_alloc(arena, messages[kind]->model_size);
  if (!*out_proto) return hone_oom();
  hone_onnx_reader_t reader = {
      .arena = arena, .start = (const uint8_t*)body.data, .max_depth = MAX_DEPTH};
  return hone_onnx_read_message(&reader, messages[kind], body, *out_proto);
}

hone_status_t hone_onnx_load_tensor_memory(const hone_allocator_t* allocator, const void* data,
                                           size_t size, hone_onnx_type_kind_t kind,
                                           hone_tensor_t** out_tensor) {
  *out_tensor = NULL;
  if (!data || (unsigned)kind >= sizeof messages / sizeof *messages) {
    return hone_status_make(HONE_INVALID_ARGUMENT, "a value's bytes are NULL, or its kind unknown");
  }
  if (!allocator) allocator = hone_allocator_system();
  hone_arena_t* arena;
  HONE_TRY(hone_arena_create(allocator, &arena));
  void* proto;
  hone_status_t status =
      read_value(arena, (hone_string_t){.data = data, .size = size}, kind, &proto);
  if (!status) status = element_forms[elements[kind]].make(allocator, proto, out_tensor);
  hone_arena_destroy(arena);
  return status;
}

hone_status_t hone_onnx_load_tensor_file(const hone_allocator_t* allocator, const char* path,
                                         hone_onnx_type_kind_t kind, hone_tensor_t** out_tensor) {
  *out_tensor = NULL;
  hone_file_map_t map;
  HONE_TRY(hone_file_map_open(path, &map));
  hone_status_t status =
      hone_onnx_load_tensor_memory(allocator, map.data, map.size, kind, out_tensor);
  hone_file_map_close(&map);
  return hone_status_annotate(status, "%s", path);
}
