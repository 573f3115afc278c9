/* The writing engine of onnx_write.h, and saving models with it. */
#include "import/onnx_write.h"

#include <inttypes.h>
#include <limits.h>
#include <stdalign.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "import/onnx.h"

/* What readers of protobuf take at most. */
#define MAX_BYTES INT32_MAX

static hone_status_t put_bytes(hone_onnx_writer_t* writer, const void* data, size_t size) {
  writer->total += size;
  return writer->sink && size ? writer->sink(writer->sink_self, data, size) : NULL;
}

static hone_status_t put_varint(hone_onnx_writer_t* writer, uint64_t value) {
  uint8_t bytes[10];
  return put_bytes(writer, bytes, hone_wire_put_varint(bytes, value));
}

static hone_status_t put_tag(hone_onnx_writer_t* writer, uint32_t number, hone_wire_type_t type) {
  return put_varint(writer, (uint64_t)number << 3 | type);
}

static hone_status_t put_field(hone_onnx_writer_t* writer, uint32_t number, const void* data,
                               size_t size) {
  HONE_TRY(put_tag(writer, number, HONE_WIRE_BYTES));
  HONE_TRY(put_varint(writer, size));
  return put_bytes(writer, data, size);
}

/* Makes room for the size of one more message; first pass. */
static hone_status_t reserve_size(hone_onnx_writer_t* writer, size_t* out_slot) {
  if (writer->n_sizes == writer->sizes_room) {
    size_t room = writer->sizes_room ? writer->sizes_room * 2 : 256;
    uint64_t* wider = hone_realloc(writer->allocator, writer->sizes,
                                   writer->sizes_room * sizeof *wider, room * sizeof *wider);
    if (!wider) return hone_oom();
    writer->sizes = wider;
    writer->sizes_room = room;
  }
  *out_slot = writer->n_sizes++;
  return NULL;
}

static hone_status_t write_message(hone_onnx_writer_t* writer, const hone_proto_message_t* message,
                                   const void* model);

static hone_status_t open_message(hone_onnx_writer_t* writer, uint32_t number, uint64_t size,
                                  bool even_empty) {
  if (!size && !even_empty) return NULL;
  HONE_TRY(put_tag(writer, number, HONE_WIRE_BYTES));
  return put_varint(writer, size);
}

static hone_status_t write_nested(hone_onnx_writer_t* writer, const hone_proto_row_t* row,
                                  const void* model, bool even_empty) {
  if (writer->sink) {
    HONE_TRY(open_message(writer, row->number, writer->sizes[writer->next_size++], even_empty));
    return write_message(writer, row->message, model);
  }
  size_t slot = 0;
  HONE_TRY(reserve_size(writer, &slot));
  uint64_t before = writer->total;
  HONE_TRY(write_message(writer, row->message, model));
  writer->sizes[slot] = writer->total - before;
  return open_message(writer, row->number, writer->sizes[slot], even_empty);
}

static const void* load_pointer(const void* member) {
  const void* pointer;
  memcpy(&pointer, member, sizeof pointer);
  return pointer;
}

static hone_status_t write_text(hone_onnx_writer_t* writer, uint32_t number, const char* text) {
  return put_field(writer, number, text, strlen(text));
}

static hone_status_t write_int(hone_onnx_writer_t* writer, uint32_t number, const void* member) {
  uint64_t value;
  memcpy(&value, member, sizeof value);
  if (!value) return NULL;
  HONE_TRY(put_tag(writer, number, HONE_WIRE_VARINT));
  return put_varint(writer, value);
}

static hone_status_t write_bytes(hone_onnx_writer_t* writer, uint32_t number, const void* member) {
  const hone_string_t* bytes = member;
  return bytes->data ? put_field(writer, number, bytes->data, bytes->size) : NULL;
}

