/* Operators: what the author of a file in src/ops works with.
 *
 * An operator is one file. It holds one or more rows of hone_op_t (one for
 * each operator and range of opsets) and exports them as one family named
 * after the file:
 *
 *   static void lower_softplus(hone_lower_t* l) {
 *     hone_builder_t* b = l->b;
 *     hone_value_t* x = hone_op_in(l, 0);
 *     hone_op_out(l, 0, hone_log(b, hone_add_number(b, hone_exp(b, x), 1)));
 *   }
 *
 *   static const hone_op_t ops[] = {
 *       {.name = "Softplus", .min_opset = 1, .min_inputs = 1, .max_inputs = 1,
 *        .lower = lower_softplus},
 *   };
 *   HONE_OP_FAMILY(softplus, ops)      // in src/ops/softplus.c
 *
 * Nothing else has to be edited: the build finds the file.
 *
 * Lowering writes primitives through the builder (ir/builder.h), whose errors
 * are sticky, so there is nothing to check on the way. Rank and dtype of every
 * tensor input are known when a lowering runs; extents may be expressions with
 * symbols. Where a lowering needs numbers that are not there yet, it calls
 * hone_defer (or asks for them through hone_op_known / hone_known_dims, which
 * do): the node is then kept and lowered when it runs, with all its inputs
 * constant. An operator that no primitive can express (strings, sequences)
 * gives `host`, a function on whole tensors, instead of or beside `lower`. */
#ifndef HONE_OPS_OP_H
#define HONE_OPS_OP_H

#include "hone/backend.h"
#include "ir/builder.h"
#include "ir/model.h"

typedef struct hone_op hone_op_t;
typedef struct hone_scope hone_scope_t;

/* What a lowering gets. */
typedef struct hone_lower {
  hone_builder_t* b;
  const hone_op_t* op;
  const hone_onnx_node_t* node; /* attributes: hone_attr_… on this */
  int64_t opset;                /* version of the node's domain */
  int n_inputs;
  hone_value_t** inputs; /* NULL for one left out */
  int n_outputs;
  hone_value_t** outputs; /* to be set; see hone_op_out */
  hone_scope_t* scope;
} hone_lower_t;

/* What a host function gets. All inputs are on the host and complete. */
typedef struct hone_host_call {
  const hone_op_t* op;
  const hone_onnx_node_t* node;
  int64_t opset;
  const hone_allocator_t* allocator;
  int n_inputs;
  hone_tensor_t* const* inputs; /* borrowed; NULL for one left out */
  int n_outputs;
  hone_tensor_t** outputs; /* to be set (owned by the caller); NULL where nothing is made */
} hone_host_call_t;

/* Bytes that the host function takes besides inputs and outputs. */
typedef uint64_t (*hone_host_bytes_fn)(const hone_onnx_node_t* node, int n_inputs,
                                       const hone_extents_t* inputs);
typedef void (*hone_lower_fn)(hone_lower_t* l);
typedef hone_status_t (*hone_host_fn)(hone_host_call_t* call);

enum {
  /* `lower` is called although an input is no tensor, or one of unknown dtype
   * or rank. */
  HONE_OP_ANY_TYPE = 1 << 0,
};

struct hone_op {
  const char* domain;       /* NULL is ai.onnx */
  const char* name;         /* "Softplus" */
  int min_opset, max_opset; /* inclusive; max 0: the newest and beyond */
  int min_inputs;           /* the first so many must be there */
  int max_inputs;           /* -1: any number */
  const char* attrs;        /* names it takes, separated by blanks: "axis keepdims" */
  int flags;                /* HONE_OP_… */
  int64_t data;             /* for families: whatever tells the rows apart */
  hone_lower_fn lower;
  hone_host_fn host;
  hone_host_bytes_fn host_bytes; /* NULL: nobody knows before it runs */
};

typedef struct hone_op_family {
  const hone_op_t* ops;
  int count;
} hone_op_family_t;

#define HONE_OP_FAMILY(file, rows)                         \
  extern const hone_op_family_t hone_ops_##file;           \
  const hone_op_family_t hone_ops_##file = {.ops = (rows), \
                                            .count = (int)(sizeof(rows) / sizeof *(rows))};

/* ---- inputs and outputs ---- */

