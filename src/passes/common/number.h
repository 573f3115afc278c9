/* What is known about the numbers a value can hold, without running it. */
#ifndef HONE_PASSES_COMMON_NUMBER_H
#define HONE_PASSES_COMMON_NUMBER_H

#include "ir/graph.h"

/* Never below zero and never -0; NaN may be. */
bool hone_number_not_negative(const hone_value_t* value);
/* Every number of type `from` is one of type `to`, so that a cast changes nothing. */
bool hone_number_fits(hone_dtype_t from, hone_dtype_t to);
/* 1 / x is a number of `dtype` without rounding, so that dividing by x is
 * multiplying by it. */
bool hone_number_has_inverse(hone_dtype_t dtype, double x);

#endif
