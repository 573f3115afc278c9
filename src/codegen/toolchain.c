#include "codegen/toolchain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu_count.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "codegen/build_folder.h"
#include "codegen/declarations.h"
#include "codegen/process.h"

enum {
  DEFAULT_LIMIT_MS = 120000,
  OBJECT_LIMIT = 1 << 30, /* no kernel is that large: the compiler went mad */
  MAX_WORDS = 48,
};

/* Optimisation, then meaning, then what makes objects small. Vectors are written
 * as such: looking for them in straight code takes time and finds none, and gcc
 * 12 crashes over conversions of wide ones while it looks. */
static const char* const compile_flags[] = {
    "-std=gnu11",
    "-O3",
    "-fno-tree-slp-vectorize",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-w",
};
/* gcc alone: it would keep what the steps of a window have in common in registers that tiles leave
 * it none of, and copy it from place to place in each step. */
static const char* const gcc_flags[] = {"-fno-predictive-commoning"};
static const char* const link_flags[] = {"-shared", "-fPIC", "-Wl,--build-id=none",
                                         "-Wl,-z,norelro"};
/* What functions kernels call is found where they are loaded. */
static const char* const lone_link_flags[] = {"-fuse-ld=lld", "-nostdlib"};

enum {
  COMPILE_FLAGS = sizeof compile_flags / sizeof *compile_flags,
  GCC_FLAGS = sizeof gcc_flags / sizeof *gcc_flags,
  LINK_FLAGS = sizeof link_flags / sizeof *link_flags,
  LONE_LINK_FLAGS = sizeof lone_link_flags / sizeof *lone_link_flags,
};

/* One unit on its way. */
typedef struct item {
  const hone_unit_t* unit;
  hone_cache_key_t key;
  char* object; /* NULL until it is there */
  size_t object_size;
  int job; /* index of its process; -1: taken from the cache */
  const char *source_path, *object_path;
} item_t;

/* A prelude that units start with, taken apart. */
typedef struct prelude {
  const char* text; /* as given: the same for all its units */
  hone_declarations_t declarations;
} prelude_t;

typedef struct build {
  const hone_allocator_t* allocator;
  const hone_build_options_t* options;
  hone_arena_t* arena;
  int count;
  item_t* items;
  int n_preludes; /* those needed so far */
  prelude_t* preludes;
  int n_jobs;
  hone_process_t* jobs;
  hone_cache_key_t tools;
  hone_build_folder_t folder;
  int64_t limit_ms;
  int parallel;
} build_t;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static size_t length_of(const char* text) { return text ? strlen(text) : 0; }

/* ---- command lines ---- */

typedef struct words {
  const char* list[MAX_WORDS];
  int count;
} words_t;

static void add_word(words_t* words, const char* word) {
  if (words->count < MAX_WORDS - 1) words->list[words->count++] = word;
}

static void add_words(words_t* words, const char* const* list, int count) {
  for (int i = 0; i < count; i++) add_word(words, list[i]);
}

/* All of the command that does not depend on the unit. */
static words_t compile_words(const hone_build_options_t* options) {
  words_t words = {.count = 0};
  add_words(&words, options->compiler->words, options->compiler->n_words);
  add_words(&words, compile_flags, COMPILE_FLAGS);
  if (!options->compiler->is_clang) add_words(&words, gcc_flags, GCC_FLAGS);
  add_words(&words, options->target->flags, options->target->n_flags);
  return words;
}

static const char* const* copy_words(hone_arena_t* arena, const words_t* words) {
  return hone_arena_memdup(arena, words->list, ((size_t)words->count + 1) * sizeof *words->list);
}

/* ---- keys ---- */

/* Digest of compiler and flags; the first part of every key. */
static hone_cache_key_t key_of_tools(const build_t* build) {
  words_t words = compile_words(build->options);
  const void* parts[MAX_WORDS + LINK_FLAGS];
  size_t sizes[MAX_WORDS + LINK_FLAGS];
  int count = 0;
  parts[count] = &build->options->compiler->digest;
  sizes[count++] = sizeof build->options->compiler->digest;
  for (int i = 0; i < words.count; i++) {
    parts[count] = words.list[i];
    sizes[count++] = strlen(words.list[i]);
  }
  for (int i = 0; i < LINK_FLAGS; i++) {
    parts[count] = link_flags[i];
    sizes[count++] = strlen(link_flags[i]);
  }
  return hone_cache_key(count, parts, sizes);
}

