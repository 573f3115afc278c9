#include "difference.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/float_convert.h"
#include "ir/type_text.h"
#include "value.h"

enum { PIECE = 256 };

/* ---- numbers ---- */

/* A tensor as a row of numbers: complex ones are two each. */
typedef struct row {
  hone_dtype_t dtype;
  int64_t count;
  int64_t parts; /* numbers in one element */
  const char* data;
} row_t;

static row_t row_of(const hone_tensor_t* tensor) {
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  int64_t parts = hone_dtype_is_complex(dtype) ? 2 : 1;
  if (parts == 2) dtype = dtype == HONE_C64 ? HONE_F32 : HONE_F64;
  return (row_t){dtype, hone_tensor_count(tensor) * parts, parts, hone_tensor_data(tensor)};
}

static double float_error(double expected, double actual) {
  if (expected == actual || (isnan(expected) && isnan(actual))) return 0;
  double error = fabs(actual - expected);
  return isnan(error) ? INFINITY : error;
}

/* Exact where the difference is below 2^53. */
static double int_error(hone_dtype_t dtype, int64_t expected, int64_t actual) {
  bool greater = dtype == HONE_U64 ? (uint64_t)actual > (uint64_t)expected : actual > expected;
  uint64_t a = (uint64_t)expected, b = (uint64_t)actual;
  return (double)(greater ? b - a : a - b);
}

/* Errors of numbers at … at + n - 1. */
static void find_errors(const row_t* expected, const row_t* actual, int64_t at, int64_t n,
                        double* out) {
  int64_t size = (int64_t)hone_dtype_size(expected->dtype);
  const char *e = expected->data + at * size, *a = actual->data + at * size;
  if (hone_dtype_is_float(expected->dtype)) {
    double left[PIECE], right[PIECE];
    hone_load_f64(expected->dtype, e, size, n, left);
    hone_load_f64(expected->dtype, a, size, n, right);
    for (int64_t i = 0; i < n; i++) out[i] = float_error(left[i], right[i]);
  } else {
    int64_t left[PIECE], right[PIECE];
    hone_load_i64(expected->dtype, e, size, n, left);
    hone_load_i64(expected->dtype, a, size, n, right);
    for (int64_t i = 0; i < n; i++) out[i] = int_error(expected->dtype, left[i], right[i]);
  }
}

static double largest(const row_t* row) {
  double most = 0, values[PIECE];
  int64_t size = (int64_t)hone_dtype_size(row->dtype);
  for (int64_t at = 0; at < row->count; at += PIECE) {
    int64_t n = row->count - at < PIECE ? row->count - at : PIECE;
    hone_load_f64(row->dtype, row->data + at * size, size, n, values);
    for (int64_t i = 0; i < n; i++)
      if (isfinite(values[i])) most = fmax(most, fabs(values[i]));
  }
  return most;
}

/* Two steps of a format beside 1, where that is more than 1e-4. */
static double two_steps(hone_dtype_t dtype) {
  static const struct {
    hone_dtype_t dtype;
    double steps;
  } rows[] = {
      {HONE_F16, 0x1p-9}, {HONE_BF16, 0x1p-6},    {HONE_F8E4M3FN, 0x1p-2}, {HONE_F8E4M3FNUZ, 0.25},
      {HONE_F8E5M2, 0.5}, {HONE_F8E5M2FNUZ, 0.5}, {HONE_F6E2M3, 0.25},     {HONE_F6E3M2, 0.5},
      {HONE_F4E2M1, 1},   {HONE_F8E8M0, 2},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].dtype == dtype) return rows[i].steps;
  return 1e-4;
}

static double bound_for(const row_t* expected, hone_tolerance_t tolerance) {
  bool is_float = hone_dtype_is_float(expected->dtype);
  double absolute = tolerance.absolute, relative = tolerance.relative;
  if (absolute < 0) absolute = is_float ? 1e-7 : 0;
  if (relative < 0) relative = is_float ? two_steps(expected->dtype) : 0;
  return absolute + (relative > 0 ? relative * largest(expected) : 0);
}

static void compare_numbers(hone_difference_t* d, hone_tolerance_t tolerance) {
  row_t expected = row_of(d->expected), actual = row_of(d->actual);
  double errors[PIECE];
  d->bound = bound_for(&expected, tolerance);
  int64_t last_wrong = -1; /* so that a complex number counts once */
  for (int64_t at = 0; at < expected.count; at += PIECE) {
    int64_t n = expected.count - at < PIECE ? expected.count - at : PIECE;
    find_errors(&expected, &actual, at, n, errors);
    for (int64_t i = 0; i < n; i++) {
      int64_t element = (at + i) / expected.parts;
      if (errors[i] > d->max_error) {
        d->max_error = errors[i];
        d->worst = element;
      }
      if (errors[i] > d->bound && element != last_wrong) {
        d->wrong++;
        last_wrong = element;
      }
    }
  }
}

/* ---- other values ---- */

