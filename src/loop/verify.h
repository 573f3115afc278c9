/* The verifier of kernels: the rules of kernel.h as far as they can be seen
 * without running the kernel. */
#ifndef HONE_LOOP_VERIFY_H
#define HONE_LOOP_VERIFY_H

#include "loop/kernel.h"

/* Errors: INVALID_DATA that names the statement and the rule, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_kernel_verify(const hone_kernel_t* kernel);

#endif
