/* Values in text files, and shapes for files that have none. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "base/str.h"
#include "value.h"

/* ---- shapes ---- */

static hone_status_t wrong_count(const hone_value_want_t* want, int64_t count) {
  int64_t expected = 1;
  for (int i = 0; i < want->rank; i++) expected *= want->dims[i];
  return hone_status_make(HONE_INVALID_ARGUMENT,
                          "it has %" PRId64 " elements, but the input takes %" PRId64, count,
                          expected);
}

/* Finds the extents from the number of elements. */
static hone_status_t complete_shape(hone_value_want_t* want, int64_t count) {
  int open = -1;
  int64_t known = 1;
  if (want->rank < 0) {
    want->rank = 1;
    want->dims[0] = -1;
  }
  for (int i = 0; i < want->rank; i++) {
    if (want->dims[i] < 0 && (open >= 0 || count < 0))
      return hone_status_make(HONE_INVALID_ARGUMENT,
                              "its size is open; say it with --shape NAME=SIZE,SIZE… or --dim");
    if (want->dims[i] < 0)
      open = i;
    else if (!hone_i64_mul(known, want->dims[i], &known))
      return hone_status_make(HONE_INVALID_ARGUMENT, "its shape is too large");
  }
  if (open >= 0) {
    if (known == 0 || count % known)
      return hone_status_make(HONE_INVALID_ARGUMENT,
                              "%" PRId64 " elements do not fill rows of %" PRId64, count, known);
    want->dims[open] = count / known;
  } else if (count >= 0 && count != known) {
    return wrong_count(want, count);
  }
  return NULL;
}

hone_status_t hone_value_create(const hone_allocator_t* allocator, const hone_value_want_t* want,
                                int64_t count, hone_tensor_t** out_tensor) {
  *out_tensor = NULL;
  hone_value_want_t shape = *want;
  if (want->dtype == HONE_UNKNOWN)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "the model does not say the type of its elements; give a .npy or .pb "
                            "file");
  HONE_TRY(complete_shape(&shape, count));
  return hone_tensor_create(allocator, shape.dtype, shape.rank, shape.dims, out_tensor);
}

/* ---- numbers ---- */

/* The least and largest value of an integer type of up to 64 bits. */
static bool fits(hone_dtype_t dtype, int64_t value) {
  int bits = hone_dtype_bits(dtype);
  if (hone_dtype_is_unsigned(dtype)) return value >= 0 && (bits >= 63 || value >> bits == 0);
  return bits >= 64 || (value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1));
}

static bool parse_int(hone_dtype_t dtype, const char* word, void* element) {
  char* end;
  errno = 0;
  int64_t value;
  if (dtype == HONE_U64) {
    value = (int64_t)strtoull(word, &end, 10);
    if (*word == '-') return false;
  } else {
    value = strtoll(word, &end, 10);
    if (!fits(dtype, value)) return false;
  }
  if (errno || end == word || *end) return false;
  hone_store_i64(dtype, &value, 1, element);
  return true;
}

static bool parse_bool(const char* word, void* element) {
  bool yes = strcmp(word, "1") == 0 || strcasecmp(word, "true") == 0;
  *(uint8_t*)element = yes;
  return yes || strcmp(word, "0") == 0 || strcasecmp(word, "false") == 0;
}

static bool parse_element(hone_dtype_t dtype, const char* word, void* element) {
  if (dtype == HONE_BOOL) return parse_bool(word, element);
  if (hone_dtype_is_int(dtype)) return parse_int(dtype, word, element);
  char* end;
  double value = strtod(word, &end);
  hone_from_double(dtype, value, isfinite(value), element);
  return end != word && !*end;
}

static bool is_blank(char c) { return isspace((unsigned char)c) || c == ','; }

/* The word at *at, which moves behind it; its length is 0 at the end. */
static size_t next_word(const char** at, const char* end, const char** out_word) {
  while (*at < end && is_blank(**at)) ++*at;
  *out_word = *at;
  while (*at < end && !is_blank(**at)) ++*at;
  return (size_t)(*at - *out_word);
}

static int64_t count_words(const char* text, size_t size) {
  const char *at = text, *word;
  int64_t count = 0;
  while (next_word(&at, text + size, &word)) count++;
  return count;
}

static hone_status_t parse_numbers(const char* text, size_t size, hone_tensor_t* tensor) {
  const char *at = text, *word;
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  char* element = hone_tensor_data(tensor);
  int64_t index = 0;
  for (size_t length; (length = next_word(&at, text + size, &word)); index++) {
    char buffer[HONE_NUMBER_SIZE];
    snprintf(buffer, sizeof buffer, "%.*s", (int)(length < 1000 ? length : 1000), word);
    if (length >= sizeof buffer || !parse_element(dtype, buffer, element))
      return hone_status_make(HONE_INVALID_DATA, "number %" PRId64 ", '%s', is no %s", index + 1,
                              buffer, hone_dtype_name(dtype));
    element += hone_dtype_size(dtype);
  }
  return NULL;
}

/* ---- lines of text ---- */

/* Lines, the last one with or without an end. */
static int64_t count_lines(const char* text, size_t size) {
  int64_t count = size && text[size - 1] != '\n';
  for (size_t i = 0; i < size; i++) count += text[i] == '\n';
  return count;
}

