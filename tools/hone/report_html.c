/* The page of a report: what there is to say in numbers, and the pictures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "base/file.h"
#include "base/memory.h"
#include "hone/version.h"
#include "look.h"
#include "report_draw.h"
#include "report_types.h"

/* ---- head ---- */

static void put_head(FILE* file, const hone_reporting_t* r, const char* what) {
  const hone_report_device_t* device = hone_report_device(r->report);
  fputs(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>hone ",
      file);
  fprintf(file, "%s: ", what);
  hone_look_text(file, hone_path_basename(r->run.subject.path));
  fputs("</title>\n<style>\n", file);
  fputs(hone_look_style, file);
  fputs(hone_draw_style, file);
  fputs("</style></head><body>\n<h1>", file);
  hone_look_text(file, hone_path_basename(r->run.subject.path));
  fprintf(file, "</h1>\n<p class=\"soft\">hone %s %s on device <b>", hone_version(), what);
  hone_look_text(file, device->name);
  fputs("</b>", file);
  if (device->target[0]) {
    fputs(", ", file);
    hone_look_text(file, device->target);
  }
  if (device->threads > 0)
    fprintf(file, ", %d thread%s", device->threads, device->threads == 1 ? "" : "s");
  const char* name;
  for (int i = 0; (name = hone_report_size_name(r->report, i)); i++) {
    fputs(", ", file);
    hone_look_text(file, name);
    fprintf(file, " = %lld", (long long)hone_report_size(r->report, name));
  }
  fputs("</p>\n", file);
}

static void put_card(FILE* file, const char* number, const char* what) {
  fputs("<div class=\"card\"><b>", file);
  hone_look_text(file, number);
  fputs("</b><span class=\"soft\">", file);
  hone_look_text(file, what);
  fputs("</span></div>\n", file);
}

static void put_bytes_card(FILE* file, uint64_t bytes, const char* what) {
  char amount[HONE_AMOUNT_SIZE];
  hone_print_bytes((double)bytes, amount);
  put_card(file, amount, what);
}

static void put_share_card(FILE* file, double share, const char* what) {
  char amount[HONE_AMOUNT_SIZE];
  snprintf(amount, sizeof amount, "%.1f %%", 100 * share);
  put_card(file, amount, what);
}

/* ---- time ---- */

static void put_time_cards(FILE* file, const hone_report_t* report) {
  const hone_report_times_t* times = hone_report_times(report);
  const hone_usage_t usage = hone_report_usage(report);
  char amount[HONE_AMOUNT_SIZE];
  fputs("<div class=\"cards\">\n", file);
  hone_print_seconds(times->whole, amount);
  put_card(file, amount, "a run, median");
  hone_print_seconds(times->profiled, amount);
  put_card(file, amount, "with each step timed");
  if (hone_report_is_compiled(report)) {
    put_share_card(file, usage.kernel_share, "of the time in kernels");
    if (usage.launch_share > 0)
      put_share_card(file, usage.launch_share, "until the driver starts kernels");
    put_share_card(file, usage.limit_share, "of what the device could do");
    put_bytes_card(file, hone_report_memory(report)->total, "memory at the peak");
  }
  fputs("</div>\n", file);
}

static void put_advice(FILE* file, const hone_advice_t* advice) {
  fputs("<h2>Advice</h2>\n<div class=\"card\"><ul class=\"advice\">\n", file);
  for (int i = 0; i < advice->count; i++) {
    fputs("<li>", file);
    hone_look_text(file, advice->lines[i]);
    fputs("</li>\n", file);
  }
  fputs("</ul></div>\n", file);
}

static void put_number_cell(FILE* file, double value, const char* text) {
  fprintf(file, "<td class=\"n\" data-value=\"%.9g\">", value);
  hone_look_text(file, text);
  fputs("</td>", file);
}

static void put_bar_cell(FILE* file, const char* type, double share) {
  fprintf(file,
          "<td class=\"wide\" data-value=\"%.6f\"><span class=\"bar\" style=\"--hue:%d;"
          "width:%.2f%%\"></span></td>",
          share, hone_look_hue(type), 100 * share);
}

