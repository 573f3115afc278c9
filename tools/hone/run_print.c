/* The report of `hone run` for people. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "ir/type_text.h"
#include "line.h"
#include "run.h"
#include "stats.h"

enum { TYPE_SIZE = 256, MAX_ITEMS = 4, MAX_ROWS = 8, MAX_DEPTH = 4 };

static void indent(hone_str_t* line, int depth) { hone_str_appendf(line, "%*s", 2 * depth, ""); }

/* ---- values ---- */

static void put_value(hone_str_t* line, const hone_tensor_t* tensor, int64_t index) {
  char number[HONE_NUMBER_SIZE];
  if (hone_tensor_dtype(tensor) == HONE_STRING) {
    const hone_string_t* string = (const hone_string_t*)hone_tensor_data(tensor) + index;
    hone_str_append_json(line, string->data, string->size);
    return;
  }
  hone_value_print_number(tensor, index, number);
  hone_str_append(line, number);
}

/* As many first values as fit on a line. */
static hone_status_t print_values(const hone_tensor_t* tensor, hone_str_t* line, int depth) {
  int64_t count = hone_tensor_count(tensor), shown = 0;
  indent(line, depth);
  for (; shown < count; shown++) {
    size_t before = line->size;
    hone_str_append(line, shown ? "  " : "");
    put_value(line, tensor, shown);
    if (line->failed || (shown && hone_line_width(line) > HONE_LINE_COLUMNS - 3)) {
      line->size = before;
      break;
    }
  }
  if (line->data && !line->failed) line->data[line->size] = 0;
  if (shown < count) hone_str_append(line, " …");
  return hone_line_flush(line);
}

static hone_status_t print_stats(const hone_tensor_t* tensor, hone_str_t* line, int depth) {
  hone_stats_t stats;
  if (!hone_stats_find(tensor, &stats) || hone_tensor_count(tensor) < 2) return NULL;
  indent(line, depth);
  if (stats.finite)
    hone_str_appendf(line, "min %.6g  mean %.6g  max %.6g", stats.min, stats.mean, stats.max);
  if (stats.nan) hone_str_appendf(line, "  %" PRId64 " NaN", stats.nan);
  if (stats.infinite) hone_str_appendf(line, "  %" PRId64 " infinite", stats.infinite);
  return hone_line_flush(line);
}

static hone_status_t print_content(const hone_tensor_t* tensor, hone_str_t* line, int depth);

/* {key: value, …} of a map whose values are a tensor. */
static hone_status_t print_map(const hone_tensor_t* map, hone_str_t* line, int depth) {
  const hone_tensor_t *keys = hone_sequence_item(map, 0), *values = hone_sequence_item(map, 1);
  if (hone_tensor_kind(values) != HONE_KIND_TENSOR) return print_content(values, line, depth);
  indent(line, depth);
  hone_str_append_char(line, '{');
  for (int64_t i = 0; i < hone_tensor_count(keys) && hone_line_width(line) <= HONE_LINE_COLUMNS;
       i++) {
    hone_str_append(line, i ? ", " : "");
    put_value(line, keys, i);
    hone_str_append(line, ": ");
    put_value(line, values, i);
  }
  hone_str_append_char(line, '}');
  return hone_line_flush(line);
}

