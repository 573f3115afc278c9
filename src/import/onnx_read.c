/* The reading engine of onnx_read.h. */
#include "import/onnx_read.h"

#include <inttypes.h>
#include <limits.h>
#include <stdalign.h>
#include <string.h>

#include "base/memory.h"
#include "import/utf8.h"

/* Counts in the first pass, entries filled so far in the second; by row. */
typedef int64_t counts_t[HONE_PROTO_MAX_ROWS];

static bool is_list(const hone_proto_row_t* row) { return row->kind >= HONE_PROTO_INTS; }

static bool is_number_list(const hone_proto_row_t* row) {
  return row->kind == HONE_PROTO_INTS || row->kind == HONE_PROTO_FLOATS;
}

static hone_wire_type_t number_type(const hone_proto_row_t* row) {
  return row->kind == HONE_PROTO_FLOATS ? HONE_WIRE_FIXED32 : HONE_WIRE_VARINT;
}

/* Fields mostly come in the order of the rows: the search starts at `*hint`. */
static int find_row(const hone_proto_message_t* message, uint32_t number, int* hint) {
  for (int i = 0, at = *hint; i < message->n_rows; i++, at++) {
    if (at >= message->n_rows) at = 0;
    if (message->rows[at].number == number) return *hint = at;
  }
  return -1;
}

static hone_status_t check_type(const hone_proto_message_t* message, const hone_proto_row_t* row,
                                hone_wire_type_t type) {
  bool fits;
  if (row->kind == HONE_PROTO_INT) {
    fits = type == HONE_WIRE_VARINT;
  } else if (is_number_list(row)) {
    fits = type == number_type(row) || (type == HONE_WIRE_BYTES && !row->single);
  } else {
    fits = row->kind == HONE_PROTO_PACKED || type == HONE_WIRE_BYTES;
  }
  if (fits) return NULL;
  return hone_status_make(HONE_INVALID_MODEL,
                          "field %" PRIu32
                          " of %s has the wrong wire type; the file is damaged or not an ONNX file",
                          row->number, message->name);
}

static hone_status_t count_entries(const hone_proto_row_t* row, const hone_wire_field_t* field,
                                   const uint8_t* start, int64_t* count) {
  if (row->single) {
    *count = 1;
  } else if (is_number_list(row) && field->type == HONE_WIRE_BYTES) {
    int64_t more;
    HONE_TRY(hone_wire_packed_count(hone_wire_over(field->bytes, start), number_type(row), &more));
    *count += more;
  } else {
    (*count)++;
  }
  return NULL;
}

static hone_status_t count_lists(const hone_onnx_reader_t* reader,
                                 const hone_proto_message_t* message, hone_string_t body,
                                 counts_t counts) {
  hone_wire_t wire = hone_wire_over(body, reader->start);
  hone_wire_field_t field;
  bool more;
  int hint = 0;
  for (;;) {
    HONE_TRY(hone_wire_next(&wire, &field, &more));
    if (!more) return NULL;
    int at = find_row(message, field.number, &hint);
    if (at < 0) continue;
    const hone_proto_row_t* row = &message->rows[at];
    HONE_TRY(check_type(message, row, field.type));
    if (is_list(row)) HONE_TRY(count_entries(row, &field, reader->start, &counts[at]));
  }
}

static size_t entry_size(const hone_proto_row_t* row) {
  static const size_t sizes[] = {
      [HONE_PROTO_INTS] = sizeof(int64_t),
      [HONE_PROTO_FLOATS] = sizeof(float),
      [HONE_PROTO_TEXTS] = sizeof(char*),
      [HONE_PROTO_POINTERS] = sizeof(void*),
      [HONE_PROTO_BYTES_LIST] = sizeof(hone_string_t),
  };
  return row->kind == HONE_PROTO_MESSAGES ? row->message->model_size : sizes[row->kind];
}

/* Pointers of every type share one representation on the platforms hone
 * runs on; memcpy keeps the accesses within the language. */
static void* load_pointer(const void* member) {
  void* pointer;
  memcpy(&pointer, member, sizeof pointer);
  return pointer;
}

static void store_pointer(void* member, const void* pointer) {
  memcpy(member, &pointer, sizeof pointer);
}

static hone_status_t allocate_lists(const hone_onnx_reader_t* reader,
                                    const hone_proto_message_t* message, const counts_t counts,
                                    char* out) {
  for (int i = 0; i < message->n_rows; i++) {
    const hone_proto_row_t* row = &message->rows[i];
    if (!is_list(row) || counts[i] == 0) continue;
    if (row->count_size == sizeof(int) && counts[i] > INT_MAX) {
      return hone_status_make(HONE_INVALID_MODEL, "%s has %" PRId64 " entries of field %" PRIu32,
                              message->name, counts[i], row->number);
    }
    void* list = hone_arena_array(reader->arena, (size_t)counts[i], entry_size(row));
    if (!list) return hone_oom();
    store_pointer(out + row->offset, list);
    int narrow = (int)counts[i];
    if (row->count_size == sizeof(int))
      memcpy(out + row->count_offset, &narrow, sizeof narrow);
    else
      memcpy(out + row->count_offset, &counts[i], sizeof counts[i]);
  }
  return NULL;
}

