/* Working in place: which inputs' memory a kernel may write its outputs to. */
#ifndef HONE_RUNTIME_IN_PLACE_H
#define HONE_RUNTIME_IN_PLACE_H

#include "loop/kernel.h"

/* The number of an input that output `output` may take the place of, when that
 * input is not needed afterwards: each element is stored once, all that is read
 * of the input is the element of that very place, and only for it. -1: none.
 * `after` is the first input that is thought of, so that all can be listed. */
int hone_kernel_in_place(const hone_kernel_t* kernel, int output, int after);

#endif
