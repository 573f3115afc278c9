/* hone diff: two models, or a model and recorded values: where they part. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "diff.h"

/* A tolerance; negative when it is not given. */
static double read_tolerance(hone_cli_t* cli, const char* option) {
  const char* text = hone_cli_text(cli, option, NULL);
  if (!text) return -1;
  char* end;
  double value = strtod(text, &end);
  if (end == text || *end || !(value >= 0))
    hone_cli_usage(cli, "--%s '%s': expected a number from 0 on", option, text);
  return value;
}

static hone_status_t load_models(hone_diff_t* diff) {
  hone_run_t* run = &diff->run;
  HONE_TRY(hone_cli_allocator(run->cli, &run->allocator));
  HONE_TRY(hone_arena_create(NULL, &run->arena));
  hone_map_init_arena(&diff->expected, run->arena);
  hone_map_init_arena(&diff->actual, run->arena);
  HONE_TRY(hone_cli_load(run->cli, 0, &run->model));
  if (run->n_models == 2) HONE_TRY(hone_cli_load(run->cli, 1, &diff->other));
  diff->subject = diff->other ? diff->other : run->model;
  HONE_TRY(hone_cli_session(run->cli, run->model, NULL, &run->session));
  run->n_inputs = hone_session_input_count(run->session);
  run->n_outputs = hone_session_output_count(run->session);
  return NULL;
}

static hone_status_t do_diff(hone_diff_t* diff) {
  hone_run_t* run = &diff->run;
  HONE_TRY(load_models(diff));
  if (diff->other)
    HONE_TRY(hone_diff_structure(run->arena, run->model, diff->other, &diff->changes));
  HONE_TRY(hone_run_plan_inputs(run));
  HONE_TRY(hone_diff_read_recorded(diff));
  HONE_TRY(hone_run_read_inputs(run));
  HONE_TRY(hone_diff_compare(diff));
  HONE_TRY(hone_diff_write_case(diff));
  return hone_cli_has(run->cli, "json") ? hone_diff_print_json(diff) : hone_diff_print(diff);
}

static void release_values(hone_map_t* values) {
  size_t cursor = 0;
  for (hone_map_entry_t* each; (each = hone_map_next(values, &cursor));)
    hone_tensor_release(each->value);
}

static void close_diff(hone_diff_t* diff) {
  hone_run_t* run = &diff->run;
  if (run->arena) release_values(&diff->expected);
  if (run->arena) release_values(&diff->actual);
  for (int i = 0; run->inputs && i < run->n_inputs; i++) hone_tensor_release(run->inputs[i]);
  hone_session_destroy(run->session);
  hone_model_destroy(diff->other);
  hone_model_destroy(run->model);
  hone_arena_destroy(run->arena);
}

static int run_diff(hone_cli_t* cli) {
  int n_models = hone_cli_argument_count(cli);
  bool recorded = hone_cli_has(cli, "against");
  if (recorded && n_models == 2)
    return hone_cli_usage(cli, "give either a second model or --against");
  if (!recorded && n_models == 1)
    return hone_cli_usage(cli, "compare with what? Give a second model, or --against");
  hone_diff_t diff = {.run = {.cli = cli,
                              .n_models = n_models,
                              .make_up = !recorded || hone_cli_has(cli, "random"),
                              .random_low = -1},
                      .tolerance = {read_tolerance(cli, "atol"), read_tolerance(cli, "rtol")},
                      .node = -1};
  hone_cli_int(cli, "seed", 0);
  hone_cli_bytes(cli, "mem-limit", 0);
  if (!hone_cli_ok(cli)) return HONE_EXIT_USAGE;
  bool differs, kernels = recorded && strcmp(hone_cli_text(cli, "against", ""), "ref") == 0;
  hone_status_t status =
      kernels ? hone_diff_kernels(cli, diff.tolerance, &differs) : do_diff(&diff);
  if (!kernels) differs = diff.differs;
  close_diff(&diff);
  if (status) return hone_cli_fail(cli, status);
  return differs ? HONE_EXIT_FAILED : HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    {.name = "against",
     .argument = "[NAME=]FILE|FOLDER|ref",
     .repeats = true,
     .help = "ref: kernel by kernel on --device; else recorded values: an .npz of arrays named as "
             "in the model, a folder of input_0.pb, "
             "output_0.pb or NAME.npy, or a file of one value",
     .complete = HONE_COMPLETE_FILE},
    HONE_OPTION_INPUT,
    {.name = "random", .help = "make up the inputs that are not given; so it is for two models"},
    HONE_OPTION_SHAPE,
    {.name = "preprocess",
     .argument = "[NAME:]WORDS",
     .repeats = true,
     .help = "how a picture becomes an input, see `hone run --help`"},
    {.name = "atol",
     .argument = "NUMBER",
     .help = "how far a value may be off; 1e-7 for floats and 0 for integers otherwise"},
    {.name = "rtol",
     .argument = "NUMBER",
     .help = "the same as a share of the tensor's largest value; 1e-4 for floats otherwise"},
    {.name = "out",
     .letter = 'o',
     .argument = "FOLDER",
     .help = "where the small model goes; hone-diff-NODE otherwise",
     .complete = HONE_COMPLETE_FOLDER},
    HONE_OPTION_DIM,
    HONE_OPTION_DEVICE,
    HONE_OPTION_MEM_LIMIT,
    {.name = "seed", .argument = "NUMBER", .help = "for random inputs and random operators"},
    HONE_OPTION_JSON,
};

static const char description[] =
    "Runs two models on the same inputs (random floats go from -1 to 1), or one against recorded\n"
    "values, and names the first node, in the order in which they run, whose output differs.\n"
    "With --against ref the model is compiled for --device (cpu without it), and each kernel's\n"
    "outputs are compared with what ref makes of the same inputs. The first that departs is\n"
    "named with its node, and written as graph.hg, inputs.npz and expected.npz, which `hone run`\n"
    "and `hone diff` take.\n"
    "\n"
    "Values are matched by name. The node is written as a model of its own, node.onnx, with its\n"
    "inputs and what should come out in test_data_set_0 (reference.onnx is the same part of the\n"
    "first model). Where values before the node could not be compared, the nodes that made them\n"
    "are named and come along.\n"
    "\n"
    "An error may be atol + rtol * the largest value of the tensor. Without --rtol, formats\n"
    "shorter than float32 may be off by two steps. NaN equals NaN. Exits with 1 when there is\n"
    "a difference in an output, or in a recorded value. Every value that both models have is\n"
    "kept in memory once an output differs; --mem-limit holds for it.";

extern const hone_command_t hone_command_diff;
const hone_command_t hone_command_diff = {
    .name = "diff",
    .summary = "find the first node at which two models, or a model and recorded values, differ",
    .arguments = "MODEL [OTHER]",
    .min_arguments = 1,
    .max_arguments = 2,
    .complete = HONE_COMPLETE_FILE,
    .description = description,
    .examples =
        "  hone diff net.onnx net-int8.onnx --input x=x.npy --rtol 0.05\n"
        "  hone diff net.onnx --against recorded.npz\n"
        "  hone diff model.onnx --against test_data_set_0\n"
        "  hone diff net.onnx --device cpu --against ref",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_diff,
};
