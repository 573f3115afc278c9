/* Cases: a graph with what goes in and what should come out, as files that `run`
 * and `diff` take. */
#ifndef HONE_TOOLS_CASE_H
#define HONE_TOOLS_CASE_H

#include "ir/graph.h"

/* Writes graph.hg, inputs.npz (by the names of the graph's inputs) and expected.npz
 * (out0, out1, …) into a folder, which it makes. */
HONE_MUST_USE hone_status_t hone_case_write(const char* folder, const hone_graph_t* graph,
                                            int n_inputs, hone_tensor_t* const* inputs,
                                            int n_outputs, hone_tensor_t* const* expected);

#endif
