/* Running models, and comparing what is inside them. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "diff.h"
#include "import/extract.h"
#include "import/names.h"
#include "import/onnx_taken.h"

hone_status_t hone_diff_put(hone_map_t* values, const char* name, hone_tensor_t* tensor) {
  hone_tensor_t* old = hone_map_get(values, name);
  hone_status_t status = hone_map_put(values, name, tensor);
  hone_tensor_release(status ? tensor : old);
  return status;
}

const char* hone_diff_node_name(const hone_onnx_node_t* node) {
  const char* name = node->name;
  for (int i = 0; i < node->n_outputs && !*name; i++) name = node->outputs[i];
  return name;
}

/* ---- running ---- */

/* The input of the first model that has this name; models with as many inputs
 * under other names take them in order. */
static hone_status_t find_input(const hone_diff_t* diff, const hone_session_t* session, int index,
                                hone_tensor_t** out) {
  const hone_run_t* run = &diff->run;
  const char* name = hone_session_input_name(session, index);
  for (int i = 0; i < run->n_inputs; i++) {
    *out = run->inputs[i];
    if (strcmp(hone_session_input_name(run->session, i), name) == 0) return NULL;
  }
  *out = index < run->n_inputs ? run->inputs[index] : NULL;
  if (hone_session_input_count(session) == run->n_inputs) return NULL;
  return hone_status_make(HONE_INVALID_ARGUMENT,
                          "the second model takes '%s', which the first does not: %s", name,
                          hone_run_list(run, false));
}

static hone_status_t keep_outputs(hone_diff_t* diff, const hone_session_t* session,
                                  hone_tensor_t** outputs, hone_map_t* values) {
  hone_status_t status = NULL;
  for (int i = 0; i < hone_session_output_count(session); i++) {
    char* name = hone_arena_strdup(diff->run.arena, hone_session_output_name(session, i));
    if (!name && !status) status = hone_oom();
    if (status)
      hone_tensor_release(outputs[i]);
    else
      status = hone_diff_put(values, name, outputs[i]);
  }
  return status;
}

static hone_status_t run_session(hone_diff_t* diff, hone_session_t* session, hone_map_t* values) {
  int n_inputs = hone_session_input_count(session), n_outputs = hone_session_output_count(session);
  hone_arena_t* arena = diff->run.arena;
  hone_tensor_t** inputs = hone_arena_array(arena, (size_t)n_inputs, sizeof(hone_tensor_t*));
  hone_tensor_t** outputs = hone_arena_array(arena, (size_t)n_outputs, sizeof(hone_tensor_t*));
  if (!inputs || !outputs) return hone_oom();
  for (int i = 0; i < n_inputs; i++) HONE_TRY(find_input(diff, session, i, &inputs[i]));
  hone_run_options_t options = {.struct_size = sizeof options,
                                .seed = (uint64_t)hone_cli_int(diff->run.cli, "seed", 0)};
  HONE_TRY(hone_session_run(session, &options, n_inputs, inputs, n_outputs, outputs));
  return keep_outputs(diff, session, outputs, values);
}

hone_status_t hone_diff_run(hone_diff_t* diff, const hone_model_t* model, int64_t count,
                            const char* const* names, hone_map_t* values) {
  hone_model_t* exposed;
  hone_session_t* session = NULL;
  HONE_TRY(hone_extract_expose(model, count, names, &exposed));
  hone_status_t status = hone_cli_session(diff->run.cli, exposed, NULL, &session);
  if (!status) status = run_session(diff, session, values);
  hone_session_destroy(session);
  hone_model_destroy(exposed);
  return hone_status_annotate(status, "%s", model->path);
}

/* ---- which values both sides have ---- */

static bool is_compared(const hone_diff_t* diff, const char* name) {
  return hone_map_get(&diff->expected, name) && hone_map_get(&diff->actual, name);
}

