/* Packing: a weight laid out as a schedule wants it (sched/pack.c). */
#ifndef HONE_RUNTIME_PACKING_H
#define HONE_RUNTIME_PACKING_H

#include "hone/tensor.h"
#include "loop/kernel.h"

/* A new tensor of the buffer's extents with the elements of `from` in their new
 * places, and zeros where the old array has none; of a sparse packing a table, of as many bytes
 * as it takes. The buffer has a packing, made for the extents of `from`. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_packing_apply(const hone_buffer_t* buffer,
                                               const hone_tensor_t* from,
                                               const hone_allocator_t* allocator,
                                               hone_tensor_t** out_tensor);

#endif