static hone_status_t write_one(hone_onnx_writer_t* writer, const hone_proto_row_t* row,
                               const char* member) {
  if (row->kind == HONE_PROTO_INT) return write_int(writer, row->number, member);
  if (row->kind == HONE_PROTO_BYTES) return write_bytes(writer, row->number, member);
  if (row->kind == HONE_PROTO_PACKED) return NULL;
  if (row->kind == HONE_PROTO_MESSAGE) return write_nested(writer, row, member, false);
  const char* pointer = load_pointer(member);
  if (!pointer) return NULL;
  if (row->kind == HONE_PROTO_POINTER) return write_nested(writer, row, pointer, true);
  return *pointer ? write_text(writer, row->number, pointer) : NULL;
}

static hone_status_t write_ints(hone_onnx_writer_t* writer, const hone_proto_row_t* row,
                                const int64_t* list, int64_t count) {
  if (row->single) {
    HONE_TRY(put_tag(writer, row->number, HONE_WIRE_VARINT));
    return put_varint(writer, (uint64_t)*list);
  }
  uint64_t size = 0;
  for (int64_t i = 0; i < count; i++) size += hone_wire_varint_size((uint64_t)list[i]);
  HONE_TRY(open_message(writer, row->number, size, true));
  for (int64_t i = 0; i < count; i++) HONE_TRY(put_varint(writer, (uint64_t)list[i]));
  return NULL;
}

static hone_status_t write_floats(hone_onnx_writer_t* writer, const hone_proto_row_t* row,
                                  const void* list, int64_t count) {
  size_t size = (size_t)count * sizeof(float);
  if (!row->single) return put_field(writer, row->number, list, size);
  HONE_TRY(put_tag(writer, row->number, HONE_WIRE_FIXED32));
  return put_bytes(writer, list, sizeof(float));
}

static hone_status_t write_entry(hone_onnx_writer_t* writer, const hone_proto_row_t* row,
                                 const char* list, int64_t index) {
  const void* const* pointers = (const void* const*)(const void*)list;
  switch (row->kind) {
    case HONE_PROTO_TEXTS:
      return write_text(writer, row->number, pointers[index]);
    case HONE_PROTO_BYTES_LIST: {
      const hone_string_t* string = (const hone_string_t*)(const void*)list + index;
      return put_field(writer, row->number, string->data, string->size);
    }
    case HONE_PROTO_POINTERS:
      return write_nested(writer, row, pointers[index], true);
    default:
      return write_nested(writer, row, list + (size_t)index * row->message->model_size, true);
  }
}

static int64_t load_count(const hone_proto_row_t* row, const char* proto) {
  int narrow;
  int64_t count;
  if (row->count_size == sizeof count) {
    memcpy(&count, proto + row->count_offset, sizeof count);
    return count;
  }
  memcpy(&narrow, proto + row->count_offset, sizeof narrow);
  return narrow;
}

static hone_status_t write_list(hone_onnx_writer_t* writer, const hone_proto_row_t* row,
                                const char* proto) {
  int64_t count = load_count(row, proto);
  const void* list = load_pointer(proto + row->offset);
  if (count <= 0) return NULL;
  if (row->kind == HONE_PROTO_INTS) return write_ints(writer, row, list, count);
  if (row->kind == HONE_PROTO_FLOATS) return write_floats(writer, row, list, count);
  for (int64_t i = 0; i < count; i++) HONE_TRY(write_entry(writer, row, list, i));
  return NULL;
}

static hone_status_t write_message(hone_onnx_writer_t* writer, const hone_proto_message_t* message,
                                   const void* model) {
  alignas(max_align_t) char proto[HONE_PROTO_MAX_SIZE];
  const char* from = model;
  if (message->prepare) {
    HONE_TRY(message->prepare(writer, model, proto));
    from = proto;
  }
  for (int i = 0; i < message->n_rows; i++) {
    const hone_proto_row_t* row = &message->rows[i];
    if (row->kind >= HONE_PROTO_INTS)
      HONE_TRY(write_list(writer, row, from));
    else
      HONE_TRY(write_one(writer, row, from + row->offset));
  }
  return NULL;
}

