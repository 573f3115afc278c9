#include "advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- thresholds ---- */

static bool read_share(hone_cli_t* cli, const char* name, double most, double* number) {
  const char* text = hone_cli_text(cli, name, NULL);
  if (!text) return true;
  char* end;
  *number = strtod(text, &end);
  if (*text && !*end && *number >= 0 && *number <= most) return true;
  hone_cli_usage(cli, "--%s takes a number from 0 to %g, not '%s'", name, most, text);
  return false;
}

bool hone_thresholds_read(hone_cli_t* cli, hone_thresholds_t* out) {
  *out = (hone_thresholds_t){.utilisation = 0.8,
                             .efficiency = 0.5,
                             .memory = 0.25,
                             .fragmentation = 0.15,
                             .interpreted = 0.05,
                             .bound = 0.5,
                             .layout = 0.1,
                             .small = 5};
  const struct {
    const char* name;
    double most;
    double* number;
  } rows[] = {
      {"min-utilisation", 1, &out->utilisation}, {"min-efficiency", 1, &out->efficiency},
      {"min-memory-use", 1, &out->memory},       {"max-fragmentation", 1, &out->fragmentation},
      {"max-interpreted", 1, &out->interpreted}, {"max-memory-bound", 1, &out->bound},
      {"max-layout", 1, &out->layout},           {"small-us", 1e9, &out->small}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!read_share(cli, rows[i].name, rows[i].most, rows[i].number)) return false;
  out->small *= 1e-6;
  return true;
}

/* ---- saying ---- */

static void say(hone_advice_t* advice, const char* format, ...) HONE_PRINTF(2, 3);
static void say(hone_advice_t* advice, const char* format, ...) {
  if (advice->count == HONE_MOST_ADVICE) return;
  va_list args;
  va_start(args, format);
  vsnprintf(advice->lines[advice->count++], HONE_ADVICE_SIZE, format, args);
  va_end(args);
}

static double percent(double share) { return 100 * share; }

/* ---- steps ---- */

static bool only_moves(const hone_report_step_t* step) {
  static const char moving[] =
      " Transpose Reshape Concat Slice Split Pad Squeeze Unsqueeze Expand Gather Identity "
      "Flatten DepthToSpace SpaceToDepth Tile ";
  for (const char *at = step->nodes, *end; (end = strchr(at, '\n')); at = end + 1) {
    char word[64];
    const char* open = end;
    while (open > at && *open != '(') open--;
    snprintf(word, sizeof word, " %.*s ", (int)(end - open > 40 ? 40 : end - open - 2), open + 1);
    if (*open != '(' || !strstr(moving, word)) return false;
  }
  return step->nodes[0] != 0;
}

typedef struct survey {
  double moving; /* seconds in steps that only move data */
  int n_moving, n_small, n_kernels;
  const hone_report_step_t* slow;        /* the kernel that loses most to its limit */
  const hone_report_step_t* interpreted; /* the slowest of those */
} survey_t;

static double loss(const hone_report_step_t* step) {
  return step->limit > 0 ? step->seconds - step->limit * step->runs : 0;
}

static void survey_step(const hone_report_step_t* step, double small, survey_t* s) {
  if (hone_step_is(step, "interpreted") &&
      (!s->interpreted || step->seconds > s->interpreted->seconds))
    s->interpreted = step;
  if (!hone_step_is(step, "kernel") || !(step->runs > 0)) return;
  s->n_kernels++;
  s->n_small += step->seconds / step->runs < small;
  if (only_moves(step)) {
    s->moving += step->seconds;
    s->n_moving++;
  }
  if (!s->slow || loss(step) > loss(s->slow)) s->slow = step;
}

static survey_t survey(const hone_report_t* report, double small) {
  survey_t s = {0};
  for (int i = 0; i < hone_report_step_count(report); i++)
    survey_step(hone_report_step(report, i), small, &s);
  return s;
}

/* ---- advice on time ---- */

