/* Model: what a model file says, before anything is made of it.
 *
 * The importer (src/import) fills this form from a file, the exporter writes
 * it back, and lowering (src/ops) turns it into a graph of primitives. It
 * mirrors onnx.proto: nodes with attributes, initializers, functions.
 *
 * Ownership: everything hangs from one arena, owned by the model. Names are
 * copies that end in 0. Tensor contents point into the mapped file where that
 * is possible; the model keeps the mapping alive.
 *
 * Texts that a file does not have are "", never NULL, unless a member says
 * otherwise.
 *
 * Thread-safety: immutable once loaded, so it may be shared. */
#ifndef HONE_IR_MODEL_H
#define HONE_IR_MODEL_H

#include "base/arena.h"
#include "hone/dtype.h"
#include "hone/model.h"
#include "hone/tensor.h"

typedef struct hone_onnx_graph hone_onnx_graph_t;
typedef struct hone_onnx_type hone_onnx_type_t;

/* One dimension as a file declares it. */
typedef struct hone_onnx_dim {
  int64_t value;      /* >= 0; -1 when not a number */
  const char* symbol; /* name; NULL when there is none */
} hone_onnx_dim_t;

typedef enum hone_onnx_type_kind {
  HONE_ONNX_TYPE_NONE, /* not stated */
  HONE_ONNX_TYPE_TENSOR,
  HONE_ONNX_TYPE_SEQUENCE,
  HONE_ONNX_TYPE_MAP,
  HONE_ONNX_TYPE_OPTIONAL,
  HONE_ONNX_TYPE_SPARSE,
} hone_onnx_type_kind_t;

struct hone_onnx_type {
  hone_onnx_type_kind_t kind;
  hone_dtype_t dtype; /* of a tensor's elements, or a map's keys */
  int rank;           /* -1: the file does not say */
  hone_onnx_dim_t* dims;
  hone_onnx_type_t* element; /* of a sequence or optional; a map's values */
  const char* denotation;    /* NULL when absent */
};

/* A named input, output or intermediate value with its declared type. */
typedef struct hone_onnx_value_info {
  const char* name;
  hone_onnx_type_t type;
  const char* doc;
} hone_onnx_value_info_t;

/* A tensor as stored. `data` is row-major, unpacked to hone's memory form
 * (see dtype.h); it lies in the mapped file when `mapped`, in the arena
 * otherwise. External data has been resolved. */
typedef struct hone_onnx_tensor {
  const char* name; /* "" when the file gives none */
  hone_dtype_t dtype;
  int rank;
  int64_t* dims;
  int64_t count; /* elements */
  const void* data;
  size_t bytes;
  bool mapped;
  const char* external_file; /* as written in the model; NULL when inline */
  uint64_t external_offset;
  const char* doc;
} hone_onnx_tensor_t;

typedef struct hone_onnx_sparse {
  hone_onnx_tensor_t values;
  hone_onnx_tensor_t indices;
  int rank;
  int64_t* dims;
} hone_onnx_sparse_t;

/* The numbers are those of AttributeProto.AttributeType. */
typedef enum hone_onnx_attr_kind {
  HONE_ATTR_FLOAT = 1,
  HONE_ATTR_INT = 2,
  HONE_ATTR_STRING = 3,
  HONE_ATTR_TENSOR = 4,
  HONE_ATTR_GRAPH = 5,
  HONE_ATTR_FLOATS = 6,
  HONE_ATTR_INTS = 7,
  HONE_ATTR_STRINGS = 8,
  HONE_ATTR_TENSORS = 9,
  HONE_ATTR_GRAPHS = 10,
  HONE_ATTR_SPARSE_TENSOR = 11,
  HONE_ATTR_SPARSE_TENSORS = 12,
  HONE_ATTR_TYPE = 13,
  HONE_ATTR_TYPES = 14,
} hone_onnx_attr_kind_t;

/* One attribute. Lists have `count` entries; single values count 1 and use
 * the same arrays, so that readers need one form. */
