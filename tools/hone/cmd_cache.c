/* hone cache: what is kept of compiled kernels and models, and making it empty. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "codegen/cache.h"
#include "command.h"
#include "json.h"

/* What the command is about: both caches. */
static const struct {
  hone_cache_kind_t kind;
  const char* name;
} caches[] = {{HONE_CACHE_KERNELS, "kernels"}, {HONE_CACHE_ENGINES, "engines"}};
enum { CACHES = sizeof caches / sizeof *caches };

/* With --folder as $HONE_CACHE would have it. */
static hone_status_t open_cache(hone_cli_t* cli, int index, hone_cache_t** out_cache) {
  char path[PATH_MAX];
  const char* folder = hone_cli_text(cli, "folder", NULL);
  if (folder && caches[index].kind == HONE_CACHE_ENGINES) {
    snprintf(path, sizeof path, "%s/engines", folder);
    folder = path;
  }
  return hone_cache_open(NULL, caches[index].kind, folder, 0, out_cache);
}

static hone_status_t print_info(hone_cache_t* cache, const char* name, json_t* root) {
  hone_cache_info_t info;
  HONE_TRY(hone_cache_info(cache, &info));
  if (root) {
    json_object_set_new(
        root, name,
        json_pack("{s:s, s:I, s:I, s:I, s:I}", "folder", hone_cache_folder(cache), "entries",
                  (json_int_t)info.entries, "bytes", (json_int_t)info.bytes, "limit_bytes",
                  (json_int_t)info.limit, "strays", (json_int_t)info.strays));
    return NULL;
  }
  printf("%s\n", name);
  printf("  folder   %s\n", hone_cache_folder(cache));
  printf("  entries  %" PRIu64 "\n", info.entries);
  printf("  size     %.1f MiB of at most %.0f MiB\n", (double)info.bytes / (1 << 20),
         (double)info.limit / (1 << 20));
  if (info.strays)
    printf("  strays   %" PRIu64 " files of writers that ended early\n", info.strays);
  return NULL;
}

static hone_status_t clear(hone_cache_t* cache, const char* name, json_t* root) {
  uint64_t removed;
  HONE_TRY(hone_cache_clear(cache, &removed));
  if (root)
    json_object_set_new(root, name,
                        json_pack("{s:s, s:I}", "folder", hone_cache_folder(cache), "removed",
                                  (json_int_t)removed));
  else
    printf("%" PRIu64 " %s removed from %s\n", removed, name, hone_cache_folder(cache));
  return NULL;
}

static hone_status_t do_all(hone_cli_t* cli, bool clears, json_t* root) {
  hone_status_t status = NULL;
  for (int i = 0; i < CACHES && !status; i++) {
    hone_cache_t* cache;
    HONE_TRY(open_cache(cli, i, &cache));
    status = (clears ? clear : print_info)(cache, caches[i].name, root);
    hone_cache_close(cache);
  }
  return status;
}

static int run_cache(hone_cli_t* cli) {
  const char* action = hone_cli_argument_count(cli) ? hone_cli_argument(cli, 0) : "info";
  bool clears = strcmp(action, "clear") == 0;
  if (!clears && strcmp(action, "info") != 0)
    return hone_cli_usage(cli, "'%s' is neither info nor clear", action);
  json_t* root = hone_cli_has(cli, "json") ? json_object() : NULL;
  hone_status_t status = do_all(cli, clears, root);
  if (root && !status)
    status = hone_json_print(root);
  else
    json_decref(root);
  return status ? hone_cli_fail(cli, status) : HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    {.name = "folder",
     .argument = "FOLDER",
     .help = "another folder than $HONE_CACHE or ~/.cache/hone/kernels, with engines below it",
     .complete = HONE_COMPLETE_FOLDER},
    HONE_OPTION_JSON,
};

extern const hone_command_t hone_command_cache;
const hone_command_t hone_command_cache = {
    .name = "cache",
    .summary = "show or clear the caches of compiled kernels and models",
    .arguments = "[info|clear]",
    .max_arguments = 1,
    .description =
        "Kernels are kept on disk once they are compiled, by what they were made from: source, "
        "flags and compiler; and so are models with a megabyte of weights or more, by their "
        "contents, what was asked for, the machine, what was tuned, and the build of hone: they "
        "are mapped when they are compiled again. Entries that are damaged are noticed and made "
        "again; those used longest ago go when a cache is full. Clearing them costs nothing but "
        "time. With HONE_ENGINE_CACHE=off models are not kept; with a folder, they are there.",
    .examples =
        "hone cache         # where they are and how large\n"
        "hone cache clear   # make them empty",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_cache,
};
