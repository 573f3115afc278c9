/* A table from names to numbers >= 0, in an arena. Names are not copied. */
#ifndef HONE_IMPORT_NAMES_H
#define HONE_IMPORT_NAMES_H

#include "base/map.h"

typedef struct hone_names {
  hone_map_t map;
} hone_names_t;

static inline hone_names_t hone_names_in(hone_arena_t* arena) {
  return (hone_names_t){.map = {.arena = arena}};
}

/* The number stored under `name`; -1 when there is none. */
static inline int64_t hone_names_get(const hone_names_t* names, const char* name) {
  const hone_map_entry_t* entry = hone_map_find(&names->map, name);
  return entry ? (int64_t)(intptr_t)entry->value : -1;
}

/* Stores `number` unless the name is there; `*out_old` is then the number it
 * has, and -1 otherwise. */
static inline HONE_MUST_USE hone_status_t hone_names_add(hone_names_t* names, const char* name,
                                                         int64_t number, int64_t* out_old) {
  *out_old = hone_names_get(names, name);
  return *out_old >= 0 ? NULL : hone_map_put(&names->map, name, (void*)(intptr_t)number);
}

#endif
