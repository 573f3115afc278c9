/* Graph: a typed, shaped dataflow graph over hone's primitives.
 *
 * What primitives there are and exactly what each computes is written down in
 * ir/prim.h. A graph is in single assignment form: a node's inputs come
 * before it. Bodies of control flow are graphs of their own ("regions"); they
 * are closed, so what a body needs from outside is passed to it as further
 * parameters (captures).
 *
 * Ownership: nodes, values, types and names live in the arena of the root
 * graph; constants are counted tensors that the root releases.
 *
 * Thread-safety: immutable after building, so it may be shared. */
#ifndef HONE_IR_GRAPH_H
#define HONE_IR_GRAPH_H

#include "hone/tensor.h"
#include "ir/dim.h"
#include "ir/prim.h"

typedef struct hone_graph hone_graph_t;
typedef struct hone_node hone_node_t;
typedef struct hone_value hone_value_t;
typedef struct hone_type hone_type_t;

typedef enum hone_type_kind {
  HONE_TYPE_ANY, /* not known before it runs */
  HONE_TYPE_TENSOR,
  HONE_TYPE_SEQUENCE,
  HONE_TYPE_MAP,
  HONE_TYPE_OPTIONAL,
} hone_type_kind_t;

/* The rank of the elements of a sequence that has none: it goes with any. */
enum { HONE_RANK_NONE = -2 };

struct hone_type {
  hone_type_kind_t kind;
  hone_dtype_t dtype;         /* of a tensor; HONE_UNKNOWN: not known before it runs */
  int rank;                   /* negative: not known before it runs */
  const hone_dim_t* dims;     /* rank entries; in an element type NULL where they vary */
  const hone_type_t* element; /* of a sequence or optional; NULL: not known */
};

/* A symbol that gets its value when this value has been produced. */
typedef struct hone_bind {
  struct hone_bind* next;
  int symbol;  /* its id */
  bool is_dim; /* dims[index] of the value, else its element `index` */
  int64_t index;
} hone_bind_t;

struct hone_value {
  int id; /* index into its graph's values */
  hone_type_t type;
  hone_node_t* node; /* that produces it */
  int index;         /* which of the node's outputs it is */
  const char* name;  /* of the model's tensor; NULL when it has none */
  /* The elements in row-major order, where they are known as expressions: of
   * small integer and bool tensors only. NULL otherwise. */
  const hone_dim_t* content;
  hone_bind_t* binds;
  /* Scratch of the rewrite at work (passes/common/rewrite.h), else meaningless. */
  int uses;
  hone_value_t* forward; /* what has taken this one's place */
};

/* What a `host` node calls; made by src/ops, opaque here. */
typedef struct hone_host hone_host_t;

/* Which fields a primitive uses is written in its row of ir/prim.h. */
struct hone_node {
  hone_prim_t prim;
  hone_graph_t* graph;
  const char* origin; /* the model's node it came from: "name (OpType)" */
  int n_inputs;
  hone_value_t** inputs; /* an entry may be NULL for host nodes only */
  int n_outputs;
  hone_value_t** outputs;
  hone_dtype_t dtype;
  hone_combine_t combine;
  int n_axes;
  const int64_t* axes;
  int n_batch; /* contract: how many of the axis pairs are batch axes */
  int n_dims;  /* entries of shape, lo, hi and step */
  const hone_dim_t* shape;
  const hone_dim_t* lo;
  const hone_dim_t* hi;
  const hone_dim_t* step;
  int64_t flags; /* HONE_FLAG_… */
  int64_t seed;
  int n_carried; /* loop: values carried from one round to the next */
  hone_tensor_t* constant;
  /* Call: a word of a-z, 0-9 and _. Of another node: that of the outermost call which
   * it came out of, NULL if of none; it says what the node was recognised as. */
  const char* label;
  int n_regions;
  hone_graph_t* regions[2];
  const hone_host_t* host;
};

typedef struct hone_graph_cleanup {
  struct hone_graph_cleanup* next;
  void (*run)(void* argument);
  void* argument;
} hone_graph_cleanup_t;