static void advise_interpreted(const hone_report_t* report, const hone_thresholds_t* t,
                               const survey_t* s, hone_advice_t* out) {
  const hone_report_times_t* times = hone_report_times(report);
  double share = times->profiled > 0 ? times->interpreted / times->profiled : 0;
  if (!s->interpreted || share <= t->interpreted) return;
  say(out,
      "%.1f %% of the time is spent interpreting. Most of it in %s: %s. Another way to write "
      "these nodes may have kernels.",
      percent(share), s->interpreted->origin[0] ? s->interpreted->origin : s->interpreted->name,
      s->interpreted->why);
}

static void advise_launches(const hone_usage_t* usage, const hone_thresholds_t* t,
                            const survey_t* s, hone_advice_t* out) {
  if (usage->kernel_share < t->utilisation && s->n_kernels)
    say(out,
        "Only %.1f %% of the time is spent in kernels; the rest goes into starting them and "
        "between them. A larger batch gives each launch more to do.",
        percent(usage->kernel_share));
  if (s->n_small > 2 && 2 * s->n_small > s->n_kernels)
    say(out,
        "%d of %d launches take less than %.3g us each: they cost more to start than to run. "
        "Larger inputs, or fewer threads (--threads), suit them better.",
        s->n_small, s->n_kernels, t->small * 1e6);
}

static void advise_kernels(const hone_report_t* report, const hone_usage_t* usage,
                           const hone_thresholds_t* t, const survey_t* s, hone_advice_t* out) {
  double share = s->slow ? hone_step_share(s->slow) : 0;
  if (usage->limit_share > 0 && usage->limit_share < t->efficiency)
    say(out,
        "Kernels do %.1f %% of what the device could. `hone tune` looks for better schedules; most "
        "is to be gained in %s (%s), which reaches %.1f %% of its %s limit.",
        percent(usage->limit_share), s->slow ? s->slow->origin : "", s->slow ? s->slow->name : "",
        percent(share), s->slow ? s->slow->bound : "");
  if (usage->memory_bound > t->bound)
    say(out,
        "%.1f %% of the kernels' time is limited by memory. --precision bf16 or int8 halves or "
        "quarters what is read of weights.",
        percent(usage->memory_bound));
  double profiled = hone_report_times(report)->profiled;
  if (profiled > 0 && s->moving / profiled > t->layout)
    say(out,
        "%d steps that only move data take %.1f %% of the time. A layout that suits the nodes "
        "around them would need fewer.",
        s->n_moving, percent(s->moving / profiled));
}

/* ---- advice on memory ---- */

static void advise_memory(const hone_report_t* report, const hone_usage_t* usage,
                          const hone_thresholds_t* t, hone_advice_t* out) {
  const hone_report_memory_t* m = hone_report_memory(report);
  char planned[HONE_AMOUNT_SIZE], average[HONE_AMOUNT_SIZE], weights[HONE_AMOUNT_SIZE];
  hone_print_bytes((double)m->planned, planned);
  hone_print_bytes(usage->average_bytes, average);
  hone_print_bytes((double)m->copied, weights);
  if (m->planned && usage->memory_efficiency < t->memory)
    say(out,
        "Of the planned block of %s only %s are in use on average: a few values make the peak "
        "(`hone plan` shows which). Smaller inputs, or --precision, lower it.",
        planned, average);
  if (usage->fragmentation > t->fragmentation)
    say(out, "%.1f %% of the planned block lies in gaps between values that are alive at the peak.",
        percent(usage->fragmentation));
  if (m->copied)
    say(out,
        "%s of weights are held twice, by the device and by the host. An engine file (`hone "
        "compile -o`) has them where the device can use them.",
        weights);
}

void hone_advise(const hone_report_t* report, const hone_thresholds_t* thresholds,
                 hone_advice_t* out) {
  *out = (hone_advice_t){0};
  if (!hone_report_is_compiled(report)) {
    say(out,
        "Device '%s' takes whole graphs, node by node. --device cpu compiles kernels, which are "
        "faster.",
        hone_report_device(report)->name);
    return;
  }
  const hone_usage_t usage = hone_report_usage(report);
  survey_t s = survey(report, thresholds->small);
  advise_interpreted(report, thresholds, &s, out);
  advise_launches(&usage, thresholds, &s, out);
  advise_kernels(report, &usage, thresholds, &s, out);
  advise_memory(report, &usage, thresholds, out);
  if (!out->count) say(out, "Nothing stands out: the model suits this device well.");
}