static hone_status_t index_values(const hone_onnx_graph_t* graph, hone_names_t* out) {
  int64_t old;
  for (int64_t n = 0; n < graph->n_nodes; n++)
    for (int i = 0; i < graph->nodes[n].n_outputs; i++)
      if (*graph->nodes[n].outputs[i])
        HONE_TRY(hone_names_add(out, graph->nodes[n].outputs[i], n, &old));
  return NULL;
}

/* Values between nodes of the subject that the other side has or can show. */
static hone_status_t find_common(hone_diff_t* diff, int64_t* out_count, const char*** out_names) {
  hone_arena_t* arena = diff->run.arena;
  hone_names_t ours = hone_names_in(arena), theirs = ours;
  HONE_TRY(index_values(diff->subject->graph, &ours));
  if (diff->other) HONE_TRY(index_values(diff->run.model->graph, &theirs));
  *out_names = hone_arena_array(arena, hone_map_count(&ours.map), sizeof **out_names);
  *out_count = 0;
  if (!*out_names) return hone_oom();
  size_t cursor = 0;
  for (const hone_map_entry_t* each; (each = hone_map_next(&ours.map, &cursor));)
    if (diff->other ? hone_names_get(&theirs, each->text) >= 0
                    : hone_map_get(&diff->expected, each->text) != NULL)
      (*out_names)[(*out_count)++] = each->text;
  return NULL;
}

/* ---- comparing ---- */

static hone_diff_row_t compare(const hone_diff_t* diff, const char* name) {
  return (hone_diff_row_t){
      name, hone_difference_find(hone_map_get(&diff->expected, name),
                                 hone_map_get(&diff->actual, name), diff->tolerance)};
}

/* Outputs under other names are the same ones in order, when there are as many. */
static hone_status_t pair_outputs(hone_diff_t* diff) {
  const hone_onnx_graph_t *from = diff->run.model->graph, *to = diff->subject->graph;
  if (!diff->other || from->n_outputs != to->n_outputs) return NULL;
  for (int64_t i = 0; i < to->n_outputs; i++) {
    if (hone_map_get(&diff->expected, to->outputs[i].name)) continue;
    hone_tensor_t* tensor = hone_map_get(&diff->expected, from->outputs[i].name);
    if (!tensor) continue;
    hone_tensor_retain(tensor);
    HONE_TRY(hone_diff_put(&diff->expected, to->outputs[i].name, tensor));
  }
  return NULL;
}

static hone_status_t compare_outputs(hone_diff_t* diff) {
  const hone_onnx_graph_t* graph = diff->subject->graph;
  HONE_TRY(pair_outputs(diff));
  diff->n_outputs = 0;
  diff->outputs =
      hone_arena_array(diff->run.arena, (size_t)graph->n_outputs, sizeof *diff->outputs);
  if (!diff->outputs) return hone_oom();
  for (int64_t i = 0; i < graph->n_outputs; i++) {
    const char* name = graph->outputs[i].name;
    if (!is_compared(diff, name)) continue;
    diff->outputs[diff->n_outputs++] = compare(diff, name);
    diff->differs |= diff->outputs[diff->n_outputs - 1].difference.kind != HONE_DIFFERENCE_NONE;
  }
  diff->n_compared = diff->n_outputs;
  return NULL;
}

/* The first output of the node that differs; false when none does. */
static bool check_node(hone_diff_t* diff, const hone_onnx_node_t* node) {
  for (int i = 0; i < node->n_outputs; i++) {
    if (!*node->outputs[i] || !is_compared(diff, node->outputs[i])) continue;
    diff->n_compared++;
    diff->first = compare(diff, node->outputs[i]);
    if (diff->first.difference.kind) return true;
  }
  return false;
}

static hone_status_t find_first(hone_diff_t* diff) {
  const hone_onnx_graph_t* graph = diff->subject->graph;
  diff->n_compared = 0;
  for (int64_t n = 0; n < graph->n_nodes && diff->node < 0; n++)
    if (check_node(diff, &graph->nodes[n])) diff->node = n;
  if (diff->node < 0) return NULL;
  diff->differs = true;
  HONE_TRY(hone_diff_makers(diff, diff->subject, diff->first.name, &diff->before));
  int64_t kept = 0; /* without the node itself */
  for (int64_t i = 0; i < diff->before.count; i++)
    if (diff->before.items[i] != diff->node) diff->before.items[kept++] = diff->before.items[i];
  diff->before.count = kept;
  return NULL;
}

