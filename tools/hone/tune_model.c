/* Tuning of models: a bar while it runs, a table when it ended. */
#include "tune_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trace.h"
#include "json.h"
#include "line.h"

enum { BAR = 20 };

static const double default_budget = 60; /* seconds */

/* ---- options ---- */

/* "60s", "2m", "1.5h", "500ms"; plain numbers are seconds. */
static bool parse_seconds(const char* text, double* out_seconds) {
  static const struct {
    const char* unit;
    double seconds;
  } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}};
  char* end;
  errno = 0;
  double number = strtod(text, &end);
  if (end == text || errno || !isfinite(number) || number < 0) return false;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strcmp(end, units[i].unit) == 0) {
      *out_seconds = number * units[i].seconds;
      return true;
    }
  return false;
}

static double seconds_of(hone_cli_t* cli, const char* option, double fallback) {
  const char* text = hone_cli_text(cli, option, NULL);
  double seconds = fallback;
  if (text && !parse_seconds(text, &seconds))
    hone_cli_usage(cli, "--%s takes a time as 60s, 500ms, 2m or 1h, not '%s'", option, text);
  return seconds;
}

static int64_t count_of(hone_cli_t* cli, const char* option) {
  int64_t count = hone_cli_int(cli, option, 0);
  if (count < 0 || count > 1000000000) hone_cli_usage(cli, "--%s takes a number from 0", option);
  return count;
}

static hone_status_t read_options(hone_cli_t* cli, hone_tuning_options_t* out) {
  *out = (hone_tuning_options_t){.struct_size = sizeof *out,
                                 .device = hone_cli_text(cli, "device", NULL),
                                 .threads = (int)count_of(cli, "threads"),
                                 .deterministic = hone_cli_has(cli, "deterministic"),
                                 .precision = hone_cli_text(cli, "precision", NULL),
                                 .exact = hone_cli_has(cli, "exact"),
                                 .database = hone_cli_text(cli, "db", NULL),
                                 .budget_seconds = seconds_of(cli, "budget", default_budget),
                                 .trials = count_of(cli, "trials"),
                                 .early_stopping = count_of(cli, "early-stopping"),
                                 .strategy = hone_cli_text(cli, "strategy", NULL),
                                 .seed = (uint64_t)count_of(cli, "seed"),
                                 .repeats = (int)count_of(cli, "repeats"),
                                 .build_timeout = seconds_of(cli, "build-timeout", 0),
                                 .run_timeout = seconds_of(cli, "run-timeout", 0),
                                 .retry_failures = hone_cli_has(cli, "retry-failures"),
                                 .log = hone_cli_text(cli, "log", NULL)};
  HONE_TRY(hone_cli_allocator(cli, &out->allocator));
  return hone_cli_dims(cli, &out->n_dims, &out->dims);
}

/* ---- while it runs ---- */

typedef struct bar {
  bool shown;
  double budget;
  int64_t last_ns; /* drawn at most ten times a second */
} bar_t;

/* "12.3 us" */
static void append_time(hone_str_t* line, double seconds) {
  static const struct {
    double scale;
    const char* unit;
  } units[] = {{1, "s"}, {1e3, "ms"}, {1e6, "us"}, {1e9, "ns"}};
  size_t at = 0;
  while (at < 3 && seconds * units[at].scale < 1) at++;
  if (seconds > 0)
    hone_str_appendf(line, "%.3g %s", seconds * units[at].scale, units[at].unit);
  else
    hone_str_append(line, "-");
}

static bool draw(void* self, const hone_tuning_progress_t* p) {
  bar_t* bar = self;
  int64_t now = hone_clock_ns();
  if (!bar->shown || now - bar->last_ns < 100000000) return true;
  bar->last_ns = now;
  hone_str_t line;
  hone_str_init(&line, NULL);
  double share = bar->budget > 0 ? p->spent / bar->budget : 1;
  int full = share > 1 ? BAR : (int)(share * BAR);
  hone_str_append(&line, "\r[");
  for (int i = 0; i < BAR; i++) hone_str_append(&line, i < full ? "#" : " ");
  hone_str_appendf(&line, "] %.0f s left, %lld trials, ", p->left, (long long)p->trials);
  if (!p->parameters[0]) {
    hone_str_appendf(&line, "whole runs %s %s", p->outcome, p->message);
  } else if (p->whole > 0 && p->untuned > 0) {
    hone_str_append(&line, "best so far ");
    append_time(&line, p->whole);
    hone_str_appendf(&line, ", %.2f of the default's speed", p->untuned / p->whole);
  } else {
    hone_str_appendf(&line, "%.40s", p->kernel);
  }
  hone_str_append(&line, "\x1b[K");
  if (!line.failed) fputs(hone_str_text(&line), stderr);
  hone_str_free(&line);
  return true;
}

