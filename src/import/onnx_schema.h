/* The messages of onnx.proto as tables.
 *
 * A message is a list of rows, one for each field that hone keeps: its number,
 * its kind, and where it lies in a C struct. One engine (onnx_read.c) fills
 * structs by these tables and another (onnx_write.c) writes them, so a field
 * is added by adding a row.
 *
 * Where a struct of the model form (ir/model.h) has the shape of its message,
 * the rows point into it. Where it has not (tensors, attributes, types,
 * dimensions), the rows fill a `hone_proto_…` struct, declared here, that
 * `finish` turns into the model form after reading and `prepare` makes from it
 * before writing. Fields without a row (metadata of nodes, training, sharding,
 * quantization annotations) are passed over. */
#ifndef HONE_IMPORT_ONNX_SCHEMA_H
#define HONE_IMPORT_ONNX_SCHEMA_H

#include "import/proto_wire.h"
#include "ir/model.h"

typedef enum hone_proto_kind {
  HONE_PROTO_INT,          /* int64_t */
  HONE_PROTO_TEXT,         /* const char*, "" when absent */
  HONE_PROTO_TEXT_OR_NULL, /* const char*, NULL when absent */
  HONE_PROTO_DOMAIN,       /* const char*; "ai.onnx" becomes "" */
  HONE_PROTO_BYTES,        /* hone_string_t, in place; data NULL when absent */
  HONE_PROTO_MESSAGE,      /* the struct itself; absent is the same as empty */
  HONE_PROTO_POINTER,      /* a pointer to the struct, NULL when absent */
  HONE_PROTO_PACKED,       /* hone_proto_packed_t: a list of numbers left as it lies; not written */
  /* From here on lists: a pointer to an array, with a count. A single field of
   * which it matters whether it is there is a list as well, marked `single`:
   * of several the last one counts, and it is never packed. */
  HONE_PROTO_INTS,
  HONE_PROTO_FLOATS,
  HONE_PROTO_TEXTS,
  HONE_PROTO_BYTES_LIST,
  HONE_PROTO_MESSAGES, /* an array of structs */
  HONE_PROTO_POINTERS, /* an array of pointers to structs */
} hone_proto_kind_t;

typedef struct hone_proto_message hone_proto_message_t;

typedef struct hone_proto_row {
  uint32_t number;
  hone_proto_kind_t kind;
  uint16_t offset;       /* of the member, bytes */
  uint16_t count_offset; /* lists: of the count */
  uint8_t count_size;    /* lists: 4 for int, 8 for int64_t */
  bool single;
  const hone_proto_message_t* message;
} hone_proto_row_t;

typedef struct hone_onnx_reader hone_onnx_reader_t;
typedef struct hone_onnx_writer hone_onnx_writer_t;

enum { HONE_PROTO_MAX_ROWS = 24, HONE_PROTO_MAX_SIZE = 384 };

struct hone_proto_message {
  const char* name; /* as onnx.proto has it */
  const char* noun; /* how error messages call one; NULL: they do not */
  uint32_t label;   /* number of the field that names one; 0: none */
  const hone_proto_row_t* rows;
  int n_rows;
  size_t proto_size; /* of the struct that the rows fill; at most HONE_PROTO_MAX_SIZE */
  size_t model_size; /* of the struct of the model form */
  /* Both NULL when the rows fill the struct of the model form itself.
   * `body`: the message's bytes. */
  hone_status_t (*finish)(hone_onnx_reader_t* reader, const void* proto, hone_string_t body,
                          void* out_model);
  hone_status_t (*prepare)(hone_onnx_writer_t* writer, const void* model, void* out_proto);
};

/* A list of numbers: the one run of bytes it lies in, unless it is scattered
 * over several fields, which only decoding can join. */
typedef struct hone_proto_packed {
  hone_string_t run;
  bool present;
  bool scattered;
} hone_proto_packed_t;

/* Where a TensorProto may keep its elements when not as raw bytes. */
typedef enum hone_proto_numbers {
  HONE_NUMBERS_NONE,
  HONE_NUMBERS_FLOAT,
  HONE_NUMBERS_INT32,
  HONE_NUMBERS_INT64,
  HONE_NUMBERS_DOUBLE,
  HONE_NUMBERS_UINT64,
  HONE_NUMBERS_COUNT,
} hone_proto_numbers_t;

