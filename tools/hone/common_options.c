/* What several commands do with their options: memory limit, sizes, models. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

hone_status_t hone_cli_allocator(hone_cli_t* cli, const hone_allocator_t** out_allocator) {
  *out_allocator = hone_allocator_system();
  size_t limit = hone_cli_bytes(cli, "mem-limit", 0);
  if (!limit) return NULL;
  if (!cli->limit) HONE_TRY(hone_limit_allocator_create(NULL, limit, &cli->limit));
  *out_allocator = hone_limit_allocator_get(cli->limit);
  return NULL;
}

/* Takes a number off the front of *text; false when there is none that fits. */
static bool take_number(const char** text, int64_t* out) {
  char* end;
  errno = 0;
  long long value = strtoll(*text, &end, 10);
  if (end == *text || errno) return false;
  *text = end;
  *out = value;
  return true;
}

/* "NAME=SIZE" or "NAME=MIN..MAX". */
static hone_status_t parse_dim(const char* text, hone_dim_option_t* dim, char** name) {
  const char* equals = strrchr(text, '=');
  const char* rest = equals ? equals + 1 : text;
  bool ok = equals && equals > text && take_number(&rest, &dim->min);
  dim->max = dim->min;
  if (ok && strncmp(rest, "..", 2) == 0) {
    rest += 2;
    ok = take_number(&rest, &dim->max);
  }
  ok = ok && *rest == 0;
  if (!ok || dim->min < 0 || dim->max < dim->min)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "--dim '%s': expected NAME=SIZE or NAME=MIN..MAX", text);
  *name = strndup(text, (size_t)(equals - text));
  if (!*name) return hone_status_make(HONE_OUT_OF_MEMORY, "no memory for --dim");
  dim->name = *name;
  return NULL;
}

hone_status_t hone_cli_dims(hone_cli_t* cli, int* out_count, const hone_dim_option_t** out_dims) {
  int count = hone_cli_count(cli, "dim");
  if (!cli->dims) {
    cli->dims = calloc((size_t)count + 1, sizeof *cli->dims);
    cli->dim_names = calloc((size_t)count + 1, sizeof *cli->dim_names);
    if (!cli->dims || !cli->dim_names)
      return hone_status_make(HONE_OUT_OF_MEMORY, "no memory for --dim");
    cli->n_dims = count;
    for (int i = 0; i < count; i++)
      HONE_TRY(parse_dim(hone_cli_text_at(cli, "dim", i), &cli->dims[i], &cli->dim_names[i]));
  }
  *out_count = count;
  *out_dims = cli->dims;
  return NULL;
}

hone_status_t hone_cli_load(hone_cli_t* cli, int index, hone_model_t** out_model) {
  *out_model = NULL;
  hone_model_options_t options = {.struct_size = sizeof options};
  HONE_TRY(hone_cli_allocator(cli, &options.allocator));
  return hone_model_load(hone_cli_argument(cli, index), &options, out_model);
}

int hone_cli_threads(hone_cli_t* cli) {
  int64_t threads = hone_cli_int(cli, "threads", 0);
  if (threads >= 0 && threads <= HONE_MOST_THREADS) return (int)threads;
  hone_cli_usage(cli, "--threads takes a number from 0 to %d", HONE_MOST_THREADS);
  return 0;
}

void hone_cli_set_reports(hone_cli_t* cli) { cli->reports = true; }
bool hone_cli_reports(const hone_cli_t* cli) { return cli->reports; }

hone_status_t hone_cli_session(hone_cli_t* cli, const hone_model_t* model, const char* device,
                               hone_session_t** out_session) {
  *out_session = NULL;
  hone_session_options_t options = {.struct_size = sizeof options,
                                    .device = device ? device : hone_cli_text(cli, "device", "ref"),
                                    .threads = hone_cli_threads(cli),
                                    .deterministic = hone_cli_has(cli, "deterministic"),
                                    .guard = hone_cli_has(cli, "guard"),
                                    .exact = hone_cli_has(cli, "exact"),
                                    .no_engine_cache = hone_cli_has(cli, "no-engine-cache"),
                                    .precision = hone_cli_text(cli, "precision", NULL),
                                    .explain = cli->reports};
  HONE_TRY(hone_cli_allocator(cli, &options.allocator));
  HONE_TRY(hone_cli_dims(cli, &options.n_dims, &options.dims));
  return hone_session_create(model, &options, out_session);
}
