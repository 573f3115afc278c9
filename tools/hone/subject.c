#include "subject.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/trace.h"
#include "import/graph_text.h"
#include "runtime/session_graph.h"

/* A file that cannot be read is left to who loads it. */
static bool starts_with(const char* path, const char* magic) {
  char start[16];
  size_t size = strlen(magic);
  FILE* file = fopen(path, "rbe");
  if (!file) return false;
  bool same = fread(start, 1, size, file) == size && memcmp(start, magic, size) == 0;
  fclose(file);
  return same;
}

bool hone_subject_is_engine(const char* path) { return starts_with(path, "\x89HONE"); }

bool hone_subject_is_graph(const char* path) { return starts_with(path, "hone-graph "); }

static double ms_since(int64_t start) { return (double)(hone_clock_ns() - start) / 1e6; }

/* ---- engines ---- */

static hone_status_t refuse_compiling(const hone_cli_t* cli, const char* path) {
  static const char* const names[] = {"dim", "precision", "exact"};
  for (size_t i = hone_cli_reports(cli) ? 1 : 0; i < sizeof names / sizeof *names; i++)
    if (hone_cli_has(cli, names[i]))
      return hone_status_make(HONE_INVALID_ARGUMENT,
                              "--%s: %s is an engine, for which that was settled when it was "
                              "compiled; give it to `hone compile`",
                              names[i], path);
  return NULL;
}

static hone_status_t open_engine(hone_cli_t* cli, const char* device, hone_subject_t* out) {
  HONE_TRY(refuse_compiling(cli, out->path));
  hone_engine_options_t options = {.struct_size = sizeof options,
                                   .device = device,
                                   .threads = hone_cli_threads(cli),
                                   .deterministic = hone_cli_has(cli, "deterministic"),
                                   .guard = hone_cli_has(cli, "guard")};
  HONE_TRY(hone_cli_allocator(cli, &options.allocator));
  int64_t start = hone_clock_ns();
  HONE_TRY(hone_engine_load(out->path, &options, &out->engine));
  HONE_TRY(hone_session_create_from_engine(out->engine, &out->session));
  out->load_ms = ms_since(start);
  hone_engine_info_t info;
  hone_engine_describe(out->engine, &info);
  out->device = device ? device : info.device;
  return NULL;
}

/* ---- graphs ---- */

/* What has no name gets one from its number. */
static bool name_all(hone_graph_t* graph) {
  bool named = true;
  for (int i = 0; i < graph->n_inputs; i++) {
    const char** name = &graph->inputs[i]->name;
    if (!*name) *name = hone_arena_format(graph->arena, "in%d", i);
    named = named && *name;
  }
  for (int i = 0; i < graph->n_outputs; i++) {
    const char** name = &graph->output_names[i];
    if (!*name || !**name) *name = hone_arena_format(graph->arena, "out%d", i);
    named = named && *name;
  }
  return named;
}

hone_status_t hone_subject_read_graph(const char* path, hone_graph_t** out_graph) {
  char* text;
  size_t size;
  *out_graph = NULL;
  HONE_TRY(hone_file_read(hone_allocator_system(), path, 0, &text, &size));
  hone_status_t status = hone_graph_parse(NULL, text, size, out_graph);
  hone_free(hone_allocator_system(), text, size + 1);
  if (status) return hone_status_annotate(status, "%s", path);
  if (name_all(*out_graph)) return NULL;
  hone_graph_destroy(*out_graph);
  *out_graph = NULL;
  return hone_oom();
}

static hone_status_t open_graph(hone_cli_t* cli, const char* device, hone_subject_t* out) {
  hone_graph_t* graph;
  out->device = device ? device : "ref";
  hone_session_options_t options = {.struct_size = sizeof options,
                                    .device = out->device,
                                    .threads = hone_cli_threads(cli),
                                    .deterministic = hone_cli_has(cli, "deterministic"),
                                    .guard = hone_cli_has(cli, "guard")};
  int64_t start = hone_clock_ns();
  HONE_TRY(hone_subject_read_graph(out->path, &graph));
  out->load_ms = ms_since(start);
  start = hone_clock_ns();
  HONE_TRY(hone_session_create_from_graph(graph, &options, &out->session));
  out->compile_ms = ms_since(start);
  return NULL;
}

/* ---- models ---- */

static hone_status_t open_model(hone_cli_t* cli, int index, const char* device,
                                hone_subject_t* out) {
  out->device = device ? device : "ref";
  int64_t start = hone_clock_ns();
  HONE_TRY(hone_cli_load(cli, index, &out->model));
  out->load_ms = ms_since(start);
  start = hone_clock_ns();
  HONE_TRY(hone_cli_session(cli, out->model, out->device, &out->session));
  out->compile_ms = ms_since(start);
  return NULL;
}

hone_status_t hone_subject_open(hone_cli_t* cli, int index, const char* device,
                                hone_subject_t* out_subject) {
  *out_subject = (hone_subject_t){.path = hone_cli_argument(cli, index)};
  if (!device) device = hone_cli_text(cli, "device", NULL);
  hone_status_t status;
  if (hone_subject_is_engine(out_subject->path))
    status = open_engine(cli, device, out_subject);
  else if (hone_subject_is_graph(out_subject->path))
    status = open_graph(cli, device, out_subject);
  else
    status = open_model(cli, index, device, out_subject);
  if (status) hone_subject_close(out_subject);
  return status;
}

void hone_subject_close(hone_subject_t* subject) {
  hone_session_destroy(subject->session);
  hone_engine_destroy(subject->engine);
  hone_model_destroy(subject->model);
  *subject = (hone_subject_t){.path = subject->path};
}
