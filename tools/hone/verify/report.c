/* What came out of a run of the conformance program: for people, machines and browsers. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "hone/version.h"
#include "json.h"
#include "line.h"
#include "verify/verify.h"

void hone_verify_count(hone_verify_report_t* report) {
  memset(report->totals, 0, sizeof report->totals);
  for (int i = 0; i < report->count; i++)
    for (int f = 0; f < HONE_VERIFY_FORM_COUNT; f++)
      report->totals[report->results[i].cells[f].verdict]++;
}

static const char* form_of(const hone_verify_result_t* result, int form) {
  return result->unit->row ? hone_verify_form_name((hone_verify_form_t)form) : "graph";
}

/* The worst of a unit. */
static hone_verify_verdict_t verdict_of(const hone_verify_result_t* result) {
  hone_verify_verdict_t worst = HONE_VERIFY_ABSENT;
  for (int f = 0; f < HONE_VERIFY_FORM_COUNT; f++)
    if (result->cells[f].verdict > worst) worst = result->cells[f].verdict;
  return worst;
}

/* ---- reasons why the device refuses ---- */

typedef struct reason {
  const char* text;
  int64_t count;
  const char *first, *last; /* units */
} reason_t;

enum { MOST_REASONS = 64 };

static int list_reasons(const hone_verify_report_t* report, reason_t* reasons) {
  int count = 0;
  for (int i = 0; i < report->count; i++)
    for (int f = 0; f < HONE_VERIFY_FORM_COUNT; f++) {
      const hone_verify_cell_t* cell = &report->results[i].cells[f];
      if (cell->verdict != HONE_VERIFY_INTERPRETED) continue;
      int k = 0;
      while (k < count && strcmp(reasons[k].text, cell->text) != 0) k++;
      if (k == MOST_REASONS) continue;
      const char* name = report->results[i].unit->name;
      if (k == count) reasons[count++] = (reason_t){cell->text, 0, name, name};
      reasons[k].count++;
      reasons[k].last = name;
    }
  return count;
}

/* ---- for people ---- */

static hone_status_t print_problems(const hone_verify_report_t* report, hone_str_t* line) {
  enum { MOST = 40 };
  int shown = 0;
  for (int i = 0; i < report->count; i++)
    for (int f = 0; f < HONE_VERIFY_FORM_COUNT; f++) {
      const hone_verify_result_t* result = &report->results[i];
      if (result->cells[f].verdict < HONE_VERIFY_DIFFERS || shown++ >= MOST) continue;
      hone_str_appendf(line, "%-8s %s %s: %s", hone_verify_verdict_name(result->cells[f].verdict),
                       result->unit->name, form_of(result, f), result->cells[f].text);
      HONE_TRY(hone_line_flush(line));
    }
  if (shown > MOST) printf("and %d more; --json and -o have them all\n", shown - MOST);
  return NULL;
}

static hone_status_t print_reasons(const hone_verify_report_t* report, hone_str_t* line) {
  reason_t reasons[MOST_REASONS];
  int count = list_reasons(report, reasons);
  if (count) printf("run by `ref`, because the device refuses them:\n");
  for (int i = 0; i < count; i++) {
    hone_str_appendf(line, "%6" PRId64 "  %s (%s%s%s)", reasons[i].count, reasons[i].text,
                     reasons[i].first, reasons[i].first == reasons[i].last ? "" : " … ",
                     reasons[i].first == reasons[i].last ? "" : reasons[i].last);
    HONE_TRY(hone_line_flush(line));
  }
  return NULL;
}

hone_status_t hone_verify_print(const hone_verify_report_t* report) {
  hone_str_t line;
  hone_str_init(&line, NULL);
  printf("%s (%s) against ref, seed %" PRIu64 ": %d units in %.1f s\n", report->device->name,
         report->device->description, report->seed, report->count, report->seconds);
  for (int v = HONE_VERIFY_SAME; v < HONE_VERIFY_VERDICT_COUNT; v++)
    printf("%8" PRId64 "  %s\n", report->totals[v],
           hone_verify_verdict_name((hone_verify_verdict_t)v));
  hone_status_t status = print_reasons(report, &line);
  if (!status) status = print_problems(report, &line);
  hone_str_free(&line);
  return status;
}

