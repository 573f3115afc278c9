#include "reporting.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "line.h"

/* ---- opening ---- */

static hone_status_t make_report(hone_reporting_t* r, bool limits) {
  hone_report_options_t options = {.struct_size = sizeof options, .limits = limits};
  HONE_TRY(hone_cli_dims(r->run.cli, &options.n_dims, &options.dims));
  options.n_inputs = limits || r->run.inputs ? r->run.n_inputs : 0;
  options.inputs = r->run.inputs;
  hone_report_destroy(r->report);
  return hone_report_create(r->run.session, &options, &r->report);
}

hone_status_t hone_reporting_open(hone_cli_t* cli, hone_reporting_t* out) {
  hone_run_t* run = &out->run;
  *run = (hone_run_t){.cli = cli, .n_models = 1, .make_up = true};
  hone_cli_set_reports(cli);
  HONE_TRY(hone_cli_allocator(cli, &run->allocator));
  HONE_TRY(hone_arena_create(NULL, &run->arena));
  bool is_engine = hone_subject_is_engine(hone_cli_argument(cli, 0));
  const char* device = hone_cli_text(cli, "device", is_engine ? NULL : "cpu");
  HONE_TRY(hone_subject_open(cli, 0, device, &run->subject));
  run->session = run->subject.session;
  run->n_inputs = hone_session_input_count(run->session);
  run->n_outputs = hone_session_output_count(run->session);
  return make_report(out, false);
}

/* Extents that nobody gave are those of the report's sizes; says of which inputs. */
static void fill_shapes(hone_reporting_t* r, bool* out_guessed) {
  for (int i = 0; i < r->run.n_inputs; i++) {
    hone_value_want_t* want = &r->run.wants[i];
    int64_t dims[HONE_MAX_RANK];
    int rank = hone_report_input_shape(r->report, i, dims);
    for (int k = 0; rank == want->rank && k < rank; k++) {
      if (want->dims[k] >= 0) continue;
      want->dims[k] = dims[k];
      out_guessed[i] = !hone_cli_has(r->run.cli, "dim");
    }
  }
}

hone_status_t hone_reporting_add_inputs(hone_reporting_t* r, bool limits) {
  HONE_TRY(hone_run_plan_inputs(&r->run));
  bool* guessed = hone_arena_array(r->run.arena, (size_t)r->run.n_inputs, sizeof *guessed);
  if (!guessed) return hone_oom();
  fill_shapes(r, guessed);
  HONE_TRY(hone_run_read_inputs(&r->run));
  for (int i = 0; i < r->run.n_inputs; i++)
    r->guesses |= guessed[i] && hone_run_made_up(&r->run, i);
  return make_report(r, limits);
}

hone_status_t hone_reporting_measure(hone_reporting_t* r, int runs, hone_profile_fn profile,
                                     void* self) {
  hone_status_t status =
      hone_report_measure(r->report, runs, r->run.n_inputs, r->run.inputs, profile, self);
  if (!r->guesses) return status;
  return hone_status_annotate(status,
                              "sizes that are open were taken as small as they may be; "
                              "--dim or --shape give others");
}

void hone_reporting_close(hone_reporting_t* r) {
  hone_report_destroy(r->report);
  for (int i = 0; r->run.inputs && i < r->run.n_inputs; i++) hone_tensor_release(r->run.inputs[i]);
  hone_subject_close(&r->run.subject);
  hone_arena_destroy(r->run.arena);
}

/* ---- amounts ---- */

static void print_scaled(double amount, const double* scales, const char* const* units,
                         char out[HONE_AMOUNT_SIZE]) {
  int i = 0;
  while (units[i + 1] && amount < scales[i]) i++;
  double shown = amount / scales[i];
  bool whole = !units[i + 1] && scales[i] >= 1;
  int digits = whole ? 0 : shown < 10 ? 2 : shown < 100 ? 1 : 0;
  snprintf(out, HONE_AMOUNT_SIZE, "%.*f %s", digits, shown, units[i]);
}

void hone_print_bytes(double bytes, char out[HONE_AMOUNT_SIZE]) {
  static const double scales[] = {1e9, 1e6, 1e3, 1};
  static const char* const units[] = {"GB", "MB", "kB", "B", NULL};
  print_scaled(bytes, scales, units, out);
}

void hone_print_seconds(double seconds, char out[HONE_AMOUNT_SIZE]) {
  static const double scales[] = {1, 1e-3, 1e-6};
  static const char* const units[] = {"s", "ms", "us", NULL};
  print_scaled(seconds, scales, units, out);
}