static void set_keys(build_t* build) {
  build->tools = key_of_tools(build);
  for (int i = 0; i < build->count; i++) {
    const hone_unit_t* unit = build->items[i].unit;
    const void* parts[] = {&build->tools, unit->prelude ? unit->prelude : "", unit->text};
    const size_t sizes[] = {sizeof build->tools, length_of(unit->prelude), strlen(unit->text)};
    build->items[i].key = hone_cache_key(3, parts, sizes);
  }
}

/* Of the whole: the keys of its units in their order. */
static hone_status_t key_of_whole(const build_t* build, hone_cache_key_t* out_key) {
  hone_cache_key_t* keys = hone_arena_array(build->arena, (size_t)build->count, sizeof *keys);
  if (!keys) return hone_oom();
  for (int i = 0; i < build->count; i++) keys[i] = build->items[i].key;
  const void* parts[] = {"linked", keys};
  const size_t sizes[] = {6, (size_t)build->count * sizeof *keys};
  *out_key = hone_cache_key(2, parts, sizes);
  return NULL;
}

/* ---- the private folder ---- */

static void remove_file(const char* path) {
  if (path) unlink(path);
}

static const char* in_folder(build_t* build, int index, const char* suffix) {
  return hone_arena_format(build->arena, "%s/%d%s", build->folder.path, index, suffix);
}

static hone_status_t write_file(const char* path, const char* data, size_t size) {
  FILE* file = fopen(path, "we");
  if (!file) return hone_file_error(errno, path, "create");
  bool ok = fwrite(data, 1, size, file) == size;
  int error = errno;
  if (fclose(file) && ok) {
    error = errno;
    ok = false;
  }
  return ok ? NULL : hone_file_error(error, path, "write");
}

/* ---- what a compiler says ---- */

/* The first lines that speak of errors, else the first lines; paths of the
 * private folder mean nothing to a reader and are left out. */
static void first_errors(const build_t* build, const char* output, char* out, size_t size) {
  const char* from = strstr(output, "error");
  while (from && from > output && from[-1] != '\n') from--;
  if (!from) from = output;
  size_t used = 0, folder = strlen(build->folder.path);
  for (int lines = 0; *from && lines < 4 && used + 1 < size;) {
    if (folder && strncmp(from, build->folder.path, folder) == 0) {
      from += folder + (from[folder] == '/');
      continue;
    }
    lines += *from == '\n';
    out[used++] = *from++;
  }
  while (used && out[used - 1] == '\n') used--;
  out[used] = 0;
}

static hone_status_t failed(const build_t* build, const hone_process_t* process, const char* what) {
  char outcome[128], errors[1024];
  first_errors(build, process->output, errors, sizeof errors);
  bool refused = process->exit_code > 0 && process->exit_code != 127;
  if (process->timed_out)
    return hone_status_make(HONE_UNAVAILABLE,
                            "the C compiler %s did not finish %s within %.1f seconds and was "
                            "stopped",
                            process->argv[0], what, (double)build->limit_ms / 1000);
  return hone_status_make(refused ? HONE_INTERNAL : HONE_UNAVAILABLE,
                          "the C compiler %s, given %s, %s: %s", process->argv[0], what,
                          hone_process_outcome(process, outcome, sizeof outcome),
                          errors[0] ? errors : "it says nothing");
}
/* ---- preludes ---- */

/* Runs the preprocessor over a prelude; the text lives in the arena. */
static hone_status_t preprocess(build_t* build, const char* prelude, const char** out_text) {
  const char* from = in_folder(build, 0, ".prelude.c");
  const char* to = in_folder(build, 0, ".prelude.i");
  hone_process_t* process = hone_arena_alloc(build->arena, sizeof *process);
  if (!from || !to || !process) return hone_oom();
  words_t words = compile_words(build->options);
  const char* const rest[] = {"-E", "-P", "-dD", "-o", to, from};
  add_words(&words, rest, 6);
  process->argv = copy_words(build->arena, &words);
  process->temporary = build->folder.path;
  if (!process->argv) return hone_oom();
  hone_status_t status = write_file(from, prelude, strlen(prelude));
  if (!status) status = hone_process_run(build->allocator, 1, process, 1, build->limit_ms);
  char* data = NULL;
  size_t size = 0;
  if (!status && !hone_process_ok(process)) status = failed(build, process, "the prelude");
  if (!status)
    status =
        hone_status_annotate(hone_file_read(build->allocator, to, OBJECT_LIMIT, &data, &size),
                             "the C compiler %s made nothing of the prelude", process->argv[0]);
  if (!status && !(*out_text = hone_arena_strndup(build->arena, data, size))) status = hone_oom();
  if (data) hone_free(build->allocator, data, size + 1);
  remove_file(from);
  remove_file(to);
  return status;
}

