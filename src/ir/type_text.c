#include "ir/type_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A bounded text that counts what it could not hold. */
typedef struct writer {
  char* buffer;
  size_t size, length;
} writer_t;

static void put(writer_t* w, const char* text) {
  for (; *text; text++) {
    if (w->length + 1 < w->size) w->buffer[w->length] = *text;
    w->length++;
  }
}

static size_t finish(const writer_t* w) {
  if (w->size) w->buffer[w->length < w->size ? w->length : w->size - 1] = 0;
  return w->length;
}

static void put_dim(writer_t* w, hone_dim_t dim) {
  bool fits = w->length < w->size;
  w->length +=
      hone_dim_print(dim, fits ? w->buffer + w->length : NULL, fits ? w->size - w->length : 0);
}

static void put_type(writer_t* w, const hone_type_t* type);

static void put_element(writer_t* w, const char* kind, const hone_type_t* element) {
  put(w, kind);
  put(w, "(");
  if (element)
    put_type(w, element);
  else
    put(w, "any");
  put(w, ")");
}

static void put_tensor(writer_t* w, const hone_type_t* type) {
  put(w, hone_dtype_name(type->dtype));
  if (type->rank < 0) {
    put(w, "[...]");
    return;
  }
  put(w, "[");
  for (int i = 0; i < type->rank; i++) {
    if (i) put(w, ", ");
    if (type->dims)
      put_dim(w, type->dims[i]);
    else
      put(w, "?");
  }
  put(w, "]");
}

static void put_type(writer_t* w, const hone_type_t* type) {
  switch (type->kind) {
    case HONE_TYPE_ANY:
      put(w, "any");
      break;
    case HONE_TYPE_TENSOR:
      put_tensor(w, type);
      break;
    case HONE_TYPE_SEQUENCE:
      put_element(w, "sequence", type->element);
      break;
    case HONE_TYPE_MAP:
      put(w, "map");
      break;
    case HONE_TYPE_OPTIONAL:
      put_element(w, "optional", type->element);
      break;
  }
}

size_t hone_type_print(const hone_type_t* type, char* buffer, size_t size) {
  writer_t w = {.buffer = buffer, .size = size};
  put_type(&w, type);
  return finish(&w);
}

size_t hone_tensor_type_print(const hone_tensor_t* tensor, char* buffer, size_t size) {
  static const char* const kinds[] = {
      [HONE_KIND_SEQUENCE] = "sequence", [HONE_KIND_MAP] = "map", [HONE_KIND_NONE] = "none"};
  writer_t w = {.buffer = buffer, .size = size};
  char number[32];
  if (hone_tensor_kind(tensor) != HONE_KIND_TENSOR) {
    put(&w, kinds[hone_tensor_kind(tensor)]);
    return finish(&w);
  }
  put(&w, hone_dtype_name(hone_tensor_dtype(tensor)));
  put(&w, "[");
  for (int i = 0; i < hone_tensor_rank(tensor); i++) {
    snprintf(number, sizeof number, "%s%" PRId64, i ? ", " : "", hone_tensor_dims(tensor)[i]);
    put(&w, number);
  }
  put(&w, "]");
  return finish(&w);
}
