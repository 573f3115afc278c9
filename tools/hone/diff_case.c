/* The small model of `hone diff`: the node that differs, with what goes into it
 * and what should come out, laid out as ONNX's test cases are. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "diff.h"
#include "import/extract.h"
#include "import/onnx.h"

static hone_status_t make_folder(const char* path) {
  if (mkdir(path, 0777) == 0 || errno == EEXIST) return NULL;
  return hone_file_error(errno, path, "make folder");
}

static hone_status_t write_value(hone_diff_t* diff, const char* kind, int number,
                                 const hone_tensor_t* tensor) {
  char* path =
      hone_arena_format(diff->run.arena, "%s/test_data_set_0/%s_%d.pb", diff->folder, kind, number);
  if (!path) return hone_oom();
  return hone_value_write(diff->run.allocator, path, "", tensor, NULL);
}

/* What an earlier and larger case has left there. */
static void remove_rest(hone_diff_t* diff, const char* kind, int number) {
  for (;; number++) {
    char* path = hone_arena_format(diff->run.arena, "%s/test_data_set_0/%s_%d.pb", diff->folder,
                                   kind, number);
    if (!path || unlink(path)) return;
  }
}

static hone_status_t declare_all(hone_model_t* part, const hone_map_t* values) {
  size_t cursor = 0;
  for (const hone_map_entry_t* each; (each = hone_map_next(values, &cursor));)
    HONE_TRY(hone_extract_declare(part, each->text, each->value));
  return NULL;
}

/* Some nodes of a model as a file, with types as the values have them. */
static hone_status_t write_part(hone_diff_t* diff, const hone_model_t* model,
                                const hone_diff_nodes_t* nodes, const hone_map_t* values,
                                const char* file) {
  hone_model_t* part;
  char* path = hone_path_join(diff->run.arena, diff->folder, file);
  if (!path) return hone_oom();
  HONE_TRY(hone_extract_nodes(model, nodes->count, nodes->items, &part));
  hone_status_t status = declare_all(part, values);
  if (!status) status = hone_onnx_save_file(part, path);
  hone_model_destroy(part);
  return status;
}

static hone_status_t write_values(hone_diff_t* diff, const hone_model_t* part,
                                  const hone_map_t* values) {
  const hone_onnx_graph_t* graph = part->graph;
  for (int64_t i = 0; i < graph->n_inputs; i++)
    HONE_TRY(write_value(diff, "input", (int)i, hone_map_get(values, graph->inputs[i].name)));
  diff->case_inputs = (int)graph->n_inputs;
  remove_rest(diff, "input", (int)graph->n_inputs);
  remove_rest(diff, "output", 0);
  for (int64_t i = 0; i < graph->n_outputs; i++) {
    const hone_tensor_t* tensor = hone_map_get(&diff->expected, graph->outputs[i].name);
    if (!tensor) continue;
    HONE_TRY(write_value(diff, "output", (int)i, tensor));
    diff->case_outputs++;
  }
  return NULL;
}

/* Values that go into and come out of the nodes, computed by the subject. */
static hone_status_t find_values(hone_diff_t* diff, const hone_model_t* part, hone_map_t* values) {
  const hone_onnx_graph_t* graph = part->graph;
  size_t count = (size_t)graph->n_inputs + (size_t)graph->n_outputs;
  const char** names = hone_arena_array(diff->run.arena, count, sizeof *names);
  if (!names) return hone_oom();
  for (int64_t i = 0; i < graph->n_inputs; i++) names[i] = graph->inputs[i].name;
  for (int64_t i = 0; i < graph->n_outputs; i++)
    names[graph->n_inputs + i] = graph->outputs[i].name;
  return hone_diff_run(diff, diff->subject, (int64_t)count, names, values);
}

static hone_status_t write_case(hone_diff_t* diff, const hone_diff_nodes_t* nodes,
                                hone_map_t* values) {
  hone_model_t* part;
  HONE_TRY(hone_extract_nodes(diff->subject, nodes->count, nodes->items, &part));
  hone_status_t status = find_values(diff, part, values);
  if (!status) status = write_part(diff, diff->subject, nodes, values, "node.onnx");
  if (!status) status = write_values(diff, part, values);
  hone_model_destroy(part);
  return status;
}

/* The same nodes as the first model has them. */
static hone_status_t write_reference(hone_diff_t* diff) {
  hone_diff_nodes_t nodes;
  HONE_TRY(hone_diff_makers(diff, diff->run.model, diff->first.name, &nodes));
  return nodes.count ? write_part(diff, diff->run.model, &nodes, &diff->expected, "reference.onnx")
                     : NULL;
}

static hone_status_t choose_folder(hone_diff_t* diff) {
  hone_arena_t* arena = diff->run.arena;
  const char* name = hone_diff_node_name(&diff->subject->graph->nodes[diff->node]);
  const char* safe = hone_run_file_name(arena, name);
  const char* made = safe ? hone_arena_format(arena, "hone-diff-%.100s", safe) : NULL;
  diff->folder = hone_cli_text(diff->run.cli, "out", made);
  char* data = diff->folder ? hone_path_join(arena, diff->folder, "test_data_set_0") : NULL;
  if (!data) return hone_oom();
  HONE_TRY(make_folder(diff->folder));
  return make_folder(data);
}

hone_status_t hone_diff_write_case(hone_diff_t* diff) {
  if (diff->node < 0) return NULL;
  hone_diff_nodes_t nodes;
  hone_map_t values;
  HONE_TRY(choose_folder(diff));
  HONE_TRY(hone_diff_makers(diff, diff->subject, diff->first.name, &nodes));
  hone_map_init_arena(&values, diff->run.arena);
  hone_status_t status = write_case(diff, &nodes, &values);
  if (!status && diff->other) status = write_reference(diff);
  size_t cursor = 0;
  for (hone_map_entry_t* each; (each = hone_map_next(&values, &cursor));)
    hone_tensor_release(each->value);
  return status;
}
