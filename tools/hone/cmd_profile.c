/* hone profile: where the time of a run goes, and what could be done about it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "base/memory.h"
#include "line.h"
#include "report_types.h"
#include "reporting.h"

enum { MOST_RUNS = 100000, MOST_ROWS = 20, NAME = 34 };

/* ---- tables ---- */

static int slowest_first(const void* a, const void* b) {
  double x = (*(const hone_report_step_t*const*)a)->seconds,
         y = (*(const hone_report_step_t*const*)b)->seconds;
  return x > y ? -1 : x < y;
}

static hone_status_t print_row(hone_str_t* line, const char* name, double seconds, double whole,
                               const char* rest) {
  char amount[HONE_AMOUNT_SIZE];
  hone_print_seconds(seconds, amount);
  hone_str_appendf(line, "  %s", name);
  hone_line_pad(line, NAME + 2);
  hone_str_appendf(line, " %9s %6.1f %%  %s", amount, whole > 0 ? 100 * seconds / whole : 0, rest);
  return hone_line_flush(line);
}

static const char* step_title(const hone_report_step_t* step, char out[NAME + 1]) {
  const char* name = step->origin[0] ? step->origin : step->name;
  snprintf(out, NAME + 1, "%s", name);
  return out;
}

static hone_status_t print_step(const hone_report_step_t* step, double whole, hone_str_t* line) {
  char title[NAME + 1], rest[80] = "";
  if (hone_step_share(step) > 0)
    snprintf(rest, sizeof rest, "%4.0f %% of %-7s %s", 100 * hone_step_share(step), step->bound,
             step->name);
  else
    snprintf(rest, sizeof rest, "%s %s", step->kind, step->name);
  return print_row(line, step_title(step, title), step->seconds, whole, rest);
}

static hone_status_t print_list(const hone_report_t* report, const hone_report_step_t** list,
                                int count, int shown, hone_str_t* line) {
  double whole = hone_report_times(report)->profiled, others = 0;
  qsort(list, (size_t)count, sizeof *list, slowest_first);
  hone_str_appendf(line, "  %-*s %9s %8s  of what the device could do; kernel", NAME, "layer",
                   "time", "share");
  HONE_TRY(hone_line_flush(line));
  for (int i = 0; i < shown; i++) HONE_TRY(print_step(list[i], whole, line));
  for (int i = shown; i < count; i++) others += list[i]->seconds;
  if (count > shown) {
    char name[64];
    snprintf(name, sizeof name, "%d other steps", count - shown);
    HONE_TRY(print_row(line, name, others, whole, "--all shows them"));
  }
  HONE_TRY(print_row(line, "between steps", hone_report_times(report)->rest, whole, ""));
  return print_row(line, "sum", whole, whole, "");
}

static hone_status_t print_steps(const hone_report_t* report, bool all, hone_str_t* line) {
  int count = 0, room = hone_report_step_count(report);
  size_t bytes = (size_t)room * sizeof(hone_report_step_t*);
  const hone_report_step_t** list = hone_alloc(NULL, bytes);
  if (!list) return hone_oom();
  for (int i = 0; i < room; i++)
    if (hone_report_step(report, i)->runs > 0) list[count++] = hone_report_step(report, i);
  int shown = all || count < MOST_ROWS ? count : MOST_ROWS;
  hone_status_t status = print_list(report, list, count, shown, line);
  hone_free(NULL, (void*)(uintptr_t)list, bytes);
  return status;
}

static hone_status_t print_types(const hone_report_t* report, hone_str_t* line) {
  hone_types_t types;
  double whole = hone_report_times(report)->profiled;
  HONE_TRY(hone_types_sum(report, &types));
  hone_str_appendf(line, "  %-*s %9s %8s  steps", NAME, "type", "time", "share");
  hone_status_t status = hone_line_flush(line);
  for (int i = 0; i < types.count && !status; i++) {
    char rest[32];
    snprintf(rest, sizeof rest, "%d", types.list[i].steps);
    status = print_row(line, types.list[i].name, types.list[i].seconds, whole, rest);
  }
  hone_types_free(&types);
  return status;
}

/* ---- sums ---- */

static hone_status_t print_share(hone_str_t* line, const char* name, double share) {
  hone_str_appendf(line, "  %-*s %8.1f %%", NAME, name, 100 * share);
  return hone_line_flush(line);
}