static hone_status_t nothing_to_compare(const hone_diff_t* diff) {
  return hone_status_make(
      HONE_INVALID_ARGUMENT,
      diff->other ? "the models have no output in common: no name, nor the same number of them"
                  : "none of the recorded values is made by a node of the model");
}

static hone_status_t compare_models(hone_diff_t* diff) {
  int64_t count;
  const char** names;
  HONE_TRY(hone_diff_run(diff, diff->run.model, 0, NULL, &diff->expected));
  HONE_TRY(hone_diff_run(diff, diff->subject, 0, NULL, &diff->actual));
  HONE_TRY(compare_outputs(diff));
  if (!diff->n_outputs) return nothing_to_compare(diff);
  if (!diff->differs) return NULL;
  HONE_TRY(find_common(diff, &count, &names));
  HONE_TRY(hone_diff_run(diff, diff->run.model, count, names, &diff->expected));
  HONE_TRY(hone_diff_run(diff, diff->subject, count, names, &diff->actual));
  HONE_TRY(compare_outputs(diff)); /* the tensors are new ones */
  return find_first(diff);
}

static hone_status_t compare_recorded(hone_diff_t* diff) {
  int64_t count;
  const char** names;
  HONE_TRY(find_common(diff, &count, &names));
  HONE_TRY(hone_diff_run(diff, diff->subject, count, names, &diff->actual));
  HONE_TRY(compare_outputs(diff));
  HONE_TRY(find_first(diff));
  return diff->n_compared || diff->n_outputs ? NULL : nothing_to_compare(diff);
}

hone_status_t hone_diff_compare(hone_diff_t* diff) {
  diff->node = -1;
  return diff->other ? compare_models(diff) : compare_recorded(diff);
}

/* ---- what made a value ---- */

typedef struct tracer {
  const hone_diff_t* diff;
  const hone_onnx_graph_t* graph;
  hone_names_t makers;
  bool* marked;
  int64_t* stack;
  int64_t height;
} tracer_t;

static void trace_maker(tracer_t* tracer, const char* name) {
  int64_t maker = hone_names_get(&tracer->makers, name);
  if (maker < 0 || tracer->marked[maker]) return;
  if (strcmp(tracer->graph->nodes[maker].op_type, "Constant") == 0) return;
  tracer->marked[maker] = true;
  tracer->stack[tracer->height++] = maker;
}

static hone_status_t trace_taken(void* self, const char* name) {
  tracer_t* tracer = self;
  if (!is_compared(tracer->diff, name)) trace_maker(tracer, name);
  return NULL;
}

hone_status_t hone_diff_makers(hone_diff_t* diff, const hone_model_t* model, const char* name,
                               hone_diff_nodes_t* out_nodes) {
  hone_arena_t* arena = diff->run.arena;
  tracer_t tracer = {.diff = diff, .graph = model->graph, .makers = hone_names_in(arena)};
  size_t count = (size_t)model->graph->n_nodes;
  tracer.marked = hone_arena_array(arena, count, sizeof *tracer.marked);
  tracer.stack = hone_arena_array(arena, count, sizeof *tracer.stack);
  *out_nodes = (hone_diff_nodes_t){.items = hone_arena_array(arena, count, sizeof(int64_t))};
  if (!tracer.marked || !tracer.stack || !out_nodes->items) return hone_oom();
  HONE_TRY(index_values(model->graph, &tracer.makers));
  trace_maker(&tracer, name);
  while (tracer.height) {
    const hone_onnx_node_t* node = &model->graph->nodes[tracer.stack[--tracer.height]];
    HONE_TRY(hone_onnx_visit_taken(arena, node, trace_taken, &tracer));
  }
  for (size_t n = 0; n < count; n++)
    if (tracer.marked[n]) out_nodes->items[out_nodes->count++] = (int64_t)n;
  return NULL;
}
