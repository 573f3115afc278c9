/* Casts between all types, and bit casts. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/ref/kernels.h"
#include "base/float_convert.h"

/* ---- strings ---- */

/* How many digits a decimal needs to read back as the same number of the dtype;
 * *out_exponent gets its power of ten. */
static int count_digits(hone_dtype_t dtype, double value, int* out_exponent) {
  int digits = 0;
  char text[32];
  double back = 0;
  do {
    unsigned char element[8];
    snprintf(text, sizeof text, "%.*e", digits++, value);
    hone_from_double(dtype, strtod(text, NULL), false, element);
    back = hone_to_double(dtype, element);
  } while (back != value && digits < 17);
  *out_exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
  return digits;
}

/* As Python does: the shortest decimal that reads back as the same number, with
 * an exponent only below 0.0001 and from 1e16 on. */
static void print_float(hone_dtype_t dtype, double value, char* out, size_t size) {
  if (isnan(value)) {
    snprintf(out, size, "nan");
    return;
  }
  if (isinf(value)) {
    snprintf(out, size, value < 0 ? "-inf" : "inf");
    return;
  }
  int exponent, digits = count_digits(dtype, value, &exponent);
  if (exponent < -4 || exponent >= 16)
    snprintf(out, size, "%.*e", digits - 1, value);
  else if (digits > exponent + 1)
    snprintf(out, size, "%.*f", digits - 1 - exponent, value);
  else
    snprintf(out, size, "%.1f", value);
}

static hone_status_t to_string(const ref_view_t* x, const ref_view_t* out) {
  const ref_view_t* views[2] = {x, out};
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  char text[64];
  hone_scalar_t row[HONE_REF_ROW];
  int64_t index = 0;
  hone_ref_rows_start(&rows, 2, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;) {
    hone_scalar_load(x->dtype, at[0], rows.row_stride[0], n, row);
    for (int64_t i = 0; i < n; i++, index++) {
      hone_scalar_class_t class = hone_scalar_class(x->dtype);
      if (class == HONE_SCALAR_F64)
        print_float(x->dtype, row[i].f, text, sizeof text);
      else if (x->dtype == HONE_BOOL)
        snprintf(text, sizeof text, row[i].i ? "True" : "False");
      else if (class == HONE_SCALAR_U64)
        snprintf(text, sizeof text, "%llu", (unsigned long long)row[i].u);
      else
        snprintf(text, sizeof text, "%lld", (long long)row[i].i);
      HONE_TRY(hone_tensor_set_string(out->base, index, text, strlen(text)));
    }
  }
  return NULL;
}

static hone_status_t parse_number(const hone_string_t* string, hone_dtype_t dtype,
                                  hone_scalar_t* out) {
  char text[128];
  size_t length = string->size < sizeof text - 1 ? string->size : sizeof text - 1;
  if (length) memcpy(text, string->data, length);
  text[length] = 0;
  char* end = text;
  hone_scalar_class_t class = hone_scalar_class(dtype);
  errno = 0;
  if (class == HONE_SCALAR_F64)
    out->f = strtod(text, &end);
  else if (class == HONE_SCALAR_U64)
    out->u = strtoull(text, &end, 10);
  else
    out->i = strtoll(text, &end, 10);
  if (class != HONE_SCALAR_F64 && (*end == '.' || *end == 'e' || *end == 'E'))
    out->i = hone_double_to_i64(strtod(text, &end));
  while (*end == ' ') end++;
  if (end == text || *end || string->size >= sizeof text)
    return hone_status_make(HONE_INVALID_ARGUMENT, "cast: the string '%s' is not a number", text);
  return NULL;
}

static hone_status_t from_string(const ref_view_t* x, const ref_view_t* out) {
  const ref_view_t* views[2] = {x, out};
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_scalar_t row[HONE_REF_ROW];
  hone_ref_rows_start(&rows, 2, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;) {
    for (int64_t i = 0; i < n; i++) {
      hone_string_t string;
      memcpy(&string, at[0] + i * rows.row_stride[0], sizeof string);
      HONE_TRY(parse_number(&string, out->dtype, &row[i]));
    }
    hone_scalar_store(out->dtype, row, n, at[1]);
  }
  return NULL;
}

/* ---- numbers ---- */

/* Complex numbers are copied part by part. */
static void cast_complex_row(const hone_scalar_cast_t* cast, const char* from, int64_t stride,
                             int64_t n, char* to) {
  hone_dtype_t part = cast->from == HONE_C64 ? HONE_F32 : HONE_F64;
  hone_dtype_t out_part = cast->to == HONE_C64 ? HONE_F32 : HONE_F64;
  for (int64_t i = 0; i < n; i++) {
    double parts[2];
    hone_load_f64(part, from + i * stride, (int64_t)hone_dtype_size(part), 2, parts);
    hone_store_f64(out_part, parts, 2, to + (size_t)i * hone_dtype_size(cast->to));
  }
}

static hone_status_t cast_numbers(const ref_call_t* call, const hone_scalar_cast_t* cast) {
  const ref_view_t* views[2] = {call->in[0], &call->out[0]};
  bool from_complex = hone_dtype_is_complex(cast->from);
  bool to_complex = hone_dtype_is_complex(cast->to);
  if (from_complex != to_complex &&
      (from_complex || hone_scalar_class(cast->from) != HONE_SCALAR_F64))
    return hone_status_make(HONE_UNSUPPORTED, "cast from %s to %s is not defined",
                            hone_dtype_name(cast->from), hone_dtype_name(cast->to));
  hone_scalar_t row[HONE_REF_ROW];
  ref_rows_t rows;
  char* at[HONE_REF_MAX_VIEWS];
  hone_ref_rows_start(&rows, 2, views);
  for (int64_t n; (n = hone_ref_rows_next(&rows, at)) > 0;) {
    if (from_complex) {
      cast_complex_row(cast, at[0], rows.row_stride[0], n, at[1]);
      continue;
    }
    hone_scalar_load(cast->from, at[0], rows.row_stride[0], n, row);
    if (to_complex)
      for (int64_t i = 0; i < n; i++)
        hone_from_double(cast->to, row[i].f, false, at[1] + (size_t)i * hone_dtype_size(cast->to));
    else
      hone_scalar_cast(cast, row, n, at[1]);
  }
  return NULL;
}

hone_status_t hone_ref_cast(ref_call_t* call) {
  const ref_view_t* x = call->in[0];
  const hone_node_t* node = call->node;
  hone_scalar_cast_t cast = hone_scalar_cast_of(x->dtype, node->dtype, node->flags);
  if (cast.from == cast.to) {
    call->out[0] = hone_ref_share(x);
    return NULL;
  }
  HONE_TRY(hone_ref_make(call->allocator, node->dtype, x->rank, x->dims, &call->out[0]));
  if (cast.to == HONE_STRING) return to_string(x, &call->out[0]);
  if (cast.from == HONE_STRING) return from_string(x, &call->out[0]);
  return cast_numbers(call, &cast);
}

hone_status_t hone_ref_bitcast(ref_call_t* call) {
  call->out[0] = hone_ref_share(call->in[0]);
  call->out[0].dtype = call->node->dtype;
  return NULL;
}
