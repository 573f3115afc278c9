/* Library: compiled kernels in this process, loaded from bytes.
 *
 * The bytes are those of a shared object; they may come from a compiler, a
 * cache or an engine file and are code: whoever loads them must trust them. */
#ifndef HONE_CODEGEN_LIBRARY_H
#define HONE_CODEGEN_LIBRARY_H

#include "hone/allocator.h"

typedef struct hone_library hone_library_t;

/* Keeps no reference to `data`. Errors: INVALID_DATA (not loadable here; the
 * message says why), IO, OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_library_open(const hone_allocator_t* allocator, const void* data,
                                              size_t size, hone_library_t** out_library);
/* Unloads: no function of it may be running. NULL is allowed. */
void hone_library_close(hone_library_t* library);
/* The address of a function; valid until the library is closed. Errors: NOT_FOUND. */
HONE_MUST_USE hone_status_t hone_library_symbol(const hone_library_t* library, const char* name,
                                                void** out_symbol);

#endif
