/* What a kernel is called in the tuning database: a digest of what it computes. */
#ifndef HONE_TUNE_KERNEL_KEY_H
#define HONE_TUNE_KERNEL_KEY_H

#include "loop/kernel.h"

enum { HONE_KERNEL_DIGEST_SIZE = 33 /* 32 hexadecimal digits and the 0 */ };

/* Of the kernel's text without what is for people: its name, the model's nodes,
 * and the messages of its checks. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_kernel_digest(const hone_kernel_t* kernel,
                                               char out_digest[HONE_KERNEL_DIGEST_SIZE]);

#endif