static void compare_strings(hone_difference_t* d) {
  const hone_string_t* expected = hone_tensor_data(d->expected);
  const hone_string_t* actual = hone_tensor_data(d->actual);
  for (int64_t i = 0; i < d->count; i++) {
    bool same = expected[i].size == actual[i].size &&
                (!expected[i].size || !memcmp(expected[i].data, actual[i].data, actual[i].size));
    if (same) continue;
    if (!d->wrong++) d->worst = i;
    d->max_error = INFINITY;
  }
}

static bool same_type(const hone_tensor_t* a, const hone_tensor_t* b) {
  if (hone_tensor_kind(a) != hone_tensor_kind(b)) return false;
  if (hone_tensor_kind(a) != HONE_KIND_TENSOR) return hone_tensor_count(a) == hone_tensor_count(b);
  int rank = hone_tensor_rank(a);
  return hone_tensor_dtype(a) == hone_tensor_dtype(b) && rank == hone_tensor_rank(b) &&
         (!rank || !memcmp(hone_tensor_dims(a), hone_tensor_dims(b),
                           (size_t)rank * sizeof *hone_tensor_dims(a)));
}

static hone_difference_t compare_items(hone_difference_t d, hone_tolerance_t tolerance) {
  for (int64_t i = 0; i < d.count; i++) {
    hone_difference_t item = hone_difference_find(hone_sequence_item(d.expected, i),
                                                  hone_sequence_item(d.actual, i), tolerance);
    if (item.kind) return item;
    d.max_error = fmax(d.max_error, item.max_error);
  }
  return d;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as values are nested */
hone_difference_t hone_difference_find(const hone_tensor_t* expected, const hone_tensor_t* actual,
                                       hone_tolerance_t tolerance) {
  hone_difference_t d = {.expected = expected, .actual = actual};
  if (!same_type(expected, actual)) {
    d.kind = HONE_DIFFERENCE_TYPE;
    d.max_error = INFINITY;
    return d;
  }
  if (hone_tensor_kind(expected) == HONE_KIND_NONE) return d;
  d.count = hone_tensor_count(expected);
  if (hone_tensor_kind(expected) != HONE_KIND_TENSOR) {
    d.count = hone_tensor_kind(expected) == HONE_KIND_MAP ? 2 : d.count;
    return compare_items(d, tolerance);
  }
  if (hone_tensor_dtype(expected) == HONE_STRING)
    compare_strings(&d);
  else
    compare_numbers(&d, tolerance);
  if (d.wrong) d.kind = HONE_DIFFERENCE_VALUES;
  return d;
}

/* ---- in words ---- */

void hone_difference_print_place(const hone_tensor_t* tensor, int64_t index, hone_str_t* line) {
  int64_t place[HONE_MAX_RANK];
  int rank = hone_tensor_rank(tensor);
  for (int i = rank - 1; i >= 0; i--) {
    int64_t extent = hone_tensor_dims(tensor)[i];
    place[i] = extent ? index % extent : 0;
    index = extent ? index / extent : 0;
  }
  hone_str_append_char(line, '[');
  for (int i = 0; i < rank; i++) hone_str_appendf(line, "%s%" PRId64, i ? ", " : "", place[i]);
  hone_str_append_char(line, ']');
}

static void print_element(const hone_tensor_t* tensor, int64_t index, hone_str_t* line) {
  char number[HONE_NUMBER_SIZE];
  if (hone_tensor_dtype(tensor) == HONE_STRING) {
    const hone_string_t* string = (const hone_string_t*)hone_tensor_data(tensor) + index;
    hone_str_append_json(line, string->data, string->size);
    return;
  }
  hone_value_print_number(tensor, index, number);
  hone_str_append(line, number);
}

static void print_types(const hone_difference_t* d, hone_str_t* line) {
  char actual[256], expected[256];
  hone_tensor_type_print(d->actual, actual, sizeof actual);
  hone_tensor_type_print(d->expected, expected, sizeof expected);
  hone_str_appendf(line, "%s, expected %s", actual, expected);
  if (hone_tensor_kind(d->actual) == HONE_KIND_TENSOR) return;
  hone_str_appendf(line, " (%" PRId64 " items, expected %" PRId64 ")", hone_tensor_count(d->actual),
                   hone_tensor_count(d->expected));
}

void hone_difference_print(const hone_difference_t* d, hone_str_t* line) {
  if (d->kind == HONE_DIFFERENCE_TYPE) {
    print_types(d, line);
  } else if (d->kind == HONE_DIFFERENCE_NONE) {
    hone_str_appendf(line, d->max_error > 0 ? "largest error %.3g" : "the same", d->max_error);
  } else {
    hone_str_appendf(line, "%" PRId64 " of %" PRId64 " wrong, ", d->wrong, d->count);
    if (isfinite(d->max_error))
      hone_str_appendf(line, "by up to %.3g (allowed %.3g) ", d->max_error, d->bound);
    hone_str_append(line, "at ");
    hone_difference_print_place(d->expected, d->worst, line);
    hone_str_append(line, ": ");
    print_element(d->actual, d->worst, line);
    hone_str_append(line, ", expected ");
    print_element(d->expected, d->worst, line);
  }
}
