/* Which nodes of a model went into a node of its graph: its own origin, and those
 * of all that stands in its regions. */
#ifndef HONE_RUNTIME_ORIGINS_H
#define HONE_RUNTIME_ORIGINS_H

#include "ir/graph.h"

/* Labels as "conv_3 (Conv)", each once and with a newline behind, in `arena`.
 * Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_node_origins(const hone_node_t* node, hone_arena_t* arena,
                                              const char** out_text);

#endif
