/* What passes did, as JSON. */
#include <string.h>

#include "passes/pass.h"

static void put_text(hone_str_t* out, const char* text) {
  hone_str_append_json(out, text, strlen(text));
}

static void put_lines(hone_str_t* out, const char* name, const hone_pass_line_t* line) {
  hone_str_appendf(out, ", \"%s\": [", name);
  for (const hone_pass_line_t* at = line; at; at = at->next) {
    hone_str_append(out, at == line ? "" : ", ");
    put_text(out, at->text);
  }
  hone_str_append(out, "]");
}

static void put_result(hone_str_t* out, const hone_pass_result_t* r) {
  hone_str_append(out, "{\"pass\": ");
  put_text(out, r->pass);
  hone_str_appendf(out,
                   ", \"phase\": %d, \"rewrites\": %lld, \"nodes_before\": %lld, "
                   "\"nodes_after\": %lld, \"ms\": %.3f",
                   r->phase, (long long)r->count, (long long)r->nodes_before,
                   (long long)r->nodes_after, (double)r->duration_ns / 1e6);
  put_lines(out, "notes", r->lines);
  put_lines(out, "details", r->details);
  hone_str_append(out, "}");
}

void hone_pass_report_json(const hone_pass_report_t* report, hone_str_t* out) {
  hone_str_append(out, "[");
  for (const hone_pass_result_t* r = report->first; r; r = r->next) {
    hone_str_append(out, r == report->first ? "" : ",\n  ");
    put_result(out, r);
  }
  hone_str_append(out, "]");
}
