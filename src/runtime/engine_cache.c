#include "runtime/engine_cache.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/str.h"
#include "base/thread_pool.h"
#include "hone/version.h"
#include "ops/lower.h"
#include "runtime/model_digest.h"
#include "tune/database.h"

enum { LEAST_WEIGHTS = 1 << 20 /* bytes; what has less is compiled about as fast */ };

/* ---- this build ---- */

typedef struct build {
  uint64_t digest;
  bool is_found;
} build_t;

static bool holds(const struct dl_phdr_info* info, uintptr_t address) {
  bool found = false;
  for (int i = 0; i < info->dlpi_phnum && !found; i++) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    found = part->p_type == PT_LOAD && address - info->dlpi_addr - part->p_vaddr < part->p_memsz;
  }
  return found;
}

/* Adds the object's code and constants, if this function is in it. */
static int look_at_object(struct dl_phdr_info* info, size_t size, void* self) {
  build_t* build = self;
  hone_status_t status = NULL;
  (void)size;
  if (!holds(info, (uintptr_t)&look_at_object)) return 0;
  for (int i = 0; i < info->dlpi_phnum && !status; i++) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    const hone_piece_t piece = {(const void*)(info->dlpi_addr + part->p_vaddr), part->p_filesz};
    hone_digest_t digest;
    if (part->p_type != PT_LOAD || part->p_flags & PF_W) continue;
    status = hone_pieces_digest(NULL, 1, &piece, &digest);
    if (!status) build->digest = build->digest * 31 + digest.low;
  }
  build->is_found = !status;
  hone_status_free(status);
  return 1;
}

static pthread_once_t build_once = PTHREAD_ONCE_INIT;
static build_t this_build;

static void find_build(void) { dl_iterate_phdr(look_at_object, &this_build); }

/* ---- keys ---- */

static void add_number(hone_str_t* out, int64_t number) {
  hone_str_appendf(out, "%lld\n", (long long)number);
}

static void add_word(hone_str_t* out, const char* word) {
  hone_str_appendf(out, "%zu %s\n", word ? strlen(word) : 0, word ? word : "");
}

static void add_digest(hone_str_t* out, hone_digest_t digest) {
  add_number(out, (int64_t)digest.low);
  add_number(out, (int64_t)digest.high);
}

static void add_device(hone_str_t* out, const hone_backend_t* backend,
                       const hone_device_properties_t* properties) {
  add_word(out, backend->name);
  add_word(out, properties->target);
  add_word(out, properties->compiler);
  add_number(out, (int64_t)properties->compiler_digest);
  add_word(out, properties->driver);
  add_word(out, properties->model);
  add_number(out, properties->compute_units);
  add_number(out, properties->vector_bytes);
  add_number(out, properties->deterministic);
  add_number(out, properties->guard);
  for (int i = 0; i < 3; i++) add_number(out, (int64_t)properties->cache_bytes[i]);
}

static void add_request(hone_str_t* out, const hone_engine_request_t* request) {
  const hone_pass_options_t* passes = request->passes;
  add_word(out, request->precision);
  add_number(out, passes->precision);
  add_number(out, passes->exact);
  add_number(out, passes->n_off);
  for (int i = 0; i < passes->n_off; i++) add_word(out, passes->off[i]);
  add_number(out, request->names_are_per_input);
  add_number(out, request->n_dims);
  for (int i = 0; i < request->n_dims; i++) {
    add_word(out, request->dims[i].name);
    add_number(out, request->dims[i].min);
    add_number(out, request->dims[i].max);
  }
}

/* Which database of tuned kernels there is, and when it was written to: whoever reads it but by way
 * of SQLite takes its locks away. One that was named has to be there. */