static hone_status_t print_items(const hone_tensor_t* sequence, hone_str_t* line, int depth) {
  int64_t count = hone_tensor_count(sequence);
  for (int64_t i = 0; i < count && i < MAX_ITEMS && depth < MAX_DEPTH; i++) {
    char type[TYPE_SIZE];
    const hone_tensor_t* item = hone_sequence_item(sequence, i);
    hone_tensor_type_print(item, type, sizeof type);
    indent(line, depth);
    hone_str_appendf(line, "[%" PRId64 "] %s", i, type);
    HONE_TRY(hone_line_flush(line));
    HONE_TRY(print_content(item, line, depth + 1));
  }
  if (count <= MAX_ITEMS) return NULL;
  indent(line, depth);
  hone_str_appendf(line, "… and %" PRId64 " more", count - MAX_ITEMS);
  return hone_line_flush(line);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as MAX_DEPTH */
static hone_status_t print_content(const hone_tensor_t* tensor, hone_str_t* line, int depth) {
  switch (hone_tensor_kind(tensor)) {
    case HONE_KIND_SEQUENCE:
      return print_items(tensor, line, depth);
    case HONE_KIND_MAP:
      return print_map(tensor, line, depth);
    case HONE_KIND_NONE:
      return NULL;
    default:
      if (!hone_tensor_count(tensor)) return NULL;
      HONE_TRY(print_stats(tensor, line, depth));
      return print_values(tensor, line, depth);
  }
}

/* ---- classes ---- */

static hone_status_t print_top(const hone_top_t* top, hone_str_t* line) {
  if (!top->rows) return NULL;
  hone_str_appendf(line, "  the %" PRId64 " largest, by %s", top->size,
                   top->softmax ? "the softmax of the values" : "probability");
  HONE_TRY(hone_line_flush(line));
  for (int64_t r = 0; r < top->rows && r < MAX_ROWS; r++) {
    if (top->rows > 1) {
      hone_str_appendf(line, "  row %" PRId64, r);
      HONE_TRY(hone_line_flush(line));
    }
    for (int64_t i = 0; i < top->size; i++) {
      const hone_top_entry_t* entry = &top->entries[r * top->size + i];
      hone_str_appendf(line, "    %.4f  %" PRId64 "  %s", entry->probability, entry->index,
                       entry->label ? entry->label : "");
      HONE_TRY(hone_line_flush(line));
    }
  }
  if (top->rows <= MAX_ROWS) return NULL;
  hone_str_appendf(line, "  … and %" PRId64 " more rows", top->rows - MAX_ROWS);
  return hone_line_flush(line);
}

/* ---- the report ---- */

static hone_status_t print_head(const hone_run_t* run, hone_str_t* line) {
  double best, median;
  hone_run_times(run, &best, &median);
  hone_str_appendf(line, "%s on %s, ", hone_path_basename(hone_cli_argument(run->cli, 0)),
                   run->subject.device);
  if (run->n_runs == 1)
    hone_str_appendf(line, "1 run: %.4g ms", best);
  else
    hone_str_appendf(line, "%d runs: best %.4g ms, median %.4g ms", run->n_runs, best, median);
  HONE_TRY(hone_line_flush(line));
  for (int i = 0; i < run->n_inputs; i++) {
    char type[TYPE_SIZE];
    hone_tensor_type_print(run->inputs[i], type, sizeof type);
    hone_str_appendf(line, "%s  %s <- %s", hone_session_input_name(run->session, i), type,
                     run->sources[i]);
    HONE_TRY(hone_line_flush(line));
  }
  return NULL;
}

static hone_status_t print_output(const hone_run_output_t* output, hone_str_t* line) {
  char type[TYPE_SIZE];
  hone_tensor_type_print(output->tensor, type, sizeof type);
  hone_str_appendf(line, "%s  %s", output->name, type);
  if (output->path) hone_str_appendf(line, " -> %s", output->path);
  if (output->archive) hone_str_appendf(line, " -> %s", output->archive);
  HONE_TRY(hone_line_flush(line));
  HONE_TRY(print_content(output->tensor, line, 1));
  return print_top(&output->top, line);
}

hone_status_t hone_run_print(const hone_run_t* run) {
  hone_str_t line;
  hone_str_init(&line, NULL);
  hone_status_t status = print_head(run, &line);
  for (int i = 0; i < run->n_outputs && !status; i++) {
    putchar('\n');
    status = print_output(&run->outputs[i], &line);
  }
  hone_str_free(&line);
  return status;
}
