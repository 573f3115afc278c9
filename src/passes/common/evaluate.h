/* Computing constants while compiling: by running them on a backend, so that
 * no second set of rules says what a primitive computes. */
#ifndef HONE_PASSES_COMMON_EVALUATE_H
#define HONE_PASSES_COMMON_EVALUATE_H

#include "passes/common/rewrite.h"

/* The value of `value`, all of whose ancestors are constants, static iota and
 * dims, and pure primitives of static shape. Fails as the run fails: what is
 * wrong with the numbers (an index out of range) is then left to the run. */
HONE_MUST_USE hone_status_t hone_evaluate(const hone_pass_context_t* context,
                                          const hone_value_t* value, hone_tensor_t** out_tensor);
/* Several values of one graph together: what they have in common is computed once. All or none. */
HONE_MUST_USE hone_status_t hone_evaluate_all(const hone_pass_context_t* context, int count,
                                              const hone_value_t* const* values,
                                              hone_tensor_t** out_tensors);
/* The same as a new constant of the graph that is rewritten; NULL: r->b has the status, also where
 * `value` is NULL. */
hone_value_t* hone_evaluate_constant(hone_rewriter_t* r, const hone_value_t* value);

#endif