typedef struct hone_proto_tensor {
  int64_t* dims;
  int64_t n_dims;
  int64_t dtype;
  hone_string_t segment;
  hone_proto_packed_t numbers[HONE_NUMBERS_COUNT];
  hone_string_t* strings;
  int64_t n_strings;
  const char* name;
  const char* doc;
  hone_string_t raw;
  hone_onnx_metadata_t* external;
  int64_t n_external;
  int64_t location; /* 1: external */
} hone_proto_tensor_t;

typedef struct hone_proto_list {
  void* items;
  int64_t count;
} hone_proto_list_t;

typedef struct hone_proto_attr {
  const char* name;
  const char* ref;
  const char* doc;
  int64_t kind;                                  /* 0: not stated */
  hone_proto_list_t values[HONE_ATTR_TYPES + 1]; /* by kind */
} hone_proto_attr_t;

typedef struct hone_proto_dim {
  int64_t* value; /* one, or NULL */
  int n_values;
  const char* symbol;
} hone_proto_dim_t;

typedef struct hone_proto_shape {
  hone_onnx_dim_t* dims;
  int rank;
} hone_proto_shape_t;

/* TypeProto.Tensor, .SparseTensor, .Sequence, .Map and .Optional in one. */
typedef struct hone_proto_type_body {
  int64_t dtype; /* of elements or keys */
  hone_proto_shape_t* shape;
  hone_onnx_type_t* element;
} hone_proto_type_body_t;

typedef struct hone_proto_type {
  hone_proto_type_body_t* bodies[HONE_ONNX_TYPE_SPARSE + 1]; /* by kind */
  const char* denotation;
} hone_proto_type_t;

/* A value of a data file (onnx-data.proto): TensorProto, SequenceProto,
 * MapProto or OptionalProto, whichever it was read as. */
typedef struct hone_proto_value {
  int64_t element;            /* hone_proto_element_t; of a map: the keys' type */
  hone_proto_list_t lists[6]; /* by hone_proto_element_t */
  int64_t* keys;
  int64_t n_keys;
  hone_string_t* string_keys;
  int64_t n_string_keys;
} hone_proto_value_t;

typedef enum hone_proto_element {
  HONE_ELEMENT_NONE,
  HONE_ELEMENT_TENSOR,
  HONE_ELEMENT_SPARSE,
  HONE_ELEMENT_SEQUENCE,
  HONE_ELEMENT_MAP,
  HONE_ELEMENT_OPTIONAL,
} hone_proto_element_t;

extern const hone_proto_message_t hone_proto_model;
extern const hone_proto_message_t hone_proto_tensor;
extern const hone_proto_message_t hone_proto_sparse;
extern const hone_proto_message_t hone_proto_sequence;
extern const hone_proto_message_t hone_proto_optional;
extern const hone_proto_message_t hone_proto_map;

/* The field of TensorProto that holds each list of numbers. */
extern const uint32_t hone_numbers_field[HONE_NUMBERS_COUNT];

/* Fields of NodeProto that error messages ask for. */
enum { HONE_FIELD_NODE_OUTPUT = 2, HONE_FIELD_NODE_OP_TYPE = 4 };

/* The finish and prepare of each message that has them: onnx_tensor.c and
 * onnx_forms.c. */
hone_status_t hone_finish_tensor(hone_onnx_reader_t* reader, const void* proto, hone_string_t body,
                                 void* out_model);
hone_status_t hone_prepare_tensor(hone_onnx_writer_t* writer, const void* model, void* out_proto);
hone_status_t hone_finish_sparse(hone_onnx_reader_t* reader, const void* proto, hone_string_t body,
                                 void* out_model);
hone_status_t hone_prepare_sparse(hone_onnx_writer_t* writer, const void* model, void* out_proto);
hone_status_t hone_finish_attr(hone_onnx_reader_t* reader, const void* proto, hone_string_t body,
                               void* out_model);
hone_status_t hone_prepare_attr(hone_onnx_writer_t* writer, const void* model, void* out_proto);
hone_status_t hone_finish_dim(hone_onnx_reader_t* reader, const void* proto, hone_string_t body,
                              void* out_model);
hone_status_t hone_prepare_dim(hone_onnx_writer_t* writer, const void* model, void* out_proto);
hone_status_t hone_finish_type(hone_onnx_reader_t* reader, const void* proto, hone_string_t body,
                               void* out_model);
hone_status_t hone_prepare_type(hone_onnx_writer_t* writer, const void* model, void* out_proto);

#endif
