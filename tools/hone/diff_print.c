/* The report of `hone diff`, for people and for machines. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "diff.h"
#include "ir/type_text.h"
#include "json.h"
#include "line.h"

enum { MAX_CHANGES = 20, MAX_OUTPUTS = 20, MAX_NODES = 8, TYPE_SIZE = 256 };

static const hone_onnx_node_t* node_at(const hone_diff_t* diff, int64_t number) {
  return &diff->subject->graph->nodes[number];
}

/* ---- for people ---- */

static hone_status_t print_changes(const hone_changes_t* changes, hone_str_t* line) {
  if (!changes->count) {
    hone_str_append(line, "structure: the same, weights included");
    return hone_line_flush(line);
  }
  hone_str_appendf(line, "structure: %" PRId64 " difference%s", changes->count,
                   changes->count == 1 ? "" : "s");
  HONE_TRY(hone_line_flush(line));
  for (int64_t i = 0; i < changes->count && i < MAX_CHANGES; i++) {
    const hone_change_t* change = &changes->items[i];
    hone_str_appendf(line, "  %c %s %s%s%s", change->sign, change->what, change->name,
                     *change->detail ? "  " : "", change->detail);
    HONE_TRY(hone_line_flush(line));
  }
  if (changes->count <= MAX_CHANGES) return NULL;
  hone_str_appendf(line, "  … and %" PRId64 " more, see --json", changes->count - MAX_CHANGES);
  return hone_line_flush(line);
}

static hone_status_t print_row(const hone_diff_row_t* row, hone_str_t* line) {
  char type[TYPE_SIZE];
  hone_tensor_type_print(row->difference.actual, type, sizeof type);
  hone_str_appendf(line, "  %s  %s  %s", row->difference.kind ? "differs" : "agrees ", row->name,
                   type);
  HONE_TRY(hone_line_flush(line));
  hone_str_append(line, "           ");
  hone_difference_print(&row->difference, line);
  return hone_line_flush(line);
}

static hone_status_t print_outputs(const hone_diff_t* diff, hone_str_t* line) {
  hone_str_append(line, diff->n_outputs ? "outputs:" : "outputs: none could be compared");
  HONE_TRY(hone_line_flush(line));
  for (int i = 0; i < diff->n_outputs && i < MAX_OUTPUTS; i++)
    HONE_TRY(print_row(&diff->outputs[i], line));
  if (diff->n_outputs <= MAX_OUTPUTS) return NULL;
  hone_str_appendf(line, "  … and %d more, see --json", diff->n_outputs - MAX_OUTPUTS);
  return hone_line_flush(line);
}

/* Nodes that could be at fault as well. */
static hone_status_t print_before(const hone_diff_t* diff, hone_str_t* line) {
  const hone_diff_nodes_t* before = &diff->before;
  if (!before->count) {
    hone_str_append(line, "  what goes into it agrees: the fault is in this node or its weights");
    return hone_line_flush(line);
  }
  hone_str_appendf(line,
                   "  the fault may also lie in %" PRId64
                   " node%s before it, whose values could not be compared:",
                   before->count, before->count == 1 ? "" : "s");
  HONE_TRY(hone_line_flush(line));
  int64_t start = before->count > MAX_NODES ? before->count - MAX_NODES : 0;
  if (start) hone_str_append(line, "    …");
  if (start) HONE_TRY(hone_line_flush(line));
  for (int64_t i = start; i < before->count; i++) {
    const hone_onnx_node_t* node = node_at(diff, before->items[i]);
    hone_str_appendf(line, "    %s (%s)", hone_diff_node_name(node), node->op_type);
    HONE_TRY(hone_line_flush(line));
  }
  return NULL;
}

static hone_status_t print_case(const hone_diff_t* diff, hone_str_t* line) {
  hone_str_appendf(line, "written: %s with node.onnx%s, %d input%s and %d expected output%s",
                   diff->folder, diff->other ? ", reference.onnx" : "", diff->case_inputs,
                   diff->case_inputs == 1 ? "" : "s", diff->case_outputs,
                   diff->case_outputs == 1 ? "" : "s");
  HONE_TRY(hone_line_flush(line));
  hone_str_appendf(line, "again:   cd %s && hone diff node.onnx --against test_data_set_0",
                   diff->folder);
  return hone_line_flush(line);
}

static hone_status_t print_first(const hone_diff_t* diff, hone_str_t* line) {
  char type[TYPE_SIZE];
  const hone_onnx_node_t* node = node_at(diff, diff->node);
  hone_tensor_type_print(diff->first.difference.actual, type, sizeof type);
  hone_str_appendf(line, "first node that differs: %s (%s)", hone_diff_node_name(node),
                   node->op_type);
  HONE_TRY(hone_line_flush(line));
  hone_str_appendf(line, "  its output %s  %s", diff->first.name, type);
  HONE_TRY(hone_line_flush(line));
  hone_str_append(line, "  ");
  hone_difference_print(&diff->first.difference, line);
  HONE_TRY(hone_line_flush(line));
  HONE_TRY(print_before(diff, line));
  return print_case(diff, line);
}

