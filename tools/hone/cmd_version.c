/* hone version: the version, and what this build contains. */
#include <jansson.h>
#include <stdio.h>

#include "command.h"

static int print_json(void) {
  json_t* backends = json_array();
  for (int i = 0; i < hone_backend_total(); i++)
    json_array_append_new(backends, json_string(hone_backend_at(i)->name));
  json_t* root = json_pack("{s:s, s:o}", "version", hone_version(), "backends", backends);
  int failed = root ? json_dumpf(root, stdout, JSON_INDENT(2)) : 1;
  json_decref(root);
  putchar('\n');
  return failed ? HONE_EXIT_FAILED : HONE_EXIT_OK;
}

static int run_version(hone_cli_t* cli) {
  if (hone_cli_has(cli, "json")) return print_json();
  printf("hone %s\nbackends:", hone_version());
  for (int i = 0; i < hone_backend_total(); i++) printf(" %s", hone_backend_at(i)->name);
  printf("\n");
  return HONE_EXIT_OK;
}

static const hone_option_t options[] = {HONE_OPTION_JSON};

extern const hone_command_t hone_command_version;
const hone_command_t hone_command_version = {
    .name = "version",
    .summary = "show the version and what this build contains",
    .arguments = "",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_version,
};
