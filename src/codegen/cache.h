/* Cache: what was compiled, on disk, found by what it was made from.
 *
 * One file per entry, named by its key. Small ones are read, and have a header that
 * carries the key, the size and a checksum: an entry that is cut short or damaged is
 * removed and counts as missing. Large ones are mapped and have a form of their own,
 * by which their readers check them. Entries are written aside and renamed, so that any
 * number of processes may share a folder. What fails (no folder, full disk)
 * is logged once, and the cache then holds nothing; it is never an error.
 *
 * Kernels are in $HONE_CACHE, else $XDG_CACHE_HOME/hone/kernels, else ~/.cache/hone/kernels;
 * engines in the folder "engines" in $HONE_CACHE, else beside "kernels"; $HONE_ENGINE_CACHE is
 * another folder for them, or "off". They hold code: only their owner may write to them.
 *
 * Thread-safe. */
#ifndef HONE_CODEGEN_CACHE_H
#define HONE_CODEGEN_CACHE_H

#include "base/file.h"

typedef struct hone_cache hone_cache_t;

/* 128 bits of what an entry was made from; collisions are not expected. */
typedef hone_digest_t hone_cache_key_t;

typedef enum hone_cache_kind { HONE_CACHE_KERNELS, HONE_CACHE_ENGINES } hone_cache_kind_t;

/* Bytes, by default. */
#define HONE_CACHE_LIMIT ((uint64_t)2 << 30)
#define HONE_ENGINE_CACHE_LIMIT ((uint64_t)8 << 30)

/* Whether there is to be such a cache. */
bool hone_cache_is_on(hone_cache_kind_t kind);
/* `folder` NULL: the usual one. `limit` 0: the kind's. Makes no folder
 * before the first put. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_cache_open(const hone_allocator_t* allocator,
                                            hone_cache_kind_t kind, const char* folder,
                                            uint64_t limit, hone_cache_t** out_cache);
void hone_cache_close(hone_cache_t* cache); /* NULL is allowed */
const char* hone_cache_folder(const hone_cache_t* cache);

/* A key of some texts; sizes count, so that no two lists are alike. */
hone_cache_key_t hone_cache_key(int count, const void* const* parts, const size_t* sizes);

/* The entry's bytes, to be freed with hone_free(allocator, data, size); false
 * when there is none (or no memory for it). */
bool hone_cache_get(hone_cache_t* cache, hone_cache_key_t key, const hone_allocator_t* allocator,
                    char** out_data, size_t* out_size);
void hone_cache_put(hone_cache_t* cache, hone_cache_key_t key, const void* data, size_t size);

/* An entry of a form of its own, mapped. Whoever finds it damaged drops it. */
bool hone_cache_map(hone_cache_t* cache, hone_cache_key_t key, hone_file_map_t* out_map);
void hone_cache_drop(hone_cache_t* cache, hone_cache_key_t key);
/* Those that would take more than half of the limit, or than a tenth of what is free on the disk,
 * are not kept. */
void hone_cache_put_pieces(hone_cache_t* cache, hone_cache_key_t key, int count,
                           const hone_piece_t* pieces);

typedef struct hone_cache_info {
  uint64_t entries, bytes, limit;
  uint64_t strays; /* files that are no entries: left over by writers that died */
} hone_cache_info_t;
HONE_MUST_USE hone_status_t hone_cache_info(hone_cache_t* cache, hone_cache_info_t* out_info);
/* Removes all entries. `out_removed` may be NULL. Errors: IO (some could not be removed). */
HONE_MUST_USE hone_status_t hone_cache_clear(hone_cache_t* cache, uint64_t* out_removed);

#endif