static void put_time_cells(FILE* file, double seconds, double whole) {
  char text[HONE_AMOUNT_SIZE];
  hone_print_seconds(seconds, text);
  put_number_cell(file, seconds, text);
  snprintf(text, sizeof text, "%.1f %%", whole > 0 ? 100 * seconds / whole : 0);
  put_number_cell(file, seconds, text);
}

static hone_status_t put_types(FILE* file, const hone_report_t* report) {
  hone_types_t types;
  double whole = hone_report_times(report)->profiled;
  HONE_TRY(hone_types_sum(report, &types));
  fputs(
      "<h2>Time by type of node</h2>\n<div class=\"card scroll\"><table class=\"sort\"><thead><tr>"
      "<th>type</th><th class=\"n\">steps</th><th class=\"n\">time</th><th class=\"n\">share</th>"
      "<th></th></tr></thead><tbody>\n",
      file);
  for (int i = 0; i < types.count; i++) {
    const hone_type_sum_t* type = &types.list[i];
    fputs("<tr><td>", file);
    hone_look_text(file, type->name);
    fprintf(file, "</td><td class=\"n\">%d</td>", type->steps);
    put_time_cells(file, type->seconds, whole);
    put_bar_cell(file, type->name,
                 types.list[0].seconds > 0 ? type->seconds / types.list[0].seconds : 0);
    fputs("</tr>\n", file);
  }
  fputs("</tbody></table></div>\n", file);
  hone_types_free(&types);
  return NULL;
}

/* ---- layers ---- */

static void put_step(FILE* file, const hone_report_t* report, int index, double slowest) {
  const hone_report_step_t* step = hone_report_step(report, index);
  char type[64], text[HONE_AMOUNT_SIZE];
  hone_step_type(step, type);
  fprintf(file, "<tr><td class=\"n\">%d</td><td class=\"name\" title=\"", index);
  hone_look_text(file, step->nodes);
  fputs("\">", file);
  hone_look_text(file, step->origin[0] ? step->origin : step->name);
  fputs("<br><span class=\"soft\">", file);
  hone_look_text(file, step->kind);
  fputs(" ", file);
  hone_look_text(file, step->name);
  if (step->tactic[0]) fputs(", tactic ", file);
  hone_look_text(file, step->tactic);
  fputs("</span></td>", file);
  put_time_cells(file, step->seconds, hone_report_times(report)->profiled);
  put_bar_cell(file, type, slowest > 0 ? step->seconds / slowest : 0);
  double share = hone_step_share(step);
  snprintf(text, sizeof text, "%.0f %%", 100 * share);
  put_number_cell(file, share, share > 0 ? text : "");
  fprintf(file, "<td>%s</td></tr>\n", share > 0 ? step->bound : "");
}

static double slowest_of(const hone_report_t* report) {
  double slowest = 0;
  for (int i = 0; i < hone_report_step_count(report); i++)
    if (hone_report_step(report, i)->seconds > slowest)
      slowest = hone_report_step(report, i)->seconds;
  return slowest;
}

static void put_layers(FILE* file, const hone_report_t* report) {
  double slowest = slowest_of(report), whole = hone_report_times(report)->profiled;
  fputs(
      "<h2>Layers</h2>\n<p class=\"soft\">In the order in which they run; a click on a table's "
      "head sorts it. All rows together are the whole.</p>\n"
      "<div class=\"card scroll\"><table class=\"sort\"><thead><tr><th class=\"n\">step</th>"
      "<th>layer</th><th class=\"n\">time</th><th class=\"n\">share</th><th></th>"
      "<th class=\"n\">of its limit</th><th>limit</th></tr></thead><tbody>\n",
      file);
  for (int i = 0; i < hone_report_step_count(report); i++)
    if (hone_report_step(report, i)->runs > 0) put_step(file, report, i, slowest);
  double rest = hone_report_times(report)->rest;
  fputs("<tr><td></td><td>between steps</td>", file);
  put_time_cells(file, rest, whole);
  put_bar_cell(file, "", slowest > 0 && rest < slowest ? rest / slowest : 1);
  fputs("<td></td><td></td></tr>\n</tbody></table></div>\n", file);
}

/* ---- memory ---- */