static hone_status_t print_usage(const hone_report_t* report, hone_str_t* line) {
  const hone_usage_t usage = hone_report_usage(report);
  const hone_report_memory_t* memory = hone_report_memory(report);
  char peak[HONE_AMOUNT_SIZE], planned[HONE_AMOUNT_SIZE], average[HONE_AMOUNT_SIZE];
  if (!hone_report_is_compiled(report)) return NULL;
  hone_print_bytes((double)memory->total, peak);
  hone_print_bytes((double)memory->planned, planned);
  hone_print_bytes(usage.average_bytes, average);
  puts("\nhow well the device is used");
  HONE_TRY(print_share(line, "time spent in kernels", usage.kernel_share));
  if (usage.launch_share > 0)
    HONE_TRY(print_share(line, "  of it, until they are started", usage.launch_share));
  HONE_TRY(print_share(line, "of what it could do, in kernels", usage.limit_share));
  HONE_TRY(print_share(line, "  of its arithmetic", usage.compute_share));
  HONE_TRY(print_share(line, "  of its memory's bandwidth", usage.bandwidth_share));
  puts("\nmemory");
  hone_str_appendf(line, "  peak %s; of the planned block of %s on average %s are in use", peak,
                   planned, average);
  return hone_line_flush(line);
}

/* Breaks a piece of advice into lines. */
static hone_status_t print_advice(const char* text, hone_str_t* line) {
  const size_t width = HONE_LINE_COLUMNS - 4;
  for (bool first = true; *text; first = false) {
    size_t take = strlen(text);
    if (take > width) {
      take = width;
      while (take > 0 && text[take] != ' ') take--;
      if (!take) take = width;
    }
    hone_str_appendf(line, "%s%.*s", first ? "  - " : "    ", (int)take, text);
    HONE_TRY(hone_line_flush(line));
    text += take;
    while (*text == ' ') text++;
  }
  return NULL;
}

static hone_status_t print_head(const hone_reporting_t* r, hone_str_t* line) {
  const hone_report_times_t* times = hone_report_times(r->report);
  char whole[HONE_AMOUNT_SIZE], profiled[HONE_AMOUNT_SIZE];
  hone_print_seconds(times->whole, whole);
  hone_print_seconds(times->profiled, profiled);
  hone_print_subject(r, line);
  HONE_TRY(hone_line_flush(line));
  HONE_TRY(hone_print_guess(r, line));
  hone_str_appendf(line, "a run takes %s; %s with each step timed, as below (medians of %d)", whole,
                   profiled, times->runs);
  HONE_TRY(hone_line_flush(line));
  putchar('\n');
  return NULL;
}

static hone_status_t print_all(const hone_reporting_t* r, const hone_advice_t* advice,
                               hone_str_t* line) {
  HONE_TRY(print_head(r, line));
  HONE_TRY(print_steps(r->report, hone_cli_has(r->run.cli, "all"), line));
  putchar('\n');
  HONE_TRY(print_types(r->report, line));
  HONE_TRY(print_usage(r->report, line));
  puts("\nadvice");
  for (int i = 0; i < advice->count; i++) HONE_TRY(print_advice(advice->lines[i], line));
  return NULL;
}

/* ---- machines ---- */

static json_t* types_array(const hone_types_t* types, double whole) {
  json_t* array = json_array();
  for (int i = 0; i < types->count; i++) {
    json_t* object = json_object();
    json_object_set_new(object, "type", hone_json_string(types->list[i].name));
    json_object_set_new(object, "steps", json_integer(types->list[i].steps));
    json_object_set_new(object, "execution_time_ms", json_real(types->list[i].seconds * 1e3));
    json_object_set_new(object, "percentage_of_total",
                        json_real(whole > 0 ? 100 * types->list[i].seconds / whole : 0));
    json_array_append_new(array, object);
  }
  return array;
}

static json_t* efficiency_object(const hone_report_t* report) {
  if (!hone_report_is_compiled(report)) return json_null();
  const hone_usage_t usage = hone_report_usage(report);
  json_t* object = json_object();
  json_object_set_new(object, "utilization", json_real(usage.kernel_share));
  json_object_set_new(object, "share_of_limit", json_real(usage.limit_share));
  json_object_set_new(object, "compute_efficiency", json_real(usage.compute_share));
  json_object_set_new(object, "memory_bandwidth_utilization", json_real(usage.bandwidth_share));
  json_object_set_new(object, "memory_bound", json_real(usage.memory_bound));
  json_object_set_new(object, "cache_hit_rate", json_null()); /* takes counters of the hardware */
  return object;
}

