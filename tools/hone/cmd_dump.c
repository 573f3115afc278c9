/* hone dump: the graph of primitives that a model becomes, in text. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "command.h"
#include "import/graph_text.h"
#include "ir/verify.h"
#include "ops/lower.h"

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
        "  hone dump net.onnx --out net.hg    # whole, with the weights",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_dump,
};
