/* Verifier: whether a graph obeys the rules of ir/graph.h and ir/prim.h. Runs
 * between passes in debug builds, and after reading a graph from text. */
#ifndef HONE_IR_VERIFY_H
#define HONE_IR_VERIFY_H

#include "ir/graph.h"

/* Checks numbering, order of definition, the form of every node, the types of
 * all outputs, and regions. Errors: INVALID_MODEL naming the node. */
HONE_MUST_USE hone_status_t hone_graph_verify(hone_graph_t* graph);

#endif
