/* Attributes, types and dimensions to and from the model form. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "import/onnx_read.h"
#include "import/onnx_write.h"

/* The kind that a file of IR version 1, which does not state it, means: the
 * one that has a value. */
static int64_t attr_guess_kind(const hone_proto_attr_t* proto) {
  for (int kind = HONE_ATTR_FLOAT; kind <= HONE_ATTR_TYPES; kind++) {
    if (proto->values[kind].count) return kind;
  }
  return 0;
}

static bool attr_is_list(int64_t kind) {
  return (kind >= HONE_ATTR_FLOATS && kind <= HONE_ATTR_GRAPHS) ||
         kind == HONE_ATTR_SPARSE_TENSORS || kind == HONE_ATTR_TYPES;
}

/* The members of the union are pointers, which share one representation. */
static void attr_set_items(hone_onnx_attr_t* attr, const void* items) {
  memcpy(&attr->floats, &items, sizeof items);
}

static void* attr_items(const hone_onnx_attr_t* attr) {
  void* items;
  memcpy(&items, &attr->floats, sizeof items);
  return items;
}

/* Writers of proto3 leave out a number that is 0 and a string that is empty. */
static hone_status_t attr_default(hone_onnx_reader_t* reader, hone_onnx_attr_t* attr) {
  if (attr->kind != HONE_ATTR_FLOAT && attr->kind != HONE_ATTR_INT &&
      attr->kind != HONE_ATTR_STRING) {
    return hone_status_make(
        HONE_INVALID_MODEL,
        "it says it is of kind %d and has no such value; export the model again", (int)attr->kind);
  }
  hone_string_t* value = hone_arena_alloc(reader->arena, sizeof *value); /* the largest; zeros */
  if (!value) return hone_oom();
  if (attr->kind == HONE_ATTR_STRING) value->data = "";
  attr_set_items(attr, value);
  attr->count = 1;
  return NULL;
}

/* Strings that end in 0: in the file they do not. */
static hone_status_t attr_end_strings(hone_onnx_reader_t* reader, hone_onnx_attr_t* attr) {
  if (attr->kind != HONE_ATTR_STRING && attr->kind != HONE_ATTR_STRINGS) return NULL;
  for (int64_t i = 0; i < attr->count; i++) {
    hone_string_t* string = &attr->strings[i];
    string->data =
        string->size ? hone_arena_strndup(reader->arena, string->data, string->size) : "";
    if (!string->data) return hone_oom();
  }
  return NULL;
}

hone_status_t hone_finish_attr(hone_onnx_reader_t* reader, const void* proto_struct,
                               hone_string_t body, void* out_model) {
  const hone_proto_attr_t* proto = proto_struct;
  int64_t kind = proto->kind ? proto->kind : attr_guess_kind(proto);
  bool is_ref = proto->ref && *proto->ref;
  if (kind < HONE_ATTR_FLOAT || kind > HONE_ATTR_TYPES) {
    if (kind || !is_ref) {
      return hone_status_make(HONE_INVALID_MODEL, "it has no value of a known kind (%" PRId64 ")",
                              kind);
    }
    kind = HONE_ATTR_INT; /* whatever the function's attribute is will take its place */
  }
  hone_onnx_attr_t* attr = out_model;
  *attr = (hone_onnx_attr_t){.name = proto->name,
                             .kind = (hone_onnx_attr_kind_t)kind,
                             .ref = is_ref ? proto->ref : NULL,
                             .doc = proto->doc};
  if (is_ref) return NULL;
  attr->count = proto->values[kind].count;
  attr_set_items(attr, proto->values[kind].items);
  HONE_TRY(attr_end_strings(reader, attr));
  return attr->count || attr_is_list(kind) ? NULL : attr_default(reader, attr);
}

