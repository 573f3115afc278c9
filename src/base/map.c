/* Entries lie in an array in order of insertion; an open-addressed table of
 * indices with linear probing leads to them. A removed entry stays in both, as
 * its own tombstone, until the map is rebuilt. At most half of the slots are used. */
#include "base/map.h"

#include <string.h>

#include "base/memory.h"

enum { FIRST_CAPACITY = 8 };

void hone_map_init(hone_map_t* map, const hone_allocator_t* allocator) {
  *map = (hone_map_t){.allocator = allocator};
}

void hone_map_init_arena(hone_map_t* map, hone_arena_t* arena) {
  *map = (hone_map_t){.arena = arena};
}

static void* map_array(const hone_map_t* map, size_t count, size_t size) {
  size_t total;
  if (map->arena) return hone_arena_array(map->arena, count, size);
  return hone_size_mul(count, size, &total) ? hone_alloc(map->allocator, total) : NULL;
}

static void map_array_free(const hone_map_t* map, void* array, size_t count, size_t size) {
  if (!map->arena) hone_free(map->allocator, array, count * size);
}

void hone_map_free(hone_map_t* map) {
  map_array_free(map, map->entries, map->capacity, sizeof *map->entries);
  map_array_free(map, map->slots, map->slot_count, sizeof *map->slots);
  *map = (hone_map_t){.allocator = map->allocator, .arena = map->arena};
}

size_t hone_map_count(const hone_map_t* map) { return map->count; }

/* Folds the 128-bit product, so that every bit of both factors matters. */
static uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
  uint64_t low = al * bl, cross = al * bh + (low >> 32), cross2 = ah * bl + (uint32_t)cross;
  return (cross2 << 32 | (uint32_t)low) ^ (ah * bh + (cross >> 32) + (cross2 >> 32));
}

static uint64_t seed(void) {
  static const char anchor; /* where the loader put it is not known to a file */
  return (uint64_t)(uintptr_t)&anchor * 0x9e3779b97f4a7c15u;
}

static uint64_t hash_number(uint64_t number) { return mix(number ^ seed(), 0xd6e8feb86659fd93u); }

static uint64_t hash_text(const char* text, size_t length) {
  uint64_t hash = seed() ^ length;
  for (size_t i = 0; i < length; i += 8) {
    uint64_t word = 0;
    memcpy(&word, text + i, length - i < 8 ? length - i : 8);
    hash = mix(hash ^ word, 0xd6e8feb86659fd93u) ^ word;
  }
  return mix(hash, 0xa0761d6478bd642fu);
}

typedef struct map_key {
  const char* text;
  uint64_t number;
  uint64_t hash;
} map_key_t;

static map_key_t text_key(const char* text, size_t length) {
  return (map_key_t){text, length, hash_text(text, length)};
}

static map_key_t number_key(uint64_t number) {
  return (map_key_t){NULL, number, hash_number(number)};
}

static bool same_key(const hone_map_entry_t* entry, const map_key_t* key) {
  if (entry->hash != key->hash || entry->number != key->number) return false;
  if (!entry->text || !key->text) return entry->text == key->text;
  return memcmp(entry->text, key->text, (size_t)key->number) == 0;
}

/* The slot that leads to the key, or the free one where it would go. */
static uint32_t* map_slot(const hone_map_t* map, const map_key_t* key) {
  size_t mask = map->slot_count - 1, i = (size_t)key->hash & mask;
  while (map->slots[i] && !same_key(&map->entries[map->slots[i] - 1], key)) i = (i + 1) & mask;
  return &map->slots[i];
}

/* Puts `entry`, whose key is not there yet, at the end. */
static void map_push(hone_map_t* map, hone_map_entry_t entry) {
  map_key_t key = {entry.text, entry.number, entry.hash};
  uint32_t* slot = map_slot(map, &key);
  map->entries[map->used] = entry;
  *slot = (uint32_t)++map->used;
}