static hone_status_t read_text(const hone_onnx_reader_t* reader,
                               const hone_proto_message_t* message, const hone_proto_row_t* row,
                               hone_string_t bytes, void* member) {
  if (bytes.size && memchr(bytes.data, 0, bytes.size)) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "field %" PRIu32
                            " of %s is a text with a zero byte in it; the file is "
                            "damaged, or made to deceive",
                            row->number, message->name);
  }
  if (row->kind == HONE_PROTO_DOMAIN && bytes.size == 7 && !memcmp(bytes.data, "ai.onnx", 7)) {
    bytes.size = 0;
  }
  store_pointer(member, "");
  if (!bytes.size) return NULL;
  char* text = hone_arena_strndup(reader->arena, bytes.data, bytes.size);
  if (!text) return hone_oom();
  hone_utf8_repair(text, bytes.size, false);
  store_pointer(member, text);
  return NULL;
}

static hone_status_t read_pointer(hone_onnx_reader_t* reader, const hone_proto_row_t* row,
                                  hone_string_t body, void* member) {
  void* target = hone_arena_alloc(reader->arena, row->message->model_size);
  if (!target) return hone_oom();
  store_pointer(member, target);
  return hone_onnx_read_message(reader, row->message, body, target);
}

static void note_packed(const hone_wire_field_t* field, hone_proto_packed_t* packed) {
  packed->scattered = packed->present || field->type != HONE_WIRE_BYTES;
  if (!packed->scattered) packed->run = field->bytes;
  packed->present = true;
}

static hone_status_t read_one(hone_onnx_reader_t* reader, const hone_proto_message_t* message,
                              const hone_proto_row_t* row, const hone_wire_field_t* field,
                              bool seen, void* member) {
  switch (row->kind) {
    case HONE_PROTO_INT:
      memcpy(member, &field->scalar, sizeof(int64_t));
      return NULL;
    case HONE_PROTO_BYTES:
      memcpy(member, &field->bytes, sizeof field->bytes);
      return NULL;
    case HONE_PROTO_PACKED:
      note_packed(field, member);
      return NULL;
    case HONE_PROTO_MESSAGE:
    case HONE_PROTO_POINTER:
      if (seen) {
        return hone_status_make(HONE_INVALID_MODEL,
                                "field %" PRIu32 " of %s is there twice; export the model again",
                                row->number, message->name);
      }
      if (row->kind == HONE_PROTO_POINTER) return read_pointer(reader, row, field->bytes, member);
      return hone_onnx_read_message(reader, row->message, field->bytes, member);
    default:
      return read_text(reader, message, row, field->bytes, member);
  }
}

static hone_status_t store_number(hone_wire_t* wire, hone_wire_type_t type, char* entry) {
  uint64_t value;
  HONE_TRY(hone_wire_scalar(wire, type, &value));
  uint32_t narrow = (uint32_t)value;
  if (type == HONE_WIRE_FIXED32)
    memcpy(entry, &narrow, sizeof narrow);
  else
    memcpy(entry, &value, sizeof value);
  return NULL;
}

/* Writes the number or numbers of `field` behind the `*filled` there are. */
static hone_status_t read_numbers(const hone_onnx_reader_t* reader, const hone_proto_row_t* row,
                                  const hone_wire_field_t* field, char* list, int64_t* filled) {
  size_t width = entry_size(row);
  if (field->type != HONE_WIRE_BYTES) {
    memcpy(list + (size_t)*filled * width, &field->scalar, width); /* little-endian */
    (*filled)++;
    return NULL;
  }
  hone_wire_t wire = hone_wire_over(field->bytes, reader->start);
  while (wire.at != wire.end) {
    HONE_TRY(store_number(&wire, number_type(row), list + (size_t)*filled * width));
    (*filled)++;
  }
  return NULL;
}

static hone_status_t read_entry(hone_onnx_reader_t* reader, const hone_proto_message_t* message,
                                const hone_proto_row_t* row, const hone_wire_field_t* field,
                                char* list, int64_t* filled) {
  if (row->single) *filled = 0;
  if (is_number_list(row)) return read_numbers(reader, row, field, list, filled);
  void* entry = list + (size_t)(*filled)++ * entry_size(row);
  switch (row->kind) {
    case HONE_PROTO_MESSAGES:
      memset(entry, 0, entry_size(row)); /* a single one may be there twice */
      return hone_onnx_read_message(reader, row->message, field->bytes, entry);
    case HONE_PROTO_POINTERS:
      return read_pointer(reader, row, field->bytes, entry);
    case HONE_PROTO_BYTES_LIST:
      memcpy(entry, &field->bytes, sizeof field->bytes);
      return NULL;
    default:
      return read_text(reader, message, row, field->bytes, entry);
  }
}

