/* TensorProto to and from the model form: finds where the elements are, checks
 * that they are all there, and takes them in place where their form allows.
 * Little-endian machines only, like the rest of hone. */
#include <inttypes.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "import/onnx_read.h"
#include "import/onnx_write.h"

/* How a type's elements lie in TensorProto's typed fields. */
typedef struct storage {
  hone_proto_numbers_t numbers;
  hone_wire_type_t wire;
  int per_element; /* entries an element takes */
} storage_t;

static storage_t storage_of(hone_dtype_t dtype) {
  switch (dtype) {
    case HONE_F32:
      return (storage_t){HONE_NUMBERS_FLOAT, HONE_WIRE_FIXED32, 1};
    case HONE_C64:
      return (storage_t){HONE_NUMBERS_FLOAT, HONE_WIRE_FIXED32, 2};
    case HONE_F64:
      return (storage_t){HONE_NUMBERS_DOUBLE, HONE_WIRE_FIXED64, 1};
    case HONE_C128:
      return (storage_t){HONE_NUMBERS_DOUBLE, HONE_WIRE_FIXED64, 2};
    case HONE_I64:
      return (storage_t){HONE_NUMBERS_INT64, HONE_WIRE_VARINT, 1};
    case HONE_U32:
    case HONE_U64:
      return (storage_t){HONE_NUMBERS_UINT64, HONE_WIRE_VARINT, 1};
    default:
      return (storage_t){HONE_NUMBERS_INT32, HONE_WIRE_VARINT, 1};
  }
}

/* Elements of 6, 4 and 2 bits follow each other without gaps in a file, the
 * first in the lowest bits. */
static bool is_packed(hone_dtype_t dtype) {
  int bits = hone_dtype_bits(dtype); /* 0 for strings and for what is no type */
  return bits > 0 && bits < 8;
}

/* Bytes of all elements in a file. Nothing overflows where the size in memory
 * does not: 8 elements take as many bytes as one has bits. */
static size_t file_bytes(const hone_onnx_tensor_t* tensor) {
  if (!is_packed(tensor->dtype)) return tensor->bytes;
  size_t bits = (size_t)hone_dtype_bits(tensor->dtype), count = (size_t)tensor->count;
  return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

/* Where packed element `index` begins. */
typedef struct place {
  int64_t byte;
  int shift;      /* bits below it in that byte */
  bool straddles; /* its upper bits are in the next byte */
} place_t;

static place_t place_of(int bits, int64_t index) {
  int within = (int)(index % 8) * bits;
  return (place_t){index / 8 * bits + within / 8, within % 8, within % 8 + bits > 8};
}

static void unpack(hone_dtype_t dtype, const uint8_t* packed, int64_t count, uint8_t* out) {
  int bits = hone_dtype_bits(dtype);
  for (int64_t i = 0; i < count; i++) {
    place_t at = place_of(bits, i);
    int high = at.straddles ? packed[at.byte + 1] << 8 : 0;
    out[i] = (uint8_t)((packed[at.byte] | high) >> at.shift);
  }
  hone_normalise_elements(dtype, out, count);
}

static void pack(hone_dtype_t dtype, const uint8_t* elements, int64_t count, uint8_t* out) {
  int bits = hone_dtype_bits(dtype), mask = (1 << bits) - 1;
  for (int64_t i = 0; i < count; i++) {
    place_t at = place_of(bits, i);
    int value = (elements[i] & mask) << at.shift;
    out[at.byte] |= (uint8_t)value;
    if (at.straddles) out[at.byte + 1] |= (uint8_t)(value >> 8);
  }
}

/* Takes the bytes that a file has for all elements. Bools must be 0 or 1 for
 * C to read them, so a list with other bytes is copied. */
static hone_status_t take_bytes(hone_onnx_reader_t* reader, const void* bytes,
                                hone_onnx_tensor_t* tensor) {
  size_t count = (size_t)tensor->count;
  const uint8_t* source = bytes;
  bool odd = false;
  for (size_t i = 0; tensor->dtype == HONE_BOOL && i < count; i++) odd |= source[i] > 1;
  if (!odd && !is_packed(tensor->dtype)) {
    tensor->data = bytes;
    tensor->mapped = true;
    return NULL;
  }
  uint8_t* elements = hone_arena_alloc(reader->arena, count);
  if (!elements) return hone_oom();
  if (odd) {
    memcpy(elements, source, count);
    hone_normalise_elements(tensor->dtype, elements, tensor->count);
  } else {
    unpack(tensor->dtype, source, tensor->count, elements);
  }
  tensor->data = elements;
  return NULL;
}

static hone_status_t wrong_count(const char* what, int64_t has, int64_t needs) {
  return hone_status_make(HONE_INVALID_MODEL,
                          "%s has %" PRId64 " where the dimensions need %" PRId64
                          "; the file is damaged: export it again",
                          what, has, needs);
}

static hone_status_t take_raw(hone_onnx_reader_t* reader, hone_string_t raw,
                              hone_onnx_tensor_t* tensor) {
  if (tensor->dtype == HONE_STRING) {
    return hone_status_make(HONE_INVALID_MODEL, "raw_data cannot hold strings");
  }
  if (raw.size != file_bytes(tensor)) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "raw_data has %zu bytes where dimensions and type (%s) need %zu; the "
                            "file is damaged: export it again",
                            raw.size, hone_dtype_name(tensor->dtype), file_bytes(tensor));
  }
  return take_bytes(reader, raw.data, tensor);
}

