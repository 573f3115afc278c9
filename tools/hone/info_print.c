/* `hone info` for people. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "info.h"
#include "line.h"

enum { TITLE = 14, CELL = 32, MAX_FORMULA = 70 };

/* ---- numbers ---- */

/* "1,234,567" */
static void put_count(hone_str_t* line, int64_t value) {
  char digits[32];
  int length = snprintf(digits, sizeof digits, "%" PRId64, value);
  for (int i = 0; i < length; i++) {
    if (i && (length - i) % 3 == 0 && digits[i - 1] != '-') hone_str_append_char(line, ',');
    hone_str_append_char(line, digits[i]);
  }
}

/* "3.4 M" in steps of 1000. */
static void put_scaled(hone_str_t* line, double value, const char* unit) {
  static const char* const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t step = 0;
  for (; value >= 1000 && step + 1 < sizeof prefixes / sizeof *prefixes; step++) value /= 1000;
  hone_str_appendf(line, step ? "%.3g %s%s" : "%.0f%s%s", value,
                   step || !*unit ? prefixes[step] : " ", unit);
}

static void put_bytes(hone_str_t* line, uint64_t bytes) { put_scaled(line, (double)bytes, "B"); }

static void title(hone_str_t* line, const char* text) {
  hone_str_append(line, text);
  hone_line_pad(line, TITLE);
}

/* ---- parts ---- */

static hone_status_t print_origin(const hone_model_t* model, hone_str_t* line) {
  hone_str_append(line, hone_path_basename(model->path));
  HONE_TRY(hone_line_flush(line));
  title(line, "made by");
  hone_str_append(line, *model->producer_name ? model->producer_name : "(not said)");
  if (*model->producer_version) hone_str_appendf(line, " %s", model->producer_version);
  if (model->model_version)
    hone_str_appendf(line, ", model version %" PRId64, model->model_version);
  HONE_TRY(hone_line_flush(line));
  title(line, "format");
  hone_str_appendf(line, "ONNX IR %" PRId64 ", opset", model->ir_version);
  for (int i = 0; i < model->n_opsets; i++)
    hone_str_appendf(line, "%s %s %" PRId64, i ? "," : "",
                     *model->opsets[i].domain ? model->opsets[i].domain : "ai.onnx",
                     model->opsets[i].version);
  return hone_line_flush(line);
}

static hone_status_t print_graph(const hone_info_t* info, hone_str_t* line) {
  const hone_model_t* model = info->model;
  title(line, "graph");
  hone_str_appendf(line, "%s: ", model->graph->name);
  put_count(line, info->n_nodes);
  hone_str_append(line, " nodes");
  if (info->n_inner_graphs)
    hone_str_appendf(line, ", and %" PRId64 " in %" PRId64 " graphs inside them",
                     info->n_inner_nodes, info->n_inner_graphs);
  HONE_TRY(hone_line_flush(line));
  for (int i = 0; i < model->n_functions; i++) {
    const hone_onnx_function_t* function = &model->functions[i];
    title(line, i ? "" : "functions");
    hone_str_appendf(line, "%s.%s: %" PRId64 " nodes", function->domain, function->name,
                     function->n_nodes);
    HONE_TRY(hone_line_flush(line));
  }
  return NULL;
}

static hone_status_t print_value(const char* heading, const hone_onnx_value_info_t* value,
                                 hone_str_t* line) {
  title(line, heading);
  hone_str_appendf(line, "%s  ", value->name);
  hone_info_print_type(&value->type, line);
  return hone_line_flush(line);
}

static hone_status_t print_values(const hone_info_t* info, hone_str_t* line) {
  const hone_onnx_graph_t* graph = info->model->graph;
  for (int64_t i = 0; i < info->n_inputs; i++)
    HONE_TRY(print_value(i ? "" : "inputs", info->inputs[i], line));
  for (int64_t i = 0; i < graph->n_outputs; i++)
    HONE_TRY(print_value(i ? "" : "outputs", &graph->outputs[i], line));
  if (!info->n_dims) return NULL;
  title(line, "dimensions");
  for (int64_t i = 0; i < info->n_dims; i++)
    hone_str_appendf(line, "%s%s", i ? ", " : "", info->dims[i]);
  return hone_line_flush(line);
}

static hone_status_t print_weights_row(const hone_info_weights_t* weights, const char* name,
                                       hone_str_t* line) {
  title(line, "");
  hone_str_append(line, name);
  hone_line_pad(line, TITLE + 12);
  put_count(line, weights->elements);
  hone_str_appendf(line, " in %" PRId64 " tensor%s", weights->tensors,
                   weights->tensors == 1 ? "" : "s");
  hone_line_pad(line, TITLE + 50);
  put_bytes(line, weights->file_bytes);
  hone_line_pad(line, TITLE + 64);
  put_bytes(line, weights->memory_bytes);
  return hone_line_flush(line);
}