/* A symbol that stands for an expression too long to be repeated. */
typedef struct hone_short_name {
  struct hone_short_name* next;
  hone_dim_t expression, symbol;
  const hone_value_t* value; /* that binds the symbol */
} hone_short_name_t;

struct hone_graph {
  const char* name;
  hone_graph_t* root; /* itself for the outermost */
  hone_graph_t* parent;
  hone_arena_t* arena; /* of the root, as are the next two */
  const hone_allocator_t* allocator;
  hone_dims_t* dims;
  int n_nodes, nodes_room;
  hone_node_t** nodes;
  int n_values, values_room;
  hone_value_t** values;
  int n_inputs, inputs_room; /* of a region: its parameters */
  hone_value_t** inputs;
  int n_outputs;
  hone_value_t** outputs;
  const char** output_names;
  struct hone_graph_cleanup* cleanups; /* of the root */
  hone_short_name_t* short_names;      /* of expressions that values here bind */
  int n_constants, constants_room;     /* of the root: every constant of all regions */
  hone_tensor_t** constants;
};

/* An empty root graph with an arena of its own. */
HONE_MUST_USE hone_status_t hone_graph_create(const hone_allocator_t* allocator, const char* name,
                                              hone_graph_t** out_graph);
/* Destroys a root with everything in it; NULL is allowed. */
void hone_graph_destroy(hone_graph_t* graph);
/* Has `run(argument)` called when the root is destroyed. On failure it is not
 * registered. */
HONE_MUST_USE hone_status_t hone_graph_on_destroy(hone_graph_t* graph, void (*run)(void*),
                                                  void* argument);
/* An empty region inside `parent`. */
HONE_MUST_USE hone_status_t hone_graph_create_region(hone_graph_t* parent, const char* name,
                                                     hone_graph_t** out_region);

/* Sets the outputs; `names` may be NULL. Both lists are copied. */
HONE_MUST_USE hone_status_t hone_graph_set_outputs(hone_graph_t* graph, int count,
                                                   hone_value_t* const* values,
                                                   const char* const* names);

/* Appends a copy of `node` whose n_outputs new values have the given types;
 * lists that it points to must live in the arena already. For the builder and
 * the text form; does not check. NULL when memory is out. */
hone_node_t* hone_graph_append(hone_graph_t* graph, const hone_node_t* node,
                               const hone_type_t* output_types);
/* Appends a node that was made for this graph and is in its list no more, with
 * its values: a rewrite makes the lists anew. False when memory is out. */
bool hone_graph_append_again(hone_graph_t* graph, hone_node_t* node);
/* Takes a reference for the root, which drops it at destroy; false when
 * memory is out (the reference is then dropped). */
bool hone_graph_keep_constant(hone_graph_t* graph, hone_tensor_t* constant);

/* Drops every node after the first n_nodes and every value after n_values. */
void hone_graph_truncate(hone_graph_t* graph, int n_nodes, int n_values);

/* Notes that `symbol` is bound when `value` has been produced. */
HONE_MUST_USE hone_status_t hone_value_bind(hone_graph_t* graph, hone_value_t* value, int symbol,
                                            bool is_dim, int64_t index);

/* Drops nodes whose outputs nobody needs; inputs stay. Renumbers values. */
void hone_graph_drop_dead(hone_graph_t* graph);
/* Releases the constants of a root that no node has any more. */
void hone_graph_drop_constants(hone_graph_t* root);

/* Total of nodes, those of regions included; a call counts as what is in it. */
int64_t hone_graph_node_count(const hone_graph_t* graph);

/* Types. */
hone_type_t hone_type_tensor(hone_dtype_t dtype, int rank, const hone_dim_t* dims);
hone_type_t hone_type_any(void);
bool hone_type_same(const hone_type_t* a, const hone_type_t* b);
/* A tensor whose dtype and rank are known. */
bool hone_type_is_known(const hone_type_t* type);
bool hone_type_is_static(const hone_type_t* type); /* … and every dimension a number */

#endif
