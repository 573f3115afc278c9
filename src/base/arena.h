/* Arena: memory that is freed all at once. Each phase (a model, a graph, a
 * compilation) owns one; what is made in it needs no free of its own.
 *
 * Blocks double in size up to 1 MiB. Memory not handed out is poisoned under
 * AddressSanitizer. Not thread-safe: an arena belongs to one thread at a time. */
#ifndef HONE_BASE_ARENA_H
#define HONE_BASE_ARENA_H

#include "hone/allocator.h"

typedef struct hone_arena hone_arena_t;

HONE_MUST_USE hone_status_t hone_arena_create(const hone_allocator_t* allocator,
                                              hone_arena_t** out_arena);
void hone_arena_destroy(hone_arena_t* arena); /* NULL is allowed */
/* Zeroed memory aligned to 16 bytes; never freed singly. NULL when memory is
 * out (or size overflows): the caller makes the status, see hone_oom. A size
 * of 0 gives a valid pointer. */
void* hone_arena_alloc(hone_arena_t* arena, size_t size);
/* The same for count * size bytes, with the product checked. */
void* hone_arena_array(hone_arena_t* arena, size_t count, size_t size);
/* A copy that ends in 0. NULL when memory is out. */
char* hone_arena_strndup(hone_arena_t* arena, const char* text, size_t length);
char* hone_arena_strdup(hone_arena_t* arena, const char* text);
void* hone_arena_memdup(hone_arena_t* arena, const void* data, size_t size);
/* printf into the arena. */
char* hone_arena_format(hone_arena_t* arena, const char* format, ...) HONE_PRINTF(2, 3);
/* Bytes taken from the allocator. */
size_t hone_arena_bytes(const hone_arena_t* arena);
/* Of those, what is in memory: what was handed out, and in each block the rest of a page. */
size_t hone_arena_used(const hone_arena_t* arena);

#endif
