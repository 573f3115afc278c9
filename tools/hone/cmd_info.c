/* hone info: what a model is. */
#include "base/arena.h"
#include "info.h"

static hone_status_t inform(hone_cli_t* cli, hone_info_t* info) {
  HONE_TRY(hone_info_find(info));
  HONE_TRY(hone_info_find_work(cli, info));
  return hone_cli_has(cli, "json") ? hone_info_print_json(info) : hone_info_print(info);
}

static int run_info(hone_cli_t* cli) {
  hone_model_t* model = NULL;
  hone_info_t info = {0};
  hone_cli_bytes(cli, "mem-limit", 0);
  if (!hone_cli_ok(cli)) return HONE_EXIT_USAGE;
  hone_status_t status = hone_cli_load(cli, 0, &model);
  if (!status) status = hone_arena_create(NULL, &info.arena);
  info.model = model;
  if (!status) status = inform(cli, &info);
  hone_arena_destroy(info.arena);
  hone_model_destroy(model);
  return status ? hone_cli_fail(cli, status) : HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    HONE_OPTION_DIM,
    HONE_OPTION_JSON,
    HONE_OPTION_MEM_LIMIT,
};

extern const hone_command_t hone_command_info;
const hone_command_t hone_command_info = {
    .name = "info",
    .summary = "say what a model is: its inputs and outputs, weights and operators",
    .arguments = "MODEL",
    .min_arguments = 1,
    .max_arguments = 1,
    .complete = HONE_COMPLETE_FILE,
    .description =
        "Prints who made the model and for which operator sets, its inputs and outputs with their "
        "types, its weights by element type, how often each operator occurs, and how many "
        "multiplications with addition a run takes (a formula where dimensions are named; fix them "
        "with --dim). Nothing is run.",
    .examples =
        "  hone info net.onnx --dim batch=1\n"
        "  hone info net.onnx --json | jq .operators",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_info,
};