/* The same through the cache. */
static hone_status_t preprocessed(build_t* build, const char* prelude, const char** out_text) {
  hone_cache_t* cache = build->options->cache;
  const void* parts[] = {"preprocessed", &build->tools, prelude};
  const size_t sizes[] = {12, sizeof build->tools, strlen(prelude)};
  hone_cache_key_t key = hone_cache_key(3, parts, sizes);
  char* data;
  size_t size;
  if (cache && hone_cache_get(cache, key, build->allocator, &data, &size)) {
    *out_text = hone_arena_strndup(build->arena, data, size);
    hone_free(build->allocator, data, size);
    return *out_text ? NULL : hone_oom();
  }
  HONE_TRY(preprocess(build, prelude, out_text));
  if (cache) hone_cache_put(cache, key, *out_text, strlen(*out_text));
  return NULL;
}

static hone_status_t find_prelude(build_t* build, const char* text, prelude_t** out_prelude) {
  for (int i = 0; i < build->n_preludes; i++) {
    *out_prelude = &build->preludes[i];
    if (build->preludes[i].text == text) return NULL;
  }
  prelude_t* prelude = &build->preludes[build->n_preludes];
  const char* plain = NULL;
  HONE_TRY(preprocessed(build, text, &plain));
  HONE_TRY(hone_declarations_read(build->arena, plain, &prelude->declarations));
  prelude->text = text;
  build->n_preludes++;
  *out_prelude = prelude;
  return NULL;
}

/* ---- compiling ---- */

/* The unit with what it needs of its prelude. */
static hone_status_t write_source(build_t* build, const item_t* item) {
  hone_str_t source;
  prelude_t* prelude;
  hone_status_t status = NULL;
  hone_str_init(&source, build->allocator);
  if (item->unit->prelude) status = find_prelude(build, item->unit->prelude, &prelude);
  if (!status && item->unit->prelude)
    status = hone_declarations_append(&prelude->declarations, item->unit->text, &source);
  hone_str_append(&source, item->unit->text);
  if (!status && source.failed) status = hone_oom();
  if (!status) status = write_file(item->source_path, source.data, source.size);
  hone_str_free(&source);
  return status;
}

/* `how`: -c for an object, -S for assembly. */
static hone_status_t add_job(build_t* build, item_t* item, const char* how) {
  int index = (int)(item - build->items);
  item->source_path = in_folder(build, index, ".c");
  item->object_path = in_folder(build, index, ".o");
  if (!item->source_path || !item->object_path) return hone_oom();
  HONE_TRY(write_source(build, item));
  words_t words = compile_words(build->options);
  const char* const rest[] = {how, "-o", item->object_path, item->source_path};
  add_words(&words, rest, 4);
  item->job = build->n_jobs++;
  build->jobs[item->job].temporary = build->folder.path;
  build->jobs[item->job].argv = copy_words(build->arena, &words);
  return build->jobs[item->job].argv ? NULL : hone_oom();
}

/* What the compiler made, or why it is none. */
static hone_status_t read_product(const build_t* build, const char* path,
                                  const hone_process_t* process, const char* what, char** out_data,
                                  size_t* out_size) {
  static const unsigned char elf[4] = {0x7f, 'E', 'L', 'F'};
  if (!hone_process_ok(process)) return failed(build, process, what);
  char* data;
  size_t size;
  hone_status_t status = hone_file_read(build->allocator, path, OBJECT_LIMIT, &data, &size);
  if (status)
    return hone_status_annotate(status, "the C compiler %s made nothing of %s", process->argv[0],
                                what);
  if (size > sizeof elf && memcmp(data, elf, sizeof elf) == 0) {
    *out_data = data;
    *out_size = size;
    return NULL;
  }
  hone_free(build->allocator, data, size + 1);
  return hone_status_make(HONE_UNAVAILABLE,
                          "what the C compiler %s made of %s is no ELF file: is it a C compiler?",
                          process->argv[0], what);
}

enum { WHAT_SIZE = 128 };

static const char* name_kernel(const item_t* item, char what[WHAT_SIZE]) {
  snprintf(what, WHAT_SIZE, "kernel %.100s", item->unit->name);
  return what;
}

