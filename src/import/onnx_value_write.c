/* Tensors to TensorProto, SequenceProto, MapProto and OptionalProto. The
 * structs are made in an arena and point at the tensors' elements. */
#include <string.h>

#include "base/memory.h"
#include "import/onnx.h"
#include "import/onnx_write.h"

static hone_status_t to_tensor(hone_arena_t* arena, const hone_tensor_t* tensor, void* proto) {
  hone_onnx_tensor_t* out = proto;
  size_t rank = (size_t)hone_tensor_rank(tensor);
  *out = (hone_onnx_tensor_t){.name = "",
                              .dtype = hone_tensor_dtype(tensor),
                              .rank = (int)rank,
                              .count = hone_tensor_count(tensor),
                              .data = hone_tensor_data(tensor),
                              .bytes = hone_tensor_bytes(tensor),
                              .doc = ""};
  out->dims = hone_arena_memdup(arena, hone_tensor_dims(tensor), rank * sizeof *out->dims);
  return out->dims ? NULL : hone_oom();
}

static hone_status_t to_sequence(hone_arena_t* arena, const hone_tensor_t* tensor, void* proto);
static hone_status_t to_map(hone_arena_t* arena, const hone_tensor_t* tensor, void* proto);
static hone_status_t to_optional(hone_arena_t* arena, const hone_tensor_t* tensor, void* proto);

typedef struct element_form {
  hone_status_t (*make)(hone_arena_t* arena, const hone_tensor_t* tensor, void* proto);
  const hone_proto_message_t* message;
} element_form_t;

static const element_form_t element_forms[] = {
    [HONE_ELEMENT_TENSOR] = {to_tensor, &hone_proto_tensor},
    [HONE_ELEMENT_SEQUENCE] = {to_sequence, &hone_proto_sequence},
    [HONE_ELEMENT_MAP] = {to_map, &hone_proto_map},
    [HONE_ELEMENT_OPTIONAL] = {to_optional, &hone_proto_optional},
};

static int element_of(const hone_tensor_t* tensor) {
  switch (hone_tensor_kind(tensor)) {
    case HONE_KIND_TENSOR:
      return HONE_ELEMENT_TENSOR;
    case HONE_KIND_SEQUENCE:
      return HONE_ELEMENT_SEQUENCE;
    case HONE_KIND_MAP:
      return HONE_ELEMENT_MAP;
    default:
      return HONE_ELEMENT_OPTIONAL;
  }
}

/* Allocates the list of `kind` in `value`, which becomes its kind of element. */
static hone_status_t make_list(hone_arena_t* arena, int kind, int64_t count,
                               hone_proto_value_t* value) {
  hone_proto_list_t* list = &value->lists[kind];
  value->element = kind;
  list->count = count;
  list->items = hone_arena_array(arena, (size_t)count, element_forms[kind].message->model_size);
  return list->items ? NULL : hone_oom();
}

static void* list_item(const hone_proto_value_t* value, int kind, int64_t index) {
  size_t size = element_forms[kind].message->model_size;
  return (char*)value->lists[kind].items + (size_t)index * size;
}

/* What can hold every item: their own kind, or optionals where they differ. */
static int common_element(const hone_tensor_t* sequence) {
  int64_t count = hone_tensor_count(sequence);
  int kind = count ? element_of(hone_sequence_item(sequence, 0)) : HONE_ELEMENT_TENSOR;
  for (int64_t i = 1; i < count; i++) {
    if (element_of(hone_sequence_item(sequence, i)) != kind) return HONE_ELEMENT_OPTIONAL;
  }
  return kind;
}

static hone_status_t to_sequence(hone_arena_t* arena, const hone_tensor_t* tensor, void* proto) {
  hone_proto_value_t* value = proto;
  int kind = common_element(tensor);
  HONE_TRY(make_list(arena, kind, hone_tensor_count(tensor), value));
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++) {
    HONE_TRY(
        element_forms[kind].make(arena, hone_sequence_item(tensor, i), list_item(value, kind, i)));
  }
  return NULL;
}

static hone_status_t to_optional(hone_arena_t* arena, const hone_tensor_t* tensor, void* proto) {
  hone_proto_value_t* value = proto;
  int kind = element_of(tensor);
  if (kind == HONE_ELEMENT_OPTIONAL) return NULL; /* without content */
  HONE_TRY(make_list(arena, kind, 1, value));
  return element_forms[kind].make(arena, tensor, list_item(value, kind, 0));
}

static hone_status_t int_keys(hone_arena_t* arena, const hone_tensor_t* keys,
                              hone_proto_value_t* value) {
  size_t size = hone_dtype_size(hone_tensor_dtype(keys));
  bool is_signed = !hone_dtype_is_unsigned(hone_tensor_dtype(keys));
  value->n_keys = hone_tensor_count(keys);
  value->keys = hone_arena_array(arena, (size_t)value->n_keys, sizeof *value->keys);
  if (!value->keys) return hone_oom();
  for (int64_t i = 0; i < value->n_keys; i++) {
    const uint8_t* key = (const uint8_t*)hone_tensor_data(keys) + (size_t)i * size;
    if (is_signed && key[size - 1] >= 0x80) value->keys[i] = -1; /* extends the sign */
    memcpy(&value->keys[i], key, size);
  }
  return NULL;
}

