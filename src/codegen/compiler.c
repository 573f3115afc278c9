#include "codegen/compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/memory.h"
#include "codegen/process.h"

enum { VERSION_LIMIT_MS = 20000 };

static bool is_program(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static hone_status_t copy_path(hone_arena_t* arena, const char* path, const char** out_path) {
  *out_path = hone_arena_strdup(arena, path);
  return *out_path ? NULL : hone_oom();
}

hone_status_t hone_program_find(hone_arena_t* arena, const char* program, const char** out_path) {
  *out_path = NULL;
  if (strchr(program, '/')) return is_program(program) ? copy_path(arena, program, out_path) : NULL;
  const char* at = getenv("PATH");
  if (!at) at = "/usr/local/bin:/usr/bin:/bin";
  while (*program && *at) {
    size_t length = strcspn(at, ":");
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%.*s/%s", length ? (int)length : 1, length ? at : ".",
                        program);
    if (size > 0 && (size_t)size < sizeof path && is_program(path))
      return copy_path(arena, path, out_path);
    at += length + (at[length] == ':');
  }
  return NULL;
}

/* Takes `command` apart at blanks; words[0] stays NULL when there is no such program. */
static hone_status_t set_words(hone_arena_t* arena, const char* command, hone_compiler_t* out) {
  char* rest = hone_arena_strdup(arena, command);
  if (!rest) return hone_oom();
  out->n_words = 0;
  for (char* word; (word = strtok_r(rest, " \t", &rest));)
    if (out->n_words < HONE_COMPILER_WORDS) out->words[out->n_words++] = word;
  if (out->n_words == 0) return NULL;
  return hone_program_find(arena, out->words[0], &out->words[0]);
}

/* The program itself is part of its identity: an upgrade may keep the version. */
static uint64_t digest_of(const hone_compiler_t* compiler) {
  uint64_t digest = XXH3_64bits(compiler->version, strlen(compiler->version));
  for (int i = 0; i < compiler->n_words; i++)
    digest = XXH3_64bits_withSeed(compiler->words[i], strlen(compiler->words[i]) + 1, digest);
  struct stat info;
  if (stat(compiler->words[0], &info) == 0) {
    int64_t facts[] = {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
    digest = XXH3_64bits_withSeed(facts, sizeof facts, digest);
  }
  return digest;
}

/* Asks the compiler for its version, which also shows that it can be run. */
static hone_status_t probe(hone_arena_t* arena, const char* command, hone_compiler_t* out) {
  *out = (hone_compiler_t){.n_words = 0};
  HONE_TRY(set_words(arena, command, out));
  if (!out->words[0])
    return hone_status_make(HONE_UNAVAILABLE, "the C compiler '%s' is not found", command);
  const char* argv[HONE_COMPILER_WORDS + 2] = {NULL};
  for (int i = 0; i < out->n_words; i++) argv[i] = out->words[i];
  argv[out->n_words] = "--version";
  hone_process_t* process = hone_arena_alloc(arena, sizeof *process);
  if (!process) return hone_oom();
  process->argv = argv;
  HONE_TRY(hone_process_run(hone_allocator_system(), 1, process, 1, VERSION_LIMIT_MS));
  char buffer[128];
  if (!hone_process_ok(process))
    return hone_status_make(HONE_UNAVAILABLE,
                            "the C compiler %s, asked for its version, %s: %.200s", out->words[0],
                            hone_process_outcome(process, buffer, sizeof buffer), process->output);
  out->version = hone_arena_strndup(arena, process->output, strcspn(process->output, "\n"));
  if (!out->version) return hone_oom();
  out->is_clang = strstr(process->output, "clang") != NULL;
  out->digest = digest_of(out);
  return NULL;
}

static hone_status_t from_variable(hone_arena_t* arena, const char* variable, hone_compiler_t* out,
                                   bool* out_found) {
  const char* command = getenv(variable);
  *out_found = command && *command;
  if (!*out_found) return NULL;
  return hone_status_annotate(probe(arena, command, out), "$%s", variable);
}

/* The first of `names` that works; only a lack of memory is an error. */
static hone_status_t first_of(hone_arena_t* arena, const char* const* names, hone_compiler_t* out,
                              bool* out_found) {
  *out_found = false;
  for (; *names && !*out_found; names++) {
    const char* path;
    HONE_TRY(hone_program_find(arena, *names, &path));
    if (!path) continue;
    hone_status_t status = probe(arena, *names, out);
    if (hone_status_code(status) == HONE_OUT_OF_MEMORY) return status;
    *out_found = !status;
    hone_status_free(status);
  }
  return NULL;
}

/* clang compiles for any architecture it is told, and so does lld link. */
static const char* clang_for(hone_arch_t arch) {
  return arch == HONE_ARCH_AARCH64 ? "--target=aarch64-linux-gnu" : "--target=x86_64-linux-gnu";
}

static hone_status_t find_cross(hone_arena_t* arena, const hone_target_t* target,
                                hone_compiler_t* out) {
  const char* const names[] = {target->cross_compiler, NULL};
  const char* const clang[] = {"clang", NULL};
  bool found;
  HONE_TRY(first_of(arena, names, out, &found));
  if (found) return NULL;
  const char* linker;
  HONE_TRY(hone_program_find(arena, "ld.lld", &linker));
  if (linker) HONE_TRY(first_of(arena, clang, out, &found));
  if (found) {
    out->words[out->n_words++] = clang_for(target->arch);
    out->links_alone = true;
    out->digest = digest_of(out);
    return NULL;
  }
  return hone_status_make(
      HONE_UNAVAILABLE,
      "no C compiler for the target %s: install one (Debian: apt install "
      "%s, or clang and lld), or name one with the variable HONE_CC",
      target->name,
      target->arch == HONE_ARCH_AARCH64 ? "gcc-aarch64-linux-gnu" : "gcc-x86-64-linux-gnu");
}

hone_status_t hone_compiler_find(hone_arena_t* arena, const hone_target_t* target,
                                 hone_compiler_t* out_compiler) {
  static const char* const names[] = {"cc", "gcc", "clang", NULL};
  bool found;
  *out_compiler = (hone_compiler_t){.n_words = 0};
  HONE_TRY(from_variable(arena, "HONE_CC", out_compiler, &found));
  if (found) return NULL;
  if (target->cross_compiler) return find_cross(arena, target, out_compiler);
  HONE_TRY(from_variable(arena, "CC", out_compiler, &found));
  if (!found) HONE_TRY(first_of(arena, names, out_compiler, &found));
  if (found) return NULL;
  return hone_status_make(HONE_UNAVAILABLE,
                          "kernels are compiled by the system's C compiler, and none was found: "
                          "install gcc or clang (Debian: apt install gcc libc6-dev), or name "
                          "one with the variable HONE_CC");
}
