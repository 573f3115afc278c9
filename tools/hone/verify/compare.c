/* Whether a result is what `ref` says, within the bound of its row. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/float_convert.h"
#include "verify/verify.h"

/* Bits behind the point, and the exponent of the smallest normal number. */
typedef struct format {
  hone_dtype_t dtype;
  int fraction, least;
} format_t;

static const format_t formats[] = {
    {HONE_F32, 23, -126},  {HONE_F64, 52, -1022},     {HONE_F16, 10, -14},
    {HONE_BF16, 7, -126},  {HONE_F8E4M3FN, 3, -6},    {HONE_F8E4M3FNUZ, 3, -7},
    {HONE_F8E5M2, 2, -14}, {HONE_F8E5M2FNUZ, 2, -15}, {HONE_F8E8M0, 0, -127},
    {HONE_F6E2M3, 3, 0},   {HONE_F6E3M2, 2, -2},      {HONE_F4E2M1, 1, 0},
};

static const format_t* format_of(hone_dtype_t dtype) {
  size_t i = 0;
  while (i + 1 < sizeof formats / sizeof *formats && formats[i].dtype != dtype) i++;
  return &formats[i];
}

/* The distance of neighbours at x. */
static double ulp(const format_t* format, double x) {
  int exponent = format->least;
  if (x != 0 && isfinite(x) && ilogb(x) > exponent) exponent = ilogb(x);
  return ldexp(1, exponent - format->fraction);
}

static bool is_near(const format_t* format, double expected, double actual, double scale,
                    hone_verify_bound_t bound) {
  if (expected == actual || (isnan(expected) && isnan(actual))) return true;
  if (!isfinite(expected) || !isfinite(actual)) return false;
  double allowed = bound.ulps * ulp(format, expected);
  if (bound.scaled) allowed += ldexp(scale, -format->fraction);
  return fabs(expected - actual) <= allowed;
}

typedef struct pair {
  hone_dtype_t dtype;
  const format_t* format;
  hone_verify_bound_t bound;
  const char *expected, *actual;
} pair_t;

/* One number; `part` of a complex one. */
static bool same_number(const pair_t* p, size_t offset, double scale) {
  const char *e = p->expected + offset, *a = p->actual + offset;
  if (memcmp(e, a, hone_dtype_size(p->dtype)) == 0) return true;
  if (!hone_dtype_is_float(p->dtype)) return false;
  double x = hone_to_double(p->dtype, e), y = hone_to_double(p->dtype, a);
  bool exact = p->bound.ulps == 0 && !p->bound.scaled;
  if (!exact) return is_near(p->format, x, y, scale, p->bound);
  return (isnan(x) && isnan(y)) || (p->bound.any_zero && x == 0 && y == 0);
}

static bool same_string(const hone_string_t* a, const hone_string_t* b) {
  return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static bool same_element(const pair_t* p, hone_dtype_t dtype, int64_t index, double scale) {
  size_t size = hone_dtype_size(dtype), at = (size_t)index * size;
  if (dtype == HONE_STRING)
    return same_string((const hone_string_t*)(const void*)p->expected + index,
                       (const hone_string_t*)(const void*)p->actual + index);
  if (!hone_dtype_is_complex(dtype)) return same_number(p, at, scale);
  return same_number(p, at, scale) && same_number(p, at + size / 2, scale);
}

static void describe(const pair_t* p, hone_dtype_t dtype, hone_verify_mismatch_t* m) {
  size_t at = (size_t)m->first * hone_dtype_size(dtype);
  if (dtype == HONE_STRING) {
    snprintf(m->text, sizeof m->text, "another string");
  } else if (hone_dtype_is_float(p->dtype)) {
    snprintf(m->text, sizeof m->text, "%.17g, expected %.17g",
             hone_to_double(p->dtype, p->actual + at), hone_to_double(p->dtype, p->expected + at));
  } else {
    int64_t e, a;
    hone_load_i64(p->dtype, p->expected + at, 0, 1, &e);
    hone_load_i64(p->dtype, p->actual + at, 0, 1, &a);
    snprintf(m->text, sizeof m->text, "%" PRId64 ", expected %" PRId64, a, e);
  }
}

static bool same_type(const hone_tensor_t* a, const hone_tensor_t* b) {
  int rank = hone_tensor_rank(a);
  return hone_tensor_kind(a) == hone_tensor_kind(b) &&
         hone_tensor_dtype(a) == hone_tensor_dtype(b) && rank == hone_tensor_rank(b) &&
         (rank <= 0 ||
          memcmp(hone_tensor_dims(a), hone_tensor_dims(b), (size_t)rank * sizeof(int64_t)) == 0);
}

void hone_verify_compare(const hone_tensor_t* expected, const hone_tensor_t* actual,
                         const hone_tensor_t* scale, hone_verify_bound_t bound,
                         hone_verify_mismatch_t* m) {
  *m = (hone_verify_mismatch_t){.count = hone_tensor_count(expected)};
  if (!same_type(expected, actual)) {
    m->wrong = m->count ? m->count : 1;
    snprintf(m->text, sizeof m->text, "another type or shape");
    return;
  }
  hone_dtype_t dtype = hone_tensor_dtype(expected), part = dtype;
  if (hone_dtype_is_complex(dtype)) part = dtype == HONE_C64 ? HONE_F32 : HONE_F64;
  pair_t p = {part, format_of(part), bound, hone_tensor_data(expected), hone_tensor_data(actual)};
  const double* scales = scale ? hone_tensor_data(scale) : NULL;
  for (int64_t i = 0; i < m->count; i++)
    if (!same_element(&p, dtype, i, scales ? scales[i] : 0) && m->wrong++ == 0) m->first = i;
  if (m->wrong) describe(&p, dtype, m);
}
