/* Random graphs of primitives, for property tests of whatever rewrites graphs. */
#ifndef HONE_PASSES_TESTING_RANDOM_GRAPH_H
#define HONE_PASSES_TESTING_RANDOM_GRAPH_H

#include "ir/graph.h"

/* hone_random_graph; fails the test when there is none. */
hone_graph_t* test_random_graph(uint64_t seed, int n_nodes);

#endif
