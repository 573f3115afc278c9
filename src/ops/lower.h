/* Lowering: a model becomes a graph of primitives. */
#ifndef HONE_OPS_LOWER_H
#define HONE_OPS_LOWER_H

#include "hone/dim_option.h"
#include "ops/op.h"

/* One thing that keeps a model from running. */
typedef struct hone_gap {
  struct hone_gap* next;
  const char* node; /* "name (OpType)" */
  const char* op_type;
  const char* domain;
  hone_code_t code;
  const char* reason;
} hone_gap_t;

typedef struct hone_lower_options {
  int n_dims; /* sizes of named dimensions */
  const hone_dim_option_t* dims;
  /* A dimension's name holds within one input only: for models that give one
   * name to sizes that differ. */
  bool names_are_per_input;
  /* Not NULL: the inputs of a run, in order; all extents are theirs. */
  hone_tensor_t* const* inputs;
  /* Not NULL: nodes that cannot be lowered are listed here, last first (in
   * `gap_arena`), instead of stopping at the first; the graph is then good for
   * nothing else. */
  hone_gap_t** gaps;
  hone_arena_t* gap_arena;
} hone_lower_options_t;

/* Lowers the model's main graph. The graph shares constants with the model,
 * which must outlive it. Dead nodes are dropped. Errors name the node.
 * `options` may be NULL. */
HONE_MUST_USE hone_status_t hone_lower_model(const hone_model_t* model,
                                             const hone_lower_options_t* options,
                                             const hone_allocator_t* allocator,
                                             hone_graph_t** out_graph);

/* What a `host` node does when it runs: either op->host, or (deferred) the
 * lowering of `node` with its inputs constant. */
struct hone_host {
  const hone_op_t* op;
  const hone_onnx_node_t* node;
  const hone_model_t* model;
  int n_opsets; /* in force where the node stands: the model's or a function's */
  const hone_onnx_opset_t* opsets;
  int64_t opset;
  bool deferred;
  const char* reason; /* of the deferral */
  /* Deferred nodes with subgraphs: names of the inputs that follow the node's
   * own, which the subgraphs take from outside. */
  int n_captures;
  const char** capture_names;
};

/* Tries once more to lower the deferred `node` (a host node) into its own graph,
 * through b, now that more may be known of its inputs. `outputs` gets its
 * n_outputs results. False when it still has to wait; errors are noted in b. */
bool hone_lower_again(hone_builder_t* b, const hone_node_t* node, hone_value_t** outputs);

/* How many nodes of the graph are deferred, regions included. */
int hone_lower_deferred_count(const hone_graph_t* graph);
/* Lowers a deferred node into a fresh graph without inputs whose outputs are
 * the node's (those the model wants); `inputs` are the run-time inputs (NULL:
 * left out), captures behind the node's own. The graph keeps references. */
HONE_MUST_USE hone_status_t hone_lower_deferred(const hone_host_t* host,
                                                const hone_allocator_t* allocator, int n_inputs,
                                                hone_tensor_t* const* inputs,
                                                hone_graph_t** out_graph);

#endif