static hone_status_t add_tuned(hone_str_t* out, const hone_engine_request_t* request,
                               hone_arena_t* arena) {
  char* usual = NULL;
  struct stat info;
  const char* named = request->tuned_database;
  if (request->no_tuned) return NULL;
  hone_status_t status = named ? NULL : hone_tune_db_default_path(arena, &usual);
  if (hone_status_code(status) == HONE_OUT_OF_MEMORY) return status;
  hone_status_free(status);
  const char* path = named ? named : usual;
  if (!path) return NULL;
  if (stat(path, &info)) return named ? hone_file_error(errno, path, "inspect") : NULL;
  add_number(out, (int64_t)info.st_dev);
  add_number(out, (int64_t)info.st_ino);
  add_number(out, info.st_size);
  add_number(out, info.st_mtim.tv_sec);
  add_number(out, info.st_mtim.tv_nsec);
  return NULL;
}

static hone_status_t describe(const hone_engine_request_t* request, hone_arena_t* arena,
                              hone_str_t* out) {
  hone_device_properties_t properties = {.struct_size = sizeof properties};
  request->backend->properties(request->device, &properties);
  if (request->backend->identify)
    HONE_TRY(request->backend->identify(request->device, &properties));
  pthread_once(&build_once, find_build);
  add_word(out, hone_version());
  add_number(out, (int64_t)this_build.digest);
  add_digest(out, request->contents);
  add_device(out, request->backend, &properties);
  add_request(out, request);
  HONE_TRY(add_tuned(out, request, arena));
  return out->failed ? hone_oom() : NULL;
}

static bool is_kept(const hone_engine_request_t* request) {
  hone_device_properties_t properties = {.struct_size = sizeof properties};
  request->backend->properties(request->device, &properties);
  return hone_cache_is_on(HONE_CACHE_ENGINES) && request->model->file &&
         properties.shares_host_memory && request->allocator == hone_allocator_system() &&
         !request->passes->mixture;
}

static hone_status_t make_key(const hone_engine_request_t* request, hone_arena_t* arena,
                              hone_cache_key_t* out_key) {
  hone_str_t text;
  hone_str_init(&text, request->allocator);
  hone_status_t status = describe(request, arena, &text);
  const void* const parts[] = {hone_str_text(&text)};
  if (!status) *out_key = hone_cache_key(1, parts, &text.size);
  hone_str_free(&text);
  return status;
}

bool hone_engine_cache_key(hone_engine_request_t* request, hone_cache_key_t* out_key) {
  hone_arena_t* arena = NULL;
  *out_key = (hone_cache_key_t){0, 0};
  if (!is_kept(request)) return false;
  hone_status_t status = hone_model_digest(request->model, &request->contents);
  if (!status) status = hone_arena_create(request->allocator, &arena);
  if (!status) status = make_key(request, arena, out_key);
  bool has_key = !status && this_build.is_found;
  hone_status_free(status);
  hone_arena_destroy(arena);
  return has_key;
}

/* ---- finding ---- */

static hone_status_t unpack(const hone_engine_request_t* request, hone_engine_found_t* found) {
  hone_arena_t* arena;
  hone_engine_parts_t parts = {0};
  const hone_file_map_t* map = hone_shared_file_map(found->file);
  HONE_TRY(hone_arena_create(request->allocator, &arena));
  hone_status_t status = hone_engine_take_apart(map->data, map->size, true, arena, &parts);
  if (!status)
    status = hone_engine_load_program(&parts, found->file, request->allocator, request->backend,
                                      request->device, arena, &found->graph, &found->program);
  found->binary = (hone_blob_t){(void*)(uintptr_t)parts.binary, parts.binary_size};
  hone_arena_destroy(arena);
  return status;
}

static hone_status_t open_cache(const hone_engine_request_t* request, hone_cache_t** out_cache) {
  return hone_cache_open(request->allocator, HONE_CACHE_ENGINES, NULL, 0, out_cache);
}

/* Others are failures of the moment, and the entry stays. */
static bool is_damage(hone_status_t status) {
  return hone_status_code(status) == HONE_INVALID_DATA ||
         hone_status_code(status) == HONE_UNSUPPORTED;
}