/* NULL when input `index` was left out. */
hone_value_t* hone_op_in(const hone_lower_t* l, int index);
/* Ignored when the model does not want output `index`. */
void hone_op_out(hone_lower_t* l, int index, hone_value_t* value);
/* True when the model wants output `index`. */
bool hone_op_wants(const hone_lower_t* l, int index);
/* The contents of input `index`, which must be a constant; defers otherwise.
 * NULL also when the input was left out. Borrowed. */
const hone_tensor_t* hone_op_known(hone_lower_t* l, int index);
/* The elements of an integer input as dimension expressions (see
 * hone_known_dims); NULL when it was left out. */
const hone_dim_t* hone_op_known_dims(hone_lower_t* l, int index, int* out_count);
/* Integers that are an attribute in some opsets and an input in others:
 * attribute `attr` when it is there, else input `index` (-1: there is none),
 * as dimension expressions or as numbers, which defers when they are not known.
 * NULL when neither is given. */
const hone_dim_t* hone_op_list(hone_lower_t* l, const char* attr, int index, int* out_count);
const int64_t* hone_op_ints(hone_lower_t* l, const char* attr, int index, int* out_count);
/* The same for axes of a tensor of `rank`: each is made 0 <= axis < rank, and
 * none may be there twice. */
const int64_t* hone_op_axes(hone_lower_t* l, const char* attr, int index, int rank, int* out_count);
/* An INVALID_MODEL error of this node; for the end of a lowering. */
void hone_op_fail(hone_lower_t* l, const char* format, ...) HONE_PRINTF(2, 3);

/* Emits the operator as a host node with the given output types (l->n_outputs
 * of them) and sets the outputs. Extents given as -1 become symbols that are
 * bound when the node has run. */
void hone_op_host(hone_lower_t* l, const hone_type_t* output_types);

/* Element `index` of a tensor as a number (any real numeric dtype). */
double hone_tensor_f64(const hone_tensor_t* tensor, int64_t index);
int64_t hone_tensor_i64(const hone_tensor_t* tensor, int64_t index);

/* ---- attributes ---- */

bool hone_attr_has(const hone_onnx_node_t* node, const char* name);
int64_t hone_attr_int(const hone_onnx_node_t* node, const char* name, int64_t fallback);
double hone_attr_float(const hone_onnx_node_t* node, const char* name, double fallback);
/* Ends in 0; lives as long as the model. */
const char* hone_attr_string(const hone_onnx_node_t* node, const char* name, const char* fallback);
/* NULL and count 0 when absent. Borrowed. */
const int64_t* hone_attr_ints(const hone_onnx_node_t* node, const char* name, int* out_count);
const float* hone_attr_floats(const hone_onnx_node_t* node, const char* name, int* out_count);
const hone_string_t* hone_attr_strings(const hone_onnx_node_t* node, const char* name,
                                       int* out_count);
const hone_onnx_tensor_t* hone_attr_tensor(const hone_onnx_node_t* node, const char* name);
const hone_onnx_graph_t* hone_attr_graph(const hone_onnx_node_t* node, const char* name);

/* A tensor of the model as a run-time tensor, sharing its memory (unless it is
 * not aligned or holds strings). */
HONE_MUST_USE hone_status_t hone_onnx_tensor_wrap(const hone_allocator_t* allocator,
                                                  const hone_onnx_tensor_t* tensor,
                                                  hone_tensor_t** out_tensor);
/* The same as a constant of the graph. */
hone_value_t* hone_onnx_tensor_constant(hone_builder_t* b, const hone_onnx_tensor_t* tensor);
/* A sparse tensor as a dense constant. */
hone_value_t* hone_onnx_sparse_constant(hone_builder_t* b, const hone_onnx_sparse_t* sparse);

/* ---- subgraphs ---- */

/* Lowers a subgraph of the node into `body` (a region of l->b): its inputs are
 * `params`, names of enclosing graphs are found. `outputs` gets
 * graph->n_outputs values of `body` (or of an enclosing graph). */
void hone_op_subgraph(hone_lower_t* l, const hone_onnx_graph_t* graph, hone_builder_t* body,
                      int n_params, hone_value_t* const* params, hone_value_t** outputs);

/* ---- registry ---- */

/* The row for an operator at an opset of its domain; NULL when there is none.
 * *out_known (may be NULL) tells whether another opset has it. */
const hone_op_t* hone_op_find(const char* domain, const char* name, int64_t opset, bool* out_known);
extern const hone_op_family_t* const hone_op_families[];
extern const int hone_op_family_count;

#endif
