/* Finding and mapping the files of onnx_external.h. */
#include "import/onnx_external.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"

struct hone_onnx_external {
  hone_model_t* model;
  const char* folder;
  hone_map_t files; /* location to hone_file_map_t */
};

hone_status_t hone_onnx_external_create(hone_model_t* model, const char* folder,
                                        hone_onnx_external_t** out_external) {
  hone_onnx_external_t* external = hone_arena_alloc(model->arena, sizeof *external);
  if (!external) return hone_oom();
  external->model = model;
  external->folder = hone_arena_strdup(model->arena, *folder ? folder : ".");
  external->files.arena = model->arena;
  *out_external = external;
  return external->folder ? NULL : hone_oom();
}

static void unmap(void* map) { hone_file_map_close(map); }

static hone_status_t open_file(hone_onnx_external_t* external, const char* location,
                               hone_file_map_t** out_map) {
  char* path;
  hone_arena_t* arena = external->model->arena;
  HONE_TRY(hone_path_confine(arena, external->folder, location, &path));
  hone_file_map_t* map = hone_arena_alloc(arena, sizeof *map);
  if (!map) return hone_oom();
  HONE_TRY(hone_file_map_open(path, map));
  hone_status_t status = hone_model_on_destroy(external->model, unmap, map);
  if (status) hone_file_map_close(map);
  *out_map = map;
  return status;
}

static hone_status_t get_file(hone_onnx_external_t* external, const char* location,
                              const hone_file_map_t** out_map) {
  hone_file_map_t* map = hone_map_get(&external->files, location);
  if (!map) {
    HONE_TRY(hone_status_annotate(open_file(external, location, &map), "external data"));
    HONE_TRY(hone_map_put(&external->files, location, map));
  }
  *out_map = map;
  return NULL;
}

static hone_status_t parse_number(const hone_onnx_metadata_t* entry, uint64_t* out_number) {
  char* end;
  errno = 0;
  *out_number = strtoull(entry->value, &end, 10);
  if (!errno && end != entry->value && !*end && *entry->value >= '0' && *entry->value <= '9') {
    return NULL;
  }
  return hone_status_make(HONE_INVALID_MODEL, "external data has '%s' for its %s, not a number",
                          entry->value, entry->key);
}

typedef struct place {
  const char* location;
  uint64_t offset;
  uint64_t length; /* UINT64_MAX: not stated */
} place_t;

static hone_status_t parse_place(const hone_onnx_metadata_t* entries, int64_t n_entries,
                                 place_t* place) {
  *place = (place_t){.length = UINT64_MAX};
  for (int64_t i = 0; i < n_entries; i++) {
    const hone_onnx_metadata_t* entry = &entries[i];
    if (!strcmp(entry->key, "location")) place->location = entry->value;
    if (!strcmp(entry->key, "offset")) HONE_TRY(parse_number(entry, &place->offset));
    if (!strcmp(entry->key, "length")) HONE_TRY(parse_number(entry, &place->length));
  }
  if (place->location && *place->location) return NULL;
  return hone_status_make(HONE_INVALID_MODEL, "its external data has no location");
}

hone_status_t hone_onnx_external_find(hone_onnx_external_t* external,
                                      const hone_onnx_metadata_t* entries, int64_t n_entries,
                                      size_t bytes, hone_onnx_tensor_t* tensor,
                                      const void** out_data) {
  place_t place;
  HONE_TRY(parse_place(entries, n_entries, &place));
  if (place.length != UINT64_MAX && place.length != bytes) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "external data '%s' is declared as %" PRIu64
                            " bytes where dimensions and type need %zu",
                            place.location, place.length, bytes);
  }
  const hone_file_map_t* map;
  HONE_TRY(get_file(external, place.location, &map));
  if (place.offset > map->size || bytes > map->size - place.offset) {
    return hone_status_make(HONE_INVALID_MODEL,
                            "external data '%s' is shorter than declared: the tensor needs %zu "
                            "bytes from byte %" PRIu64 ", the file has %zu; fetch the file again",
                            place.location, bytes, place.offset, map->size);
  }
  tensor->external_file = place.location;
  tensor->external_offset = place.offset;
  *out_data = map->data + place.offset;
  return NULL;
}
