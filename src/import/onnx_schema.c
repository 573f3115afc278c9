/* The tables of onnx_schema.h. Field numbers are those of onnx.proto and
 * onnx-data.proto. */
#include "import/onnx_schema.h"

#include <assert.h>

/* Rows of the struct ROW_STRUCT, redefined before each table. */
#define AT(member) .offset = offsetof(ROW_STRUCT, member)
#define COUNT(member) \
  .count_offset = offsetof(ROW_STRUCT, member), .count_size = sizeof(((ROW_STRUCT*)0)->member)
#define ONE(field, kind_, member) \
  { .number = field, .kind = HONE_PROTO_##kind_, AT(member) }
#define ONE_OF(field, kind_, member, sub) \
  { .number = field, .kind = HONE_PROTO_##kind_, AT(member), .message = &(sub) }
#define LIST(field, kind_, member, count) \
  { .number = field, .kind = HONE_PROTO_##kind_, AT(member), COUNT(count) }
#define LIST_OF(field, kind_, member, count, sub) \
  { .number = field, .kind = HONE_PROTO_##kind_, AT(member), COUNT(count), .message = &(sub) }
#define MAYBE(field, kind_, member, count_) \
  { .number = field, .kind = HONE_PROTO_##kind_, AT(member), COUNT(count_), .single = true }
#define MAYBE_OF(field, kind_, member, count_, sub)                                         \
  {                                                                                         \
    .number = field, .kind = HONE_PROTO_##kind_, AT(member), COUNT(count_), .single = true, \
    .message = &(sub)                                                                       \
  }
#define ROWS(table) .rows = (table), .n_rows = (int)(sizeof(table) / sizeof *(table))
#define SAME(type) .proto_size = sizeof(type), .model_size = sizeof(type)
#define FORMS(proto, model) .proto_size = sizeof(proto), .model_size = sizeof(model)

static const hone_proto_message_t graph_message;
static const hone_proto_message_t type_message;
static const hone_proto_message_t attr_message;

#define ROW_STRUCT hone_onnx_metadata_t
static const hone_proto_row_t entry_rows[] = {
    ONE(1, TEXT, key),
    ONE(2, TEXT, value),
};
#undef ROW_STRUCT
static const hone_proto_message_t entry_message = {
    .name = "StringStringEntryProto", ROWS(entry_rows), SAME(hone_onnx_metadata_t)};

#define ROW_STRUCT hone_onnx_opset_t
static const hone_proto_row_t opset_rows[] = {
    ONE(1, DOMAIN, domain),
    ONE(2, INT, version),
};
#undef ROW_STRUCT
static const hone_proto_message_t opset_message = {
    .name = "OperatorSetIdProto", ROWS(opset_rows), SAME(hone_onnx_opset_t)};

#define ROW_STRUCT hone_proto_tensor_t
static const hone_proto_row_t tensor_rows[] = {
    LIST(1, INTS, dims, n_dims),
    ONE(2, INT, dtype),
    ONE(3, BYTES, segment),
    ONE(4, PACKED, numbers[HONE_NUMBERS_FLOAT]),
    ONE(5, PACKED, numbers[HONE_NUMBERS_INT32]),
    LIST(6, BYTES_LIST, strings, n_strings),
    ONE(7, PACKED, numbers[HONE_NUMBERS_INT64]),
    ONE(8, TEXT, name),
    ONE(9, BYTES, raw),
    ONE(10, PACKED, numbers[HONE_NUMBERS_DOUBLE]),
    ONE(11, PACKED, numbers[HONE_NUMBERS_UINT64]),
    ONE(12, TEXT, doc),
    LIST_OF(13, MESSAGES, external, n_external, entry_message),
    ONE(14, INT, location),
};
#undef ROW_STRUCT
const hone_proto_message_t hone_proto_tensor = {.name = "TensorProto",
                                                .noun = "tensor",
                                                .label = 8,
                                                ROWS(tensor_rows),
                                                FORMS(hone_proto_tensor_t, hone_onnx_tensor_t),
                                                .finish = hone_finish_tensor,
                                                .prepare = hone_prepare_tensor};
const uint32_t hone_numbers_field[HONE_NUMBERS_COUNT] = {
    [HONE_NUMBERS_FLOAT] = 4,   [HONE_NUMBERS_INT32] = 5,   [HONE_NUMBERS_INT64] = 7,
    [HONE_NUMBERS_DOUBLE] = 10, [HONE_NUMBERS_UINT64] = 11,
};

#define ROW_STRUCT hone_onnx_sparse_t
static const hone_proto_row_t sparse_rows[] = {
    ONE_OF(1, MESSAGE, values, hone_proto_tensor),
    ONE_OF(2, MESSAGE, indices, hone_proto_tensor),
    LIST(3, INTS, dims, rank),
};
#undef ROW_STRUCT
const hone_proto_message_t hone_proto_sparse = {.name = "SparseTensorProto",
                                                .noun = "sparse tensor",
                                                ROWS(sparse_rows),
                                                SAME(hone_onnx_sparse_t),
                                                .finish = hone_finish_sparse,
                                                .prepare = hone_prepare_sparse};

#define ROW_STRUCT hone_proto_dim_t
static const hone_proto_row_t dim_rows[] = {
    MAYBE(1, INTS, value, n_values),
    ONE(2, TEXT_OR_NULL, symbol),
};
#undef ROW_STRUCT
static const hone_proto_message_t dim_message = {.name = "Dimension",
                                                 ROWS(dim_rows),
                                                 FORMS(hone_proto_dim_t, hone_onnx_dim_t),
                                                 .finish = hone_finish_dim,
                                                 .prepare = hone_prepare_dim};

#define ROW_STRUCT hone_proto_shape_t
static const hone_proto_row_t shape_rows[] = {
    LIST_OF(1, MESSAGES, dims, rank, dim_message),
};
#undef ROW_STRUCT
static const hone_proto_message_t shape_message = {
    .name = "TensorShapeProto", ROWS(shape_rows), SAME(hone_proto_shape_t)};

#define ROW_STRUCT hone_proto_type_body_t
static const hone_proto_row_t type_tensor_rows[] = {
    ONE(1, INT, dtype),
    ONE_OF(2, POINTER, shape, shape_message),
};
static const hone_proto_row_t type_list_rows[] = {
    ONE_OF(1, POINTER, element, type_message),
};
static const hone_proto_row_t type_map_rows[] = {
    ONE(1, INT, dtype),
    ONE_OF(2, POINTER, element, type_message),
};
#undef ROW_STRUCT
static const hone_proto_message_t type_tensor_message = {
    .name = "TypeProto.Tensor", ROWS(type_tensor_rows), SAME(hone_proto_type_body_t)};
static const hone_proto_message_t type_list_message = {
    .name = "TypeProto.Sequence", ROWS(type_list_rows), SAME(hone_proto_type_body_t)};
static const hone_proto_message_t type_map_message = {
    .name = "TypeProto.Map", ROWS(type_map_rows), SAME(hone_proto_type_body_t)};

#define ROW_STRUCT hone_proto_type_t
static const hone_proto_row_t type_rows[] = {
    ONE_OF(1, POINTER, bodies[HONE_ONNX_TYPE_TENSOR], type_tensor_message),
    ONE_OF(4, POINTER, bodies[HONE_ONNX_TYPE_SEQUENCE], type_list_message),
    ONE_OF(5, POINTER, bodies[HONE_ONNX_TYPE_MAP], type_map_message),
    ONE(6, TEXT_OR_NULL, denotation),
    ONE_OF(8, POINTER, bodies[HONE_ONNX_TYPE_SPARSE], type_tensor_message),
    ONE_OF(9, POINTER, bodies[HONE_ONNX_TYPE_OPTIONAL], type_list_message),
};
#undef ROW_STRUCT
static const hone_proto_message_t type_message = {.name = "TypeProto",
                                                  ROWS(type_rows),
                                                  FORMS(hone_proto_type_t, hone_onnx_type_t),
                                                  .finish = hone_finish_type,
                                                  .prepare = hone_prepare_type};

#define ROW_STRUCT hone_onnx_value_info_t
static const hone_proto_row_t value_info_rows[] = {
    ONE(1, TEXT, name),
    ONE_OF(2, MESSAGE, type, type_message),
    ONE(3, TEXT, doc),
};
#undef ROW_STRUCT
static const hone_proto_message_t value_info_message = {.name = "ValueInfoProto",
                                                        .noun = "value",
                                                        .label = 1,
                                                        ROWS(value_info_rows),
                                                        SAME(hone_onnx_value_info_t)};

#define ROW_STRUCT hone_proto_attr_t
#define VALUES(kind) values[HONE_ATTR_##kind].items, values[HONE_ATTR_##kind].count
#define ATTR_MAYBE(...) MAYBE(__VA_ARGS__)
#define ATTR_MAYBE_OF(...) MAYBE_OF(__VA_ARGS__)
#define ATTR_LIST(...) LIST(__VA_ARGS__)
#define ATTR_LIST_OF(...) LIST_OF(__VA_ARGS__)
static const hone_proto_row_t attr_rows[] = {
    ONE(1, TEXT, name),
    ATTR_MAYBE(2, FLOATS, VALUES(FLOAT)),
    ATTR_MAYBE(3, INTS, VALUES(INT)),
    ATTR_MAYBE(4, BYTES_LIST, VALUES(STRING)),
    ATTR_MAYBE_OF(5, MESSAGES, VALUES(TENSOR), hone_proto_tensor),
    ATTR_MAYBE_OF(6, POINTERS, VALUES(GRAPH), graph_message),
    ATTR_LIST(7, FLOATS, VALUES(FLOATS)),
    ATTR_LIST(8, INTS, VALUES(INTS)),
    ATTR_LIST(9, BYTES_LIST, VALUES(STRINGS)),
    ATTR_LIST_OF(10, MESSAGES, VALUES(TENSORS), hone_proto_tensor),
    ATTR_LIST_OF(11, POINTERS, VALUES(GRAPHS), graph_message),
    ONE(13, TEXT, doc),
    ATTR_MAYBE_OF(14, MESSAGES, VALUES(TYPE), type_message),
    ATTR_LIST_OF(15, MESSAGES, VALUES(TYPES), type_message),
    ONE(20, INT, kind),
    ONE(21, TEXT_OR_NULL, ref),
    ATTR_MAYBE_OF(22, MESSAGES, VALUES(SPARSE_TENSOR), hone_proto_sparse),
    ATTR_LIST_OF(23, MESSAGES, VALUES(SPARSE_TENSORS), hone_proto_sparse),
};
#undef ROW_STRUCT
static const hone_proto_message_t attr_message = {.name = "AttributeProto",
                                                  .noun = "attribute",
                                                  .label = 1,
                                                  ROWS(attr_rows),
                                                  FORMS(hone_proto_attr_t, hone_onnx_attr_t),
                                                  .finish = hone_finish_attr,
                                                  .prepare = hone_prepare_attr};

#define ROW_STRUCT hone_onnx_node_t
static const hone_proto_row_t node_rows[] = {
    LIST(1, TEXTS, inputs, n_inputs),
    LIST(HONE_FIELD_NODE_OUTPUT, TEXTS, outputs, n_outputs),
    ONE(3, TEXT, name),
    ONE(HONE_FIELD_NODE_OP_TYPE, TEXT, op_type),
    LIST_OF(5, MESSAGES, attrs, n_attrs, attr_message),
    ONE(6, TEXT, doc),
    ONE(7, DOMAIN, domain),
    ONE(8, TEXT, overload),
};
#undef ROW_STRUCT
static const hone_proto_message_t node_message = {
    .name = "NodeProto", .noun = "node", .label = 3, ROWS(node_rows), SAME(hone_onnx_node_t)};

#define ROW_STRUCT hone_onnx_graph_t
static const hone_proto_row_t graph_rows[] = {
    LIST_OF(1, MESSAGES, nodes, n_nodes, node_message),
    ONE(2, TEXT, name),
    LIST_OF(5, MESSAGES, initializers, n_initializers, hone_proto_tensor),
    ONE(10, TEXT, doc),
    LIST_OF(11, MESSAGES, inputs, n_inputs, value_info_message),
    LIST_OF(12, MESSAGES, outputs, n_outputs, value_info_message),
    LIST_OF(13, MESSAGES, value_infos, n_value_infos, value_info_message),
    LIST_OF(15, MESSAGES, sparse, n_sparse, hone_proto_sparse),
};
#undef ROW_STRUCT
static const hone_proto_message_t graph_message = {
    .name = "GraphProto", .noun = "graph", .label = 2, ROWS(graph_rows), SAME(hone_onnx_graph_t)};

#define ROW_STRUCT hone_onnx_function_t
static const hone_proto_row_t function_rows[] = {
    ONE(1, TEXT, name),
    LIST(4, TEXTS, inputs, n_inputs),
    LIST(5, TEXTS, outputs, n_outputs),
    LIST(6, TEXTS, attr_names, n_attr_names),
    LIST_OF(7, MESSAGES, nodes, n_nodes, node_message),
    ONE(8, TEXT, doc),
    LIST_OF(9, MESSAGES, opsets, n_opsets, opset_message),
    ONE(10, DOMAIN, domain),
    LIST_OF(11, MESSAGES, attr_defaults, n_attr_defaults, attr_message),
    LIST_OF(12, MESSAGES, value_infos, n_value_infos, value_info_message),
    ONE(13, TEXT, overload),
};
#undef ROW_STRUCT
static const hone_proto_message_t function_message = {.name = "FunctionProto",
                                                      .noun = "function",
                                                      .label = 1,
                                                      ROWS(function_rows),
                                                      SAME(hone_onnx_function_t)};

#define ROW_STRUCT hone_model_t
static const hone_proto_row_t model_rows[] = {
    ONE(1, INT, ir_version),
    ONE(2, TEXT, producer_name),
    ONE(3, TEXT, producer_version),
    ONE(4, TEXT, domain),
    ONE(5, INT, model_version),
    ONE(6, TEXT, doc),
    ONE_OF(7, POINTER, graph, graph_message),
    LIST_OF(8, MESSAGES, opsets, n_opsets, opset_message),
    LIST_OF(14, MESSAGES, metadata, n_metadata, entry_message),
    LIST_OF(25, MESSAGES, functions, n_functions, function_message),
};
#undef ROW_STRUCT
const hone_proto_message_t hone_proto_model = {
    .name = "ModelProto", ROWS(model_rows), SAME(hone_model_t)};

#define ROW_STRUCT hone_proto_value_t
#define ITEMS(element) lists[HONE_ELEMENT_##element].items, lists[HONE_ELEMENT_##element].count
static const hone_proto_row_t sequence_rows[] = {
    ONE(2, INT, element),
    ATTR_LIST_OF(3, MESSAGES, ITEMS(TENSOR), hone_proto_tensor),
    ATTR_LIST_OF(4, MESSAGES, ITEMS(SPARSE), hone_proto_sparse),
    ATTR_LIST_OF(5, MESSAGES, ITEMS(SEQUENCE), hone_proto_sequence),
    ATTR_LIST_OF(6, MESSAGES, ITEMS(MAP), hone_proto_map),
    ATTR_LIST_OF(7, MESSAGES, ITEMS(OPTIONAL), hone_proto_optional),
};
static const hone_proto_row_t optional_rows[] = {
    ONE(2, INT, element),
    ATTR_MAYBE_OF(3, MESSAGES, ITEMS(TENSOR), hone_proto_tensor),
    ATTR_MAYBE_OF(4, MESSAGES, ITEMS(SPARSE), hone_proto_sparse),
    ATTR_MAYBE_OF(5, MESSAGES, ITEMS(SEQUENCE), hone_proto_sequence),
    ATTR_MAYBE_OF(6, MESSAGES, ITEMS(MAP), hone_proto_map),
    ATTR_MAYBE_OF(7, MESSAGES, ITEMS(OPTIONAL), hone_proto_optional),
};
static const hone_proto_row_t map_rows[] = {
    ONE(2, INT, element),
    LIST(3, INTS, keys, n_keys),
    LIST(4, BYTES_LIST, string_keys, n_string_keys),
    ATTR_MAYBE_OF(5, MESSAGES, ITEMS(SEQUENCE), hone_proto_sequence),
};
#undef ROW_STRUCT
const hone_proto_message_t hone_proto_sequence = {
    .name = "SequenceProto", ROWS(sequence_rows), SAME(hone_proto_value_t)};
const hone_proto_message_t hone_proto_optional = {
    .name = "OptionalProto", ROWS(optional_rows), SAME(hone_proto_value_t)};
const hone_proto_message_t hone_proto_map = {
    .name = "MapProto", ROWS(map_rows), SAME(hone_proto_value_t)};

static_assert(sizeof(hone_proto_tensor_t) <= HONE_PROTO_MAX_SIZE, "the engines' buffer");
static_assert(sizeof(hone_proto_attr_t) <= HONE_PROTO_MAX_SIZE, "the engines' buffer");
static_assert(sizeof(hone_onnx_sparse_t) <= HONE_PROTO_MAX_SIZE, "the engines' buffer");
static_assert(sizeof attr_rows / sizeof *attr_rows <= HONE_PROTO_MAX_ROWS, "the engine's counts");
