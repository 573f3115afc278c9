/* Engines: compiled, saved, loaded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "hone/version.h"
#include "ir/model.h"
#include "ops/lower.h"
#include "runtime/device.h"
#include "runtime/engine_cache.h"
#include "runtime/model_digest.h"
#include "runtime/precision.h"

/* ---- devices ---- */

static hone_status_t open_device(hone_engine_t* engine, const char* name, const char* target,
                                 const hone_engine_options_t* options) {
  const hone_open_options_t open = {.struct_size = sizeof open,
                                    .allocator = engine->allocator,
                                    .target = target,
                                    .threads = options->threads,
                                    .deterministic = options->deterministic,
                                    .guard = options->guard};
  return hone_device_open(name, &open, &engine->backend, &engine->device);
}

static hone_status_t create(const hone_engine_options_t* options, hone_engine_t** out_engine) {
  const hone_allocator_t* allocator =
      options->allocator ? options->allocator : hone_allocator_system();
  hone_engine_t* engine = hone_alloc(allocator, sizeof *engine);
  *out_engine = engine;
  if (!engine) return hone_oom();
  engine->allocator = allocator;
  return NULL;
}

void hone_engine_destroy(hone_engine_t* engine) {
  if (!engine) return;
  hone_engine_keeping_finish(engine->keeping);
  hone_program_destroy(engine->program);
  hone_graph_destroy(engine->graph);
  if (engine->device) engine->backend->close(engine->device);
  hone_shared_file_release(engine->file);
  hone_free(engine->allocator, engine, sizeof *engine);
}

static hone_status_t give(hone_engine_t* engine, hone_status_t status, hone_engine_t** out) {
  if (status)
    hone_engine_destroy(engine);
  else
    *out = engine;
  return status;
}

/* ---- compiling ---- */

/* What passes are to do, but for the precision. */
static hone_pass_options_t pass_options(const hone_engine_options_t* options,
                                        const hone_mixture_t* mixture) {
  return (hone_pass_options_t){.n_off = options->n_passes_off,
                               .off = options->passes_off,
                               .exact = options->exact,
                               .mixture = mixture};
}

static hone_status_t compile_new(hone_engine_t* engine, const hone_model_t* model,
                                 const hone_engine_options_t* options,
                                 const hone_pass_options_t* passes) {
  const hone_lower_options_t lowering = {.n_dims = options->n_dims, .dims = options->dims};
  HONE_TRY(hone_lower_model(model, &lowering, engine->allocator, &engine->graph));
  const hone_compile_settings_t settings = {.allocator = engine->allocator,
                                            .passes = passes,
                                            .spends_constants = true,
                                            .may_be_foreign = options->target != NULL,
                                            .no_tuned = options->no_tuned,
                                            .tuned_database = options->tuned_database,
                                            .dump = options->dump,
                                            .dump_self = options->dump_self,
                                            .dump_asm = options->dump_asm};
  HONE_TRY(hone_compile(engine->graph, engine->backend, engine->device, &settings, NULL,
                        &engine->program));
  engine->binary = engine->program->binary;
  engine->runs_here = engine->program->module || !engine->program->n_kernels;
  return NULL;
}

/* From the engine cache if it is there; else it is kept there, for the next one. */
static hone_status_t compile_kept(hone_engine_t* engine, const hone_engine_options_t* options,
                                  const hone_engine_request_t* request, hone_cache_key_t key) {
  hone_engine_found_t found;
  if (!hone_engine_cache_find(request, key, &found)) {
    HONE_TRY(compile_new(engine, request->model, options, request->passes));
    engine->keeping = hone_engine_cache_keep(request, key, engine->program, engine->graph);
    return NULL;
  }
  engine->file = found.file;
  engine->graph = found.graph;
  engine->program = found.program;
  engine->binary = found.binary;
  engine->from_cache = engine->runs_here = true;
  return NULL;
}

/* `mixture` NULL: the precision of the options, else `dtype` for what it chooses. */
static hone_status_t compile(hone_engine_t* engine, const hone_model_t* model,
                             const hone_engine_options_t* options, hone_dtype_t dtype,
                             const hone_mixture_t* mixture) {
  hone_pass_options_t passes = pass_options(options, mixture);
  hone_precision_t precision = {.dtype = dtype};
  if (!mixture) HONE_TRY(hone_precision_parse(options->precision, model, &precision));
  passes.precision = precision.dtype;
  passes.bf16x3 = precision.bf16x3;
  HONE_TRY(
      open_device(engine, options->device ? options->device : "cpu", options->target, options));
  snprintf(engine->version, sizeof engine->version, "%s", hone_version());
  engine->precision = hone_precision_name(mixture ? "mixed" : options->precision);
  hone_engine_request_t request = {.allocator = engine->allocator,
                                   .model = model,
                                   .backend = engine->backend,
                                   .device = engine->device,
                                   .n_dims = options->n_dims,
                                   .dims = options->dims,
                                   .passes = &passes,
                                   .precision = engine->precision,
                                   .no_tuned = options->no_tuned,
                                   .tuned_database = options->tuned_database};
  hone_cache_key_t key;
  bool may_be_kept = !options->dump && !options->target && !options->no_engine_cache;
  bool is_kept = may_be_kept && hone_engine_cache_key(&request, &key);
  if (!is_kept) HONE_TRY(hone_model_digest(model, &request.contents));
  engine->model_digest = request.contents.low;
  return is_kept ? compile_kept(engine, options, &request, key)
                 : compile_new(engine, model, options, &passes);
}

