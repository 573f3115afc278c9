/* hone explain: what became of each node of a model, why, and what it costs. */
#include <stdio.h>
#include <string.h>

#include "line.h"
#include "reporting.h"

enum { MOST_RUNS = 100000, MOST_NAMES = 6 };

/* ---- steps ---- */

/* "a (Conv), b (Relu) and 3 more" */
static void put_nodes(hone_str_t* line, const char* nodes) {
  int count = 0, shown = 0;
  for (const char* at = nodes; *at; at++) count += *at == '\n';
  for (const char* end; (end = strchr(nodes, '\n')) && shown < MOST_NAMES; nodes = end + 1)
    hone_str_appendf(line, "%s%.*s", shown++ ? ", " : "", (int)(end - nodes), nodes);
  if (count > shown) hone_str_appendf(line, " and %d more", count - shown);
}

static void put_work(hone_str_t* line, const hone_report_step_t* step) {
  char bytes[HONE_AMOUNT_SIZE];
  hone_print_bytes(step->read + step->written, bytes);
  if (!(step->read + step->written > 0)) return;
  hone_str_appendf(line, "      %.4g million operations, %s moved",
                   (step->arithmetic + step->transcendental) / 1e6, bytes);
  if (step->bound[0]) {
    char limit[HONE_AMOUNT_SIZE];
    hone_print_seconds(step->limit, limit);
    hone_str_appendf(line, "; at best %s, for %s", limit, step->bound);
  }
}

static void put_times(hone_str_t* line, const hone_report_step_t* step,
                      const hone_report_times_t* times) {
  char amount[HONE_AMOUNT_SIZE];
  hone_str_append(line, "      ");
  if (step->predicted > 0) {
    hone_print_seconds(step->predicted, amount);
    hone_str_appendf(line, "predicted %s, ", amount);
  }
  hone_print_seconds(step->seconds, amount);
  hone_str_appendf(line, "measured %s, %.1f %% of the run", amount,
                   times->profiled > 0 ? 100 * step->seconds / times->profiled : 0);
  if (step->runs > 1.5) hone_str_appendf(line, " in %.0f launches", step->runs);
  if (hone_step_share(step) > 0)
    hone_str_appendf(line, "; %.0f %% of the %s limit", 100 * hone_step_share(step), step->bound);
}

static hone_status_t print_step(const hone_report_t* report, int index, hone_str_t* line) {
  const hone_report_step_t* step = hone_report_step(report, index);
  const hone_report_times_t* times = hone_report_times(report);
  hone_str_appendf(line, "%5d ", index);
  put_nodes(line, step->nodes);
  HONE_TRY(hone_line_flush(line));
  hone_str_appendf(line, "      %s %s", step->kind, step->name);
  if (step->tactic[0]) hone_str_appendf(line, ", tactic %s", step->tactic);
  if (step->why[0]) hone_str_appendf(line, ": %s", step->why);
  if (step->turns) hone_str_appendf(line, "; in turns %d", step->turns);
  HONE_TRY(hone_line_flush(line));
  put_work(line, step);
  if (line->size) HONE_TRY(hone_line_flush(line));
  if (!times->runs || !(step->runs > 0) || hone_step_is(step, "view")) return NULL;
  put_times(line, step, times);
  return hone_line_flush(line);
}

/* ---- nodes that are gone ---- */

static hone_status_t print_gone(const hone_report_t* report, const char* filter, hone_str_t* line) {
  bool any = false;
  int constants = 0;
  for (int i = 0; i < hone_report_node_count(report); i++) {
    const hone_report_node_t* node = hone_report_node(report, i);
    if (node->step >= 0 || (filter && !strstr(node->name, filter))) continue;
    bool is_constant = strstr(node->name, " (Constant)") && !filter;
    constants += is_constant;
    if (is_constant) continue;
    if (!any) puts("\nnodes of which nothing is left to run:");
    any = true;
    hone_str_appendf(line, "      %s", node->name);
    hone_line_pad(line, 40);
    if (node->pass[0])
      hone_str_appendf(line, "  %s: %s", node->pass, node->what);
    else
      hone_str_append(line, "  part of the steps around it, or never computed");
    HONE_TRY(hone_line_flush(line));
  }
  if (!constants) return NULL;
  hone_str_appendf(line, "%sand %d nodes that are constants", any ? "      " : "\n", constants);
  return hone_line_flush(line);
}