static hone_status_t take_strings(hone_onnx_reader_t* reader, const hone_proto_tensor_t* proto,
                                  hone_onnx_tensor_t* tensor) {
  if (proto->n_strings != tensor->count) {
    return wrong_count("string_data", proto->n_strings, tensor->count);
  }
  tensor->data = proto->strings;
  return NULL;
}

/* Where decoded numbers go: the low `width` bytes of each. */
typedef struct numbers_out {
  uint8_t* at;
  size_t width;
  int64_t room; /* entries */
  int64_t count;
} numbers_out_t;

static hone_status_t decode_run(hone_wire_t run, hone_wire_type_t type, numbers_out_t* out) {
  while (run.at != run.end) {
    uint64_t value;
    HONE_TRY(hone_wire_scalar(&run, type, &value));
    if (out->count < out->room) {
      memcpy(out->at, &value, out->width);
      out->at += out->width;
    }
    out->count++;
  }
  return NULL;
}

/* Decodes each part of list `number` in the tensor's message. */
static hone_status_t decode_list(const hone_onnx_reader_t* reader, hone_string_t body,
                                 uint32_t number, hone_wire_type_t type, numbers_out_t* out) {
  hone_wire_t wire = hone_wire_over(body, reader->start);
  hone_wire_field_t field;
  for (bool more = true;;) {
    HONE_TRY(hone_wire_next(&wire, &field, &more));
    if (!more) return NULL;
    if (field.number != number) continue;
    if (field.type == HONE_WIRE_BYTES) {
      HONE_TRY(decode_run(hone_wire_over(field.bytes, reader->start), type, out));
    } else if (field.type == type) {
      if (out->count++ < out->room) {
        memcpy(out->at, &field.scalar, out->width);
        out->at += out->width;
      }
    } else {
      return hone_status_make(HONE_INVALID_MODEL, "field %" PRIu32 " has the wrong wire type",
                              number);
    }
  }
}

/* In a list, entries of 6-bit types are elements; those of narrower ones are
 * bytes with several. */
static bool list_is_packed(hone_dtype_t dtype) {
  return is_packed(dtype) && 8 % hone_dtype_bits(dtype) == 0;
}

static hone_status_t take_entries(hone_onnx_reader_t* reader, uint8_t* numbers,
                                  hone_onnx_tensor_t* tensor) {
  if (is_packed(tensor->dtype) && !list_is_packed(tensor->dtype)) {
    hone_normalise_elements(tensor->dtype, numbers, tensor->count);
    tensor->data = numbers;
    return NULL;
  }
  HONE_TRY(take_bytes(reader, numbers, tensor));
  tensor->mapped = false;
  return NULL;
}

/* The elements of a typed list: in place when they lie there as in memory, in
 * the arena otherwise. */