static hone_status_t collect(build_t* build, item_t* item) {
  const hone_process_t* process = &build->jobs[item->job];
  char what[WHAT_SIZE];
  name_kernel(item, what);
  char* data;
  size_t size;
  HONE_TRY(read_product(build, item->object_path, process, what, &data, &size));
  item->object = data;
  item->object_size = size;
  if (build->options->cache) hone_cache_put(build->options->cache, item->key, data, size);
  return NULL;
}

static void take_from_cache(build_t* build, item_t* item) {
  char* data;
  size_t size;
  item->job = -1;
  if (!build->options->cache ||
      !hone_cache_get(build->options->cache, item->key, build->allocator, &data, &size))
    return;
  item->object = data;
  item->object_size = size;
}

static hone_status_t compile_all(build_t* build) {
  for (int i = 0; i < build->count; i++) {
    take_from_cache(build, &build->items[i]);
    if (!build->items[i].object) HONE_TRY(add_job(build, &build->items[i], "-c"));
  }
  HONE_TRY(hone_process_run(build->allocator, build->n_jobs, build->jobs, build->parallel,
                            build->limit_ms));
  for (int i = 0; i < build->count; i++)
    if (build->items[i].job >= 0) HONE_TRY(collect(build, &build->items[i]));
  return NULL;
}

/* ---- linking ---- */

/* Objects from the cache become files again. */
static hone_status_t write_object(build_t* build, item_t* item) {
  if (item->object_path) return NULL;
  item->object_path = in_folder(build, (int)(item - build->items), ".o");
  if (!item->object_path) return hone_oom();
  return write_file(item->object_path, item->object, item->object_size);
}

static hone_status_t link_words(build_t* build, const char* product, const char* const** out_argv) {
  const hone_build_options_t* options = build->options;
  words_t words = {.count = 0};
  add_words(&words, options->compiler->words, options->compiler->n_words);
  add_words(&words, link_flags, LINK_FLAGS);
  if (options->compiler->links_alone) add_words(&words, lone_link_flags, LONE_LINK_FLAGS);
  add_word(&words, "-o");
  add_word(&words, product);
  size_t total = (size_t)words.count + (size_t)build->count + 2, at = (size_t)words.count;
  const char** argv = hone_arena_array(build->arena, total, sizeof *argv);
  if (!argv) return hone_oom();
  memcpy(argv, words.list, at * sizeof *argv);
  for (int i = 0; i < build->count; i++) argv[at++] = build->items[i].object_path;
  if (!options->compiler->links_alone) argv[at] = "-lm";
  *out_argv = argv;
  return NULL;
}

static hone_status_t link_all(build_t* build, char** out_bytes, size_t* out_size) {
  for (int i = 0; i < build->count; i++) HONE_TRY(write_object(build, &build->items[i]));
  const char* product = hone_arena_format(build->arena, "%s/whole.so", build->folder.path);
  hone_process_t* process = hone_arena_alloc(build->arena, sizeof *process);
  if (!product || !process) return hone_oom();
  HONE_TRY(link_words(build, product, &process->argv));
  process->temporary = build->folder.path;
  HONE_TRY(hone_process_run(build->allocator, 1, process, 1, build->limit_ms));
  return read_product(build, product, process, "the kernels to link", out_bytes, out_size);
}

/* hone_file_read adds a 0, hone_cache_get does not: one rule for the caller. */
static hone_status_t trim(build_t* build, char** bytes, size_t size) {
  char* exact = hone_realloc(build->allocator, *bytes, size + 1, size);
  if (!exact) {
    hone_free(build->allocator, *bytes, size + 1);
    *bytes = NULL;
    return hone_oom();
  }
  *bytes = exact;
  return NULL;
}

/* ---- all of it ---- */

static hone_status_t prepare(build_t* build, const hone_unit_t* units) {
  const hone_build_options_t* options = build->options;
  build->items = hone_arena_array(build->arena, (size_t)build->count, sizeof *build->items);
  build->preludes = hone_arena_array(build->arena, (size_t)build->count, sizeof *build->preludes);
  build->jobs = hone_arena_array(build->arena, (size_t)build->count, sizeof *build->jobs);
  if (!build->items || !build->preludes || !build->jobs) return hone_oom();
  for (int i = 0; i < build->count; i++) build->items[i].unit = &units[i];
  build->limit_ms = options->time_limit_ms > 0 ? options->time_limit_ms : DEFAULT_LIMIT_MS;
  build->parallel = options->parallel > 0 ? options->parallel : hone_cpu_count();
  set_keys(build);
  return NULL;
}