static void clear(const bar_t* bar) {
  if (bar->shown && bar->last_ns) fputs("\r\x1b[K", stderr);
}

/* ---- when it ended ---- */

static double gain(double before, double after) { return after > 0 ? before / after : 0; }

static json_t* number_or_null(double seconds) {
  return seconds > 0 ? json_real(seconds) : json_null();
}

static json_t* kernel_json(const hone_tuning_kernel_t* kernel) {
  json_t* object = json_object();
  json_object_set_new(object, "name", hone_json_string(kernel->name));
  json_object_set_new(object, "origin", hone_json_string(kernel->origin));
  json_object_set_new(object, "count", json_integer(kernel->count));
  json_object_set_new(object, "tactic", hone_json_string(kernel->tactic));
  json_object_set_new(object, "parameters", hone_json_string(kernel->parameters));
  json_object_set_new(object, "skipped", hone_json_string(kernel->skipped));
  json_object_set_new(object, "trials", json_integer(kernel->trials));
  json_object_set_new(object, "known", json_integer(kernel->known));
  json_object_set_new(object, "failed", json_integer(kernel->failed));
  json_object_set_new(object, "default_seconds", number_or_null(kernel->default_seconds));
  json_object_set_new(object, "best_seconds", number_or_null(kernel->best_seconds));
  return object;
}

static json_t* report_json(const char* model, const hone_tuning_report_t* report) {
  json_t* object = json_object();
  json_t* kernels = json_array();
  for (int i = 0; i < report->n_kernels; i++)
    json_array_append_new(kernels, kernel_json(&report->kernels[i]));
  json_object_set_new(object, "model", hone_json_string(model));
  json_object_set_new(object, "database", hone_json_string(report->database));
  json_object_set_new(object, "database_error", hone_json_string(report->database_error));
  json_object_set_new(object, "stop", hone_json_string(report->stop));
  json_object_set_new(object, "seconds", json_real(report->seconds));
  json_object_set_new(object, "trials", json_integer(report->trials));
  json_object_set_new(object, "default_seconds", number_or_null(report->default_seconds));
  json_object_set_new(object, "best_seconds", number_or_null(report->best_seconds));
  json_object_set_new(
      object, "whole",
      json_pack("{s:o, s:i, s:i, s:i, s:o}", "gain", number_or_null(report->whole_gain),
                "confirmed", report->n_confirmed, "refused", report->n_refused, "untested",
                report->n_untested, "error", hone_json_string(report->whole_error)));
  json_object_set_new(object, "kernels", kernels);
  return object;
}

static hone_status_t print_row(hone_str_t* line, const hone_tuning_kernel_t* kernel) {
  double before = kernel->count * kernel->default_seconds;
  double after = kernel->count * kernel->best_seconds;
  hone_str_appendf(line, "%-.40s", kernel->name);
  hone_line_pad(line, 41);
  hone_str_appendf(line, "%5d  %-10s", kernel->count, kernel->tactic);
  hone_line_pad(line, 59);
  if (kernel->skipped[0]) {
    hone_str_append(line, kernel->skipped);
    return hone_line_flush(line);
  }
  append_time(line, before);
  hone_line_pad(line, 70);
  append_time(line, after);
  hone_line_pad(line, 81);
  if (after > 0) hone_str_appendf(line, "%5.2f", gain(before, after));
  hone_line_pad(line, 88);
  hone_str_appendf(line, "%6lld", (long long)(kernel->trials + kernel->known));
  return hone_line_flush(line);
}

static hone_status_t print_whole(hone_str_t* line, const hone_tuning_report_t* report) {
  hone_str_append(line, "all that was measured");
  hone_line_pad(line, 59);
  append_time(line, report->default_seconds);
  hone_line_pad(line, 70);
  append_time(line, report->best_seconds);
  hone_line_pad(line, 81);
  if (report->best_seconds > 0)
    hone_str_appendf(line, "%5.2f", gain(report->default_seconds, report->best_seconds));
  return hone_line_flush(line);
}

