/* Kernels as C text for the system's compiler. */
#ifndef HONE_BACKENDS_CPU_RENDER_H
#define HONE_BACKENDS_CPU_RENDER_H

#include "codegen/c_text.h"
#include "codegen/target.h"

/* The function
 *   void NAME(void* const* buffers, const int64_t* sizes, int64_t begin, int64_t end)
 * that does rounds begin … end - 1 of the kernel's parallel loops; those at the
 * top of the kernel count one after the other, and each statement beside them
 * is a round too. A kernel without any has one round. `lanes` is what every vector loop's extent
 * must be. Errors: UNSUPPORTED for what cannot be written as C, and for
 * intrinsics that the target has no instruction for; OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_cpu_render(const hone_kernel_t* kernel, const char* name,
                                            int lanes, const hone_target_t* target,
                                            hone_str_t* out);

/* Whether kernels over elements of the type can be rendered. */
bool hone_cpu_has_dtype(hone_dtype_t dtype);

#endif