static hone_status_t print_json(const hone_reporting_t* r, const hone_advice_t* advice) {
  const hone_report_t* report = r->report;
  hone_types_t types;
  HONE_TRY(hone_types_sum(report, &types));
  json_t *root = hone_json_subject(r), *lines = json_array();
  for (int i = 0; i < advice->count; i++)
    json_array_append_new(lines, hone_json_string(advice->lines[i]));
  json_object_set_new(root, "limits", hone_json_device(report));
  json_object_set_new(root, "times", hone_json_times(report));
  json_object_set_new(root, "layer_timings", hone_json_steps(report, NULL));
  json_object_set_new(root, "types", types_array(&types, hone_report_times(report)->profiled));
  json_object_set_new(root, "memory_usage", hone_json_memory(report));
  json_object_set_new(root, "kernel_efficiency", efficiency_object(report));
  json_object_set_new(root, "recommendations", lines);
  hone_types_free(&types);
  return hone_json_print(root);
}

/* ---- the whole ---- */

static hone_status_t measure(hone_reporting_t* r, const char* path) {
  hone_trace_t* trace = NULL;
  if (path) HONE_TRY(hone_trace_create(NULL, path, &trace));
  hone_status_t status = hone_reporting_measure(r, (int)hone_cli_int(r->run.cli, "runs", 20),
                                                trace ? hone_run_record : NULL, trace);
  hone_status_t closed = hone_trace_close(trace);
  if (!status) return closed;
  hone_status_free(closed);
  return status;
}

static hone_status_t profile(hone_cli_t* cli, const hone_thresholds_t* thresholds,
                             hone_reporting_t* r) {
  HONE_TRY(hone_reporting_open(cli, r));
  HONE_TRY(hone_reporting_add_inputs(r, true));
  HONE_TRY(measure(r, hone_cli_text(cli, "trace", NULL)));
  hone_advice_t advice;
  hone_advise(r->report, thresholds, &advice);
  const char* path = hone_cli_text(cli, "out", NULL);
  if (path) HONE_TRY(hone_report_write_page(r, &advice, path));
  if (hone_cli_has(cli, "json")) return print_json(r, &advice);
  hone_str_t line;
  hone_str_init(&line, NULL);
  hone_status_t status = print_all(r, &advice, &line);
  hone_str_free(&line);
  return status;
}

static int run_profile(hone_cli_t* cli) {
  hone_reporting_t r = {0};
  hone_thresholds_t thresholds;
  int64_t runs = hone_cli_int(cli, "runs", 20);
  if (runs < 1 || runs > MOST_RUNS)
    return hone_cli_usage(cli, "--runs takes a number from 1 to %d", MOST_RUNS);
  hone_cli_int(cli, "seed", 0);
  hone_cli_threads(cli);
  hone_cli_bytes(cli, "mem-limit", 0);
  if (!hone_thresholds_read(cli, &thresholds) || !hone_cli_ok(cli)) return HONE_EXIT_USAGE;
  hone_status_t status = profile(cli, &thresholds, &r);
  hone_reporting_close(&r);
  return status ? hone_cli_fail(cli, status) : HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    {.name = "runs", .argument = "COUNT", .help = "so many runs are timed; 20 without it"},
    {.name = "out",
     .letter = 'o',
     .argument = "FILE",
     .help = "also write a page (HTML): roofline, layers, memory over time, advice",
     .complete = HONE_COMPLETE_FILE},
    {.name = "trace",
     .argument = "FILE",
     .help = "write the last run as a Chrome trace (for Perfetto)",
     .complete = HONE_COMPLETE_FILE},
    {.name = "all", .help = "list all layers, not only the slowest"},
    HONE_OPTION_THRESHOLDS,
    HONE_OPTION_INPUT,
    HONE_OPTION_SHAPE,
    {.name = "seed", .argument = "NUMBER", .help = "for inputs that are made up"},
    HONE_OPTIONS_COMPILE,
    HONE_OPTION_JSON,
};

extern const hone_command_t hone_command_profile;
const hone_command_t hone_command_profile = {
    .name = "profile",
    .summary = "say where the time of a run goes, and what could be done about it",
    .arguments = "MODEL|ENGINE",
    .min_arguments = 1,
    .max_arguments = 1,
    .complete = HONE_COMPLETE_FILE,
    .description =
        "Runs a model on inputs that are given or made up, times each of its steps, and holds\n"
        "them against what the device can do at best, which is measured once and kept. The times\n"
        "of the layers and what lies between them sum to the whole. Advice is given where a "
        "figure\n"
        "is beyond its threshold.",
    .examples =
        "  hone profile net.onnx\n"
        "  hone profile net.hone --runs 100 -o report.html --trace trace.json\n"
        "  hone profile net.onnx --device opencl --min-efficiency 0.7",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_profile,
};
