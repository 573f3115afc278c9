/* Loading models: from bytes or a file to a checked, sorted model form. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "import/onnx.h"
#include "import/onnx_foreign.h"
#include "import/onnx_read.h"

enum { DEFAULT_MAX_DEPTH = 100 };

typedef struct source {
  const void* data;
  size_t size;
  const char* folder; /* of external data; NULL: none is allowed */
} source_t;

/* Models older than IR version 3 could not state their opset: it is 1. */
static hone_status_t default_opset(hone_model_t* model) {
  if (model->n_opsets || model->ir_version >= 3) return NULL;
  model->opsets = hone_arena_alloc(model->arena, sizeof *model->opsets);
  if (!model->opsets) return hone_oom();
  *model->opsets = (hone_onnx_opset_t){.domain = "", .version = 1};
  model->n_opsets = 1;
  return NULL;
}

/* The first problem as a status, with the number of the others. */
static hone_status_t require_sound(const hone_model_t* model) {
  hone_onnx_problems_t problems;
  HONE_TRY(hone_onnx_check(model, &problems));
  hone_status_t status = NULL;
  if (problems.count) {
    const hone_onnx_problem_t* first = &problems.items[0];
    status = hone_status_make(HONE_INVALID_MODEL, "%s%s%s", first->where, *first->where ? ": " : "",
                              first->message);
    if (problems.count > 1 && status != hone_oom()) {
      hone_status_t more =
          hone_status_make(HONE_INVALID_MODEL, "%s (and %lld more: see `hone check`)",
                           hone_status_message(status), (long long)problems.count - 1);
      hone_status_free(status);
      status = more;
    }
  }
  hone_onnx_problems_destroy(&problems);
  return status;
}

static hone_status_t read_model(hone_model_t* model, const source_t* source,
                                const hone_onnx_options_t* options) {
  HONE_TRY(hone_onnx_foreign(source->data, source->size));
  hone_onnx_reader_t reader = {
      .arena = model->arena,
      .start = source->data,
      .max_depth = options->max_depth > 0 ? options->max_depth : DEFAULT_MAX_DEPTH};
  if (source->folder) {
    HONE_TRY(hone_onnx_external_create(model, source->folder, &reader.external));
  }
  hone_string_t body = {.data = source->data, .size = source->size};
  HONE_TRY(hone_onnx_read_message(&reader, &hone_proto_model, body, model));
  HONE_TRY(default_opset(model));
  if (options->no_check) return NULL;
  HONE_TRY(hone_onnx_sort(model));
  return require_sound(model);
}

static hone_status_t copy_source(hone_model_t* model, source_t* source) {
  source->data = hone_arena_memdup(model->arena, source->data, source->size);
  return source->data ? NULL : hone_oom();
}

static const hone_onnx_options_t no_options;

hone_status_t hone_onnx_load_memory(const hone_allocator_t* allocator, const void* data,
                                    size_t size, const char* folder,
                                    const hone_onnx_options_t* options, hone_model_t** out_model) {
  *out_model = NULL;
  if (!data) return hone_status_make(HONE_INVALID_ARGUMENT, "a model's bytes are NULL");
  if (!options) options = &no_options;
  hone_model_t* model;
  HONE_TRY(hone_model_create(allocator, &model));
  source_t source = {.data = data, .size = size, .folder = folder};
  hone_status_t status = options->copy ? copy_source(model, &source) : NULL;
  if (!status) status = read_model(model, &source, options);
  if (status)
    hone_model_destroy(model);
  else
    *out_model = model;
  return status;
}

static void unmap(void* map) { hone_file_map_close(map); }

/* Maps the file for as long as the model lives. */
static hone_status_t map_model(hone_model_t* model, const char* path, source_t* source) {
  hone_file_map_t* map = hone_arena_alloc(model->arena, sizeof *map);
  char* folder = hone_path_dirname(model->arena, path);
  model->path = hone_arena_strdup(model->arena, path);
  if (!map || !folder || !model->path) return hone_oom();
  HONE_TRY(hone_file_map_open(path, map));
  hone_status_t status = hone_model_on_destroy(model, unmap, map);
  if (status) {
    hone_file_map_close(map);
    return status;
  }
  model->file = map->data;
  model->file_size = map->size;
  *source = (source_t){.data = map->data, .size = map->size, .folder = folder};
  return NULL;
}

hone_status_t hone_onnx_load_file(const hone_allocator_t* allocator, const char* path,
                                  const hone_onnx_options_t* options, hone_model_t** out_model) {
  *out_model = NULL;
  if (!options) options = &no_options;
  hone_model_t* model;
  HONE_TRY(hone_model_create(allocator, &model));
  source_t source = {0};
  hone_status_t status = map_model(model, path, &source);
  if (!status) status = hone_status_annotate(read_model(model, &source, options), "%s", path);
  if (status)
    hone_model_destroy(model);
  else
    *out_model = model;
  return status;
}
