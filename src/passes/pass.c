/* The manager: which passes run, in which order, and what they report. */
#include "passes/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "ir/verify.h"

extern const hone_pass_t* const hone_passes[];
extern const int hone_pass_count;

int hone_pass_total(void) { return hone_pass_count; }

const hone_pass_t* hone_pass_at(int index) {
  return index >= 0 && index < hone_pass_count ? hone_passes[index] : NULL;
}

const hone_pass_t* hone_pass_find(const char* name) {
  for (int i = 0; i < hone_pass_count; i++)
    if (strcmp(hone_passes[i]->name, name) == 0) return hone_passes[i];
  return NULL;
}

/* ---- reports ---- */

hone_status_t hone_pass_report_create(const hone_allocator_t* allocator,
                                      hone_pass_report_t* out_report) {
  *out_report = (hone_pass_report_t){0};
  return hone_arena_create(allocator, &out_report->arena);
}

void hone_pass_report_destroy(hone_pass_report_t* report) {
  hone_arena_destroy(report->arena);
  *report = (hone_pass_report_t){0};
}

/* Without memory a line is left out: a report is not worth failing for. */
static void add_line(hone_pass_context_t* context, hone_pass_line_t** list, const char* prefix,
                     const char* format, va_list args) {
  char text[400];
  vsnprintf(text, sizeof text, format, args);
  hone_arena_t* arena = context->report->arena;
  hone_pass_line_t* line = hone_arena_alloc(arena, sizeof *line);
  const char* whole =
      prefix ? hone_arena_format(arena, "%s: %s", prefix, text) : hone_arena_strdup(arena, text);
  if (!line || !whole) return;
  line->text = whole;
  while (*list) list = &(*list)->next;
  *list = line;
}

void hone_pass_note(hone_pass_context_t* context, const char* format, ...) {
  if (!context->result) return;
  va_list args;
  va_start(args, format);
  add_line(context, &context->result->lines, NULL, format, args);
  va_end(args);
}

void hone_pass_did(hone_pass_context_t* context, const hone_node_t* node, const char* format, ...) {
  context->count++;
  if (!context->result || !context->options->details) return;
  va_list args;
  va_start(args, format);
  const char* origin = node && node->origin ? node->origin : "(no node of the model)";
  add_line(context, &context->result->details, origin, format, args);
  va_end(args);
}

static void print_lines(const hone_pass_line_t* line, const char* indent, hone_str_t* out) {
  for (; line; line = line->next) hone_str_appendf(out, "%s%s\n", indent, line->text);
}

void hone_pass_report_print(const hone_pass_report_t* report, hone_str_t* out) {
  for (const hone_pass_result_t* r = report->first; r; r = r->next) {
    if (!r->count && !r->lines) continue;
    hone_str_appendf(out, "%-14s %6lld rewrites, %lld -> %lld nodes, %.1f ms\n", r->pass,
                     (long long)r->count, (long long)r->nodes_before, (long long)r->nodes_after,
                     (double)r->duration_ns / 1e6);
    print_lines(r->lines, "  ", out);
    print_lines(r->details, "    ", out);
  }
}

/* ---- which and when ---- */

static bool listed(const char* name, int count, const char* const* list) {
  for (int i = 0; i < count; i++)
    if (strcmp(list[i], name) == 0) return true;
  return false;
}

static bool is_on(const hone_pass_t* pass, const hone_pass_options_t* options) {
  if (listed(pass->name, options->n_off, options->off)) return false;
  if (options->n_only) return listed(pass->name, options->n_only, options->only);
  return !pass->off || listed(pass->name, options->n_on, options->on);
}

/* Says which there are. */
static hone_status_t no_such_pass(const char* name) {
  char names[512] = "";
  size_t used = 0;
  for (int i = 0; i < hone_pass_count && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                             hone_passes[i]->name);
  return hone_status_make(HONE_NOT_FOUND, "there is no pass '%s'; there are %s", name, names);
}

static hone_status_t check_names(int count, const char* const* list) {
  for (int i = 0; i < count; i++)
    if (!hone_pass_find(list[i])) return no_such_pass(list[i]);
  return NULL;
}

enum { MAX_REPEATS = 64 };