hone_status_t hone_prepare_attr(hone_onnx_writer_t* writer, const void* model, void* out_proto) {
  const hone_onnx_attr_t* attr = model;
  hone_proto_attr_t* proto = out_proto;
  if (attr->kind < HONE_ATTR_FLOAT || attr->kind > HONE_ATTR_TYPES) {
    return hone_status_make(HONE_INVALID_ARGUMENT, "attribute '%s' has no kind", attr->name);
  }
  *proto = (hone_proto_attr_t){
      .name = attr->name, .ref = attr->ref, .doc = attr->doc, .kind = attr->kind};
  if (attr->ref) return NULL;
  proto->values[attr->kind] = (hone_proto_list_t){.items = attr_items(attr), .count = attr->count};
  return NULL;
}

hone_status_t hone_finish_dim(hone_onnx_reader_t* reader, const void* proto_struct,
                              hone_string_t body, void* out_model) {
  const hone_proto_dim_t* proto = proto_struct;
  hone_onnx_dim_t* dim = out_model;
  int64_t value = proto->n_values ? *proto->value : -1;
  if (value < -1) {
    return hone_status_make(HONE_INVALID_MODEL, "a dimension is negative (%" PRId64 ")", value);
  }
  /* Some exporters write "?" and "-1" for what they do not know: these are not
   * one dimension, as dimensions of one name are. */
  const char* symbol = proto->symbol ? proto->symbol : "";
  bool has_symbol = *symbol && strcmp(symbol, "?") != 0 && strcmp(symbol, "-1") != 0;
  *dim = (hone_onnx_dim_t){.value = value, .symbol = has_symbol ? symbol : NULL};
  return NULL;
}

hone_status_t hone_prepare_dim(hone_onnx_writer_t* writer, const void* model, void* out_proto) {
  const hone_onnx_dim_t* dim = model;
  hone_proto_dim_t* proto = out_proto;
  bool has_value = dim->value >= 0;
  *proto = (hone_proto_dim_t){.value = has_value ? (int64_t*)&dim->value : NULL,
                              .n_values = has_value,
                              .symbol = has_value ? NULL : dim->symbol};
  return NULL;
}

static hone_status_t type_dtype(int64_t number, hone_dtype_t* out_dtype) {
  if (number < 0 || number >= HONE_DTYPE_COUNT) {
    return hone_status_make(HONE_INVALID_MODEL, "hone has no element type %" PRId64, number);
  }
  *out_dtype = (hone_dtype_t)number;
  return NULL;
}

hone_status_t hone_finish_type(hone_onnx_reader_t* reader, const void* proto_struct,
                               hone_string_t body, void* out_model) {
  const hone_proto_type_t* proto = proto_struct;
  hone_onnx_type_t* type = out_model;
  *type = (hone_onnx_type_t){.rank = -1, .denotation = proto->denotation};
  for (int kind = HONE_ONNX_TYPE_TENSOR; kind <= HONE_ONNX_TYPE_SPARSE; kind++) {
    const hone_proto_type_body_t* form = proto->bodies[kind];
    if (!form) continue;
    type->kind = (hone_onnx_type_kind_t)kind;
    type->element = form->element;
    HONE_TRY(type_dtype(form->dtype, &type->dtype));
    if (!form->shape) continue;
    if (form->shape->rank > HONE_MAX_RANK) {
      return hone_status_make(HONE_UNSUPPORTED, "it has %d dimensions; hone takes %d",
                              form->shape->rank, HONE_MAX_RANK);
    }
    type->rank = form->shape->rank;
    type->dims = form->shape->dims;
  }
  return NULL;
}

hone_status_t hone_prepare_type(hone_onnx_writer_t* writer, const void* model, void* out_proto) {
  const hone_onnx_type_t* type = model;
  hone_proto_type_t* proto = out_proto;
  *proto = (hone_proto_type_t){.denotation = type->denotation};
  if (type->kind == HONE_ONNX_TYPE_NONE) return NULL;
  hone_proto_type_body_t* form = hone_arena_alloc(writer->arena, sizeof *form);
  hone_proto_shape_t* shape = hone_arena_alloc(writer->arena, sizeof *shape);
  if (!form || !shape) return hone_oom();
  *shape = (hone_proto_shape_t){.dims = type->dims, .rank = type->rank};
  *form = (hone_proto_type_body_t){
      .dtype = type->dtype, .element = type->element, .shape = type->rank >= 0 ? shape : NULL};
  proto->bodies[type->kind] = form;
  return NULL;
}