bool hone_engine_cache_find(const hone_engine_request_t* request, hone_cache_key_t key,
                            hone_engine_found_t* out_found) {
  hone_cache_t* cache;
  hone_file_map_t map;
  *out_found = (hone_engine_found_t){0};
  hone_status_t status = open_cache(request, &cache);
  bool is_there = !status && hone_cache_map(cache, key, &map);
  if (is_there) status = hone_shared_file_create(map, &out_found->file);
  if (is_there && !status) status = unpack(request, out_found);
  if (is_there && status)
    hone_log_write(HONE_LOG_INFO, "engine cache: %s", hone_status_message(status));
  if (is_there && is_damage(status)) hone_cache_drop(cache, key);
  if (status) hone_shared_file_release(out_found->file);
  is_there = is_there && !status;
  hone_status_free(status);
  hone_cache_close(cache);
  if (!is_there) *out_found = (hone_engine_found_t){0};
  return is_there;
}

/* ---- keeping ---- */

struct hone_engine_keeping {
  hone_arena_t* arena; /* of what is not the program's */
  hone_cache_t* cache;
  hone_cache_key_t key;
  int count;
  hone_piece_t* pieces;
  pid_t owner; /* a process that was forked from it has no such thread */
  pthread_t thread;
  bool has_thread;
};

/* Runs go before it. */
static void* write_entry(void* self) {
  hone_engine_keeping_t* keeping = self;
  sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
  hone_cache_put_pieces(keeping->cache, keeping->key, keeping->count, keeping->pieces);
  return NULL;
}

static hone_status_t prepare(hone_engine_keeping_t* keeping, const hone_engine_request_t* request,
                             hone_program_t* program, const hone_graph_t* graph) {
  const hone_engine_parts_t about = {.version = hone_version(),
                                     .precision = request->precision,
                                     .model_digest = request->contents.low,
                                     .binary = program->binary.data,
                                     .binary_size = program->binary.size};
  HONE_TRY(hone_engine_put_together(program, graph, &about, keeping->arena, &keeping->count,
                                    &keeping->pieces));
  return open_cache(request, &keeping->cache);
}

static void drop_keeping(hone_engine_keeping_t* keeping) {
  hone_cache_close(keeping->cache);
  hone_arena_destroy(keeping->arena);
}

static hone_status_t start(const hone_engine_request_t* request, hone_cache_key_t key,
                           hone_program_t* program, const hone_graph_t* graph,
                           hone_engine_keeping_t** out_keeping) {
  hone_arena_t* arena;
  HONE_TRY(hone_arena_create(request->allocator, &arena));
  hone_engine_keeping_t* keeping = hone_arena_alloc(arena, sizeof *keeping);
  if (!keeping) {
    hone_arena_destroy(arena);
    return hone_oom();
  }
  *keeping = (hone_engine_keeping_t){.arena = arena, .key = key, .owner = getpid()};
  hone_status_t status = prepare(keeping, request, program, graph);
  if (status) {
    drop_keeping(keeping);
    return status;
  }
  keeping->has_thread = hone_thread_start(&keeping->thread, write_entry, keeping);
  *out_keeping = keeping;
  return NULL;
}

hone_engine_keeping_t* hone_engine_cache_keep(const hone_engine_request_t* request,
                                              hone_cache_key_t key, hone_program_t* program,
                                              const hone_graph_t* graph) {
  hone_engine_keeping_t* keeping = NULL;
  bool is_large = hone_program_weight_bytes(program) >= LEAST_WEIGHTS;
  if (!is_large || !program->module || program->lost_tuned || hone_lower_deferred_count(graph))
    return NULL;
  hone_status_t status = start(request, key, program, graph, &keeping);
  if (status) hone_log_write(HONE_LOG_INFO, "engine cache: %s", hone_status_message(status));
  hone_status_free(status);
  return keeping;
}

void hone_engine_keeping_finish(hone_engine_keeping_t* keeping) {
  if (!keeping || keeping->owner != getpid()) return;
  if (keeping->has_thread) pthread_join(keeping->thread, NULL);
  drop_keeping(keeping);
}
