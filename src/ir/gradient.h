/* Gradients: reverse-mode differentiation of what has been built so far. Rules
 * exist for primitives only, one function each (gradient_rules.c); so every
 * operator has a gradient once its primitives do. */
#ifndef HONE_IR_GRADIENT_H
#define HONE_IR_GRADIENT_H

#include "ir/builder.h"

/* Appends the gradient of the sum of y's elements to b's graph: out[i] gets it
 * with respect to xs[i], in that value's shape and dtype; zeros where y does
 * not depend on it. The xs count as independent of each other. All are values
 * of b's graph. Errors (noted in b): UNSUPPORTED for a primitive on the way
 * without a rule, INVALID_MODEL for values that are not floating point. */
void hone_gradient(hone_builder_t* b, hone_value_t* y, int n_xs, hone_value_t* const* xs,
                   hone_value_t** out);

/* What `y` is when each from[i] is replaced by to[i], which has the same type.
 * Copies the nodes in between. */
hone_value_t* hone_substitute(hone_builder_t* b, hone_value_t* y, int count,
                              hone_value_t* const* from, hone_value_t* const* to);

#endif
