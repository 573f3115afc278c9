/* hone verify: the conformance program: all that a device has to compute, against `ref`. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/trace.h"
#include "command.h"
#include "value.h"
#include "verify/verify.h"

enum { RANDOM_GRAPHS = 200, MOST_GRAPHS = 1000000 };

typedef struct job {
  hone_cli_t* cli;
  hone_arena_t* arena;
  hone_verify_device_t device;
  hone_verify_options_t options;
  hone_verify_report_t report;
  hone_verify_result_t* results;
  hone_verify_journal_t* journal;
  int slice, slices; /* every slices-th unit, from number slice on */
} job_t;

/* ---- which units ---- */

/* A pattern with * or ?, or a part of the name. */
static bool is_wanted(const hone_cli_t* cli, const char* name) {
  int count = hone_cli_count(cli, "filter");
  for (int i = 0; i < count; i++) {
    const char* pattern = hone_cli_text_at(cli, "filter", i);
    bool fits =
        strpbrk(pattern, "*?[") ? fnmatch(pattern, name, 0) == 0 : strstr(name, pattern) != NULL;
    if (fits) return true;
  }
  return count == 0;
}

static hone_status_t choose_units(job_t* job) {
  int total;
  hone_verify_unit_t* units;
  int n_random = (int)hone_cli_int(job->cli, "random", RANDOM_GRAPHS);
  HONE_TRY(hone_verify_plan(job->arena, n_random, job->options.seed, &total, &units));
  job->results = hone_arena_array(job->arena, (size_t)total, sizeof *job->results);
  if (!job->results) return hone_oom();
  for (int i = 0; i < total; i++)
    if (is_wanted(job->cli, units[i].name) && i % job->slices == job->slice)
      job->results[job->report.count++].unit = &units[i];
  job->report.results = job->results;
  if (job->report.count) return NULL;
  return hone_status_make(HONE_NOT_FOUND,
                          "--filter: no unit has such a name; "
                          "`hone verify --list` names them");
}

static void list_units(const job_t* job) {
  for (int i = 0; i < job->report.count; i++) puts(job->results[i].unit->name);
}

/* ---- running ---- */

static void show_progress(const job_t* job, int done, const char* name) {
  enum { WIDTH = 40 };
  if (!isatty(STDERR_FILENO)) return;
  int filled = job->report.count ? done * WIDTH / job->report.count : WIDTH;
  fprintf(stderr, "\r[%.*s%*s] %d/%d %-32.32s", filled, "########################################",
          WIDTH - filled, "", done, job->report.count, name);
  if (done == job->report.count) fputs("\r\033[K", stderr);
  fflush(stderr);
}

static hone_status_t run_units(job_t* job) {
  for (int i = 0; i < job->report.count; i++) {
    hone_verify_result_t* result = &job->results[i];
    show_progress(job, i, result->unit->name);
    if (result->done) continue;
    HONE_TRY(hone_verify_unit_run(&job->device, &job->options, result->unit, result));
    if (job->journal) HONE_TRY(hone_verify_journal_add(job->journal, result));
  }
  show_progress(job, job->report.count, "");
  return NULL;
}

static hone_status_t write_report(const job_t* job, const char* path) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  bool html = hone_value_has_ending(path, ".html");
  hone_status_t status = (html ? hone_verify_html : hone_verify_json)(&job->report, &text);
  if (!status) status = hone_file_write(path, hone_str_text(&text), text.size);
  hone_str_free(&text);
  return status;
}

static hone_status_t print_json(const job_t* job) {
  hone_str_t text;
  hone_str_init(&text, NULL);
  hone_status_t status = hone_verify_json(&job->report, &text);
  if (!status) fputs(hone_str_text(&text), stdout);
  hone_str_free(&text);
  return status;
}

static hone_status_t do_verify(job_t* job) {
  hone_cli_t* cli = job->cli;
  HONE_TRY(hone_arena_create(NULL, &job->arena));
  HONE_TRY(choose_units(job));
  if (hone_cli_has(cli, "list")) {
    list_units(job);
    return NULL;
  }
  HONE_TRY(hone_verify_device_open(hone_cli_text(cli, "device", "cpu"),
                                   (int)hone_cli_int(cli, "threads", 0), hone_cli_has(cli, "guard"),
                                   &job->device));
  job->report.device = &job->device;
  job->report.seed = job->options.seed;
  const char *resume = hone_cli_text(cli, "resume", NULL), *out = hone_cli_text(cli, "out", NULL);
  if (resume) HONE_TRY(hone_verify_journal_open(resume, &job->report, job->results, &job->journal));
  int64_t start = hone_clock_ns();
  HONE_TRY(run_units(job));
  job->report.seconds = (double)(hone_clock_ns() - start) * 1e-9;
  hone_verify_count(&job->report);
  if (out) HONE_TRY(write_report(job, out));
  return hone_cli_has(cli, "json") ? print_json(job) : hone_verify_print(&job->report);
}

