/* Random graphs of primitives, for property tests of whatever rewrites graphs. */
#ifndef HONE_PASSES_TESTING_RANDOM_GRAPH_H
#define HONE_PASSES_TESTING_RANDOM_GRAPH_H

#include "ir/graph.h"

/* About `n_nodes` steps over inputs with and without symbolic extents; the same
 * graph for the same seed. Fails the test when it cannot be built. */
hone_graph_t* test_random_graph(uint64_t seed, int n_nodes);

#endif
