/* `hone diff --against ref`: a compiled model kernel by kernel, each beside what `ref`
 * makes of the same inputs. The first that departs becomes a case of its own. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "case.h"
#include "diff.h"
#include "json.h"
#include "line.h"
#include "ops/lower.h"
#include "runtime/compile.h"
#include "runtime/device.h"
#include "runtime/watch.h"

/* The first kernel that departs. */
typedef struct departure {
  const char *node, *kernel, *function; /* in the arena of the run */
  int output;
  hone_difference_t difference;
  char text[512]; /* of the difference */
  const char* folder;
} departure_t;

typedef struct job {
  hone_run_t run;
  hone_tolerance_t tolerance;
  const char* device_name;
  const hone_backend_t* backend;
  hone_device_t* device;
  hone_graph_t* graph;
  hone_program_t* program;
  int64_t n_kernels, n_wrong; /* launches looked at, and those that depart */
  int64_t n_interpreted;      /* steps that `ref` runs in any case */
  departure_t first;
} job_t;

/* ---- looking at a kernel ---- */

static hone_status_t write_case(job_t* job, const hone_launched_t* launched) {
  hone_arena_t* arena = job->run.arena;
  hone_graph_t* graph = launched->step->graph;
  const char* safe = hone_run_file_name(arena, launched->step->name);
  const char* made = safe ? hone_arena_format(arena, "hone-diff-%.100s", safe) : NULL;
  if (!made) return hone_oom();
  job->first.folder = hone_cli_text(job->run.cli, "out", made);
  for (int i = 0; i < graph->n_inputs; i++) { /* names that an archive can have */
    graph->inputs[i]->name = hone_arena_format(arena, "in%d", i);
    if (!graph->inputs[i]->name) return hone_oom();
  }
  return hone_case_write(job->first.folder, graph, launched->n_inputs, launched->inputs,
                         launched->step->n_outputs, launched->expected);
}

static hone_status_t keep_first(job_t* job, const hone_launched_t* launched, int output,
                                const hone_difference_t* difference) {
  hone_arena_t* arena = job->run.arena;
  const hone_step_t* step = launched->step;
  departure_t* first = &job->first;
  first->node = hone_arena_strdup(arena, step->origin);
  first->kernel = hone_arena_strdup(arena, step->name);
  first->function = hone_arena_strdup(arena, launched->program->kernels[step->kernel].name);
  if (!first->node || !first->kernel || !first->function) return hone_oom();
  first->output = output;
  first->difference = *difference;
  hone_str_t line;
  hone_str_init(&line, NULL);
  hone_difference_print(difference, &line);
  snprintf(first->text, sizeof first->text, "%s", hone_str_text(&line));
  hone_str_free(&line);
  return write_case(job, launched);
}

static hone_status_t see_kernel(void* self, const hone_launched_t* launched) {
  job_t* job = self;
  job->n_kernels++;
  for (int i = 0; i < launched->step->n_outputs; i++) {
    hone_difference_t difference =
        hone_difference_find(launched->expected[i], launched->actual[i], job->tolerance);
    if (!difference.kind) continue;
    return job->n_wrong++ ? NULL : keep_first(job, launched, i, &difference);
  }
  return NULL;
}

/* ---- running ---- */

/* Lowered anew: the session's own graph is what `ref` runs. */
static hone_status_t make_graph(job_t* job) {
  const hone_subject_t* subject = &job->run.subject;
  if (!subject->model) return hone_subject_read_graph(subject->path, &job->graph);
  hone_lower_options_t options = {0};
  HONE_TRY(hone_cli_dims(job->run.cli, &options.n_dims, &options.dims));
  return hone_lower_model(subject->model, &options, job->run.allocator, &job->graph);
}

static hone_status_t open_device(job_t* job) {
  hone_open_options_t options = {.struct_size = sizeof options, .allocator = job->run.allocator};
  return hone_device_open(job->device_name, &options, &job->backend, &job->device);
}

static hone_status_t compile(job_t* job) {
  hone_compile_settings_t settings = {.allocator = job->run.allocator, .keep_nodes = true};
  hone_compile_report_t report;
  HONE_TRY(make_graph(job));
  HONE_TRY(open_device(job));
  HONE_TRY(hone_compile(job->graph, job->backend, job->device, &settings, &report, &job->program));
  job->n_interpreted = report.n_interpreted;
  return NULL;
}

static void release(int count, hone_tensor_t** tensors) {
  for (int i = 0; tensors && i < count; i++) hone_tensor_release(tensors[i]);
}

