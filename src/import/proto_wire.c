/* The cursor of proto_wire.h. */
#include "import/proto_wire.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_GROUP_DEPTH = 64 };

hone_wire_t hone_wire_over(hone_string_t bytes, const uint8_t* start) {
  const uint8_t* at = (const uint8_t*)bytes.data;
  return (hone_wire_t){.at = at, .end = at + bytes.size, .start = start};
}

static size_t wire_left(const hone_wire_t* wire) { return (size_t)(wire->end - wire->at); }

static size_t wire_byte(const hone_wire_t* wire) { return (size_t)(wire->at - wire->start); }

static hone_status_t wire_cut(const hone_wire_t* wire, const char* what) {
  return hone_status_make(HONE_INVALID_MODEL,
                          "%s ends too early at byte %zu; the file is cut short or damaged: "
                          "fetch or export it again",
                          what, wire_byte(wire));
}

hone_status_t hone_wire_varint(hone_wire_t* wire, uint64_t* out_value) {
  uint64_t value = 0;
  const uint8_t* at = wire->at;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at == wire->end) return wire_cut(wire, "a number");
    uint8_t byte = *at++;
    if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      wire->at = at;
      *out_value = value;
      return NULL;
    }
  }
  return hone_status_make(HONE_INVALID_MODEL,
                          "a number at byte %zu is longer than 10 bytes; the file is damaged or "
                          "not an ONNX file",
                          wire_byte(wire));
}

/* `size` bytes, least significant first. */
static hone_status_t wire_fixed(hone_wire_t* wire, size_t size, uint64_t* out_value) {
  if (wire_left(wire) < size) return wire_cut(wire, "a number");
  uint64_t value = 0;
  for (size_t i = 0; i < size; i++) value |= (uint64_t)wire->at[i] << (8 * i);
  wire->at += size;
  *out_value = value;
  return NULL;
}

hone_status_t hone_wire_scalar(hone_wire_t* wire, hone_wire_type_t type, uint64_t* out_value) {
  if (type == HONE_WIRE_FIXED32) return wire_fixed(wire, 4, out_value);
  if (type == HONE_WIRE_FIXED64) return wire_fixed(wire, 8, out_value);
  return hone_wire_varint(wire, out_value);
}

static hone_status_t wire_bytes(hone_wire_t* wire, hone_string_t* out_bytes) {
  uint64_t size;
  HONE_TRY(hone_wire_varint(wire, &size));
  if (size > wire_left(wire)) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "a field at byte %zu says it has %" PRIu64
                            " bytes, but %zu are left; the file is cut short or damaged: fetch or "
                            "export it again",
                            wire_byte(wire), size, wire_left(wire));
  }
  *out_bytes = (hone_string_t){.data = (const char*)wire->at, .size = (size_t)size};
  wire->at += size;
  return NULL;
}

static hone_status_t wire_tag(hone_wire_t* wire, hone_wire_field_t* out_field) {
  uint64_t tag;
  size_t byte = wire_byte(wire);
  HONE_TRY(hone_wire_varint(wire, &tag));
  uint64_t number = tag >> 3;
  if (number == 0 || number > 0x1fffffff || (tag & 7) > HONE_WIRE_FIXED32) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "no field can start with what is at byte %zu; the file is damaged or "
                            "not an ONNX file",
                            byte);
  }
  out_field->number = (uint32_t)number;
  out_field->type = (hone_wire_type_t)(tag & 7);
  return NULL;
}

static hone_status_t wire_value(hone_wire_t* wire, hone_wire_field_t* field) {
  if (field->type == HONE_WIRE_BYTES) return wire_bytes(wire, &field->bytes);
  return hone_wire_scalar(wire, field->type, &field->scalar);
}

/* Passes over a group whose start was just read. */
static hone_status_t wire_skip_group(hone_wire_t* wire, uint32_t number) {
  uint32_t open[MAX_GROUP_DEPTH];
  int depth = 0;
  open[depth++] = number;
  while (depth > 0) {
    if (wire->at == wire->end) return wire_cut(wire, "a group");
    size_t byte = wire_byte(wire);
    hone_wire_field_t field;
    HONE_TRY(wire_tag(wire, &field));
    if (field.type == HONE_WIRE_GROUP && depth < MAX_GROUP_DEPTH) {
      open[depth++] = field.number;
    } else if (field.type == HONE_WIRE_GROUP_END && field.number == open[depth - 1]) {
      depth--;
    } else if (field.type == HONE_WIRE_GROUP || field.type == HONE_WIRE_GROUP_END) {
      return hone_status_make(HONE_INVALID_MODEL, "groups nest wrongly at byte %zu", byte);
    } else {
      HONE_TRY(wire_value(wire, &field));
    }
  }
  return NULL;
}

hone_status_t hone_wire_next(hone_wire_t* wire, hone_wire_field_t* out_field, bool* out_more) {
  while (wire->at != wire->end) {
    size_t byte = wire_byte(wire);
    HONE_TRY(wire_tag(wire, out_field));
    if (out_field->type == HONE_WIRE_GROUP_END) {
      return hone_status_make(HONE_INVALID_MODEL, "a group ends at byte %zu that never began",
                              byte);
    }
    if (out_field->type != HONE_WIRE_GROUP) {
      *out_more = true;
      return wire_value(wire, out_field);
    }
    HONE_TRY(wire_skip_group(wire, out_field->number));
  }
  *out_more = false;
  return NULL;
}

hone_status_t hone_wire_packed_count(hone_wire_t packed, hone_wire_type_t type,
                                     int64_t* out_count) {
  size_t size = wire_left(&packed);
  size_t width = type == HONE_WIRE_FIXED32 ? 4 : type == HONE_WIRE_FIXED64 ? 8 : 0;
  if (width) {
    packed.at = packed.end;
    if (size % width) return wire_cut(&packed, "a packed list");
    *out_count = (int64_t)(size / width);
    return NULL;
  }
  int64_t count = 0;
  for (const uint8_t* at = packed.at; at != packed.end; at++) count += *at < 0x80;
  if (size && packed.end[-1] >= 0x80) {
    packed.at = packed.end;
    return wire_cut(&packed, "a packed list");
  }
  *out_count = count;
  return NULL;
}

size_t hone_wire_varint_size(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) size++;
  return size;
}

size_t hone_wire_put_varint(uint8_t* out, uint64_t value) {
  size_t size = 0;
  for (; value >= 0x80; value >>= 7) out[size++] = (uint8_t)(value | 0x80);
  out[size++] = (uint8_t)value;
  return size;
}
