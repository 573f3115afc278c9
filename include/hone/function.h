/* Function: one kernel built for a device as it is scheduled, and called with
 * tensors. For kernels made by hand (hone/te.h, hone/schedule.h); models are run
 * by sessions.
 *
 * A function is used by one thread at a time. */
#ifndef HONE_FUNCTION_H
#define HONE_FUNCTION_H

#include "hone/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_function hone_function_t;

/* Builds a copy of the kernel. `device` is one that runs kernels ("cpu"), or "ref",
 * which interprets them slowly. Errors: NOT_FOUND, UNSUPPORTED for what the
 * device cannot run, UNAVAILABLE without a compiler, OUT_OF_MEMORY. */
HONE_API HONE_MUST_USE hone_status_t hone_function_build(const hone_allocator_t* allocator,
                                                         const hone_kernel_t* kernel,
                                                         const char* device,
                                                         hone_function_t** out_function);
/* NULL is allowed. */
HONE_API void hone_function_destroy(hone_function_t* function);

/* Runs it: values of the kernel's run-time sizes, and a tensor for each of its
 * parameters in order, inputs and outputs alike; returns when the outputs are
 * there. Constant inputs that the schedule packs are packed at the first run,
 * and must be the same from then on. Errors: INVALID_ARGUMENT for tensors of
 * another number, type or shape, OUT_OF_RANGE for sizes outside their range
 * and checks of the kernel that fail. */
HONE_API HONE_MUST_USE hone_status_t hone_function_run(hone_function_t* function, int n_sizes,
                                                       const int64_t* sizes, int n_tensors,
                                                       hone_tensor_t* const* tensors);

#ifdef __cplusplus
}
#endif
#endif
