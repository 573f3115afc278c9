/* The body of Loop and Scan: a subgraph lowered into the region of a loop.
 *
 * A carried value may change its extents, or even its rank, from one round to
 * the next. So the body is lowered with the types that the values begin with;
 * where it yields others, it is lowered anew into a fresh region with types
 * that cover both, until nothing changes. */
#ifndef HONE_OPS_COMMON_LOOP_BODY_H
#define HONE_OPS_COMMON_LOOP_BODY_H

#include "ops/op.h"

typedef struct hone_loop_body {
  hone_lower_t* l;
  hone_builder_t* b; /* builds the graph that the loop stands in */
  const hone_onnx_graph_t* graph;
  int n_carried;
  hone_value_t* const* initial; /* n_carried values that the loop begins with */
  /* Makes the subgraph's parameters from the round and the carried values. */
  void (*make_params)(struct hone_loop_body* loop, hone_value_t* round, hone_value_t* condition,
                      hone_value_t* const* carried, hone_value_t** params);
  /* May change the results of the subgraph, still inside the region; or NULL. */
  void (*finish)(struct hone_loop_body* loop, hone_value_t* const* carried);
  void* context; /* for make_params */
  int n_params;
  int first_carried;       /* results[first_carried + i] becomes carried value i */
  hone_builder_t body;     /* out: the region, not closed yet */
  hone_value_t* round;     /* out */
  hone_value_t* condition; /* out: the region's own condition parameter */
  hone_value_t** results;  /* out: graph->n_outputs values */
} hone_loop_body_t;

/* Fills in the fields marked out; false when an error (or a deferral) has been noted. */
bool hone_loop_body_build(hone_loop_body_t* loop);

/* `count` NULL entries in the graph's arena; NULL (noted) when memory is out. */
hone_value_t** hone_op_values(hone_lower_t* l, int64_t count);
/* `value` as a tensor of rank 0 and of `dtype`, if its type is known. */
hone_value_t* hone_op_scalar(hone_builder_t* b, hone_value_t* value, hone_dtype_t dtype);

#endif