static hone_status_t build_new(build_t* build, hone_cache_key_t whole, char** out_bytes,
                               size_t* out_size) {
  hone_cache_t* cache = build->options->cache;
  HONE_TRY(hone_build_folder_make(&build->folder));
  HONE_TRY(compile_all(build));
  HONE_TRY(link_all(build, out_bytes, out_size));
  HONE_TRY(trim(build, out_bytes, *out_size));
  if (cache) hone_cache_put(cache, whole, *out_bytes, *out_size);
  return NULL;
}

static hone_status_t build_all(build_t* build, const hone_unit_t* units, char** out_bytes,
                               size_t* out_size, bool* out_linked) {
  hone_cache_key_t whole;
  hone_cache_t* cache = build->options->cache;
  HONE_TRY(prepare(build, units));
  HONE_TRY(key_of_whole(build, &whole));
  *out_linked = !cache || !hone_cache_get(cache, whole, build->allocator, out_bytes, out_size);
  return *out_linked ? build_new(build, whole, out_bytes, out_size) : NULL;
}

/* A run of the compiler for each unit, which gives a text. */
static hone_status_t make_texts(build_t* build, const hone_unit_t* units, hone_arena_t* arena,
                                const char** out_texts) {
  HONE_TRY(prepare(build, units));
  HONE_TRY(hone_build_folder_make(&build->folder));
  for (int i = 0; i < build->count; i++) HONE_TRY(add_job(build, &build->items[i], "-S"));
  HONE_TRY(hone_process_run(build->allocator, build->n_jobs, build->jobs, build->parallel,
                            build->limit_ms));
  for (int i = 0; i < build->count; i++) {
    const item_t* item = &build->items[i];
    char what[WHAT_SIZE], *text;
    size_t size;
    if (!hone_process_ok(&build->jobs[i]))
      return failed(build, &build->jobs[i], name_kernel(item, what));
    HONE_TRY(hone_file_read(build->allocator, item->object_path, OBJECT_LIMIT, &text, &size));
    out_texts[i] = hone_arena_strndup(arena, text, size);
    hone_free(build->allocator, text, size + 1);
    if (!out_texts[i]) return hone_oom();
  }
  return NULL;
}

static void free_objects(build_t* build) {
  for (int i = 0; build->items && i < build->count; i++) {
    const item_t* item = &build->items[i];
    size_t extra = item->job >= 0; /* the 0 that hone_file_read adds */
    if (item->object) hone_free(build->allocator, item->object, item->object_size + extra);
  }
}

static hone_status_t begin(const hone_allocator_t* allocator, const hone_build_options_t* options,
                           int count, build_t* build) {
  *build = (build_t){.allocator = allocator, .options = options, .count = count};
  if (count < 1) return hone_status_make(HONE_INVALID_ARGUMENT, "no kernels to compile");
  return hone_arena_create(allocator, &build->arena);
}

static void end(build_t* build) {
  hone_build_folder_remove(&build->folder);
  free_objects(build);
  hone_arena_destroy(build->arena);
}

hone_status_t hone_toolchain_build(const hone_allocator_t* allocator,
                                   const hone_build_options_t* options, int count,
                                   const hone_unit_t* units, char** out_bytes, size_t* out_size,
                                   hone_build_report_t* out_report) {
  build_t build;
  double start = now();
  bool linked = false;
  *out_bytes = NULL;
  *out_size = 0;
  HONE_TRY(begin(allocator, options, count, &build));
  hone_status_t status = build_all(&build, units, out_bytes, out_size, &linked);
  hone_build_report_t report = {count, build.n_jobs, linked, now() - start};
  if (out_report) *out_report = report;
  end(&build);
  if (!status)
    hone_log_write(HONE_LOG_INFO, "%d kernels: %d compiled, %s, %.2f s", count, report.compiled,
                   linked ? "linked" : "the whole from the cache", report.seconds);
  return status;
}

hone_status_t hone_toolchain_assembly(const hone_allocator_t* allocator,
                                      const hone_build_options_t* options, int count,
                                      const hone_unit_t* units, hone_arena_t* arena,
                                      const char** out_texts) {
  build_t build;
  HONE_TRY(begin(allocator, options, count, &build));
  hone_status_t status = make_texts(&build, units, arena, out_texts);
  end(&build);
  return status;
}