/* ---- steps ---- */

void hone_step_type(const hone_report_step_t* step, char out[64]) {
  const char* open = strrchr(step->origin, '(');
  const char* close = open ? strchr(open, ')') : NULL;
  if (close && close > open + 1)
    snprintf(out, 64, "%.*s", (int)(close - open - 1), open + 1);
  else
    snprintf(out, 64, "%s", step->name);
}

double hone_step_share(const hone_report_step_t* step) {
  return step->seconds > 0 ? step->limit * step->runs / step->seconds : 0;
}

bool hone_step_is(const hone_report_step_t* step, const char* kind) {
  return strcmp(step->kind, kind) == 0;
}

bool hone_step_matches(const hone_report_step_t* step, const char* filter) {
  return !filter || strstr(step->nodes, filter) || strstr(step->name, filter);
}

void hone_print_subject(const hone_reporting_t* r, hone_str_t* out) {
  const hone_report_device_t* device = hone_report_device(r->report);
  hone_str_appendf(out, "%s on %s", hone_path_basename(r->run.subject.path), device->name);
  if (device->target[0]) hone_str_appendf(out, " (%s)", device->target);
  const char* name;
  for (int i = 0; (name = hone_report_size_name(r->report, i)); i++)
    hone_str_appendf(out, ", %s = %lld", name, (long long)hone_report_size(r->report, name));
}

hone_status_t hone_print_guess(const hone_reporting_t* r, hone_str_t* line) {
  if (!r->guesses) return NULL;
  hone_str_append(line,
                  "sizes that are open are as small as they may be: --dim NAME=SIZE gives others");
  return hone_line_flush(line);
}

/* ---- sums ---- */

double hone_report_alive(const hone_report_t* report, int place) {
  double bytes = 0;
  for (int i = 0; i < hone_report_value_count(report); i++) {
    const hone_report_value_t* value = hone_report_value(report, i);
    bool alive = value->begin <= place && place <= value->end;
    if (alive && value->is_planned && !(value->in_place && value->begin == place))
      bytes += (double)value->bytes * value->blocks;
  }
  return bytes;
}

typedef struct sums {
  double seconds, limit, compute, bytes, memory_bound; /* of kernels */
  double alive, alive_seconds;                         /* bytes times seconds; seconds */
} sums_t;

static void add_kernel(const hone_report_step_t* step, sums_t* sums) {
  sums->seconds += step->seconds;
  sums->limit += step->limit * step->runs;
  sums->compute += step->compute * step->runs;
  sums->bytes += (step->read + step->written) * step->runs;
  if (strcmp(step->bound, "memory") == 0) sums->memory_bound += step->seconds;
}

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

hone_usage_t hone_report_usage(const hone_report_t* report) {
  hone_usage_t usage = {0};
  sums_t sums = {0};
  const hone_report_times_t* times = hone_report_times(report);
  const hone_report_device_t* device = hone_report_device(report);
  const hone_report_memory_t* memory = hone_report_memory(report);
  for (int i = 0; i < hone_report_step_count(report); i++) {
    const hone_report_step_t* step = hone_report_step(report, i);
    usage.n_kernels += hone_step_is(step, "kernel");
    usage.n_interpreted += hone_step_is(step, "interpreted") || hone_step_is(step, "node");
    if (hone_step_is(step, "kernel")) {
      add_kernel(step, &sums);
      usage.launches += step->runs;
    }
    if (!hone_report_is_compiled(report)) continue;
    /* As long as nothing is measured every step counts alike. */
    double weight = times->runs ? step->seconds : 1;
    sums.alive += weight * hone_report_alive(report, step->place);
    sums.alive_seconds += weight;
  }
  double gbytes = device->n_levels ? device->level_gbytes[device->n_levels - 1] : 0;
  usage.kernel_share = ratio(times->kernels, times->profiled);
  usage.launch_share = ratio(times->launches, times->profiled);
  usage.limit_share = ratio(sums.limit, sums.seconds);
  usage.compute_share = ratio(sums.compute, sums.seconds);
  usage.bandwidth_share = ratio(sums.bytes, sums.seconds * gbytes * 1e9);
  usage.memory_bound = ratio(sums.memory_bound, sums.seconds);
  usage.average_bytes = ratio(sums.alive, sums.alive_seconds);
  usage.memory_efficiency = ratio(usage.average_bytes, (double)memory->planned);
  if (memory->planned)
    usage.fragmentation = 1 - ratio((double)memory->least, (double)memory->planned);
  return usage;
}