static hone_status_t fill(hone_onnx_reader_t* reader, const hone_proto_message_t* message,
                          hone_string_t body, char* out, uint32_t* seen) {
  counts_t filled = {0};
  hone_wire_t wire = hone_wire_over(body, reader->start);
  hone_wire_field_t field;
  bool more;
  int hint = 0;
  for (;;) {
    HONE_TRY(hone_wire_next(&wire, &field, &more));
    if (!more) return NULL;
    int at = find_row(message, field.number, &hint);
    if (at < 0) continue;
    const hone_proto_row_t* row = &message->rows[at];
    if (is_list(row)) {
      char* list = load_pointer(out + row->offset);
      if (list) HONE_TRY(read_entry(reader, message, row, &field, list, &filled[at]));
    } else {
      HONE_TRY(read_one(reader, message, row, &field, *seen >> at & 1, out + row->offset));
    }
    *seen |= UINT32_C(1) << at;
  }
}

/* What absent fields are, where it is not zeros. */
static hone_status_t fill_absent(hone_onnx_reader_t* reader, const hone_proto_message_t* message,
                                 uint32_t seen, char* out) {
  for (int i = 0; i < message->n_rows; i++) {
    const hone_proto_row_t* row = &message->rows[i];
    if (seen >> i & 1) continue;
    if (row->kind == HONE_PROTO_TEXT || row->kind == HONE_PROTO_DOMAIN) {
      store_pointer(out + row->offset, "");
    } else if (row->kind == HONE_PROTO_MESSAGE) {
      hone_string_t nothing = {.data = (const char*)reader->start};
      HONE_TRY(hone_onnx_read_message(reader, row->message, nothing, out + row->offset));
    }
  }
  return NULL;
}

static hone_status_t read_rows(hone_onnx_reader_t* reader, const hone_proto_message_t* message,
                               hone_string_t body, char* out) {
  counts_t counts = {0};
  uint32_t seen = 0;
  HONE_TRY(count_lists(reader, message, body, counts));
  HONE_TRY(allocate_lists(reader, message, counts, out));
  HONE_TRY(fill(reader, message, body, out, &seen));
  return fill_absent(reader, message, seen, out);
}

static hone_status_t read_and_finish(hone_onnx_reader_t* reader,
                                     const hone_proto_message_t* message, hone_string_t body,
                                     void* out) {
  if (!message->finish) return read_rows(reader, message, body, out);
  alignas(max_align_t) char proto[HONE_PROTO_MAX_SIZE];
  memset(proto, 0, message->proto_size);
  HONE_TRY(read_rows(reader, message, body, proto));
  return message->finish(reader, proto, body, out);
}

/* The text in field `number` of a message that may be damaged, for a message;
 * "" without it. */
static const char* peek_text(const hone_onnx_reader_t* reader, hone_string_t body,
                             uint32_t number) {
  hone_wire_t wire = hone_wire_over(body, reader->start);
  hone_wire_field_t field;
  hone_string_t text = {.data = "", .size = 0};
  for (bool more = true; number && more;) {
    hone_status_t status = hone_wire_next(&wire, &field, &more);
    if (status || !more) {
      hone_status_free(status);
      break;
    }
    if (field.number == number && field.type == HONE_WIRE_BYTES) text = field.bytes;
  }
  if (text.size > 200) text.size = 200;
  char* copy = hone_arena_strndup(reader->arena, text.data, text.size);
  if (copy) hone_utf8_repair(copy, text.size, true);
  return copy ? copy : "";
}

/* Says in front of the message which part of the model it is about. A node
 * without a name is known by what it makes. */
static hone_status_t locate(const hone_onnx_reader_t* reader, const hone_proto_message_t* message,
                            hone_string_t body, hone_status_t status) {
  if (!message->noun) return status;
  const char* label = peek_text(reader, body, message->label);
  if (!strcmp(message->name, "NodeProto")) {
    const char* op = peek_text(reader, body, HONE_FIELD_NODE_OP_TYPE);
    if (*label) return hone_status_annotate(status, "node '%s' (%s)", label, op);
    label = peek_text(reader, body, HONE_FIELD_NODE_OUTPUT);
    return hone_status_annotate(status, "node that makes '%s' (%s)", label, op);
  }
  if (!*label) return hone_status_annotate(status, "%s", message->noun);
  return hone_status_annotate(status, "%s '%s'", message->noun, label);
}

hone_status_t hone_onnx_read_message(hone_onnx_reader_t* reader,
                                     const hone_proto_message_t* message, hone_string_t body,
                                     void* out) {
  if (reader->depth >= reader->max_depth) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "messages are nested deeper than %d; the file is damaged, or raise "
                            "max_depth",
                            reader->max_depth);
  }
  reader->depth++;
  hone_status_t status = read_and_finish(reader, message, body, out);
  reader->depth--;
  return status ? locate(reader, message, body, status) : NULL;
}
