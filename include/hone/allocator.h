/* Allocator: where hone takes its memory from.
 *
 * One function does it all, as in Lua: it allocates (old == NULL), resizes,
 * and frees (new_size == 0). Running out returns NULL and leaves `old` as it
 * was; hone turns that into a status and carries on cleanly.
 *
 * Thread-safety: hone may call `resize` from several threads at once. */
#ifndef HONE_ALLOCATOR_H
#define HONE_ALLOCATOR_H

#include "hone/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_allocator {
  void* self; /* handed back to resize */
  /* Sizes in bytes. The result is aligned to 64 bytes. */
  void* (*resize)(void* self, void* old, size_t old_size, size_t new_size);
} hone_allocator_t;

/* The system's memory. Never NULL, static storage. */
HONE_API const hone_allocator_t* hone_allocator_system(void);

/* A counting allocator with a hard limit, over `base` (NULL: the system's).
 * `limit_bytes` 0 means no limit. Requests beyond the limit fail. It may be
 * destroyed before what was made with it, and stays until that is freed. */
typedef struct hone_limit_allocator hone_limit_allocator_t;
HONE_API HONE_MUST_USE hone_status_t hone_limit_allocator_create(
    const hone_allocator_t* base, size_t limit_bytes, hone_limit_allocator_t** out_limit);
HONE_API void hone_limit_allocator_destroy(hone_limit_allocator_t* limit);
HONE_API const hone_allocator_t* hone_limit_allocator_get(hone_limit_allocator_t* limit);
HONE_API size_t hone_limit_allocator_in_use(const hone_limit_allocator_t* limit);
HONE_API size_t hone_limit_allocator_peak(const hone_limit_allocator_t* limit);

#ifdef __cplusplus
}
#endif
#endif