static void put_memory_cards(FILE* file, const hone_report_t* report) {
  const hone_report_memory_t* m = hone_report_memory(report);
  fputs("<div class=\"cards\">\n", file);
  put_bytes_card(file, m->total, "at the peak of a run");
  put_bytes_card(file, m->weights + m->copied, "weights, copies included");
  put_bytes_card(file, m->planned, "planned block");
  put_bytes_card(file, m->unshared, "without reuse");
  put_share_card(file, m->unshared ? 1 - (double)m->planned / (double)m->unshared : 0, "saved");
  put_bytes_card(file, m->heap + m->inputs + m->outputs, "inputs, outputs, other values");
  put_bytes_card(file, m->tables + m->stacks, "kernels, tables, stacks");
  fputs("</div>\n", file);
}

static void put_value(FILE* file, const hone_report_value_t* value) {
  char amount[HONE_AMOUNT_SIZE];
  hone_print_bytes((double)value->bytes, amount);
  fputs("<tr><td class=\"name\">", file);
  hone_look_text(file, value->name);
  fputs("</td>", file);
  put_number_cell(file, (double)value->bytes, amount);
  fprintf(file, "<td class=\"n\">%d</td><td class=\"n\">%d</td>", value->begin, value->end);
  if (value->is_planned)
    fprintf(file, "<td class=\"n\">%llu</td><td>",
            (unsigned long long)(value->block + value->offset));
  else
    fputs("<td class=\"n\"></td><td>on the heap", file);
  if (value->in_place) fputs("in place of ", file);
  hone_look_text(file, value->in_place ? value->in_place : "");
  fputs("</td></tr>\n", file);
}

static void put_memory(FILE* file, const hone_report_t* report) {
  fputs("<h2>Memory</h2>\n", file);
  put_memory_cards(file, report);
  hone_draw_memory(file, report);
  fputs("<h3>The planned block</h3>\n", file);
  hone_draw_block(file, report);
  fputs(
      "<details><summary>All values</summary><div class=\"card scroll\"><table class=\"sort\">"
      "<thead><tr><th>value</th><th class=\"n\">size</th><th class=\"n\">first step</th>"
      "<th class=\"n\">last step</th><th class=\"n\">offset</th><th></th></tr></thead><tbody>\n",
      file);
  for (int i = 0; i < hone_report_value_count(report); i++)
    put_value(file, hone_report_value(report, i));
  fputs("</tbody></table></div></details>\n", file);
}

/* ---- the whole ---- */

static void put_limits(FILE* file, const hone_report_t* report) {
  const hone_report_device_t* device = hone_report_device(report);
  if (!(device->gflops > 0)) return;
  fprintf(file,
          "<h2>Roofline</h2>\n<p class=\"soft\">What the device can do (%s): %.4g GFLOP/s of f32 "
          "on %d threads, %.4g on one, %.4g of bf16, %.4g of int8.</p>\n",
          device->source, device->gflops, device->threads, device->gflops_one, device->gflops_bf16,
          device->gflops_int8);
  hone_draw_roofline(file, report);
}

static hone_status_t put_page(FILE* file, const hone_reporting_t* r, const hone_advice_t* advice) {
  const hone_report_t* report = r->report;
  put_head(file, r, advice ? "profile" : "plan");
  if (advice) {
    put_time_cards(file, report);
    put_advice(file, advice);
    put_limits(file, report);
    HONE_TRY(put_types(file, report));
    put_layers(file, report);
  }
  if (hone_report_is_compiled(report)) put_memory(file, report);
  fputs("<script>\n", file);
  fputs(hone_look_script, file);
  fputs("</script></body></html>\n", file);
  return NULL;
}

hone_status_t hone_report_write_page(const hone_reporting_t* r, const hone_advice_t* advice,
                                     const char* path) {
  char* text = NULL;
  size_t size = 0;
  FILE* file = open_memstream(&text, &size);
  if (!file) return hone_oom();
  hone_status_t status = put_page(file, r, advice);
  bool failed = ferror(file) != 0;
  failed |= fclose(file) != 0;
  if (!status && failed) status = hone_oom();
  if (!status) status = hone_file_write(path, text, size);
  free(text);
  return status;
}