/* One run of one pass. */
typedef struct slot {
  const hone_pass_t* pass;
  hone_phase_t phase;
} slot_t;

static int by_phase(const void* a, const void* b) {
  const slot_t *x = a, *y = b;
  if (x->phase != y->phase) return x->phase < y->phase ? -1 : 1;
  return strcmp(x->pass->name, y->pass->name);
}

/* The runs that are on, in order; `slots` has room for all. */
static int schedule(const hone_pass_options_t* options, slot_t* slots) {
  int count = 0;
  for (int i = 0; i < hone_pass_count; i++) {
    if (!is_on(hone_passes[i], options)) continue;
    for (int k = 0; k < HONE_PASS_MAX_RUNS && hone_passes[i]->phases[k]; k++)
      slots[count++] = (slot_t){hone_passes[i], hone_passes[i]->phases[k]};
  }
  qsort(slots, (size_t)count, sizeof *slots, by_phase);
  return count;
}

/* ---- running ---- */

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static hone_pass_result_t* new_result(hone_pass_report_t* report, const slot_t* slot,
                                      const hone_graph_t* graph) {
  hone_pass_result_t* result = report ? hone_arena_alloc(report->arena, sizeof *result) : NULL;
  if (!result) return NULL;
  result->pass = slot->pass->name;
  result->phase = (int)slot->phase;
  result->nodes_before = hone_graph_node_count(graph);
  if (report->last)
    report->last->next = result;
  else
    report->first = result;
  report->last = result;
  return result;
}

static bool must_verify(const hone_pass_options_t* options) {
#ifndef NDEBUG
  (void)options;
  return true;
#else
  return options->verify;
#endif
}

static hone_status_t run_one(hone_graph_t* graph, const slot_t* slot,
                             const hone_pass_options_t* options, hone_pass_report_t* report,
                             bool* out_repeat) {
  hone_pass_context_t context = {.pass = slot->pass,
                                 .options = options,
                                 .phase = slot->phase,
                                 .report = report,
                                 .result = new_result(report, slot, graph)};
  uint64_t start = now_ns();
  hone_status_t status = slot->pass->run(&context, graph);
  if (!status && must_verify(options)) status = hone_graph_verify(graph);
  if (status) return hone_status_annotate(status, "pass %s", slot->pass->name);
  if (context.result) {
    context.result->count = context.count;
    context.result->duration_ns = now_ns() - start;
    context.result->nodes_after = hone_graph_node_count(graph);
  }
  *out_repeat = context.repeat;
  if (context.count && options->after) options->after(options->after_self, slot->pass->name, graph);
  return NULL;
}

/* The run before `slots[i]` from which on passes run again; i where there is none. */
static int repeat_from(const slot_t* slots, int i) {
  const char* name = slots[i].pass->repeats;
  for (int k = i - 1; name && k >= 0; k--)
    if (strcmp(slots[k].pass->name, name) == 0) return k;
  return i;
}

static hone_status_t run_all(hone_graph_t* graph, const slot_t* slots, int count,
                             const hone_pass_options_t* options, hone_pass_report_t* report) {
  int repeats = 0;
  for (int i = 0; i < count; i++) {
    bool repeat = false;
    HONE_TRY(run_one(graph, &slots[i], options, report, &repeat));
    if (!repeat || ++repeats > MAX_REPEATS) continue;
    int from = repeat_from(slots, i);
    if (from < i) i = from - 1;
  }
  return NULL;
}

hone_status_t hone_passes_run(hone_graph_t* graph, const hone_pass_options_t* options,
                              hone_pass_report_t* report) {
  static const hone_pass_options_t defaults = {0};
  if (!options) options = &defaults;
  HONE_TRY(check_names(options->n_off, options->off));
  HONE_TRY(check_names(options->n_on, options->on));
  HONE_TRY(check_names(options->n_only, options->only));
  size_t bytes = ((size_t)hone_pass_count * HONE_PASS_MAX_RUNS + 1) * sizeof(slot_t);
  slot_t* slots = hone_alloc(graph->allocator, bytes);
  if (!slots) return hone_oom();
  int count = schedule(options, slots);
  hone_status_t status = run_all(graph, slots, count, options, report);
  hone_free(graph->allocator, slots, bytes);
  return status;
}
