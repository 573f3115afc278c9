/* Reading and writing of single values. */
#include "runtime/engine_io.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { MAX_TYPE_DEPTH = 16, MOST_ENTRIES = 1 << 26 };

void hone_io_fail(hone_io_t* io, const char* what) {
  if (!hone_io_failed(io)) io->failure = what;
}

hone_status_t hone_io_status(const hone_io_t* io) {
  if (io->out_of_memory || (io->out && io->out->failed)) return hone_oom();
  if (!io->failure) return NULL;
  return hone_status_make(HONE_INVALID_DATA, "the program is damaged near byte %zu: %s", io->at,
                          io->failure);
}

/* ---- numbers ---- */

void hone_io_bytes(hone_io_t* io, void* data, size_t size) {
  if (hone_io_writes(io)) {
    hone_str_append_n(io->out, data, size);
    return;
  }
  if (!hone_io_failed(io) && size > io->size - io->at) hone_io_fail(io, "it is cut off");
  if (hone_io_failed(io)) {
    memset(data, 0, size);
    return;
  }
  memcpy(data, io->data + io->at, size);
  io->at += size;
}

void hone_io_u64(hone_io_t* io, uint64_t* value) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(*value >> (8 * i));
  hone_io_bytes(io, bytes, sizeof bytes);
  if (hone_io_writes(io)) return;
  *value = 0;
  for (int i = 0; i < 8; i++) *value |= (uint64_t)bytes[i] << (8 * i);
}

void hone_io_i64(hone_io_t* io, int64_t* value) {
  uint64_t bits = (uint64_t)*value;
  hone_io_u64(io, &bits);
  *value = (int64_t)bits;
}

void hone_io_int(hone_io_t* io, int* value, int least, int most) {
  uint32_t bits = (uint32_t)*value;
  uint8_t bytes[4];
  for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(bits >> (8 * i));
  hone_io_bytes(io, bytes, sizeof bytes);
  if (hone_io_writes(io)) return;
  bits = 0;
  for (int i = 0; i < 4; i++) bits |= (uint32_t)bytes[i] << (8 * i);
  *value = (int)bits;
  if (*value >= least && *value <= most) return;
  hone_io_fail(io, "a number is out of range");
  *value = least > 0 ? least : 0;
}

void hone_io_bool(hone_io_t* io, bool* value) {
  int number = *value;
  hone_io_int(io, &number, 0, 1);
  *value = number != 0;
}

/* ---- lists ---- */

void hone_io_count(hone_io_t* io, int* count, size_t least) {
  hone_io_int(io, count, 0, MOST_ENTRIES);
  if (hone_io_writes(io) || hone_io_failed(io)) return;
  if ((size_t)*count > (io->size - io->at) / least) hone_io_fail(io, "a list is longer than all");
  if (hone_io_failed(io)) *count = 0;
}

void* hone_io_array(hone_io_t* io, const void* there, int count, size_t size) {
  if (hone_io_writes(io)) return (void*)(uintptr_t)there;
  void* room = hone_arena_array(io->arena, (size_t)count + 1, size);
  if (!room) io->out_of_memory = true;
  return room;
}

void hone_io_text(hone_io_t* io, const char** text) {
  int length = hone_io_writes(io) && *text ? (int)strlen(*text) : 0;
  hone_io_count(io, &length, 1);
  if (hone_io_writes(io)) {
    hone_str_append_n(io->out, *text ? *text : "", (size_t)length);
    return;
  }
  char* read = hone_io_array(io, NULL, length, 1);
  *text = read ? read : "";
  if (read) hone_io_bytes(io, read, (size_t)length);
  if (read && strlen(read) != (size_t)length) hone_io_fail(io, "a text holds a zero");
}

void hone_io_ints(hone_io_t* io, int count, const int** list, int least, int most) {
  int* entries = hone_io_array(io, *list, count, sizeof *entries);
  *list = entries;
  for (int i = 0; entries && i < count; i++) hone_io_int(io, &entries[i], least, most);
}

/* ---- dimensions and types ---- */

static void write_expression(hone_io_t* io, hone_dim_t dim) {
  size_t length = hone_dim_print(dim, NULL, 0);
  char* text = hone_alloc(io->out->allocator, length + 1);
  if (!text) {
    io->out_of_memory = true;
    return;
  }
  hone_dim_print(dim, text, length + 1);
  const char* printed = text;
  hone_io_text(io, &printed);
  hone_free(io->out->allocator, text, length + 1);
}

static hone_dim_t read_expression(hone_io_t* io) {
  const char* text;
  hone_io_text(io, &text);
  if (hone_io_failed(io)) return hone_dim_int(0);
  int known = hone_dims_symbol_count(io->dims);
  hone_dim_t dim = hone_dim_parse(io->dims, &text);
  if (hone_dims_out_of_memory(io->dims)) io->out_of_memory = true;
  if (*text || hone_dim_is_bad(dim)) hone_io_fail(io, "a dimension makes no sense");
  if (hone_dims_symbol_count(io->dims) != known) hone_io_fail(io, "a symbol is not known");
  return hone_io_failed(io) ? hone_dim_int(0) : dim;
}

void hone_io_dim(hone_io_t* io, hone_dim_t* dim) {
  bool is_int = hone_dim_is_int(*dim);
  hone_io_bool(io, &is_int);
  if (is_int || hone_io_failed(io)) {
    int64_t number = dim->k;
    hone_io_i64(io, &number);
    if (!hone_io_writes(io)) *dim = hone_dim_int(number);
  } else if (hone_io_writes(io)) {
    write_expression(io, *dim);
  } else {
    *dim = read_expression(io);
  }
}

void hone_io_dims(hone_io_t* io, int count, const hone_dim_t** dims) {
  hone_dim_t* entries = hone_io_array(io, *dims, count, sizeof *entries);
  *dims = entries;
  for (int i = 0; entries && i < count; i++) {
    if (!hone_io_writes(io)) entries[i] = hone_dim_int(0);
    hone_io_dim(io, &entries[i]);
  }
}

static void io_type_at(hone_io_t* io, hone_type_t* type, int depth) {
  int kind = (int)type->kind, dtype = (int)type->dtype;
  hone_io_int(io, &kind, 0, HONE_TYPE_OPTIONAL);
  hone_io_int(io, &dtype, 0, HONE_DTYPE_COUNT - 1);
  hone_io_int(io, &type->rank, HONE_RANK_NONE, HONE_MAX_RANK);
  type->kind = (hone_type_kind_t)kind;
  type->dtype = (hone_dtype_t)dtype;
  bool has_dims = type->rank >= 0 && type->dims;
  hone_io_bool(io, &has_dims);
  if (has_dims && type->rank >= 0) hone_io_dims(io, type->rank, &type->dims);
  bool has_element = type->element != NULL;
  hone_io_bool(io, &has_element);
  if (!has_element) return;
  if (depth == MAX_TYPE_DEPTH) {
    hone_io_fail(io, "a type is too deep");
    return;
  }
  if (hone_io_writes(io)) { /* what is written may be a constant of the program */
    hone_type_t element = *type->element;
    io_type_at(io, &element, depth + 1);
    return;
  }
  hone_type_t* element = hone_io_array(io, type->element, 1, sizeof *element);
  type->element = element;
  if (element) io_type_at(io, element, depth + 1);
}

void hone_io_type(hone_io_t* io, hone_type_t* type) { io_type_at(io, type, 0); }
