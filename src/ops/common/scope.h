/* Scope: which graph value each name of the model stands for, while lowering. */
#ifndef HONE_OPS_COMMON_SCOPE_H
#define HONE_OPS_COMMON_SCOPE_H

#include "base/map.h"
#include "ops/lower.h"

/* What all scopes of one lowering share. */
typedef struct hone_lowering {
  const hone_model_t* model;
  const hone_lower_options_t* options; /* NULL: defaults */
  int depth;                           /* of nested functions and subgraphs */
  int64_t n_nodes;                     /* lowered so far, again for each call */
} hone_lowering_t;

struct hone_scope {
  hone_scope_t* parent; /* names of the graph around a subgraph; NULL for others */
  hone_lowering_t* lowering;
  hone_builder_t* b;
  int n_opsets;
  const hone_onnx_opset_t* opsets;
  bool at_run_time; /* lowering a deferred node: its inputs are all known */
  const char* path; /* of function calls, in front of node names; "" at the top */
  /* Inside a function: the call, whose attributes stand for references. */
  const hone_onnx_node_t* call;
  const hone_onnx_function_t* function;
  int64_t n_value_infos; /* declared types of intermediate values */
  const hone_onnx_value_info_t* value_infos;
  hone_map_t names; /* to hone_value_t*, in the graph's arena */
};

/* Defines (or redefines) a name; false when memory is out (noted in b). */
bool hone_scope_set(hone_scope_t* scope, const char* name, hone_value_t* value);
/* Looks in the enclosing scopes too; NULL when nothing has that name. */
hone_value_t* hone_scope_get(const hone_scope_t* scope, const char* name);
int64_t hone_scope_opset(const hone_scope_t* scope, const char* domain);

/* Lowers nodes in order; stops at the first error. */
void hone_lower_nodes(hone_scope_t* scope, int64_t count, const hone_onnx_node_t* nodes);
/* Defines the initializers of `graph` as constants. */
void hone_lower_initializers(hone_scope_t* scope, const hone_onnx_graph_t* graph);
/* The value of a graph or function output; an error when there is none. */
hone_value_t* hone_scope_output(hone_scope_t* scope, const char* name);

/* A copy of a function's `node` with references to the function's attributes
 * replaced by what the call gives, and without the inputs that the call leaves
 * out; subgraphs included. NULL when memory is out. */
const hone_onnx_node_t* hone_bind_node(const hone_scope_t* scope, const hone_onnx_node_t* node);

/* Keeps `l->node` as a host node that is lowered when it runs. */
void hone_lower_defer_node(hone_lower_t* l, const char* reason);

/* Emits a host node; extents of -1 become symbols bound when it has run. */
hone_node_t* hone_host_emit(hone_builder_t* b, const hone_host_t* host, int n_inputs,
                            hone_value_t** inputs, int n_outputs, const hone_type_t* output_types);

#endif
