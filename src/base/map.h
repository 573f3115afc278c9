/* Map from strings, or from 64-bit numbers, to pointers.
 *
 * Iteration is in the order of first insertion, so that nothing depends on
 * the hash. String keys are borrowed: they must live as long as the map.
 * Hashes are seeded from an address, which keeps names in a hostile file from
 * being chosen to collide. A zeroed map is a valid empty one over the system's
 * allocator. Not thread-safe while it changes. */
#ifndef HONE_BASE_MAP_H
#define HONE_BASE_MAP_H

#include "base/arena.h"

typedef struct hone_map_entry {
  const char* text; /* NULL: the key is `number` */
  uint64_t number;  /* of a string key: its length */
  void* value;
  uint64_t hash;
  bool removed;
} hone_map_entry_t;

typedef struct hone_map {
  const hone_allocator_t* allocator;
  hone_arena_t* arena;       /* instead of the allocator when not NULL */
  hone_map_entry_t* entries; /* in order of insertion, removed ones too */
  uint32_t* slots;           /* index of an entry + 1; 0 is free; slot_count is a power of two */
  size_t used, capacity, slot_count;
  size_t count; /* entries that are not removed */
} hone_map_t;

void hone_map_init(hone_map_t* map, const hone_allocator_t* allocator);
void hone_map_init_arena(hone_map_t* map, hone_arena_t* arena);
void hone_map_free(hone_map_t* map);
size_t hone_map_count(const hone_map_t* map);

/* Sets the value of a key, replacing one that is there. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_map_put(hone_map_t* map, const char* key, void* value);
HONE_MUST_USE hone_status_t hone_map_put_n(hone_map_t* map, const char* key, size_t length,
                                           void* value);
HONE_MUST_USE hone_status_t hone_map_put_u64(hone_map_t* map, uint64_t key, void* value);

/* The value; NULL when the key is absent. */
void* hone_map_get(const hone_map_t* map, const char* key);
void* hone_map_get_n(const hone_map_t* map, const char* key, size_t length);
void* hone_map_get_u64(const hone_map_t* map, uint64_t key);

/* The entry; NULL when the key is absent. Its value may be changed. Valid until the next put. */
hone_map_entry_t* hone_map_find(const hone_map_t* map, const char* key);
hone_map_entry_t* hone_map_find_n(const hone_map_t* map, const char* key, size_t length);
hone_map_entry_t* hone_map_find_u64(const hone_map_t* map, uint64_t key);

/* False when the key was absent. */
bool hone_map_remove(hone_map_t* map, const char* key);
bool hone_map_remove_n(hone_map_t* map, const char* key, size_t length);
bool hone_map_remove_u64(hone_map_t* map, uint64_t key);

/* Walks the entries: start with *cursor 0; NULL at the end. */
hone_map_entry_t* hone_map_next(const hone_map_t* map, size_t* cursor);

#endif
