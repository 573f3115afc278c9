/* The inside of packing, for packing*.c only. */
#ifndef HONE_RUNTIME_PACKING_IMPL_H
#define HONE_RUNTIME_PACKING_IMPL_H

#include "runtime/packing.h"

/* hone_packing_apply of a sparse packing. */
HONE_MUST_USE hone_status_t hone_packing_apply_sparse(const hone_buffer_t* buffer,
                                                      const hone_tensor_t* from,
                                                      const hone_allocator_t* allocator,
                                                      hone_tensor_t** out_tensor);

#endif