/* Rebuilds without the removed entries, with room for one more. */
static hone_status_t map_rebuild(hone_map_t* map) {
  hone_map_t fresh = {.allocator = map->allocator, .arena = map->arena};
  fresh.capacity = FIRST_CAPACITY;
  while (fresh.capacity <= map->count + map->count / 2) fresh.capacity *= 2;
  fresh.slot_count = 2 * fresh.capacity;
  if (fresh.capacity > UINT32_MAX / 2) return hone_oom();
  fresh.entries = map_array(map, fresh.capacity, sizeof *fresh.entries);
  fresh.slots = map_array(map, fresh.slot_count, sizeof *fresh.slots);
  if (!fresh.entries || !fresh.slots) {
    hone_map_free(&fresh);
    return hone_oom();
  }
  for (size_t i = 0; i < map->used; i++)
    if (!map->entries[i].removed) map_push(&fresh, map->entries[i]);
  fresh.count = map->count;
  hone_map_free(map);
  *map = fresh;
  return NULL;
}

static hone_map_entry_t* map_lookup(const hone_map_t* map, map_key_t key) {
  if (!map->slot_count) return NULL;
  uint32_t slot = *map_slot(map, &key);
  hone_map_entry_t* entry = slot ? &map->entries[slot - 1] : NULL;
  return entry && !entry->removed ? entry : NULL;
}

static hone_status_t map_set(hone_map_t* map, map_key_t key, void* value) {
  hone_map_entry_t* entry = map_lookup(map, key);
  if (entry) {
    entry->value = value;
    return NULL;
  }
  if (map->used == map->capacity) HONE_TRY(map_rebuild(map));
  uint32_t* slot = map_slot(map, &key);
  /* A removed entry of the same key keeps its place in the array only: the
   * slot moves on to the new one. */
  map->entries[map->used] = (hone_map_entry_t){key.text, key.number, value, key.hash, false};
  *slot = (uint32_t)++map->used;
  map->count++;
  return NULL;
}

static bool map_unset(hone_map_t* map, map_key_t key) {
  hone_map_entry_t* entry = map_lookup(map, key);
  if (!entry) return false;
  entry->removed = true;
  map->count--;
  return true;
}

hone_status_t hone_map_put(hone_map_t* map, const char* key, void* value) {
  return map_set(map, text_key(key, strlen(key)), value);
}

hone_status_t hone_map_put_n(hone_map_t* map, const char* key, size_t length, void* value) {
  return map_set(map, text_key(length ? key : "", length), value);
}

hone_status_t hone_map_put_u64(hone_map_t* map, uint64_t key, void* value) {
  return map_set(map, number_key(key), value);
}

hone_map_entry_t* hone_map_find(const hone_map_t* map, const char* key) {
  return map_lookup(map, text_key(key, strlen(key)));
}

hone_map_entry_t* hone_map_find_n(const hone_map_t* map, const char* key, size_t length) {
  return map_lookup(map, text_key(length ? key : "", length));
}

hone_map_entry_t* hone_map_find_u64(const hone_map_t* map, uint64_t key) {
  return map_lookup(map, number_key(key));
}

static void* value_of(const hone_map_entry_t* entry) { return entry ? entry->value : NULL; }

void* hone_map_get(const hone_map_t* map, const char* key) {
  return value_of(hone_map_find(map, key));
}

void* hone_map_get_n(const hone_map_t* map, const char* key, size_t length) {
  return value_of(hone_map_find_n(map, key, length));
}

void* hone_map_get_u64(const hone_map_t* map, uint64_t key) {
  return value_of(hone_map_find_u64(map, key));
}

bool hone_map_remove(hone_map_t* map, const char* key) {
  return map_unset(map, text_key(key, strlen(key)));
}

bool hone_map_remove_n(hone_map_t* map, const char* key, size_t length) {
  return map_unset(map, text_key(length ? key : "", length));
}

bool hone_map_remove_u64(hone_map_t* map, uint64_t key) { return map_unset(map, number_key(key)); }

hone_map_entry_t* hone_map_next(const hone_map_t* map, size_t* cursor) {
  while (*cursor < map->used) {
    hone_map_entry_t* entry = &map->entries[(*cursor)++];
    if (!entry->removed) return entry;
  }
  return NULL;
}
