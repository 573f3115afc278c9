/* Measuring: runs as they are and runs with each step timed take turns, so that
 * both see the same machine. Of all figures the median over the runs counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/trace.h"
#include "runtime/report_impl.h"

enum { MOST_RUNS = 100000, MOST_DEPTH = 64, MOST_NOTES = 1024, READINGS = 16, TRIES = 4 };

/* What was told of a step. Notes are looked at later, so that taking them leaves the caches to
 * the run. */
typedef struct note {
  hone_profile_event_t event;
  double seconds; /* that it took to take it */
} note_t;

typedef struct measuring {
  hone_report_t* report;
  int runs, run;
  double* whole; /* by run: as it is */
  double* rest;  /* by run: between the steps, when each is timed */
  double steps;  /* in all steps, in this run */
  double noting; /* in taking notes of them, and in reading the clock: no part of the run */
  /* What reading the clock takes, as fast as the machine is in this run: as much is in all that
   * lies between two readings. */
  double tick;
  /* By depth: what has been told of steps inside of a step that has not ended. */
  double inner[MOST_DEPTH + 1];
  int n_notes;
  note_t* notes;
  bool out_of_memory;
  bool is_foreign; /* steps ran that the report does not know */
  bool tells;      /* the caller wants to know */
  hone_profile_fn profile;
  void* profile_self;
} measuring_t;

/* ---- events ---- */

static bool has_samples(const hone_report_row_t* row) {
  return row->seconds && row->device_seconds && row->launch_seconds;
}

static bool make_samples(const measuring_t* m, hone_report_row_t* row) {
  if (has_samples(row)) return true;
  hone_arena_t* arena = m->report->arena;
  row->seconds = hone_arena_array(arena, (size_t)m->runs, sizeof(double));
  row->device_seconds = hone_arena_array(arena, (size_t)m->runs, sizeof(double));
  row->launch_seconds = hone_arena_array(arena, (size_t)m->runs, sizeof(double));
  return has_samples(row);
}

static hone_report_row_t* add_node(const measuring_t* m, const hone_profile_event_t* event,
                                   const char* key) {
  hone_arena_t* arena = m->report->arena;
  hone_report_row_t* row = hone_report_add_row(m->report);
  if (!row) return NULL;
  row->step = (hone_report_step_t){.kind = "node",
                                   .name = hone_arena_strdup(arena, event->primitive),
                                   .origin = hone_arena_strdup(arena, event->origin),
                                   .nodes = hone_arena_format(arena, "%s\n", event->origin),
                                   .tactic = "",
                                   .why = "",
                                   .bound = "",
                                   .index = m->report->n_rows - 1};
  if (!row->step.name || !row->step.origin || !row->step.nodes) return NULL;
  hone_status_t status = hone_map_put(&m->report->by_name, key, row);
  if (!status) return row;
  hone_status_free(status);
  return NULL;
}

static hone_report_row_t* find_row(const measuring_t* m, const hone_profile_event_t* event) {
  hone_report_t* report = m->report;
  if (event->step) return hone_report_row_of(report, event->step);
  char small[256];
  int length = snprintf(small, sizeof small, "%s\n%s", event->origin, event->primitive);
  hone_report_row_t* row = NULL;
  if (length > 0 && (size_t)length < sizeof small) row = hone_map_get(&report->by_name, small);
  if (row) return row;
  const char* key = hone_arena_format(report->arena, "%s\n%s", event->origin, event->primitive);
  if (!key) return NULL;
  row = hone_map_get(&report->by_name, key);
  return row ? row : add_node(m, event, key);
}

/* A step's time without that of the steps inside of it, which were told before. */
static double own_time(measuring_t* m, const hone_profile_event_t* event) {
  double seconds = (double)event->duration_ns * 1e-9;
  int depth = event->depth < MOST_DEPTH ? event->depth : MOST_DEPTH - 1;
  double own = seconds - m->tick - m->inner[depth + 1];
  m->inner[depth + 1] = 0;
  m->inner[depth] += seconds + m->tick;
  m->noting += 2 * m->tick; /* before the step and in it */
  if (own < 0) own = 0;
  m->steps += own;
  return own;
}

