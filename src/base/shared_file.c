#include "base/shared_file.h"

#include <stdatomic.h>

#include "base/memory.h"

struct hone_shared_file {
  atomic_size_t holders;
  hone_file_map_t map;
};

hone_status_t hone_shared_file_create(hone_file_map_t map, hone_shared_file_t** out_file) {
  hone_shared_file_t* file = *out_file = hone_alloc(hone_allocator_system(), sizeof *file);
  if (!file) {
    hone_file_map_close(&map);
    return hone_oom();
  }
  atomic_init(&file->holders, 1);
  file->map = map;
  return NULL;
}

void hone_shared_file_retain(hone_shared_file_t* file) { atomic_fetch_add(&file->holders, 1); }

void hone_shared_file_release(hone_shared_file_t* file) {
  if (!file || atomic_fetch_sub(&file->holders, 1) > 1) return;
  hone_file_map_close(&file->map);
  hone_free(hone_allocator_system(), file, sizeof *file);
}

const hone_file_map_t* hone_shared_file_map(const hone_shared_file_t* file) { return &file->map; }
