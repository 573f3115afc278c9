/* For tests of everything that rewrites graphs: runs a graph by `ref` on
 * numbers drawn by chance, and compares what two graphs give. */
#ifndef HONE_PASSES_TESTING_GRAPH_RUN_H
#define HONE_PASSES_TESTING_GRAPH_RUN_H

#include "passes/pass.h"

enum { TEST_MAX_OUTPUTS = 32 };

typedef struct test_outputs {
  int count;
  hone_tensor_t* tensors[TEST_MAX_OUTPUTS];
  hone_code_t code; /* of the run; there are no tensors when it failed */
  char message[200];
} test_outputs_t;

/* Inputs depend on `seed` and on their place only, symbolic extents too, so two
 * graphs of the same parameters get the same. Fails the test when memory is out. */
void test_graph_run(const hone_graph_t* graph, uint64_t seed, test_outputs_t* out);
/* The same with all symbolic extents `extent`, where their ranges allow it. */
void test_graph_run_sized(const hone_graph_t* graph, uint64_t seed, int64_t extent,
                          test_outputs_t* out);
void test_outputs_free(test_outputs_t* outputs);
/* Fails the test, naming `what`, unless both have the same outputs: bit for bit
 * (any NaN equals any other) when tolerance is 0, else up to tolerance times
 * the magnitude (at least 1). */
void test_outputs_same(const test_outputs_t* a, const test_outputs_t* b, double tolerance,
                       const char* what);
/* Runs one pass, and says how much it did. The graph is verified behind it. */
int64_t test_pass_run(hone_graph_t* graph, const hone_pass_options_t* options, const char* pass);
/* The text of a graph; to be freed with free(). */
char* test_graph_text(const hone_graph_t* graph);
hone_graph_t* test_graph_parse(const char* text);

#endif
