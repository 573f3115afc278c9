/* Which node needs which: the order of nodes, and cycles among them. */
#ifndef HONE_IMPORT_ONNX_ORDER_H
#define HONE_IMPORT_ONNX_ORDER_H

#include "ir/model.h"

/* The nodes of a graph or function. */
typedef struct hone_onnx_nodes {
  hone_onnx_node_t* items;
  int64_t count;
} hone_onnx_nodes_t;

/* needs[first[i]] … needs[first[i + 1] - 1]: the nodes that make what node i,
 * or a graph inside it, takes. */
typedef struct hone_onnx_needs {
  int64_t* first;
  int64_t* needs;
} hone_onnx_needs_t;

HONE_MUST_USE hone_status_t hone_onnx_needs_make(hone_arena_t* arena, hone_onnx_nodes_t nodes,
                                                 hone_onnx_needs_t* out_needs);
/* An order in which each node comes after those it needs, as near as may be to
 * the one there is; where there are cycles, they are cut anywhere. */
HONE_MUST_USE hone_status_t hone_onnx_order(hone_arena_t* arena, int64_t n_nodes,
                                            const hone_onnx_needs_t* needs, int64_t** out_order);
/* Nodes that need each other in a ring, in that order; a count of 0 when there
 * is none. */
HONE_MUST_USE hone_status_t hone_onnx_cycle(hone_arena_t* arena, int64_t n_nodes,
                                            const hone_onnx_needs_t* needs, int64_t** out_ring,
                                            int64_t* out_count);

#endif
