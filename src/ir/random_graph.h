/* Random graphs of primitives: for tests of whatever rewrites or compiles graphs, and for
 * the conformance program. */
#ifndef HONE_IR_RANDOM_GRAPH_H
#define HONE_IR_RANDOM_GRAPH_H

#include "ir/graph.h"

/* About `n_nodes` steps over inputs with and without symbolic extents; the same
 * graph for the same arguments, and with fewer steps the beginning of it.
 * Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_random_graph(uint64_t seed, int n_nodes, hone_graph_t** out_graph);

#endif