typedef struct hone_onnx_attr {
  const char* name;
  hone_onnx_attr_kind_t kind;
  const char* ref; /* inside a function: the function's attribute this stands for; or NULL */
  int64_t count;
  union {
    float* floats;
    int64_t* ints;
    hone_string_t* strings;
    hone_onnx_tensor_t* tensors;
    hone_onnx_graph_t** graphs;
    hone_onnx_sparse_t* sparse;
    hone_onnx_type_t* types;
  };
  const char* doc;
} hone_onnx_attr_t;

typedef struct hone_onnx_node {
  const char* name;     /* "" when the file gives none */
  const char* op_type;  /* "Conv" */
  const char* domain;   /* "" is ai.onnx ("ai.onnx" is stored as "") */
  const char* overload; /* of a function call; "" mostly */
  int n_inputs;
  const char** inputs; /* "" marks one left out */
  int n_outputs;
  const char** outputs; /* "" marks one not wanted */
  int n_attrs;
  hone_onnx_attr_t* attrs;
  const char* doc;
} hone_onnx_node_t;

struct hone_onnx_graph {
  const char* name;
  const char* doc;
  int64_t n_nodes;
  hone_onnx_node_t* nodes;
  int64_t n_initializers;
  hone_onnx_tensor_t* initializers;
  int64_t n_sparse;
  hone_onnx_sparse_t* sparse; /* sparse initializers; named by values.name */
  int64_t n_inputs;
  hone_onnx_value_info_t* inputs;
  int64_t n_outputs;
  hone_onnx_value_info_t* outputs;
  int64_t n_value_infos;
  hone_onnx_value_info_t* value_infos;
};

typedef struct hone_onnx_opset {
  const char* domain; /* "" is ai.onnx */
  int64_t version;
} hone_onnx_opset_t;

/* A function of the model (FunctionProto). */
typedef struct hone_onnx_function {
  const char* name;
  const char* domain;
  const char* overload;
  int n_inputs;
  const char** inputs;
  int n_outputs;
  const char** outputs;
  int n_attr_names;
  const char** attr_names; /* without default */
  int n_attr_defaults;
  hone_onnx_attr_t* attr_defaults;
  int n_opsets;
  hone_onnx_opset_t* opsets;
  int64_t n_nodes;
  hone_onnx_node_t* nodes;
  int64_t n_value_infos;
  hone_onnx_value_info_t* value_infos;
  const char* doc;
} hone_onnx_function_t;

typedef struct hone_onnx_metadata {
  const char* key;
  const char* value;
} hone_onnx_metadata_t;

struct hone_model {
  hone_arena_t* arena;
  const hone_allocator_t* allocator;
  const char* path; /* "" when loaded from memory */
  const void* file; /* what is in it, mapped as long as the model lives; NULL likewise */
  size_t file_size;
  int64_t ir_version;
  const char* producer_name;
  const char* producer_version;
  const char* domain;
  int64_t model_version;
  const char* doc;
  hone_onnx_graph_t* graph;
  int n_opsets;
  hone_onnx_opset_t* opsets;
  int n_functions;
  hone_onnx_function_t* functions;
  int n_metadata;
  hone_onnx_metadata_t* metadata;
  /* What must live as long as the model (mapped files); run by destroy. */
  struct hone_model_cleanup* cleanups;
};

typedef struct hone_model_cleanup {
  struct hone_model_cleanup* next;
  void (*run)(void* argument);
  void* argument;
} hone_model_cleanup_t;

/* An empty model with an arena. */
HONE_MUST_USE hone_status_t hone_model_create(const hone_allocator_t* allocator,
                                              hone_model_t** out_model);
/* Registers `run(argument)` for destroy. On failure nothing is registered
 * and `run` is not called. */
HONE_MUST_USE hone_status_t hone_model_on_destroy(hone_model_t* model, void (*run)(void*),
                                                  void* argument);

/* The model's opset for `domain`; 0 when it does not import it. */
int64_t hone_model_opset(const hone_model_t* model, const char* domain);
/* The function that a node calls; NULL when it is not a function of the model. */
const hone_onnx_function_t* hone_model_function(const hone_model_t* model, const char* domain,
                                                const char* name, const char* overload);
/* NULL when the node has no such attribute. */
const hone_onnx_attr_t* hone_onnx_node_attr(const hone_onnx_node_t* node, const char* name);

#endif
