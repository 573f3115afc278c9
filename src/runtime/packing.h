/* Packing: a weight laid out as a schedule wants it (sched/pack.c). */
#ifndef HONE_RUNTIME_PACKING_H
#define HONE_RUNTIME_PACKING_H

#include "hone/tensor.h"
#include "loop/kernel.h"

/* A new tensor of the buffer's extents with the elements of `from` in their new
 * places, and zeros where the old array has none; of a sparse packing a table, of as many bytes
 * as it takes; words of nibbles take half the bytes. The buffer has a packing, made for the extents
 * of `from`. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_packing_apply(const hone_buffer_t* buffer,
                                               const hone_tensor_t* from,
                                               const hone_allocator_t* allocator,
                                               hone_tensor_t** out_tensor);

/* The same, but for nibbles, which take a byte each as interpreters read them. The packing is not
 * sparse. */
HONE_MUST_USE hone_status_t hone_packing_lay_out(const hone_buffer_t* buffer,
                                                 const hone_tensor_t* from,
                                                 const hone_allocator_t* allocator,
                                                 hone_tensor_t** out_tensor);

#endif