/* "3/50": the third of every fifty. */
static bool parse_slice(job_t* job) {
  enum { MOST = 1000000 };
  const char* text = hone_cli_text(job->cli, "slice", "1/1");
  char *slash, *end;
  long slice = strtol(text, &slash, 10);
  long slices = *slash == '/' ? strtol(slash + 1, &end, 10) : 0;
  if (slices < 1 || slices > MOST || *end || slice < 1 || slice > slices) {
    hone_cli_usage(job->cli, "--slice '%s': expected K/N with 1 <= K <= N", text);
    return false;
  }
  job->slice = (int)slice - 1;
  job->slices = (int)slices;
  return true;
}

static bool check_options(job_t* job) {
  hone_cli_t* cli = job->cli;
  int64_t n_random = hone_cli_int(cli, "random", 0);
  const char* out = hone_cli_text(cli, "out", ".json");
  job->options.seed = (uint64_t)hone_cli_int(cli, "seed", 1);
  job->options.cases = hone_cli_text(cli, "cases", "hone-verify-cases");
  if (n_random < 0 || n_random > MOST_GRAPHS)
    hone_cli_usage(cli, "--random takes a number from 0 to %d", MOST_GRAPHS);
  if (hone_cli_int(cli, "threads", 0) < 0) hone_cli_usage(cli, "--threads takes a number from 0");
  if (!hone_value_has_ending(out, ".json") && !hone_value_has_ending(out, ".html"))
    hone_cli_usage(cli, "--out '%s': expected a name that ends in .html or .json", out);
  return parse_slice(job) && hone_cli_ok(cli);
}

static int run_verify(hone_cli_t* cli) {
  job_t job = {.cli = cli};
  if (!check_options(&job)) return HONE_EXIT_USAGE;
  hone_status_t status = do_verify(&job);
  bool wrong = job.report.totals[HONE_VERIFY_DIFFERS] + job.report.totals[HONE_VERIFY_FAILED] > 0;
  hone_verify_journal_close(job.journal);
  hone_verify_device_close(&job.device);
  hone_arena_destroy(job.arena);
  if (status) return hone_cli_fail(cli, status);
  return wrong ? HONE_EXIT_FAILED : HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    {.name = "device",
     .letter = 'd',
     .argument = "DEVICE",
     .help = "the device to test, cpu without it; see `hone devices`",
     .complete = HONE_COMPLETE_DEVICE},
    {.name = "filter",
     .argument = "NAME",
     .repeats = true,
     .help = "only units whose name has this in it, or fits it as a pattern: 'reduce.*.f32'"},
    {.name = "list", .help = "print the names of the units, and run none"},
    {.name = "slice",
     .argument = "K/N",
     .help = "every N-th unit only, from the K-th on: a sample, or a share"},
    {.name = "random", .argument = "COUNT", .help = "how many random graphs; 200 without it"},
    {.name = "seed", .argument = "NUMBER", .help = "for inputs and random graphs; 1 without it"},
    {.name = "threads",
     .argument = "COUNT",
     .help = "that kernels may use, on devices that are made of threads; 0: all"},
    HONE_OPTION_GUARD,
    {.name = "resume",
     .argument = "FILE",
     .help = "keep a journal in the file, and leave out what it says is done",
     .complete = HONE_COMPLETE_FILE},
    {.name = "cases",
     .argument = "FOLDER",
     .help = "where cases that fail go; hone-verify-cases without it",
     .complete = HONE_COMPLETE_FOLDER},
    {.name = "out",
     .letter = 'o',
     .argument = "FILE",
     .help = "write a report, .html or .json",
     .complete = HONE_COMPLETE_FILE},
    HONE_OPTION_JSON,
};

static const char description[] =
    "Runs each primitive on each element type, in many shapes, on numbers that are easily got\n"
    "wrong, and random graphs of them, on a device and by `ref`, and compares. What the device\n"
    "refuses is run by `ref` in its place, and is counted apart, with the reason.\n"
    "\n"
    "Of each unit that differs the smallest case is written to a folder: graph.hg, inputs.npz and\n"
    "expected.npz, for `hone run graph.hg inputs.npz --device DEVICE`. Exits with 1 when anything\n"
    "differs or fails.";

extern const hone_command_t hone_command_verify;
const hone_command_t hone_command_verify = {
    .name = "verify",
    .summary = "test a device: every primitive on every element type, against ref",
    .arguments = "",
    .min_arguments = 0,
    .max_arguments = 0,
    .description = description,
    .examples =
        "  hone verify --device cpu --resume journal.jsonl -o report.html\n"
        "  hone verify --device opencl --filter 'contract.*'\n"
        "  hone verify --slice 1/50 --random 10   # a sample",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_verify,
};
