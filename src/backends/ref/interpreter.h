/* The interpreter: runs a graph node by node. */
#ifndef HONE_BACKENDS_REF_INTERPRETER_H
#define HONE_BACKENDS_REF_INTERPRETER_H

#include "backends/ref/view.h"
#include "hone/backend.h"
#include "ir/graph.h"

/* One run of a root graph; regions and deferred nodes share it. */
typedef struct ref_run {
  const hone_allocator_t* allocator;
  uint64_t seed;
  uint64_t round_key;      /* 0 outside of loops; another in each round */
  hone_profile_fn profile; /* may be NULL */
  void* profile_self;
  int64_t* symbols; /* values of the current root graph's symbols */
  int depth;        /* of deferred nodes and regions */
  int call_depth;   /* of calls around which there is nothing but calls */
} ref_run_t;

/* Runs `graph` on borrowed inputs; `outputs` gets graph->n_outputs owned views
 * (none on failure). */
HONE_MUST_USE hone_status_t hone_ref_run_graph(ref_run_t* run, const hone_graph_t* graph,
                                               int n_inputs, const ref_view_t* inputs,
                                               ref_view_t* outputs);
/* The same for a root graph: gives it symbol values of its own. */
HONE_MUST_USE hone_status_t hone_ref_run_root(ref_run_t* run, const hone_graph_t* graph,
                                              int n_inputs, const ref_view_t* inputs,
                                              ref_view_t* outputs);

/* Control primitives; `in` are the node's inputs (base NULL: left out). */
HONE_MUST_USE hone_status_t hone_ref_if(ref_run_t* run, const hone_node_t* node,
                                        const ref_view_t* in, ref_view_t* out);
HONE_MUST_USE hone_status_t hone_ref_loop(ref_run_t* run, const hone_node_t* node,
                                          const ref_view_t* in, ref_view_t* out);
HONE_MUST_USE hone_status_t hone_ref_call(ref_run_t* run, const hone_node_t* node,
                                          const ref_view_t* in, ref_view_t* out);
HONE_MUST_USE hone_status_t hone_ref_host(ref_run_t* run, const hone_node_t* node,
                                          const ref_view_t* in, ref_view_t* out);

#endif