/* ---- sums ---- */

static hone_status_t print_device(const hone_report_t* report, hone_str_t* line) {
  const hone_report_device_t* device = hone_report_device(report);
  if (!(device->gflops > 0)) return NULL;
  hone_str_appendf(line, "limits (%s): %.1f GFLOP/s of f32 on %d threads, %.1f on one",
                   device->source, device->gflops, device->threads, device->gflops_one);
  HONE_TRY(hone_line_flush(line));
  hone_str_appendf(line, "  %.1f GFLOP/s of bf16, %.1f of int8", device->gflops_bf16,
                   device->gflops_int8);
  HONE_TRY(hone_line_flush(line));
  for (int i = 0; i < device->n_levels; i++) {
    char size[HONE_AMOUNT_SIZE];
    hone_print_bytes(device->level_bytes[i], size);
    hone_str_appendf(line, "  reads %.1f GB/s", device->level_gbytes[i]);
    if (device->level_bytes[i] > 0)
      hone_str_appendf(line, " of up to %s", size);
    else
      hone_str_append(line, " of more");
    HONE_TRY(hone_line_flush(line));
  }
  return NULL;
}

/* What the driver takes before a kernel starts is a part of the kernel's time. */
static hone_status_t print_launches(const hone_report_times_t* times, const hone_usage_t* usage,
                                    hone_str_t* line) {
  char whole[HONE_AMOUNT_SIZE], each[HONE_AMOUNT_SIZE];
  hone_print_seconds(times->launches, whole);
  hone_print_seconds(times->launches / usage->launches, each);
  hone_str_appendf(line, "of that the driver took %s (%.1f %%) to start kernels: %.0f of %s each",
                   whole, 100 * usage->launch_share, usage->launches, each);
  return hone_line_flush(line);
}

static hone_status_t print_sums(const hone_report_t* report, hone_str_t* line) {
  const hone_report_times_t* times = hone_report_times(report);
  if (!times->runs) return NULL;
  const hone_usage_t usage = hone_report_usage(report);
  char amount[HONE_AMOUNT_SIZE];
  putchar('\n');
  HONE_TRY(print_device(report, line));
  hone_print_seconds(times->whole, amount);
  hone_str_appendf(line, "a run takes %s", amount);
  hone_print_seconds(times->profiled, amount);
  hone_str_appendf(line, ", and %s with each step timed (medians of %d)", amount, times->runs);
  HONE_TRY(hone_line_flush(line));
  hone_str_appendf(line, "named kernels account for %.1f %% of the measured time",
                   100 * usage.kernel_share);
  if (times->interpreted > 0)
    hone_str_appendf(line, ", interpreted steps for %.1f %%",
                     100 * times->interpreted / times->profiled);
  if (times->host > 0)
    hone_str_appendf(line, ", steps on strings, sequences or maps for %.1f %%",
                     100 * times->host / times->profiled);
  HONE_TRY(hone_line_flush(line));
  return times->launches > 0 ? print_launches(times, &usage, line) : NULL;
}

static hone_status_t print_text(const hone_reporting_t* r) {
  const char* filter = hone_cli_text(r->run.cli, "node", NULL);
  hone_str_t line;
  hone_str_init(&line, NULL);
  hone_print_subject(r, &line);
  hone_status_t status = hone_line_flush(&line);
  if (!status) status = hone_print_guess(r, &line);
  putchar('\n');
  for (int i = 0; i < hone_report_step_count(r->report) && !status; i++)
    if (hone_step_matches(hone_report_step(r->report, i), filter))
      status = print_step(r->report, i, &line);
  if (!status) status = print_gone(r->report, filter, &line);
  if (!status) status = print_sums(r->report, &line);
  hone_str_free(&line);
  return status;
}

/* ---- the whole ---- */

