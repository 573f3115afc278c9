/* hone plan: what a model takes in memory, before it runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "line.h"
#include "reporting.h"

enum { MOST_VALUES = 40, MOST_UNKNOWN = 8, BAR = 44, NAME = 27 };

/* ---- text ---- */

static hone_status_t print_amount(hone_str_t* line, const char* name, uint64_t bytes,
                                  const char* about) {
  char amount[HONE_AMOUNT_SIZE];
  hone_print_bytes((double)bytes, amount);
  hone_str_appendf(line, "  %-9s %14llu  %9s  %s", name, (unsigned long long)bytes, amount, about);
  return hone_line_flush(line);
}

static hone_status_t print_memory(const hone_report_t* report, hone_str_t* line) {
  const hone_report_memory_t* m = hone_report_memory(report);
  char about[160], unshared[HONE_AMOUNT_SIZE];
  hone_print_bytes((double)m->unshared, unshared);
  snprintf(about, sizeof about, "%d values share it; %s without reuse, %.1f %% saved", m->n_values,
           unshared, m->unshared ? 100 * (1 - (double)m->planned / (double)m->unshared) : 0);
  HONE_TRY(print_amount(line, "weights", m->weights, "of the model, as it will be read"));
  HONE_TRY(print_amount(line, "copies", m->copied, "of weights, where the device needs its own"));
  HONE_TRY(print_amount(line, "planned", m->planned, about));
  HONE_TRY(print_amount(line, "heap", m->heap, "most of all else at once"));
  HONE_TRY(print_amount(line, "inputs", m->inputs, ""));
  HONE_TRY(print_amount(line, "outputs", m->outputs, ""));
  HONE_TRY(print_amount(line, "tables", m->tables, "kernels, and what says how they are run"));
  HONE_TRY(print_amount(line, "stacks", m->stacks, "arrays of kernels, of all threads"));
  HONE_TRY(print_amount(line, "total", m->total, "at the peak of a run, beside hone itself"));
  hone_print_bytes((double)m->least, unshared);
  hone_str_appendf(line, "  %d of the values are written in place; no plan takes less than %s",
                   m->n_in_place, unshared);
  HONE_TRY(hone_line_flush(line));
  return NULL;
}

/* "  boxes: i64[n, 3] (keep_4 (NonMaxSuppression)), at most 2.40 kB". */
static hone_status_t print_one_unknown(const hone_report_unknown_t* unknown, hone_str_t* line) {
  char amount[HONE_AMOUNT_SIZE];
  const char* origin = unknown->origin[0] ? unknown->origin : unknown->step;
  if (!unknown->value)
    hone_str_appendf(line, "    what %s works in", origin);
  else
    hone_str_appendf(line, "    %s%s%s, of %s", unknown->value, unknown->type[0] ? ": " : "",
                     unknown->type, origin);
  if (unknown->most >= 0) {
    hone_print_bytes((double)unknown->most, amount);
    hone_str_appendf(line, ", at most %s", amount);
  }
  return hone_line_flush(line);
}

static hone_status_t print_unknown(const hone_report_t* report, bool all, hone_str_t* line) {
  int count = hone_report_unknown_count(report);
  int shown = all || count < MOST_UNKNOWN ? count : MOST_UNKNOWN;
  if (!count) return NULL;
  hone_str_append(line, "  more is needed; how much, only a run can tell:");
  HONE_TRY(hone_line_flush(line));
  for (int i = 0; i < shown; i++) HONE_TRY(print_one_unknown(hone_report_unknown(report, i), line));
  if (shown == count) return NULL;
  hone_str_appendf(line, "    … and %d others; --all shows them", count - shown);
  return hone_line_flush(line);
}

static int largest_first(const void* a, const void* b) {
  const hone_report_value_t *x = *(const hone_report_value_t*const*)a,
                            *y = *(const hone_report_value_t*const*)b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->first - y->first;
}

static int in_order(const void* a, const void* b) {
  const hone_report_value_t *x = *(const hone_report_value_t*const*)a,
                            *y = *(const hone_report_value_t*const*)b;
  if (x->routine != y->routine) return x->routine - y->routine;
  return x->first != y->first ? x->first - y->first : x->last - y->last;
}

static int last_step(const hone_report_t* report, int routine) {
  int last = 0;
  for (int i = 0; i < hone_report_step_count(report); i++)
    if (hone_report_step(report, i)->routine == routine) last = hone_report_step(report, i)->index;
  return last;
}

/* "  ▕    ████      ▏": when it lives, in the steps of its routine. */
static void put_bar(hone_str_t* line, const hone_report_value_t* value, int last) {
  int steps = last + 1;
  for (int c = 0; c < BAR; c++) {
    int from = c * steps / BAR, to = (c + 1) * steps / BAR;
    if (to <= from) to = from + 1;
    bool alive = value->first < to && value->last >= from;
    hone_str_append(line, alive ? (value->is_planned ? "█" : "▒") : "·");
  }
}

static hone_status_t print_value(const hone_report_t* report, const hone_report_value_t* value,
                                 hone_str_t* line) {
  char amount[HONE_AMOUNT_SIZE];
  hone_print_bytes((double)value->bytes, amount);
  size_t start = line->size;
  hone_str_appendf(line, "  %.*s", NAME - 2, value->name);
  hone_line_pad(line, start + NAME);
  hone_str_appendf(line, " %9s %5d %5d  ", amount, value->first, value->last);
  put_bar(line, value, last_step(report, value->routine));
  if (value->in_place) hone_str_append(line, " *");
  return hone_line_flush(line);
}