static hone_status_t map_keys(hone_arena_t* arena, const hone_tensor_t* keys,
                              hone_proto_value_t* value) {
  hone_dtype_t dtype = hone_tensor_dtype(keys);
  value->element = dtype;
  if (hone_dtype_is_int(dtype)) return int_keys(arena, keys, value);
  if (dtype != HONE_STRING) {
    return hone_status_make(HONE_INVALID_ARGUMENT, "a map's keys are %s, not integers or strings",
                            hone_dtype_name(dtype));
  }
  value->string_keys = hone_tensor_data(keys);
  value->n_string_keys = hone_tensor_count(keys);
  return NULL;
}

/* The entries of a 1-D tensor as tensors without dimensions. */
static hone_status_t split_values(hone_arena_t* arena, const hone_tensor_t* values,
                                  hone_proto_value_t* sequence) {
  size_t size = hone_dtype_size(hone_tensor_dtype(values));
  HONE_TRY(make_list(arena, HONE_ELEMENT_TENSOR, hone_tensor_count(values), sequence));
  hone_onnx_tensor_t* items = sequence->lists[HONE_ELEMENT_TENSOR].items;
  for (int64_t i = 0; i < hone_tensor_count(values); i++) {
    items[i] = (hone_onnx_tensor_t){.name = "",
                                    .dtype = hone_tensor_dtype(values),
                                    .count = 1,
                                    .data = (const char*)hone_tensor_data(values) + i * size,
                                    .bytes = size,
                                    .doc = ""};
  }
  return NULL;
}

static hone_status_t to_map(hone_arena_t* arena, const hone_tensor_t* tensor, void* proto) {
  hone_proto_value_t* value = proto;
  const hone_tensor_t* values = hone_sequence_item(tensor, 1);
  HONE_TRY(make_list(arena, HONE_ELEMENT_SEQUENCE, 1, value));
  HONE_TRY(map_keys(arena, hone_sequence_item(tensor, 0), value));
  hone_proto_value_t* sequence = list_item(value, HONE_ELEMENT_SEQUENCE, 0);
  if (hone_tensor_kind(values) == HONE_KIND_TENSOR) return split_values(arena, values, sequence);
  return to_sequence(arena, values, sequence);
}

static hone_status_t choose_element(const hone_tensor_t* tensor, hone_onnx_type_kind_t kind,
                                    int* out_element) {
  static const int wanted[] = {
      [HONE_ONNX_TYPE_TENSOR] = HONE_ELEMENT_TENSOR,
      [HONE_ONNX_TYPE_SEQUENCE] = HONE_ELEMENT_SEQUENCE,
      [HONE_ONNX_TYPE_MAP] = HONE_ELEMENT_MAP,
      [HONE_ONNX_TYPE_OPTIONAL] = HONE_ELEMENT_OPTIONAL,
  };
  *out_element = element_of(tensor);
  if (kind == HONE_ONNX_TYPE_NONE) return NULL;
  if ((unsigned)kind < sizeof wanted / sizeof *wanted &&
      (wanted[kind] == *out_element || kind == HONE_ONNX_TYPE_OPTIONAL)) {
    *out_element = wanted[kind];
    return NULL;
  }
  return hone_status_make(HONE_INVALID_ARGUMENT,
                          "the value cannot be written as this kind of type (%d)", (int)kind);
}

static hone_status_t save_value(hone_arena_t* arena, const hone_allocator_t* allocator,
                                const hone_tensor_t* tensor, int element, void** out_data,
                                size_t* out_size) {
  const element_form_t* form = &element_forms[element];
  void* proto = hone_arena_alloc(arena, form->message->model_size);
  if (!proto) return hone_oom();
  HONE_TRY(form->make(arena, tensor, proto));
  return hone_onnx_write_memory(allocator, form->message, proto, out_data, out_size);
}

hone_status_t hone_onnx_save_tensor(const hone_allocator_t* allocator, const hone_tensor_t* tensor,
                                    hone_onnx_type_kind_t kind, void** out_data, size_t* out_size) {
  *out_data = NULL;
  *out_size = 0;
  if (!tensor) return hone_status_make(HONE_INVALID_ARGUMENT, "the tensor to write is NULL");
  int element;
  HONE_TRY(choose_element(tensor, kind, &element));
  hone_arena_t* arena;
  HONE_TRY(hone_arena_create(allocator, &arena));
  hone_status_t status = save_value(arena, allocator, tensor, element, out_data, out_size);
  hone_arena_destroy(arena);
  return status;
}
