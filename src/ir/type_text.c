#include "ir/type_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ir/text_writer.h"

static void put_dim(hone_text_writer_t* w, hone_dim_t dim) {
  bool fits = w->length < w->size;
  w->length +=
      hone_dim_print(dim, fits ? w->buffer + w->length : NULL, fits ? w->size - w->length : 0);
}

static void put_type(hone_text_writer_t* w, const hone_type_t* type);

static void put_element(hone_text_writer_t* w, const char* kind, const hone_type_t* element) {
  hone_text_put(w, kind);
  hone_text_put(w, "(");
  if (element)
    put_type(w, element);
  else
    hone_text_put(w, "any");
  hone_text_put(w, ")");
}

static void put_tensor(hone_text_writer_t* w, const hone_type_t* type) {
  hone_text_put(w, hone_dtype_name(type->dtype));
  if (type->rank < 0) {
    hone_text_put(w, "[...]");
    return;
  }
  hone_text_put(w, "[");
  for (int i = 0; i < type->rank; i++) {
    if (i) hone_text_put(w, ", ");
    if (type->dims)
      put_dim(w, type->dims[i]);
    else
      hone_text_put(w, "?");
  }
  hone_text_put(w, "]");
}

static void put_type(hone_text_writer_t* w, const hone_type_t* type) {
  switch (type->kind) {
    case HONE_TYPE_ANY:
      hone_text_put(w, "any");
      break;
    case HONE_TYPE_TENSOR:
      put_tensor(w, type);
      break;
    case HONE_TYPE_SEQUENCE:
      put_element(w, "sequence", type->element);
      break;
    case HONE_TYPE_MAP:
      hone_text_put(w, "map");
      break;
    case HONE_TYPE_OPTIONAL:
      put_element(w, "optional", type->element);
      break;
  }
}

size_t hone_type_print(const hone_type_t* type, char* buffer, size_t size) {
  hone_text_writer_t w = {.buffer = buffer, .size = size};
  put_type(&w, type);
  return hone_text_finish(&w);
}

size_t hone_tensor_type_print(const hone_tensor_t* tensor, char* buffer, size_t size) {
  static const char* const kinds[] = {
      [HONE_KIND_SEQUENCE] = "sequence", [HONE_KIND_MAP] = "map", [HONE_KIND_NONE] = "none"};
  hone_text_writer_t w = {.buffer = buffer, .size = size};
  char number[32];
  if (hone_tensor_kind(tensor) != HONE_KIND_TENSOR) {
    hone_text_put(&w, kinds[hone_tensor_kind(tensor)]);
    return hone_text_finish(&w);
  }
  hone_text_put(&w, hone_dtype_name(hone_tensor_dtype(tensor)));
  hone_text_put(&w, "[");
  for (int i = 0; i < hone_tensor_rank(tensor); i++) {
    snprintf(number, sizeof number, "%s%" PRId64, i ? ", " : "", hone_tensor_dims(tensor)[i]);
    hone_text_put(&w, number);
  }
  hone_text_put(&w, "]");
  return hone_text_finish(&w);
}
