/* Whether a rewritten graph computes what the one before it did. */
#ifndef HONE_BACKENDS_REF_TESTING_SAME_RESULTS_H
#define HONE_BACKENDS_REF_TESTING_SAME_RESULTS_H

#include "base/testing/test.h"
#include "ir/graph.h"

/* Runs both root graphs on the same random inputs with `ref`: extents that are
 * symbols are small numbers, floats lie in [-2, 2), integers in [0, 3]. Fails the
 * test unless each result of `b` is what it is in `a`: of the same dtype and shape,
 * and of no two elements that are both numbers the difference is above
 * `tolerance`; with 0 every byte is the same. */
void hone_same_results(hone_graph_t* a, hone_graph_t* b, uint64_t seed, double tolerance,
                       const char* file, int line);
#define assert_same_results(a, b, seed, tolerance) \
  hone_same_results(a, b, seed, tolerance, __FILE__, __LINE__)

/* A root graph from text: the lines between "graph {" and "}". `symbols` may be
 * "". Fails the test when it does not parse. */
hone_graph_t* hone_graph_of_text(const char* symbols, const char* lines);
/* Fails the test unless the graph prints as `expected`, without the first lines
 * up to "graph". */
void hone_expect_text(const hone_graph_t* graph, const char* expected, const char* file, int line);
#define assert_graph_text(graph, expected) hone_expect_text(graph, expected, __FILE__, __LINE__)

#endif