static void add_event(measuring_t* m, const hone_profile_event_t* event) {
  double own = own_time(m, event);
  hone_report_row_t* row = find_row(m, event);
  m->is_foreign |= !row && event->step;
  if (!row || !make_samples(m, row)) {
    m->out_of_memory |= !row || !has_samples(row);
    return;
  }
  row->current += own;
  row->current_device += (double)event->device_ns * 1e-9;
  row->current_launch += (double)event->launch_ns * 1e-9;
  row->count++;
  row->step.output_bytes = event->output_bytes;
  if (m->tells) m->profile(m->profile_self, event);
}

/* Not the time of the step around it. */
static void add_noting(measuring_t* m, const hone_profile_event_t* event, double seconds) {
  int depth = event->depth < MOST_DEPTH ? event->depth : MOST_DEPTH - 1;
  m->inner[depth] += seconds;
  m->noting += seconds;
}

static void add_notes(measuring_t* m) {
  for (int i = 0; i < m->n_notes; i++) {
    add_event(m, &m->notes[i].event);
    add_noting(m, &m->notes[i].event, m->notes[i].seconds);
  }
  m->n_notes = 0;
}

/* Since the step's end nothing was done but to time it and to take this note. What is told of
 * nodes of whole graphs lives no longer than this call. */
static void note_event(void* self, const hone_profile_event_t* event) {
  measuring_t* m = self;
  if (m->n_notes == MOST_NOTES) add_notes(m);
  note_t* note = event->step ? &m->notes[m->n_notes++] : NULL;
  if (note)
    note->event = *event;
  else
    add_event(m, event);
  double seconds = (double)(hone_clock_ns() - (int64_t)(event->start_ns + event->duration_ns));
  if (!note) {
    add_noting(m, event, seconds * 1e-9);
    return;
  }
  note->seconds = seconds * 1e-9;
}

/* ---- runs ---- */

static hone_status_t run(const measuring_t* m, const hone_run_options_t* options, int n_inputs,
                         hone_tensor_t* const* inputs, double* out_seconds) {
  int n_outputs = hone_session_output_count(m->report->session);
  size_t bytes = (size_t)n_outputs * sizeof(hone_tensor_t*);
  hone_tensor_t** outputs = hone_alloc(m->report->allocator, bytes);
  if (!outputs) return hone_oom();
  int64_t start = hone_clock_ns();
  hone_status_t status =
      hone_session_run(m->report->session, options, n_inputs, inputs, n_outputs, outputs);
  *out_seconds = (double)(hone_clock_ns() - start) * 1e-9;
  for (int i = 0; i < n_outputs; i++) hone_tensor_release(outputs[i]);
  hone_free(m->report->allocator, outputs, bytes);
  return status;
}

/* Of some readings one after the other, at their fastest. */
static double time_clock(void) {
  int64_t best = INT64_MAX;
  for (int i = 0; i < TRIES; i++) {
    int64_t start = hone_clock_ns(), end = start;
    for (int k = 0; k < READINGS; k++) end = hone_clock_ns();
    if (end - start < best) best = end - start;
  }
  return (double)best * 1e-9 / READINGS;
}

static void begin_run(measuring_t* m) {
  memset(m->inner, 0, sizeof m->inner);
  m->tick = time_clock();
  m->steps = 0;
  m->noting = m->tick; /* after the last step */
  for (int i = 0; i < m->report->n_rows; i++) {
    hone_report_row_t* row = m->report->rows[i];
    row->current = row->current_device = row->current_launch = 0;
    row->count = 0;
  }
}

static void end_run(measuring_t* m, double seconds) {
  add_notes(m);
  double between = seconds - m->steps - m->noting;
  m->rest[m->run] = between > 0 ? between : 0;
  for (int i = 0; i < m->report->n_rows; i++) {
    hone_report_row_t* row = m->report->rows[i];
    if (!has_samples(row)) continue;
    row->seconds[m->run] = row->current;
    row->device_seconds[m->run] = row->current_device;
    row->launch_seconds[m->run] = row->current_launch;
    row->step.runs += (double)row->count / m->runs;
  }
}

