/* Shape and type rules of the primitives: one rule each, used by the builder
 * to type new nodes and by the verifier to check old ones. */
#ifndef HONE_IR_INFER_H
#define HONE_IR_INFER_H

#include "ir/graph.h"

enum { HONE_MAX_INFERRED = 2 };

/* Checks the inputs and attributes of `node` against the rules of its
 * primitive and writes the types of its outputs (source, elementwise,
 * movement and whole-tensor primitives have at most two). Dimensions are made
 * in the arena of `graph`. `input` and control primitives are typed by whoever
 * makes them: for those only the form is checked and nothing is written.
 * Errors: INVALID_MODEL, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_infer(hone_graph_t* graph, const hone_node_t* node,
                                       hone_type_t out_types[HONE_MAX_INFERRED]);

#endif