static hone_status_t set_lines(const char* text, size_t size, hone_tensor_t* tensor) {
  const char *at = text, *end = text + size;
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++) {
    const char* stop = memchr(at, '\n', (size_t)(end - at));
    if (!stop) stop = end;
    size_t length = (size_t)(stop - at);
    if (length && at[length - 1] == '\r') length--;
    HONE_TRY(hone_tensor_set_string(tensor, i, at, length));
    at = stop < end ? stop + 1 : end;
  }
  return NULL;
}

hone_status_t hone_value_parse_text(const hone_allocator_t* allocator, const char* text,
                                    size_t size, const hone_value_want_t* want,
                                    hone_tensor_t** out_tensor) {
  bool strings = want->dtype == HONE_STRING;
  if (hone_dtype_is_complex(want->dtype))
    return hone_status_make(HONE_UNSUPPORTED,
                            "complex numbers are not read from text; give a "
                            ".npy file");
  int64_t count = strings ? count_lines(text, size) : count_words(text, size);
  hone_tensor_t* tensor;
  HONE_TRY(hone_value_create(allocator, want, count, &tensor));
  hone_status_t status =
      strings ? set_lines(text, size, tensor) : parse_numbers(text, size, tensor);
  if (status)
    hone_tensor_release(tensor);
  else
    *out_tensor = tensor;
  return status;
}

/* ---- printing ---- */

/* Digits after the first one that are needed to tell the number from others of its type. */
static int digits_needed(hone_dtype_t dtype, const void* element, double value) {
  enum { MOST = 16 };
  for (int digits = 0; digits < MOST; digits++) {
    char text[HONE_NUMBER_SIZE];
    unsigned char back[8];
    snprintf(text, sizeof text, "%.*e", digits, value);
    hone_from_double(dtype, strtod(text, NULL), false, back);
    if (memcmp(back, element, hone_dtype_size(dtype)) == 0) return digits;
  }
  return MOST;
}

/* Without an exponent where that is not much longer. */
static void print_real(hone_dtype_t dtype, const void* element, char out[HONE_NUMBER_SIZE]) {
  enum { LEAST = -5, MOST = 15 };
  double value = hone_to_double(dtype, element);
  int digits = isfinite(value) ? digits_needed(dtype, element, value) : 0;
  snprintf(out, HONE_NUMBER_SIZE, "%.*e", digits, isnan(value) ? (double)NAN : value);
  const char* e = strchr(out, 'e');
  int exponent = e ? (int)strtol(e + 1, NULL, 10) : MOST;
  int decimals = digits > exponent ? digits - exponent : 0;
  if (exponent > LEAST && exponent < MOST) snprintf(out, HONE_NUMBER_SIZE, "%.*f", decimals, value);
}

static void print_complex(hone_dtype_t dtype, const void* element, char out[HONE_NUMBER_SIZE]) {
  double parts[2];
  if (dtype == HONE_C64) {
    float narrow[2];
    memcpy(narrow, element, sizeof narrow);
    parts[0] = narrow[0];
    parts[1] = narrow[1];
  } else {
    memcpy(parts, element, sizeof parts);
  }
  int digits = dtype == HONE_C64 ? 9 : 17;
  snprintf(out, HONE_NUMBER_SIZE, "%.*g%+.*gj", digits, parts[0], digits, parts[1]);
}

void hone_value_print_number(const hone_tensor_t* tensor, int64_t index,
                             char out[HONE_NUMBER_SIZE]) {
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  const char* element =
      (const char*)hone_tensor_data(tensor) + (size_t)index * hone_dtype_size(dtype);
  int64_t integer = 0;
  out[0] = 0;
  if (dtype == HONE_STRING) return;
  if (hone_dtype_is_complex(dtype)) {
    print_complex(dtype, element, out);
  } else if (hone_dtype_is_float(dtype)) {
    print_real(dtype, element, out);
  } else {
    hone_load_i64(dtype, element, 0, 1, &integer);
    snprintf(out, HONE_NUMBER_SIZE, dtype == HONE_U64 ? "%" PRIu64 : "%" PRId64, integer);
  }
}

static hone_status_t print_string(const hone_string_t* string, int64_t index, hone_str_t* out) {
  if (string->size && memchr(string->data, '\n', string->size))
    return hone_status_make(HONE_UNSUPPORTED,
                            "string %" PRId64 " holds an end of line; write a .npy or .pb file",
                            index);
  hone_str_append_n(out, string->data, string->size);
  hone_str_append_char(out, '\n');
  return NULL;
}

static hone_status_t print_tensor(const hone_tensor_t* tensor, hone_str_t* out) {
  int rank = hone_tensor_rank(tensor);
  int64_t line = rank ? hone_tensor_dims(tensor)[rank - 1] : 1;
  const hone_string_t* strings = hone_tensor_data(tensor);
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++) {
    char number[HONE_NUMBER_SIZE];
    if (hone_tensor_dtype(tensor) == HONE_STRING) {
      HONE_TRY(print_string(&strings[i], i, out));
      continue;
    }
    hone_value_print_number(tensor, i, number);
    hone_str_append(out, number);
    hone_str_append_char(out, (i + 1) % line ? ' ' : '\n');
  }
  return NULL;
}

hone_status_t hone_value_print_text(const hone_allocator_t* allocator, const hone_tensor_t* tensor,
                                    char** out_text, size_t* out_size) {
  hone_str_t text;
  hone_str_init(&text, allocator);
  hone_status_t status = print_tensor(tensor, &text);
  if (!status) return hone_str_take(&text, out_text, out_size);
  hone_str_free(&text);
  return status;
}
