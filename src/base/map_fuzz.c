/* A map against the plainest thing that could be one: an array of all pairs
 * put so far. Each byte of the input is a step: two bits say what to do and
 * the other six choose the key. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum { KEYS = 64 };

typedef struct pair {
  bool present;
  uint64_t order; /* of insertion */
  void* value;
} pair_t;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void expect(bool holds) {
  if (!holds) abort();
}

static void put(hone_map_t* map, pair_t* pair, uint64_t key, uint64_t step) {
  void* value = (void*)(uintptr_t)(step + 1);
  hone_status_t status = hone_map_put_u64(map, key, value);
  if (status) {
    hone_status_free(status);
    return;
  }
  if (!pair->present) pair->order = step;
  pair->present = true;
  pair->value = value;
}

static void take_out(hone_map_t* map, pair_t* pair, uint64_t key) {
  expect(hone_map_remove_u64(map, key) == pair->present);
  *pair = (pair_t){0};
}

/* Every pair is there, in order of insertion, and nothing else. */
static void compare(const hone_map_t* map, const pair_t* pairs) {
  size_t cursor = 0, count = 0;
  uint64_t last = 0;
  for (const hone_map_entry_t* entry; (entry = hone_map_next(map, &cursor)); count++) {
    const pair_t* pair = &pairs[entry->number];
    expect(pair->present && pair->value == entry->value);
    expect(count == 0 || pair->order > last);
    last = pair->order;
  }
  expect(count == hone_map_count(map));
  for (uint64_t key = 0; key < KEYS; key++) expect(hone_map_get_u64(map, key) == pairs[key].value);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pair_t pairs[KEYS] = {0};
  hone_map_t map;
  hone_map_init(&map, NULL);
  for (size_t i = 0; i < size; i++) {
    uint64_t key = data[i] % KEYS;
    if (data[i] / KEYS == 0)
      take_out(&map, &pairs[key], key);
    else if (data[i] / KEYS == 1)
      compare(&map, pairs);
    else
      put(&map, &pairs[key], key, i);
  }
  compare(&map, pairs);
  hone_map_free(&map);
  return 0;
}
