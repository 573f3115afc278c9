/* Protobuf wire format: a cursor over bytes that lie where they lie.
 *
 * A message is a run of fields; a field is a tag (number and wire type) and a
 * value. `hone_wire_next` gives one field after the other, length-delimited
 * ones as slices of the input. Groups, which ONNX does not use, are skipped.
 * Every read is checked against the end of the input, and messages name the
 * byte, counted from the start of the file. */
#ifndef HONE_IMPORT_PROTO_WIRE_H
#define HONE_IMPORT_PROTO_WIRE_H

#include "hone/dtype.h"

typedef struct hone_wire {
  const uint8_t* at;
  const uint8_t* end;
  const uint8_t* start; /* of the file; bytes in messages count from here */
} hone_wire_t;

typedef enum hone_wire_type {
  HONE_WIRE_VARINT = 0,
  HONE_WIRE_FIXED64 = 1,
  HONE_WIRE_BYTES = 2,
  HONE_WIRE_GROUP = 3,
  HONE_WIRE_GROUP_END = 4,
  HONE_WIRE_FIXED32 = 5,
} hone_wire_type_t;

typedef struct hone_wire_field {
  uint32_t number;
  hone_wire_type_t type; /* VARINT, FIXED64, FIXED32: `scalar`; BYTES: `bytes` */
  uint64_t scalar;
  hone_string_t bytes; /* in place */
} hone_wire_field_t;

/* A cursor over `bytes`, which lie in a file that starts at `start`. */
hone_wire_t hone_wire_over(hone_string_t bytes, const uint8_t* start);
/* The next field. `*out_more` is false at the end of the message. */
HONE_MUST_USE hone_status_t hone_wire_next(hone_wire_t* wire, hone_wire_field_t* out_field,
                                           bool* out_more);
/* One bare value, as in packed fields. */
HONE_MUST_USE hone_status_t hone_wire_varint(hone_wire_t* wire, uint64_t* out_value);
/* `type` is VARINT, FIXED32 or FIXED64; fixed values are little-endian. */
HONE_MUST_USE hone_status_t hone_wire_scalar(hone_wire_t* wire, hone_wire_type_t type,
                                             uint64_t* out_value);
/* How many values of `type` a packed field holds, found without decoding.
 * Fails when the last one is cut. */
HONE_MUST_USE hone_status_t hone_wire_packed_count(hone_wire_t packed, hone_wire_type_t type,
                                                   int64_t* out_count);

/* Writing: bytes a varint takes, and the varint itself (at most 10 bytes). */
size_t hone_wire_varint_size(uint64_t value);
size_t hone_wire_put_varint(uint8_t* out, uint64_t value);

#endif