static hone_status_t take_numbers(hone_onnx_reader_t* reader, const hone_proto_tensor_t* proto,
                                  hone_string_t body, hone_onnx_tensor_t* tensor) {
  static const char* const names[HONE_NUMBERS_COUNT] = {"the tensor", "float_data",  "int32_data",
                                                        "int64_data", "double_data", "uint64_data"};
  storage_t storage = storage_of(tensor->dtype);
  const hone_proto_packed_t* list = &proto->numbers[storage.numbers];
  bool packed = list_is_packed(tensor->dtype);
  /* Each entry of a packed type is one byte of several elements. */
  size_t entries = packed ? file_bytes(tensor) : (size_t)tensor->count * storage.per_element;
  size_t width = packed ? 1 : hone_dtype_size(tensor->dtype) / storage.per_element;
  if (!list->present && entries > 0) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "it has no data, neither raw_data nor %s; export the model with its "
                            "weights",
                            names[storage.numbers]);
  }
  if (storage.wire != HONE_WIRE_VARINT && !list->scattered && list->run.size == entries * width) {
    return entries ? take_bytes(reader, list->run.data, tensor) : NULL;
  }
  /* A number takes a byte or more, so the message bounds what is allocated. */
  if (entries > body.size) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "%s cannot have the %zu entries that the dimensions need; the file is "
                            "damaged: export it again",
                            names[storage.numbers], entries);
  }
  uint8_t* numbers = hone_arena_array(reader->arena, entries, width);
  if (!numbers) return hone_oom();
  numbers_out_t out = {.at = numbers, .width = width, .room = (int64_t)entries};
  HONE_TRY(decode_list(reader, body, hone_numbers_field[storage.numbers], storage.wire, &out));
  if (out.count != (int64_t)entries) {
    return wrong_count(names[storage.numbers], out.count, (int64_t)entries);
  }
  return take_entries(reader, numbers, tensor);
}

static hone_status_t take_external(hone_onnx_reader_t* reader, const hone_proto_tensor_t* proto,
                                   hone_onnx_tensor_t* tensor) {
  if (tensor->dtype == HONE_STRING) {
    return hone_status_make(HONE_INVALID_MODEL, "external data cannot hold strings");
  }
  if (!reader->external) {
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "its data lies in another file, and a model loaded from memory has no "
                            "folder; give the folder, or load the model from its file");
  }
  const void* bytes;
  HONE_TRY(hone_onnx_external_find(reader->external, proto->external, proto->n_external,
                                   file_bytes(tensor), tensor, &bytes));
  return take_bytes(reader, bytes, tensor);
}

static hone_status_t check_dtype(int64_t number) {
  if (number > 0 && number < HONE_DTYPE_COUNT && hone_dtype_is_valid((int)number)) return NULL;
  if (number == 0) return hone_status_make(HONE_INVALID_MODEL, "it has no element type");
  return hone_status_make(HONE_INVALID_MODEL, "hone has no element type %" PRId64, number);
}

/* Type, dimensions and size in memory; no elements yet. */
static hone_status_t take_form(const hone_proto_tensor_t* proto, hone_onnx_tensor_t* tensor) {
  HONE_TRY(check_dtype(proto->dtype));
  if (proto->n_dims > HONE_MAX_RANK) {
    return hone_status_make(HONE_UNSUPPORTED, "it has %" PRId64 " dimensions; hone takes %d",
                            proto->n_dims, HONE_MAX_RANK);
  }
  *tensor = (hone_onnx_tensor_t){.name = proto->name,
                                 .dtype = (hone_dtype_t)proto->dtype,
                                 .rank = (int)proto->n_dims,
                                 .dims = proto->dims,
                                 .doc = proto->doc};
  for (int i = 0; i < tensor->rank; i++) {
    if (tensor->dims[i] >= 0) continue;
    return hone_status_make(HONE_INVALID_MODEL, "dimension %d is negative (%" PRId64 ")", i,
                            tensor->dims[i]);
  }
  if (!hone_dims_count(tensor->rank, tensor->dims, &tensor->count) ||
      !hone_size_mul((size_t)tensor->count, hone_dtype_size(tensor->dtype), &tensor->bytes) ||
      tensor->bytes > INT64_MAX) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "its dimensions multiply to more bytes than a machine can address");
  }
  return NULL;
}