/* By `ref` first, which also checks the inputs. */
static hone_status_t run_both(job_t* job) {
  hone_run_t* run = &job->run;
  size_t n = (size_t)run->n_outputs;
  hone_tensor_t** outputs = hone_arena_array(run->arena, n, sizeof(hone_tensor_t*));
  if (!outputs) return hone_oom();
  hone_run_options_t options = {.struct_size = sizeof options,
                                .seed = (uint64_t)hone_cli_int(run->cli, "seed", 0)};
  HONE_TRY(hone_session_run(run->session, &options, run->n_inputs, run->inputs, run->n_outputs,
                            outputs));
  release(run->n_outputs, outputs);
  const hone_watch_t watch = {see_kernel, job};
  HONE_TRY(hone_program_watch(job->program, &options, &watch, run->n_inputs, run->inputs,
                              run->n_outputs, outputs));
  release(run->n_outputs, outputs);
  return NULL;
}

/* ---- saying it ---- */

static hone_status_t print_lines(const void* what, hone_str_t* line) {
  const job_t* job = what;
  hone_str_appendf(line,
                   "%s on %s against ref: %" PRId64 " kernels run, %" PRId64 " steps interpreted",
                   job->run.subject.path, job->device_name, job->n_kernels, job->n_interpreted);
  HONE_TRY(hone_line_flush(line));
  if (!job->n_wrong) {
    hone_str_append(line, "equal: every kernel makes what ref makes of the same inputs");
    return hone_line_flush(line);
  }
  const departure_t* first = &job->first;
  hone_str_appendf(line, "%" PRId64 " of them depart; the first one:", job->n_wrong);
  HONE_TRY(hone_line_flush(line));
  hone_str_appendf(line, "  node    %s", *first->node ? first->node : "(none of the model's)");
  HONE_TRY(hone_line_flush(line));
  hone_str_appendf(line, "  kernel  %s, the function %s", first->kernel, first->function);
  HONE_TRY(hone_line_flush(line));
  hone_str_appendf(line, "  output %d: %s", first->output, first->text);
  HONE_TRY(hone_line_flush(line));
  hone_str_appendf(line, "written: %s/graph.hg, inputs.npz, expected.npz", first->folder);
  return hone_line_flush(line);
}

static hone_status_t print_json(const job_t* job) {
  const departure_t* d = &job->first;
  json_t* first = json_null();
  double error = d->difference.max_error;
  if (job->n_wrong)
    first = json_pack(
        "{s:o, s:o, s:o, s:i, s:o, s:o, s:I, s:I, s:o}", "node", hone_json_string(d->node),
        "kernel", hone_json_string(d->kernel), "function", hone_json_string(d->function), "output",
        d->output, "detail", hone_json_string(d->text), "max_error",
        isfinite(error) ? json_real(error) : json_null(), "wrong", (json_int_t)d->difference.wrong,
        "count", (json_int_t)d->difference.count, "folder", hone_json_string(d->folder));
  return hone_json_print(json_pack("{s:b, s:s, s:I, s:I, s:I, s:o}", "equal", !job->n_wrong,
                                   "device", job->device_name, "kernels",
                                   (json_int_t)job->n_kernels, "wrong", (json_int_t)job->n_wrong,
                                   "interpreted", (json_int_t)job->n_interpreted, "first", first));
}

/* ---- the whole ---- */

static hone_status_t do_diff(job_t* job) {
  hone_run_t* run = &job->run;
  HONE_TRY(hone_cli_allocator(run->cli, &run->allocator));
  HONE_TRY(hone_arena_create(NULL, &run->arena));
  const char* path = hone_cli_argument(run->cli, 0);
  if (hone_subject_is_engine(path))
    return hone_status_make(HONE_UNSUPPORTED,
                            "%s: an engine does not say what its kernels compute; give the model",
                            path);
  HONE_TRY(hone_subject_open(run->cli, 0, "ref", &run->subject));
  run->session = run->subject.session;
  run->n_inputs = hone_session_input_count(run->session);
  run->n_outputs = hone_session_output_count(run->session);
  HONE_TRY(hone_run_plan_inputs(run));
  HONE_TRY(hone_run_read_inputs(run));
  HONE_TRY(compile(job));
  HONE_TRY(run_both(job));
  return hone_cli_has(run->cli, "json") ? print_json(job) : hone_line_report(print_lines, job);
}

static void close_job(job_t* job) {
  hone_program_destroy(job->program);
  if (job->device) job->backend->close(job->device);
  hone_graph_destroy(job->graph);
  release(job->run.inputs ? job->run.n_inputs : 0, job->run.inputs);
  hone_subject_close(&job->run.subject);
  hone_arena_destroy(job->run.arena);
}

hone_status_t hone_diff_kernels(hone_cli_t* cli, hone_tolerance_t tolerance, bool* out_differs) {
  job_t job = {.run = {.cli = cli, .n_models = 1, .make_up = true, .random_low = -1},
               .tolerance = tolerance,
               .device_name = hone_cli_text(cli, "device", "cpu")};
  hone_status_t status = do_diff(&job);
  *out_differs = job.n_wrong > 0;
  close_job(&job);
  return status;
}
