#include "top_k.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/float_convert.h"
#include "base/memory.h"
#include "import/utf8.h"

/* ---- labels ---- */

static hone_status_t split_lines(hone_arena_t* arena, char* text, hone_labels_t* out) {
  size_t size = strlen(text);
  size_t lines = size && text[size - 1] != '\n';
  for (const char* at = text; (at = strchr(at, '\n')); at++) lines++;
  out->texts = hone_arena_array(arena, lines, sizeof *out->texts);
  if (!out->texts) return hone_oom();
  for (size_t i = 0; i < lines; i++) {
    char* line = strsep(&text, "\n");
    line[strcspn(line, "\r")] = 0;
    out->texts[i] = line;
  }
  out->count = (int64_t)lines;
  return NULL;
}

hone_status_t hone_labels_read(hone_arena_t* arena, const char* path, hone_labels_t* out_labels) {
  *out_labels = (hone_labels_t){0};
  char* data;
  size_t size;
  HONE_TRY(hone_file_read(NULL, path, 0, &data, &size));
  char* text = hone_arena_strndup(arena, data, strlen(data));
  hone_free(NULL, data, size + 1);
  if (!text) return hone_oom();
  HONE_TRY(split_lines(arena, text, out_labels));
  for (int64_t i = 0; i < out_labels->count; i++) {
    char* label = (char*)(uintptr_t)out_labels->texts[i];
    hone_utf8_repair(label, strlen(label), true);
  }
  if (out_labels->count) return NULL;
  return hone_status_make(HONE_INVALID_DATA, "%s: there is no label in it", path);
}

/* ---- rows ---- */

static int64_t class_count(const hone_tensor_t* tensor) {
  const int64_t* dims = hone_tensor_dims(tensor);
  int axis = hone_tensor_rank(tensor) - 1;
  while (axis > 0 && dims[axis] == 1) axis--;
  return axis >= 0 ? dims[axis] : 1;
}

static bool are_probabilities(const double* values, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) {
    if (!(values[i] >= 0 && values[i] <= 1)) return false;
    sum += values[i];
  }
  return fabs(sum - 1) <= 1e-3;
}

static void softmax(double* values, int64_t count) {
  double largest = -INFINITY, sum = 0;
  for (int64_t i = 0; i < count; i++) largest = fmax(largest, values[i]);
  for (int64_t i = 0; i < count; i++) sum += values[i] = exp(values[i] - largest);
  for (int64_t i = 0; i < count; i++) values[i] /= sum;
}

/* By falling value; equal ones by index; what is no number comes last. */
static int compare_entries(const void* a, const void* b) {
  const hone_top_entry_t *x = a, *y = b;
  double p = isnan(x->probability) ? -1 : x->probability;
  double q = isnan(y->probability) ? -1 : y->probability;
  if (p != q) return p < q ? 1 : -1;
  return x->index < y->index ? -1 : 1;
}

static void fill_row(const double* values, int64_t classes, const hone_labels_t* labels,
                     hone_top_entry_t* sorted) {
  for (int64_t i = 0; i < classes; i++)
    sorted[i] = (hone_top_entry_t){i, labels->count ? labels->texts[i] : NULL, values[i]};
  qsort(sorted, (size_t)classes, sizeof *sorted, compare_entries);
}

static hone_status_t check_scores(const hone_tensor_t* tensor, const hone_labels_t* labels) {
  bool ok = hone_tensor_kind(tensor) == HONE_KIND_TENSOR && hone_tensor_count(tensor) > 0 &&
            (hone_dtype_is_float(hone_tensor_dtype(tensor)) ||
             hone_dtype_is_int(hone_tensor_dtype(tensor)));
  if (!ok)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "--top-k wants a tensor of numbers; name "
                            "another output: --top-k NAME=COUNT");
  int64_t classes = class_count(tensor);
  if (!labels->count || labels->count == classes) return NULL;
  return hone_status_make(HONE_INVALID_ARGUMENT,
                          "--labels has %" PRId64 " lines, but the output has %" PRId64 " classes",
                          labels->count, classes);
}

hone_status_t hone_top_find(hone_arena_t* arena, const hone_tensor_t* tensor, int64_t k,
                            const hone_labels_t* labels, hone_top_t* out_top) {
  *out_top = (hone_top_t){0};
  HONE_TRY(check_scores(tensor, labels));
  int64_t classes = class_count(tensor), rows = hone_tensor_count(tensor) / classes;
  hone_top_t top = {.rows = rows, .size = k < classes ? k : classes};
  double* values = hone_arena_array(arena, (size_t)hone_tensor_count(tensor), sizeof *values);
  hone_top_entry_t* sorted = hone_arena_array(arena, (size_t)classes, sizeof *sorted);
  size_t room = sizeof *top.entries * (size_t)top.size;
  top.entries = hone_arena_array(arena, (size_t)rows, room);
  if (!values || !sorted || !top.entries) return hone_oom();
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  hone_load_f64(dtype, hone_tensor_data(tensor), (int64_t)hone_dtype_size(dtype),
                hone_tensor_count(tensor), values);
  for (int64_t r = 0; r < rows; r++)
    top.softmax = top.softmax || !are_probabilities(values + r * classes, classes);
  for (int64_t r = 0; r < rows; r++) {
    if (top.softmax) softmax(values + r * classes, classes);
    fill_row(values + r * classes, classes, labels, sorted);
    memcpy(top.entries + r * top.size, sorted, room);
  }
  *out_top = top;
  return NULL;
}