hone_status_t hone_onnx_writer_measure(hone_onnx_writer_t* writer,
                                       const hone_allocator_t* allocator,
                                       const hone_proto_message_t* message, const void* model,
                                       size_t* out_size) {
  *writer = (hone_onnx_writer_t){.allocator = allocator};
  HONE_TRY(hone_arena_create(allocator, &writer->arena));
  HONE_TRY(write_message(writer, message, model));
  if (writer->total > MAX_BYTES) {
    return hone_status_make(HONE_UNSUPPORTED,
                            "%" PRIu64 " bytes are more than an ONNX file may have (2 GiB)",
                            writer->total);
  }
  *out_size = (size_t)writer->total;
  return NULL;
}

hone_status_t hone_onnx_writer_emit(hone_onnx_writer_t* writer, const hone_proto_message_t* message,
                                    const void* model, hone_onnx_sink_t sink, void* sink_self) {
  writer->sink = sink;
  writer->sink_self = sink_self;
  writer->next_size = 0;
  return write_message(writer, message, model);
}

void hone_onnx_writer_end(hone_onnx_writer_t* writer) {
  hone_free(writer->allocator, writer->sizes, writer->sizes_room * sizeof *writer->sizes);
  hone_arena_destroy(writer->arena);
  *writer = (hone_onnx_writer_t){0};
}

static hone_status_t memory_sink(void* self, const void* data, size_t size) {
  char** at = self;
  memcpy(*at, data, size);
  *at += size;
  return NULL;
}

static hone_status_t emit_to_memory(hone_onnx_writer_t* writer, const hone_proto_message_t* message,
                                    const void* model, size_t size, void** out_data) {
  void* data = hone_alloc(writer->allocator, size);
  if (!data) return hone_oom();
  char* at = data;
  hone_status_t status = hone_onnx_writer_emit(writer, message, model, memory_sink, &at);
  if (status)
    hone_free(writer->allocator, data, size);
  else
    *out_data = data;
  return status;
}

hone_status_t hone_onnx_write_memory(const hone_allocator_t* allocator,
                                     const hone_proto_message_t* message, const void* model,
                                     void** out_data, size_t* out_size) {
  hone_onnx_writer_t writer;
  *out_data = NULL;
  *out_size = 0;
  size_t size;
  hone_status_t status = hone_onnx_writer_measure(&writer, allocator, message, model, &size);
  if (!status) status = emit_to_memory(&writer, message, model, size, out_data);
  if (!status) *out_size = size;
  hone_onnx_writer_end(&writer);
  return status;
}

hone_status_t hone_onnx_save_memory(const hone_model_t* model, void** out_data, size_t* out_size) {
  return hone_onnx_write_memory(model->allocator, &hone_proto_model, model, out_data, out_size);
}

static hone_status_t file_sink(void* self, const void* data, size_t size) {
  hone_file_writer_write(self, data, size);
  return NULL; /* the file's writer keeps the first error for commit */
}

static hone_status_t save_to(hone_file_writer_t* file, const hone_model_t* model) {
  hone_onnx_writer_t writer;
  size_t size;
  hone_status_t status =
      hone_onnx_writer_measure(&writer, model->allocator, &hone_proto_model, model, &size);
  if (!status) status = hone_onnx_writer_emit(&writer, &hone_proto_model, model, file_sink, file);
  hone_onnx_writer_end(&writer);
  return status;
}

hone_status_t hone_onnx_save_file(const hone_model_t* model, const char* path) {
  hone_file_writer_t* file;
  HONE_TRY(hone_file_writer_create(model->allocator, path, &file));
  hone_status_t status = save_to(file, model);
  if (!status) return hone_file_writer_commit(file);
  hone_file_writer_abort(file);
  return hone_status_annotate(status, "%s", path);
}
