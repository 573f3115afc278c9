/* Sources of scheduled kernels, under names that follow from them. */
#ifndef HONE_RUNTIME_KERNEL_SOURCE_H
#define HONE_RUNTIME_KERNEL_SOURCE_H

#include "base/arena.h"
#include "hone/backend.h"

enum { HONE_SOURCE_NAME_SIZE = 32 };

/* The kernel's text with the name hone_kernel, in the arena, and the name that
 * it is built under, which equal texts share. Errors: those of rendering. */
HONE_MUST_USE hone_status_t hone_kernel_render(const hone_backend_t* backend,
                                               const hone_device_t* device,
                                               const hone_kernel_t* kernel, hone_arena_t* arena,
                                               const char** out_text,
                                               char out_name[HONE_SOURCE_NAME_SIZE]);
/* The text under that name, in the arena; NULL when memory is out. */
const char* hone_kernel_rename(hone_arena_t* arena, const char* text, const char* name);

/* Bytes of the arrays that a thread has on its stack while it runs a scheduled kernel. */
int64_t hone_kernel_stack_bytes(const hone_kernel_t* kernel);

#endif
