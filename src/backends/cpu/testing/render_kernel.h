/* For tests of the C renderer: a kernel's text, and what it computes on this machine. */
#ifndef HONE_BACKENDS_CPU_TESTING_RENDER_KERNEL_H
#define HONE_BACKENDS_CPU_TESTING_RENDER_KERNEL_H

#include "base/str.h"
#include "hone/tensor.h"
#include "loop/kernel.h"

/* Opens the text, for hone_str_free. `target`: as hone_target_parse takes it. */
void render_kernel_text(const hone_kernel_t* kernel, int lanes, const char* target,
                        hone_str_t* out_text);
/* Builds it for the device "cpu" and runs it once. `sizes` has the kernel's; NULL: it has none. The
 * tensors are its parameters in order. */
void render_kernel_run(const hone_kernel_t* kernel, const int64_t* sizes, int n,
                       hone_tensor_t** tensors);

#endif