static hone_status_t run_both(measuring_t* m, int n_inputs, hone_tensor_t* const* inputs) {
  const hone_run_options_t plain = {.struct_size = sizeof plain};
  const hone_run_options_t timed = {
      .struct_size = sizeof timed, .profile = note_event, .profile_self = m, .profile_inner = true};
  double seconds;
  HONE_TRY(run(m, &plain, n_inputs, inputs, &m->whole[m->run]));
  m->tells = m->profile && m->run == m->runs - 1;
  begin_run(m);
  HONE_TRY(run(m, &timed, n_inputs, inputs, &seconds));
  end_run(m, seconds);
  if (m->is_foreign)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "the report was made for inputs of other sizes than these");
  return m->out_of_memory ? hone_oom() : NULL;
}

/* ---- medians ---- */

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* list, int count) {
  qsort(list, (size_t)count, sizeof *list, compare);
  return count % 2 ? list[count / 2] : (list[count / 2 - 1] + list[count / 2]) / 2;
}

static void sum_up(measuring_t* m) {
  hone_report_t* report = m->report;
  hone_report_times_t* times = &report->times;
  *times = (hone_report_times_t){
      .runs = m->runs, .whole = median(m->whole, m->runs), .rest = median(m->rest, m->runs)};
  times->profiled = times->rest;
  for (int i = 0; i < report->n_rows; i++) {
    hone_report_row_t* row = report->rows[i];
    if (!has_samples(row)) continue;
    hone_report_step_t* step = &row->step;
    step->seconds = median(row->seconds, m->runs);
    step->device_seconds = median(row->device_seconds, m->runs);
    step->launch_seconds = median(row->launch_seconds, m->runs);
    times->profiled += step->seconds;
    times->launches += step->launch_seconds;
    if (strcmp(step->kind, "kernel") == 0) times->kernels += step->seconds;
    if (strcmp(step->kind, "host") == 0) times->host += step->seconds;
    if (strcmp(step->kind, "interpreted") == 0 || strcmp(step->kind, "node") == 0)
      times->interpreted += step->seconds;
  }
}

/* ---- the whole ---- */

static void forget(const hone_report_t* report) {
  for (int i = 0; i < report->n_rows; i++) {
    hone_report_row_t* row = report->rows[i];
    row->seconds = row->device_seconds = row->launch_seconds = NULL;
    row->step.seconds = row->step.device_seconds = row->step.launch_seconds = row->step.runs = 0;
  }
}

static hone_status_t measure(measuring_t* m, int n_inputs, hone_tensor_t* const* inputs) {
  const hone_run_options_t plain = {.struct_size = sizeof plain};
  double warm_up;
  HONE_TRY(run(m, &plain, n_inputs, inputs, &warm_up));
  for (m->run = 0; m->run < m->runs; m->run++) HONE_TRY(run_both(m, n_inputs, inputs));
  sum_up(m);
  return NULL;
}

hone_status_t hone_report_measure(hone_report_t* report, int runs, int n_inputs,
                                  hone_tensor_t* const* inputs, hone_profile_fn profile,
                                  void* profile_self) {
  if (runs < 1 || runs > MOST_RUNS)
    return hone_status_make(HONE_INVALID_ARGUMENT, "%d runs: expected 1 to %d", runs, MOST_RUNS);
  measuring_t m = {
      .report = report, .runs = runs, .profile = profile, .profile_self = profile_self};
  m.whole = hone_arena_array(report->arena, (size_t)runs, sizeof(double));
  m.rest = hone_arena_array(report->arena, (size_t)runs, sizeof(double));
  m.notes = hone_arena_array(report->arena, MOST_NOTES, sizeof *m.notes);
  if (!m.whole || !m.rest || !m.notes) return hone_oom();
  forget(report);
  return measure(&m, n_inputs, inputs);
}
