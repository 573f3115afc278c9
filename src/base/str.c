#include "base/str.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { FIRST_CAPACITY = 64 };

void hone_str_init(hone_str_t* str, const hone_allocator_t* allocator) {
  *str = (hone_str_t){.allocator = allocator};
}

void hone_str_free(hone_str_t* str) {
  hone_free(str->allocator, str->data, str->capacity);
  hone_str_init(str, str->allocator);
}

/* Room for `more` bytes and the 0; false once memory was out. */
static bool str_reserve(hone_str_t* str, size_t more) {
  size_t need;
  if (str->failed) return false;
  if (!hone_size_add(str->size, more, &need) || !hone_size_add(need, 1, &need)) need = SIZE_MAX;
  if (need <= str->capacity) return true;
  size_t capacity = str->capacity ? str->capacity : FIRST_CAPACITY;
  while (capacity < need && capacity <= SIZE_MAX / 2) capacity *= 2;
  char* data =
      capacity < need ? NULL : hone_realloc(str->allocator, str->data, str->capacity, capacity);
  if (!data) {
    str->failed = true;
    return false;
  }
  str->data = data;
  str->capacity = capacity;
  return true;
}

void hone_str_append_n(hone_str_t* str, const char* data, size_t size) {
  if (!str_reserve(str, size)) return;
  if (size) memcpy(str->data + str->size, data, size);
  str->size += size;
  str->data[str->size] = 0;
}

void hone_str_append(hone_str_t* str, const char* text) {
  hone_str_append_n(str, text, strlen(text));
}

void hone_str_append_char(hone_str_t* str, char c) { hone_str_append_n(str, &c, 1); }

/* Written where there is room already, which mostly is enough, else once more. */
void hone_str_appendf(hone_str_t* str, const char* format, ...) {
  va_list args;
  if (!str_reserve(str, FIRST_CAPACITY)) return;
  size_t room = str->capacity - str->size;
  va_start(args, format);
  int length = vsnprintf(str->data + str->size, room, format, args);
  va_end(args);
  if (length >= 0 && (size_t)length >= room) {
    str->data[str->size] = 0;
    if (!str_reserve(str, (size_t)length)) return;
    va_start(args, format);
    vsnprintf(str->data + str->size, (size_t)length + 1, format, args);
    va_end(args);
  }
  if (length >= 0) str->size += (size_t)length;
  str->data[str->size] = 0;
}

void hone_str_append_double(hone_str_t* str, double value) {
  char text[40];
  if (value != value) {
    hone_str_append(str, "nan");
    return;
  }
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  const char* point = localeconv()->decimal_point;
  char* found = *point && strcmp(point, ".") != 0 ? strstr(text, point) : NULL;
  if (found) {
    size_t width = strlen(point);
    memmove(found + 1, found + width, strlen(found + width) + 1);
    *found = '.';
  }
  hone_str_append(str, text);
}

static void append_json_char(hone_str_t* str, unsigned char c) {
  if (c == '"' || c == '\\')
    hone_str_appendf(str, "\\%c", c);
  else if (c < 0x20 || c == 0x7f)
    hone_str_appendf(str, "\\u%04x", c);
  else
    hone_str_append_char(str, (char)c);
}

void hone_str_append_json(hone_str_t* str, const char* text, size_t size) {
  hone_str_append_char(str, '"');
  for (size_t i = 0; i < size; i++) append_json_char(str, (unsigned char)text[i]);
  hone_str_append_char(str, '"');
}

const char* hone_str_text(const hone_str_t* str) { return str->data ? str->data : ""; }

hone_status_t hone_str_take(hone_str_t* str, char** out_text, size_t* out_size) {
  *out_text = NULL;
  if (out_size) *out_size = 0;
  char* text = NULL;
  if (str_reserve(str, 0))
    text = hone_realloc(str->allocator, str->data, str->capacity, str->size + 1);
  if (!text) {
    hone_str_free(str);
    return hone_oom();
  }
  text[str->size] = 0;
  *out_text = text;
  if (out_size) *out_size = str->size;
  hone_str_init(str, str->allocator);
  return NULL;
}