/* ---- for machines ---- */

static json_t* unit_json(const hone_verify_result_t* result) {
  json_t *object = json_object(), *cells = json_object();
  const hone_verify_row_t* row = result->unit->row;
  json_object_set_new(object, "unit", hone_json_string(result->unit->name));
  if (row) {
    json_object_set_new(object, "primitive", json_string(hone_prim_info(row->prim)->name));
    json_object_set_new(object, "dtype", json_string(hone_dtype_name(result->unit->dtype)));
    json_object_set_new(object, "ulps", json_real(row->bound.ulps));
    json_object_set_new(object, "why", json_string(row->why));
  }
  for (int f = 0; f < HONE_VERIFY_FORM_COUNT; f++) {
    const hone_verify_cell_t* cell = &result->cells[f];
    if (cell->verdict == HONE_VERIFY_ABSENT) continue;
    json_t* entry = json_object();
    json_object_set_new(entry, "verdict", json_string(hone_verify_verdict_name(cell->verdict)));
    if (*cell->text) json_object_set_new(entry, "text", hone_json_string(cell->text));
    json_object_set_new(cells, form_of(result, f), entry);
  }
  json_object_set_new(object, "forms", cells);
  return object;
}

hone_status_t hone_verify_json(const hone_verify_report_t* report, hone_str_t* out) {
  json_t *root = json_object(), *totals = json_object(), *units = json_array();
  json_object_set_new(root, "device", json_string(report->device->name));
  json_object_set_new(root, "description", hone_json_string(report->device->description));
  json_object_set_new(root, "version", json_string(hone_version()));
  json_object_set_new(root, "seed", json_integer((json_int_t)report->seed));
  json_object_set_new(root, "seconds", json_real(report->seconds));
  for (int v = HONE_VERIFY_SAME; v < HONE_VERIFY_VERDICT_COUNT; v++)
    json_object_set_new(totals, hone_verify_verdict_name((hone_verify_verdict_t)v),
                        json_integer(report->totals[v]));
  for (int i = 0; i < report->count; i++)
    json_array_append_new(units, unit_json(&report->results[i]));
  json_object_set_new(root, "totals", totals);
  json_object_set_new(root, "units", units);
  char* text = json_dumps(root, JSON_INDENT(1));
  json_decref(root);
  if (!text) return hone_oom();
  hone_str_append(out, text);
  hone_str_append(out, "\n");
  free(text);
  return out->failed ? hone_oom() : NULL;
}

/* ---- for browsers ---- */

static const char style[] =
    "<style>body{font:14px/1.4 system-ui,sans-serif;margin:2em;max-width:75em}"
    "table{border-collapse:collapse}td,th{padding:2px 8px;text-align:left;vertical-align:top}"
    "th{border-bottom:1px solid #888}.grid td{border:1px solid #ddd;text-align:center}"
    ".same{background:#d8f0d8}.interpreted{background:#f4ecc8}.differs{background:#f6c6c0}"
    ".failed{background:#e8b0d8}@media(prefers-color-scheme:dark){body{background:#181818;"
    "color:#ddd}.grid td{border-color:#333}.same{background:#1d4020}.interpreted{background:"
    "#4a4218}.differs{background:#702018}.failed{background:#601848}}</style>";

static void escape(hone_str_t* out, const char* text) {
  for (; *text; text++) {
    const char* entity = *text == '<' ? "&lt;" : *text == '&' ? "&amp;" : NULL;
    if (*text == '"') entity = "&quot;";
    if (entity)
      hone_str_append(out, entity);
    else
      hone_str_append_char(out, *text);
  }
}

