/* Extraction: models made out of parts of a model, to see what happens inside
 * it and to cut a fault out of it.
 *
 * A result shares names, weights and attributes with the model it comes from,
 * which must outlive it; the caller destroys it. Its nodes are in an order in
 * which they can run when those of the model are. */
#ifndef HONE_IMPORT_EXTRACT_H
#define HONE_IMPORT_EXTRACT_H

#include "ir/model.h"

/* The model with further outputs: the values of these names, as far as they
 * are no outputs yet. Each must be made by a node of the main graph, or be one
 * of its inputs or initializers. Errors: NOT_FOUND (names the value), OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_extract_expose(const hone_model_t* model, int64_t count,
                                                const char* const* names, hone_model_t** out_model);

/* A model of some nodes of the main graph. What they take, graphs inside them
 * included, comes with them where it is an initializer or made by a Constant
 * node, and is an input otherwise. Outputs are what they make and do not use up
 * among themselves. Functions come along when the model has any. Errors:
 * OUT_OF_RANGE (no such node), OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_extract_nodes(const hone_model_t* model, int64_t count,
                                               const int64_t* nodes, hone_model_t** out_model);

/* Declares the input or output `name` of an extracted model to be of the type
 * that `tensor` has: files want types, which a model need not state for values
 * between its nodes. Names that it does not have are ignored. */
HONE_MUST_USE hone_status_t hone_extract_declare(hone_model_t* extracted, const char* name,
                                                 const hone_tensor_t* tensor);

#endif
