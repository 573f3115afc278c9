/* hone dump: the graph of primitives that a model becomes, in text. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "command.h"
#include "import/graph_text.h"
#include "ir/verify.h"
#include "ops/lower.h"
#include "passes/pass.h"

static bool has_ending(const char* name, const char* ending) {
  size_t length = strlen(name), tail = strlen(ending);
  return length >= tail && strcmp(name + length - tail, ending) == 0;
}

/* A graph in text (.hg) read back. */
static hone_status_t read_graph(const hone_allocator_t* allocator, const char* path,
                                hone_graph_t** out_graph) {
  char* data;
  size_t size;
  HONE_TRY(hone_file_read(allocator, path, 0, &data, &size));
  hone_status_t status = hone_graph_parse(allocator, data, size, out_graph);
  hone_free(allocator, data, size + 1);
  return hone_status_annotate(status, "%s", path);
}

static hone_status_t lower(hone_cli_t* cli, const hone_model_t* model,
                           const hone_allocator_t* allocator, hone_graph_t** out_graph) {
  hone_lower_options_t options = {0};
  HONE_TRY(hone_cli_dims(cli, &options.n_dims, &options.dims));
  return hone_lower_model(model, &options, allocator, out_graph);
}

static hone_status_t write_text(hone_cli_t* cli, const hone_graph_t* graph) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  int flags = hone_cli_has(cli, "full") || hone_cli_has(cli, "out") ? 0 : HONE_TEXT_SHORT;
  hone_status_t status = hone_graph_print(graph, flags, &text);
  const char* path = hone_cli_text(cli, "out", NULL);
  if (!status && path)
    status = hone_file_write(path, hone_str_text(&text), text.size);
  else if (!status)
    fwrite(hone_str_text(&text), 1, text.size, stdout);
  hone_str_free(&text);
  return status;
}

/* The arguments of a repeated option; `list` has room for 64. */
static int collect(const hone_cli_t* cli, const char* option, const char** list) {
  int count = hone_cli_count(cli, option);
  for (int i = 0; i < count && i < 64; i++) list[i] = hone_cli_text_at(cli, option, i);
  return count < 64 ? count : 64;
}

/* What the passes did goes to stderr: the graph itself may be on stdout. */
static void explain(const hone_pass_report_t* report) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_pass_report_print(report, &text);
  fputs(hone_str_text(&text), stderr);
  hone_str_free(&text);
}

static hone_status_t run_passes(hone_cli_t* cli, hone_graph_t* graph) {
  const char *only[64], *off[64];
  hone_pass_options_t options = {.n_only = collect(cli, "pass", only),
                                 .only = only,
                                 .n_off = collect(cli, "no-pass", off),
                                 .off = off,
                                 .fast_math = hone_cli_has(cli, "fast-math"),
                                 .details = hone_cli_has(cli, "explain-passes")};
  bool wanted = hone_cli_has(cli, "passes") || options.n_only || options.n_off || options.details;
  if (!wanted) return NULL;
  hone_pass_report_t report;
  HONE_TRY(hone_pass_report_create(graph->allocator, &report));
  hone_status_t status = hone_passes_run(graph, &options, &report);
  if (!status && options.details) explain(&report);
  hone_pass_report_destroy(&report);
  return status;
}

static hone_status_t dump(hone_cli_t* cli) {
  const char* path = hone_cli_argument(cli, 0);
  const hone_allocator_t* allocator;
  hone_model_t* model = NULL;
  hone_graph_t* graph = NULL;
  HONE_TRY(hone_cli_allocator(cli, &allocator));
  hone_status_t status;
  if (has_ending(path, ".hg")) {
    status = read_graph(allocator, path, &graph);
  } else {
    status = hone_cli_load(cli, 0, &model);
    if (!status) status = lower(cli, model, allocator, &graph);
  }
  if (!status) status = hone_graph_verify(graph);
  if (!status) status = run_passes(cli, graph);
  if (!status) status = write_text(cli, graph);
  hone_graph_destroy(graph);
  hone_model_destroy(model);
  return status;
}

static int run_dump(hone_cli_t* cli) {
  hone_status_t status = dump(cli);
  return status ? hone_cli_fail(cli, status) : HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    {.name = "out",
     .letter = 'o',
     .argument = "FILE",
     .help = "write to this file, whole, so that it reads back (.hg)",
     .complete = HONE_COMPLETE_FILE},
    {.name = "full", .help = "print the contents of large constants too"},
    {.name = "passes", .help = "print the graph as it is after all passes"},
    {.name = "pass",
     .argument = "NAME",
     .repeats = true,
     .help = "run this pass only; may be given several times"},
    {.name = "no-pass",
     .argument = "NAME",
     .repeats = true,
     .help = "run all passes but this one; may be given several times"},
    {.name = "explain-passes", .help = "run the passes and say on stderr what each did"},
    {.name = "fast-math", .help = "let passes make rewrites that change rounding"},
    HONE_OPTION_DIM,
    HONE_OPTION_MEM_LIMIT,
};

extern const hone_command_t hone_command_dump;
const hone_command_t hone_command_dump = {
    .name = "dump",
    .summary = "print the graph of primitives that a model becomes",
    .arguments = "MODEL",
    .min_arguments = 1,
    .max_arguments = 1,
    .complete = HONE_COMPLETE_FILE,
    .description =
        "Prints the graph of primitives that a model becomes, in a text form that "
        "reads back: MODEL may be an ONNX file, or such a text (.hg).",
    .examples =
        "  hone dump net.onnx --dim batch=1\n"
        "  hone dump net.onnx --out net.hg    # whole, with the weights\n"
        "  hone dump net.hg --pass fold       # after constant folding alone",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_dump,
};