static void html_head(const hone_verify_report_t* report, hone_str_t* out) {
  hone_str_append(out, "<!doctype html><meta charset=\"utf-8\"><title>hone verify</title>");
  hone_str_append(out, style);
  hone_str_append(out, "<h1>Conformance of ");
  escape(out, report->device->name);
  hone_str_append(out, "</h1><p>");
  escape(out, report->device->description);
  hone_str_appendf(out, ", hone %s, seed %" PRIu64 ", %.1f s</p><table class=\"grid\"><tr>",
                   hone_version(), report->seed, report->seconds);
  for (int v = HONE_VERIFY_SAME; v < HONE_VERIFY_VERDICT_COUNT; v++) {
    const char* name = hone_verify_verdict_name((hone_verify_verdict_t)v);
    hone_str_appendf(out, "<td class=\"%s\">%" PRId64 " %s</td>", name, report->totals[v], name);
  }
  hone_str_append(out, "</tr></table>");
}

static void html_problems(const hone_verify_report_t* report, hone_str_t* out) {
  if (report->totals[HONE_VERIFY_DIFFERS] + report->totals[HONE_VERIFY_FAILED] == 0) return;
  hone_str_append(out, "<h2>What is wrong</h2><table><tr><th>unit<th>form<th>what");
  for (int i = 0; i < report->count; i++)
    for (int f = 0; f < HONE_VERIFY_FORM_COUNT; f++) {
      const hone_verify_result_t* result = &report->results[i];
      if (result->cells[f].verdict < HONE_VERIFY_DIFFERS) continue;
      hone_str_appendf(out, "<tr class=\"%s\"><td>%s<td>%s<td>",
                       hone_verify_verdict_name(result->cells[f].verdict), result->unit->name,
                       form_of(result, f));
      escape(out, result->cells[f].text);
    }
  hone_str_append(out, "</table>");
}

static void html_reasons(const hone_verify_report_t* report, hone_str_t* out) {
  reason_t reasons[MOST_REASONS];
  int count = list_reasons(report, reasons);
  if (!count) return;
  hone_str_append(out, "<h2>What the device refuses</h2><table><tr><th>times<th>reason<th>units");
  for (int i = 0; i < count; i++) {
    hone_str_appendf(out, "<tr><td>%" PRId64 "<td>", reasons[i].count);
    escape(out, reasons[i].text);
    hone_str_appendf(out, "<td>%s … %s", reasons[i].first, reasons[i].last);
  }
  hone_str_append(out, "</table>");
}

static void html_row(const hone_verify_result_t* result, hone_str_t* out) {
  hone_str_appendf(out, "<tr><td class=\"%s\">%s", hone_verify_verdict_name(verdict_of(result)),
                   result->unit->name);
  for (int f = 0; f < HONE_VERIFY_FORM_COUNT; f++) {
    const hone_verify_cell_t* cell = &result->cells[f];
    if (cell->verdict == HONE_VERIFY_ABSENT) {
      hone_str_append(out, "<td>");
      continue;
    }
    hone_str_appendf(out, "<td class=\"%s\" title=\"", hone_verify_verdict_name(cell->verdict));
    escape(out, cell->text);
    hone_str_append(out, cell->verdict == HONE_VERIFY_SAME          ? "\">="
                         : cell->verdict == HONE_VERIFY_INTERPRETED ? "\">ref"
                                                                    : "\">&#10007;");
  }
}

hone_status_t hone_verify_html(const hone_verify_report_t* report, hone_str_t* out) {
  html_head(report, out);
  html_problems(report, out);
  html_reasons(report, out);
  hone_str_append(out, "<h2>All units</h2><table class=\"grid\"><tr><th>unit");
  for (int f = 0; f < HONE_VERIFY_FORM_COUNT; f++)
    hone_str_appendf(out, "<th>%s", hone_verify_form_name((hone_verify_form_t)f));
  for (int i = 0; i < report->count; i++) html_row(&report->results[i], out);
  hone_str_append(out, "</table>\n");
  return out->failed ? hone_oom() : NULL;
}
