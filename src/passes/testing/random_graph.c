#include "passes/testing/random_graph.h"

#include "base/testing/test.h"
#include "ir/random_graph.h"

hone_graph_t* test_random_graph(uint64_t seed, int n_nodes) {
  hone_graph_t* graph;
  assert_ok(hone_random_graph(seed, n_nodes, &graph));
  return graph;
}