hone_status_t hone_finish_tensor(hone_onnx_reader_t* reader, const void* proto_struct,
                                 hone_string_t body, void* out_model) {
  const hone_proto_tensor_t* proto = proto_struct;
  hone_onnx_tensor_t* tensor = out_model;
  HONE_TRY(take_form(proto, tensor));
  if (proto->segment.data) {
    return hone_status_make(HONE_UNSUPPORTED,
                            "it is stored in segments, which hone does not read; export the model "
                            "with raw or external data");
  }
  if (proto->location == 1) return take_external(reader, proto, tensor);
  if (proto->raw.data && (proto->raw.size || tensor->count == 0)) {
    return take_raw(reader, proto->raw, tensor);
  }
  if (tensor->dtype == HONE_STRING) return take_strings(reader, proto, tensor);
  return take_numbers(reader, proto, body, tensor);
}

hone_status_t hone_prepare_tensor(hone_onnx_writer_t* writer, const void* model, void* out_proto) {
  const hone_onnx_tensor_t* tensor = model;
  hone_proto_tensor_t* proto = out_proto;
  *proto = (hone_proto_tensor_t){.dims = tensor->dims,
                                 .n_dims = tensor->rank,
                                 .dtype = tensor->dtype,
                                 .name = tensor->name,
                                 .doc = tensor->doc};
  if (tensor->dtype == HONE_STRING) {
    proto->strings = (hone_string_t*)tensor->data;
    proto->n_strings = tensor->count;
    return NULL;
  }
  proto->raw = (hone_string_t){.data = tensor->data ? tensor->data : "", .size = tensor->bytes};
  if (!is_packed(tensor->dtype)) return NULL;
  uint8_t* packed = hone_arena_alloc(writer->arena, file_bytes(tensor));
  if (!packed) return hone_oom();
  pack(tensor->dtype, tensor->data, tensor->count, packed);
  proto->raw = (hone_string_t){.data = (const char*)packed, .size = file_bytes(tensor)};
  return NULL;
}

/* Indices are linear, or a row of `rank` for each value. */
static hone_status_t check_indices(const hone_onnx_sparse_t* sparse, int64_t count) {
  const hone_onnx_tensor_t* indices = &sparse->indices;
  bool linear = indices->rank == 1;
  bool shaped = indices->dtype == HONE_I64 && sparse->values.rank == 1 &&
                (linear || (indices->rank == 2 && indices->dims[1] == sparse->rank)) &&
                indices->dims[0] == sparse->values.count;
  if (!shaped) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "its indices are not a list of i64 with one entry, or one row of %d, "
                            "for each value",
                            sparse->rank);
  }
  for (int64_t i = 0; i < indices->count; i++) {
    int64_t index, limit = linear ? count : sparse->dims[i % sparse->rank];
    memcpy(&index, (const char*)indices->data + (size_t)i * sizeof index, sizeof index);
    if (index >= 0 && index < limit) continue;
    return hone_status_make(HONE_INVALID_MODEL, "index %" PRId64 " lies outside its dimensions",
                            index);
  }
  return NULL;
}

hone_status_t hone_finish_sparse(hone_onnx_reader_t* reader, const void* proto, hone_string_t body,
                                 void* out_model) {
  const hone_onnx_sparse_t* sparse = proto;
  int64_t count;
  if (sparse->rank > HONE_MAX_RANK) {
    return hone_status_make(HONE_UNSUPPORTED, "it has %d dimensions; hone takes %d", sparse->rank,
                            HONE_MAX_RANK);
  }
  if (!hone_dims_count(sparse->rank, sparse->dims, &count)) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "its dimensions are negative, or multiply to too many elements");
  }
  HONE_TRY(check_indices(sparse, count));
  memcpy(out_model, sparse, sizeof *sparse);
  return NULL;
}

hone_status_t hone_prepare_sparse(hone_onnx_writer_t* writer, const void* model, void* out_proto) {
  memcpy(out_proto, model, sizeof(hone_onnx_sparse_t));
  return NULL;
}