static hone_status_t print_json(const hone_reporting_t* r) {
  const char* filter = hone_cli_text(r->run.cli, "node", NULL);
  json_t* root = hone_json_subject(r);
  json_object_set_new(root, "limits", hone_json_device(r->report));
  json_object_set_new(root, "times", hone_json_times(r->report));
  json_object_set_new(root, "steps", hone_json_steps(r->report, filter));
  json_object_set_new(root, "nodes", hone_json_nodes(r->report, filter));
  return hone_json_print(root);
}

static hone_status_t check_filter(const hone_reporting_t* r) {
  const char* filter = hone_cli_text(r->run.cli, "node", NULL);
  bool found = !filter;
  for (int i = 0; i < hone_report_step_count(r->report) && !found; i++)
    found = hone_step_matches(hone_report_step(r->report, i), filter);
  for (int i = 0; i < hone_report_node_count(r->report) && !found; i++)
    found = strstr(hone_report_node(r->report, i)->name, filter) != NULL;
  if (found) return NULL;
  return hone_status_make(HONE_NOT_FOUND, "--node '%s': no node or kernel has that in its name",
                          filter);
}

static hone_status_t explain(hone_cli_t* cli, hone_reporting_t* r) {
  HONE_TRY(hone_reporting_open(cli, r));
  if (!hone_report_is_compiled(r->report))
    return hone_status_make(HONE_UNSUPPORTED,
                            "device '%s' takes whole graphs: there are no kernels to explain; "
                            "`hone profile` has times of its nodes",
                            hone_report_device(r->report)->name);
  HONE_TRY(check_filter(r));
  if (!hone_cli_has(cli, "no-run")) {
    HONE_TRY(hone_reporting_add_inputs(r, true));
    HONE_TRY(hone_reporting_measure(r, (int)hone_cli_int(cli, "runs", 10), NULL, NULL));
  }
  return hone_cli_has(cli, "json") ? print_json(r) : print_text(r);
}

static int run_explain(hone_cli_t* cli) {
  hone_reporting_t r = {0};
  int64_t runs = hone_cli_int(cli, "runs", 10);
  if (runs < 1 || runs > MOST_RUNS)
    return hone_cli_usage(cli, "--runs takes a number from 1 to %d", MOST_RUNS);
  hone_cli_int(cli, "seed", 0);
  hone_cli_threads(cli);
  hone_cli_bytes(cli, "mem-limit", 0);
  if (!hone_cli_ok(cli)) return HONE_EXIT_USAGE;
  hone_status_t status = explain(cli, &r);
  hone_reporting_close(&r);
  return status ? hone_cli_fail(cli, status) : HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    {.name = "node", .argument = "TEXT", .help = "only what has this in its name"},
    {.name = "no-run", .help = "measure nothing: neither the device nor the model"},
    {.name = "runs", .argument = "COUNT", .help = "so many runs are timed; 10 without it"},
    HONE_OPTION_INPUT,
    HONE_OPTION_SHAPE,
    {.name = "seed", .argument = "NUMBER", .help = "for inputs that are made up"},
    HONE_OPTIONS_COMPILE,
    HONE_OPTION_JSON,
};

extern const hone_command_t hone_command_explain;
const hone_command_t hone_command_explain = {
    .name = "explain",
    .summary = "say what became of each node of a model, why, and what it costs",
    .arguments = "MODEL|ENGINE",
    .min_arguments = 1,
    .max_arguments = 1,
    .complete = HONE_COMPLETE_FILE,
    .description =
        "For each step of the compiled model: the nodes that went into it, the kernel, the tactic\n"
        "that built it and why that one was chosen, the predicted and the measured time, and the\n"
        "share of what the device could do at best. Then the nodes of which nothing is left, and\n"
        "which pass took them (engine files do not know). Steps with the same number of turns are\n"
        "run part by part, what one makes while the next reads it; here each is measured by "
        "itself.\n"
        "Inputs that are not given are made up.",
    .examples =
        "  hone explain net.onnx\n"
        "  hone explain net.onnx --node conv_3\n"
        "  hone explain net.hone --no-run --json",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_explain,
};
