/* The names that a node takes from where it stands. */
#ifndef HONE_IMPORT_ONNX_TAKEN_H
#define HONE_IMPORT_ONNX_TAKEN_H

#include "ir/model.h"

typedef hone_status_t (*hone_onnx_taken_fn)(void* self, const char* name);

/* Calls `visit` for each of the node's inputs that is not left out, and then for
 * each name that the graphs inside it take from outside of themselves. A name
 * comes as often as it is taken. `scratch` is for names of the inner graphs. */
HONE_MUST_USE hone_status_t hone_onnx_visit_taken(hone_arena_t* scratch,
                                                  const hone_onnx_node_t* node,
                                                  hone_onnx_taken_fn visit, void* self);

#endif