static hone_status_t print_weights(const hone_info_t* info, hone_str_t* line) {
  title(line, "weights");
  hone_line_pad(line, TITLE + 50);
  hone_str_append(line, "in the file");
  hone_line_pad(line, TITLE + 64);
  hone_str_append(line, "in memory");
  HONE_TRY(hone_line_flush(line));
  int kinds = 0;
  for (int i = 0; i < HONE_DTYPE_COUNT; i++) {
    if (!info->weights[i].tensors) continue;
    kinds++;
    HONE_TRY(print_weights_row(&info->weights[i], hone_dtype_name((hone_dtype_t)i), line));
  }
  if (kinds != 1) HONE_TRY(print_weights_row(&info->total, "all", line));
  if (!info->mapped_bytes) return NULL;
  title(line, "");
  put_bytes(line, info->mapped_bytes);
  hone_str_append(line, " of them used where they lie in the file");
  return hone_line_flush(line);
}

static hone_status_t print_files(const hone_info_t* info, hone_str_t* line) {
  for (int64_t i = 0; i < info->n_files; i++) {
    title(line, i ? "" : "data files");
    hone_str_appendf(line, "%s: %" PRId64 " tensors, ", info->files[i].name,
                     info->files[i].tensors);
    put_bytes(line, info->files[i].bytes);
    HONE_TRY(hone_line_flush(line));
  }
  return NULL;
}

/* A number, or a formula that fits on a line. */
static void put_work(hone_str_t* line, const char* text) {
  if (text && text[strspn(text, "0123456789")] == 0)
    put_scaled(line, strtod(text, NULL), "");
  else
    hone_str_append(line, text && strlen(text) <= MAX_FORMULA
                              ? text
                              : "depends on dimensions; fix them with --dim to know");
}

static hone_status_t print_work(const hone_info_t* info, hone_str_t* line) {
  const hone_info_work_t* work = &info->work;
  title(line, "multiply-adds");
  if (work->failure) {
    hone_str_append(line, "not known, since the model cannot run; see `hone check`");
    return hone_line_flush(line);
  }
  if (work->unknown && work->text) hone_str_append(line, "at least ");
  put_work(line, work->text);
  HONE_TRY(hone_line_flush(line));
  if (work->has_bodies) {
    title(line, "");
    put_work(line, work->body_text);
    hone_str_append(line, " in branches and, for one round, in loops");
    HONE_TRY(hone_line_flush(line));
  }
  if (!work->unknown) return NULL;
  title(line, "");
  hone_str_appendf(line, "not counted: %" PRId64 " nodes whose shapes are known when they run",
                   work->unknown);
  return hone_line_flush(line);
}

static hone_status_t print_metadata(const hone_model_t* model, hone_str_t* line) {
  for (int i = 0; i < model->n_metadata; i++) {
    title(line, i ? "" : "metadata");
    hone_str_appendf(line, "%s = %s", model->metadata[i].key, model->metadata[i].value);
    HONE_TRY(hone_line_flush(line));
  }
  return NULL;
}

/* As many cells beside each other as fit; long names take more than one. */
static hone_status_t print_ops(const hone_info_t* info, hone_str_t* line) {
  title(line, "operators");
  hone_str_appendf(line, "%" PRId64 " kinds", info->n_ops);
  HONE_TRY(hone_line_flush(line));
  for (int64_t i = 0; i < info->n_ops; i++) {
    const hone_info_op_t* op = &info->ops[i];
    size_t width = hone_line_width(line);
    size_t cell = (width + CELL - 1) / CELL * CELL;
    size_t need = 8 + strlen(op->name) + (*op->domain ? strlen(op->domain) + 1 : 0);
    if (width && cell + need > HONE_LINE_COLUMNS) {
      HONE_TRY(hone_line_flush(line));
      cell = 0;
    }
    hone_line_pad(line, cell);
    hone_str_appendf(line, "%6" PRId64 "  %s%s%s", op->count, op->domain, *op->domain ? "." : "",
                     op->name);
  }
  return info->n_ops ? hone_line_flush(line) : NULL;
}

static hone_status_t print_all(const void* what, hone_str_t* line) {
  const hone_info_t* info = what;
  HONE_TRY(print_origin(info->model, line));
  HONE_TRY(print_graph(info, line));
  HONE_TRY(print_values(info, line));
  HONE_TRY(print_weights(info, line));
  HONE_TRY(print_files(info, line));
  title(line, "quantization");
  hone_str_append(line, hone_info_quantization(info));
  HONE_TRY(hone_line_flush(line));
  HONE_TRY(print_work(info, line));
  HONE_TRY(print_metadata(info->model, line));
  return print_ops(info, line);
}

hone_status_t hone_info_print(const hone_info_t* info) { return hone_line_report(print_all, info); }