static hone_status_t print_list(const hone_report_t* report, const hone_report_value_t** list,
                                int count, bool all, hone_str_t* line) {
  int shown = all || count < MOST_VALUES ? count : MOST_VALUES;
  qsort(list, (size_t)count, sizeof *list, largest_first);
  qsort(list, (size_t)shown, sizeof *list, in_order);
  hone_str_appendf(line, "  %-*s %9s %5s %5s  alive, by step; * in place, ▒ on the heap", NAME - 2,
                   "value", "size", "first", "last");
  HONE_TRY(hone_line_flush(line));
  for (int i = 0; i < shown; i++) HONE_TRY(print_value(report, list[i], line));
  if (shown == count) return NULL;
  hone_str_appendf(line, "  … and %d smaller ones; --all shows them", count - shown);
  return hone_line_flush(line);
}

static hone_status_t print_values(const hone_report_t* report, bool all, hone_str_t* line) {
  int count = hone_report_value_count(report);
  if (!count) return NULL;
  size_t bytes = (size_t)count * sizeof(hone_report_value_t*);
  const hone_report_value_t** list = hone_alloc(NULL, bytes);
  if (!list) return hone_oom();
  for (int i = 0; i < count; i++) list[i] = hone_report_value(report, i);
  putchar('\n');
  hone_status_t status = print_list(report, list, count, all, line);
  hone_free(NULL, (void*)(uintptr_t)list, bytes);
  return status;
}

static hone_status_t print_text(const hone_reporting_t* r) {
  hone_str_t line;
  hone_str_init(&line, NULL);
  hone_print_subject(r, &line);
  hone_status_t status = hone_line_flush(&line);
  bool all = hone_cli_has(r->run.cli, "all");
  if (!status) status = hone_print_guess(r, &line);
  if (!status) status = print_memory(r->report, &line);
  if (!status) status = print_unknown(r->report, all, &line);
  if (!status) status = print_values(r->report, all, &line);
  hone_str_free(&line);
  return status;
}

/* ---- the whole ---- */

static hone_status_t print_json(const hone_reporting_t* r) {
  json_t* root = hone_json_subject(r);
  json_object_set_new(root, "memory", hone_json_memory(r->report));
  json_object_set_new(root, "unknown", hone_json_unknown(r->report));
  json_object_set_new(root, "values", hone_json_values(r->report));
  return hone_json_print(root);
}

static hone_status_t plan(hone_cli_t* cli, hone_reporting_t* r) {
  HONE_TRY(hone_reporting_open(cli, r));
  if (!hone_report_is_compiled(r->report))
    return hone_status_make(HONE_UNSUPPORTED,
                            "device '%s' takes whole graphs and plans no memory; choose one that "
                            "runs kernels, for example cpu",
                            hone_report_device(r->report)->name);
  if (hone_cli_has(cli, "shape") || hone_cli_has(cli, "input"))
    HONE_TRY(hone_reporting_add_inputs(r, false));
  const char* path = hone_cli_text(cli, "out", NULL);
  if (path) HONE_TRY(hone_report_write_page(r, NULL, path));
  return hone_cli_has(cli, "json") ? print_json(r) : print_text(r);
}

static int run_plan(hone_cli_t* cli) {
  hone_reporting_t r = {0};
  hone_cli_threads(cli);
  hone_cli_bytes(cli, "mem-limit", 0);
  if (!hone_cli_ok(cli)) return HONE_EXIT_USAGE;
  hone_status_t status = plan(cli, &r);
  hone_reporting_close(&r);
  return status ? hone_cli_fail(cli, status) : HONE_EXIT_OK;
}

static const hone_option_t options[] = {
    {.name = "out",
     .letter = 'o',
     .argument = "FILE",
     .help = "also write a page (HTML) with a picture of the plan",
     .complete = HONE_COMPLETE_FILE},
    {.name = "all", .help = "list all values, not only the largest"},
    HONE_OPTION_INPUT,
    HONE_OPTION_SHAPE,
    HONE_OPTIONS_COMPILE,
    HONE_OPTION_JSON,
};

extern const hone_command_t hone_command_plan;
const hone_command_t hone_command_plan = {
    .name = "plan",
    .summary = "say what a model takes in memory, before it runs",
    .arguments = "MODEL|ENGINE",
    .min_arguments = 1,
    .max_arguments = 1,
    .complete = HONE_COMPLETE_FILE,
    .description =
        "Says in bytes what a run of a model will take at its peak, what is saved by values that\n"
        "share memory, and when each of them lives. Sizes that are open are those of --dim (of a\n"
        "range the largest), or of the inputs that --shape and --input give, else the least that\n"
        "is allowed, from 1. Without --device it is about cpu.",
    .examples =
        "  hone plan net.onnx\n"
        "  hone plan net.onnx --dim batch=8 -o plan.html\n"
        "  hone plan net.hone --shape image=1,3,480,640\n"
        "  hone plan net.hone --json",
    .n_options = sizeof options / sizeof *options,
    .options = options,
    .run = run_plan,
};
