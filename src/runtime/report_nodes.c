/* What became of the model's nodes: which step each went into, and which pass
 * touched it last. */
#include <string.h>

#include "base/memory.h"
#include "runtime/report_impl.h"

typedef struct tracer {
  hone_report_t* report;
  hone_map_t steps; /* label to index of a step + 1 */
  hone_map_t notes; /* label to note_t */
} tracer_t;

typedef struct note {
  const char *pass, *text;
} note_t;

/* ---- steps ---- */

static hone_status_t trace_step(tracer_t* t, int index) {
  const char* at = t->report->rows[index]->step.nodes;
  for (const char* end; (end = strchr(at, '\n')); at = end + 1) {
    size_t length = (size_t)(end - at);
    if (hone_map_find_n(&t->steps, at, length)) continue; /* the first one counts */
    HONE_TRY(hone_map_put_n(&t->steps, at, length, (void*)(intptr_t)(index + 1)));
  }
  return NULL;
}

/* ---- passes ---- */

/* "a (Mul) + b (Conv): text": the text belongs to both. */
static hone_status_t trace_line(tracer_t* t, const char* pass, const char* line) {
  const char* end = strstr(line, "): ");
  if (!end) return NULL;
  note_t* note = hone_arena_alloc(t->report->arena, sizeof *note);
  if (!note) return hone_oom();
  *note = (note_t){pass, end + 3};
  for (const char *at = line, *next; at <= end; at = next + 4) {
    next = strstr(at, ") + ");
    if (!next || next > end) next = end;
    HONE_TRY(hone_map_put_n(&t->notes, at, (size_t)(next + 1 - at), note));
    if (next == end) break;
  }
  return NULL;
}

static hone_status_t trace_passes(tracer_t* t, const hone_pass_report_t* passes) {
  for (const hone_pass_result_t* r = passes->first; r; r = r->next)
    for (const hone_pass_line_t* line = r->details; line; line = line->next)
      HONE_TRY(trace_line(t, r->pass, line->text));
  return NULL;
}

/* ---- nodes ---- */

/* As lowering labels them. */
static const char* label_of(hone_arena_t* arena, const hone_model_node_t* node) {
  const char* name = node->name[0] ? node->name : node->n_outputs ? node->outputs[0] : "?";
  return hone_arena_format(arena, "%s (%s)", name, node->op_type);
}

static hone_status_t fill_node(tracer_t* t, const hone_model_node_t* from, hone_report_node_t* to) {
  *to = (hone_report_node_t){.name = label_of(t->report->arena, from), .pass = "", .what = ""};
  if (!to->name) return hone_oom();
  to->step = (int)(intptr_t)hone_map_get(&t->steps, to->name) - 1;
  const note_t* note = hone_map_get(&t->notes, to->name);
  if (!note) return NULL;
  to->pass = note->pass;
  to->what = hone_arena_strdup(t->report->arena, note->text);
  return to->what ? NULL : hone_oom();
}

static hone_status_t trace(tracer_t* t, const hone_session_parts_t* parts) {
  hone_report_t* report = t->report;
  for (int i = 0; i < report->n_rows; i++) HONE_TRY(trace_step(t, i));
  if (parts->notes) HONE_TRY(trace_passes(t, parts->notes));
  int64_t count = hone_model_node_count(parts->model);
  report->nodes = hone_arena_array(report->arena, (size_t)count, sizeof *report->nodes);
  if (!report->nodes) return hone_oom();
  for (int64_t i = 0; i < count; i++) {
    hone_model_node_t node;
    if (!hone_model_node_at(parts->model, i, &node)) continue;
    HONE_TRY(fill_node(t, &node, &report->nodes[report->n_nodes]));
    report->n_nodes++;
  }
  return NULL;
}

hone_status_t hone_report_fill_nodes(hone_report_t* report, const hone_session_parts_t* parts) {
  if (!parts->model) return NULL;
  tracer_t t = {.report = report};
  hone_map_init(&t.steps, parts->allocator);
  hone_map_init(&t.notes, parts->allocator);
  hone_status_t status = trace(&t, parts);
  hone_map_free(&t.steps);
  hone_map_free(&t.notes);
  return status;
}