static hone_status_t print_all(const void* what, hone_str_t* line) {
  const hone_diff_t* diff = what;
  const hone_run_t* run = &diff->run;
  hone_str_appendf(line, "%s against %s", hone_path_basename(diff->subject->path),
                   diff->other ? hone_path_basename(run->model->path) : "recorded values");
  HONE_TRY(hone_line_flush(line));
  if (diff->other) HONE_TRY(print_changes(&diff->changes, line));
  HONE_TRY(print_outputs(diff, line));
  if (diff->n_unknown) {
    hone_str_appendf(line, "%" PRId64 " recorded values have names that the model does not know",
                     diff->n_unknown);
    HONE_TRY(hone_line_flush(line));
  }
  if (diff->node >= 0) return print_first(diff, line);
  hone_str_appendf(line,
                   diff->differs ? "no node that both have makes a different value"
                                 : "equal: %" PRId64 " values compared",
                   diff->n_compared);
  return hone_line_flush(line);
}

hone_status_t hone_diff_print(const hone_diff_t* diff) { return hone_line_report(print_all, diff); }

/* ---- for machines ---- */

/* JSON has no infinity: null. */
static json_t* number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t* detail_of(const hone_difference_t* difference) {
  hone_str_t line;
  hone_str_init(&line, NULL);
  hone_difference_print(difference, &line);
  json_t* made = hone_json_text(hone_str_text(&line), line.size);
  hone_str_free(&line);
  return made;
}

static json_t* place_of(const hone_difference_t* difference) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_difference_print_place(difference->expected, difference->worst, &text);
  json_t* made = json_loads(hone_str_text(&text), 0, NULL);
  hone_str_free(&text);
  return made;
}

static json_t* row_json(const hone_diff_row_t* row) {
  static const char* const kinds[] = {"none", "type", "values"};
  const hone_difference_t* d = &row->difference;
  json_t* made =
      json_pack("{s:o, s:b, s:s, s:o, s:o, s:I, s:I, s:o}", "name", hone_json_string(row->name),
                "agrees", !d->kind, "difference", kinds[d->kind], "max_error", number(d->max_error),
                "allowed", number(d->bound), "wrong", (json_int_t)d->wrong, "count",
                (json_int_t)d->count, "detail", detail_of(d));
  if (d->kind == HONE_DIFFERENCE_VALUES) json_object_set_new(made, "worst", place_of(d));
  return made;
}

static json_t* node_json(const hone_onnx_node_t* node) {
  return json_pack("{s:o, s:o, s:o}", "node", hone_json_string(hone_diff_node_name(node)), "op",
                   hone_json_string(node->op_type), "domain",
                   hone_json_string(*node->domain ? node->domain : "ai.onnx"));
}

static json_t* changes_json(const hone_changes_t* changes) {
  json_t* array = json_array();
  for (int64_t i = 0; i < changes->count; i++) {
    const hone_change_t* change = &changes->items[i];
    const char* how = change->sign == '~' ? "changed" : change->sign == '+' ? "added" : "removed";
    json_array_append_new(array, json_pack("{s:s, s:s, s:o, s:o}", "how", how, "what", change->what,
                                           "name", hone_json_string(change->name), "detail",
                                           hone_json_string(change->detail)));
  }
  return array;
}

static json_t* first_json(const hone_diff_t* diff) {
  if (diff->node < 0) return json_null();
  json_t* made = node_json(node_at(diff, diff->node));
  json_t* before = json_array();
  for (int64_t i = 0; i < diff->before.count; i++)
    json_array_append_new(before, node_json(node_at(diff, diff->before.items[i])));
  json_object_set_new(made, "output", row_json(&diff->first));
  json_object_set_new(made, "not_compared_before", before);
  json_object_set_new(made, "folder", hone_json_string(diff->folder));
  return made;
}

hone_status_t hone_diff_print_json(const hone_diff_t* diff) {
  json_t* outputs = json_array();
  for (int i = 0; i < diff->n_outputs; i++)
    json_array_append_new(outputs, row_json(&diff->outputs[i]));
  json_t* root = json_pack("{s:b, s:o, s:I, s:I, s:o}", "equal", !diff->differs, "outputs", outputs,
                           "compared", (json_int_t)diff->n_compared, "unknown_recorded",
                           (json_int_t)diff->n_unknown, "first", first_json(diff));
  if (root && diff->other) json_object_set_new(root, "structure", changes_json(&diff->changes));
  return hone_json_print(root);
}