hone_status_t hone_engine_compile_as(const hone_model_t* model, const hone_engine_options_t* given,
                                     hone_dtype_t dtype, const hone_mixture_t* mixture,
                                     hone_engine_t** out_engine) {
  hone_engine_options_t taken;
  const hone_engine_options_t* options = &taken;
  *out_engine = NULL;
  hone_options_take(given, sizeof taken, &taken);
  hone_engine_t* engine;
  HONE_TRY(create(options, &engine));
  return give(engine, compile(engine, model, options, dtype, mixture), out_engine);
}

hone_status_t hone_engine_compile(const hone_model_t* model, const hone_engine_options_t* options,
                                  hone_engine_t** out_engine) {
  return hone_engine_compile_as(model, options, HONE_UNKNOWN, NULL, out_engine);
}

hone_status_t hone_engine_save(hone_engine_t* engine, const char* path) {
  return hone_engine_write(engine, path);
}

/* ---- loading ---- */

/* A device of the kind that the kernels were built for. */
static hone_status_t find_device(hone_engine_t* engine, const hone_engine_parts_t* parts,
                                 const hone_engine_options_t* options) {
  const char* name = options->device ? options->device : parts->backend;
  size_t length = strcspn(name, ":");
  if (strlen(parts->backend) != length || strncmp(name, parts->backend, length) != 0)
    return hone_status_make(HONE_UNAVAILABLE,
                            "the engine was compiled for '%s', not for '%s': compile it again",
                            parts->backend, name);
  if (!hone_backend_find(parts->backend))
    return hone_status_make(HONE_UNAVAILABLE,
                            "the engine was compiled for '%s', which this build of hone lacks",
                            parts->backend);
  hone_engine_options_t how = *options;
  how.guard = how.guard || parts->guard;
  HONE_TRY(open_device(engine, name, parts->target, &how));
  hone_device_properties_t properties;
  engine->backend->properties(engine->device, &properties);
  if (strcmp(properties.target, parts->target) == 0 &&
      strcmp(properties.driver, parts->driver) == 0)
    return NULL;
  return hone_status_make(HONE_UNAVAILABLE,
                          "the engine was compiled for %s %s; this device is %s %s: compile the "
                          "model again",
                          parts->target, parts->driver, properties.target, properties.driver);
}

static hone_status_t assemble(hone_engine_t* engine, const void* data, size_t size,
                              hone_arena_t* arena, const hone_engine_options_t* options) {
  hone_engine_parts_t parts = {0};
  HONE_TRY(hone_engine_take_apart(data, size, true, arena, &parts));
  HONE_TRY(find_device(engine, &parts, options));
  engine->model_digest = parts.model_digest;
  snprintf(engine->version, sizeof engine->version, "%s", parts.version);
  engine->precision = hone_precision_name(parts.precision);
  engine->binary = (hone_blob_t){(void*)(uintptr_t)parts.binary, parts.binary_size};
  HONE_TRY(hone_engine_load_program(&parts, engine->file, engine->allocator, engine->backend,
                                    engine->device, arena, &engine->graph, &engine->program));
  engine->runs_here = true;
  return NULL;
}

static hone_status_t load(hone_engine_t* engine, const void* data, size_t size,
                          const hone_engine_options_t* options) {
  hone_arena_t* arena;
  HONE_TRY(hone_arena_create(engine->allocator, &arena));
  hone_status_t status = assemble(engine, data, size, arena, options);
  hone_arena_destroy(arena);
  return status;
}

hone_status_t hone_engine_load_memory(const void* data, size_t size,
                                      const hone_engine_options_t* given,
                                      hone_engine_t** out_engine) {
  hone_engine_options_t taken;
  const hone_engine_options_t* options = &taken;
  *out_engine = NULL;
  hone_options_take(given, sizeof taken, &taken);
  hone_engine_t* engine;
  HONE_TRY(create(options, &engine));
  return give(engine, load(engine, data, size, options), out_engine);
}

hone_status_t hone_engine_load(const char* path, const hone_engine_options_t* given,
                               hone_engine_t** out_engine) {
  hone_engine_options_t taken;
  const hone_engine_options_t* options = &taken;
  *out_engine = NULL;
  hone_options_take(given, sizeof taken, &taken);
  hone_engine_t* engine;
  HONE_TRY(create(options, &engine));
  hone_file_map_t map;
  hone_status_t status = hone_file_map_open(path, &map);
  if (!status) status = hone_shared_file_create(map, &engine->file);
  if (!status) {
    status = load(engine, map.data, map.size, options);
    status = hone_status_annotate(status, "%s", path);
  }
  return give(engine, status, out_engine);
}

/* ---- looking ---- */

void hone_engine_describe(const hone_engine_t* engine, hone_engine_info_t* out_info) {
  const hone_program_t* program = engine->program;
  *out_info = (hone_engine_info_t){.device = engine->backend->name,
                                   .target = program->properties.target,
                                   .version = engine->version,
                                   .model_digest = engine->model_digest,
                                   .weight_bytes = hone_program_weight_bytes(program),
                                   .kernel_bytes = engine->binary.size,
                                   .n_kernels = program->n_kernels,
                                   .n_interpreted = hone_program_interpreted(program),
                                   .runs_here = engine->runs_here,
                                   .precision = engine->precision,
                                   .guard = program->properties.guard,
                                   .from_cache = engine->from_cache};
}