/* "whole runs: 1.03 times as fast, kept 7 of 9 (1 refused, 1 left for another tuning)" */
static hone_status_t print_confirmed(hone_str_t* line, const hone_tuning_report_t* report) {
  int refused = report->n_refused, untested = report->n_untested;
  int count = report->n_confirmed + refused + untested;
  if (count == 0 && !report->whole_error[0]) return NULL;
  hone_str_append(line, "whole runs: ");
  if (report->whole_error[0]) hone_str_appendf(line, "failed (%s)", report->whole_error);
  if (count == 0) return hone_line_flush(line);
  if (report->whole_error[0]) hone_str_append(line, ", ");
  if (report->whole_gain > 0) hone_str_appendf(line, "%.3f times as fast, ", report->whole_gain);
  hone_str_appendf(line, "kept %d of %d", report->n_confirmed, count);
  if (refused || untested)
    hone_str_appendf(line, " (%d refused, %d left for another tuning)", refused, untested);
  return hone_line_flush(line);
}

static hone_status_t print_report(const hone_tuning_report_t* report) {
  hone_str_t line;
  hone_str_init(&line, NULL);
  hone_str_append(&line,
                  "KERNEL                                   COUNT  TACTIC     DEFAULT    BEST"
                  "        GAIN  TRIALS");
  hone_status_t status = hone_line_flush(&line);
  for (int i = 0; i < report->n_kernels && !status; i++)
    status = print_row(&line, &report->kernels[i]);
  if (!status) status = print_whole(&line, report);
  if (!status) status = print_confirmed(&line, report);
  hone_str_free(&line);
  if (status) return status;
  printf("%lld trials in %.1f s: %s\n", (long long)report->trials, report->seconds, report->stop);
  if (report->database_error[0])
    fprintf(stderr, "hone tune: what was found is not kept: %s\n", report->database_error);
  else if (report->database[0])
    printf("kept in %s; compiling uses it from now on\n", report->database);
  return NULL;
}

/* ---- the models ---- */

static hone_status_t tune_model(const hone_model_t* model, const hone_tuning_options_t* options,
                                const char* path, json_t* reports) {
  hone_tuning_t* tuning;
  bar_t bar = {.shown = !reports && isatty(STDERR_FILENO), .budget = options->budget_seconds};
  hone_tuning_options_t own = *options;
  own.progress = draw;
  own.progress_self = &bar;
  hone_status_t tuned = hone_model_tune(model, &own, &tuning);
  clear(&bar);
  HONE_TRY(tuned);
  const hone_tuning_report_t* report = hone_tuning_report(tuning);
  hone_status_t status = NULL;
  if (reports)
    json_array_append_new(reports, report_json(path, report));
  else
    status = print_report(report);
  hone_tuning_destroy(tuning);
  return status;
}

static hone_status_t tune_one(hone_cli_t* cli, int index, const hone_tuning_options_t* options,
                              json_t* reports) {
  const char* path = hone_cli_argument(cli, index);
  hone_model_t* model;
  HONE_TRY(hone_cli_load(cli, index, &model));
  hone_status_t status = tune_model(model, options, path, reports);
  hone_model_destroy(model);
  return status;
}

/* Each model gets its share of the time that is left. */
static hone_status_t tune_all(hone_cli_t* cli, hone_tuning_options_t* options, json_t* reports) {
  int count = hone_cli_argument_count(cli);
  int64_t start = hone_clock_ns();
  double budget = options->budget_seconds;
  for (int i = 0; i < count; i++) {
    double left = budget - (double)(hone_clock_ns() - start) * 1e-9;
    options->budget_seconds = left > 0 ? left / (count - i) : 0;
    HONE_TRY(tune_one(cli, i, options, reports));
  }
  return NULL;
}

int hone_cli_tune_models(hone_cli_t* cli) {
  hone_tuning_options_t options;
  hone_status_t status = read_options(cli, &options);
  if (!status && !hone_cli_ok(cli)) return HONE_EXIT_USAGE;
  json_t* reports = hone_cli_has(cli, "json") ? json_array() : NULL;
  if (!status) status = tune_all(cli, &options, reports);
  if (!status && reports)
    return (status = hone_json_print(json_pack("{s:o}", "models", reports)))
               ? hone_cli_fail(cli, status)
               : HONE_EXIT_OK;
  json_decref(reports);
  return status ? hone_cli_fail(cli, status) : HONE_EXIT_OK;
}
