/* hone cache: what is kept of compiled kernels, and making it empty. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codegen/cache.h"
#include "command.h"
#include "json.h"

static hone_status_t print_info(hone_cli_t* cli, hone_cache_t* cache) {
  hone_cache_info_t info;
  HONE_TRY(hone_cache_info(cache, &info));
  if (hone_cli_has(cli, "json"))
    return hone_json_print(json_pack("{s:s, s:I, s:I, s:I, s:I}", "folder",
                                     hone_cache_folder(cache), "entries", (json_int_t)info.entries,
                                     "bytes", (json_int_t)info.bytes, "limit_bytes",
                                     (json_int_t)info.limit, "strays", (json_int_t)info.strays));
  printf("folder   %s\n", hone_cache_folder(cache));
  printf("entries  %" PRIu64 "\n", info.entries);
  printf("size     %.1f MiB of at most %.0f MiB\n", (double)info.bytes / (1 << 20),
         (double)info.limit / (1 << 20));
  if (info.strays) printf("strays   %" PRIu64 " files of writers that ended early\n", info.strays);
  return NULL;
}

static hone_status_t clear(hone_cli_t* cli, hone_cache_t* cache) {
  uint64_t removed;
  HONE_TRY(hone_cache_clear(cache, &removed));
  if (hone_cli_has(cli, "json"))
    return hone_json_print(json_pack("{s:s, s:I}", "folder", hone_cache_folder(cache), "removed",
                                     (json_int_t)removed));
  printf("%" PRIu64 " entries removed from %s\n", removed, hone_cache_folder(cache));
  return NULL;
}

static int run_cache(hone_cli_t* cli) {
  const char* action = hone_cli_argument_count(cli) ? hone_cli_argument(cli, 0) : "info";
  bool clears = strcmp(action, "clear") == 0;
  if (!clears && strcmp(action, "info") != 0)
    return hone_cli_usage(cli, "'%s' is neither info nor clear", action);
  hone_cache_t* cache;
  hone_status_t status = hone_cache_open(NULL, hone_cli_text(cli, "folder", NULL), 0, &cache);
  if (!status) {
    status = clears ? clear(cli, cache) : print_info(cli, cache);
    hone_cache_close(cache);
  }
  return status ? hone_cli_fail(cli, status) : HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    {.name = "folder",
     .argument = "FOLDER",
     .help = "another cache than $HONE_CACHE or ~/.cache/hone/kernels",
     .complete = HONE_COMPLETE_FOLDER},
    HONE_OPTION_JSON,
};

extern const hone_command_t hone_command_cache;
const hone_command_t hone_command_cache = {
    .name = "cache",
    .summary = "show or clear the cache of compiled kernels",
    .arguments = "[info|clear]",
    .max_arguments = 1,
    .description =
        "Kernels are kept on disk once they are compiled, by what they were made from: source, "
        "flags and compiler. Entries that are damaged are noticed and made again; those used "
        "longest ago go when the cache is full. Clearing it costs nothing but time.",
    .examples =
        "hone cache         # where it is and how large\n"
        "hone cache clear   # make it empty",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_cache,
};
