/* String builder: text that grows at its end.
 *
 * Running out of memory is remembered: the appends that follow do nothing and
 * hone_str_take reports it, so that a long text needs one check. The text
 * always ends in 0, and may hold zeros. Not thread-safe. */
#ifndef HONE_BASE_STR_H
#define HONE_BASE_STR_H

#include "hone/allocator.h"

typedef struct hone_str {
  const hone_allocator_t* allocator;
  char* data;  /* NULL while empty */
  size_t size; /* without the 0 at the end */
  size_t capacity;
  bool failed;
} hone_str_t;

void hone_str_init(hone_str_t* str, const hone_allocator_t* allocator);
void hone_str_free(hone_str_t* str);
void hone_str_append(hone_str_t* str, const char* text);
void hone_str_append_n(hone_str_t* str, const char* data, size_t size);
void hone_str_append_char(hone_str_t* str, char c);
void hone_str_appendf(hone_str_t* str, const char* format, ...) HONE_PRINTF(2, 3);
/* The shortest decimal that reads back as `value`, whatever the locale; "nan", "inf", "-inf". */
void hone_str_append_double(hone_str_t* str, double value);
/* `text` in quotes as JSON wants it. Bytes from 128 on pass unchanged. */
void hone_str_append_json(hone_str_t* str, const char* text, size_t size);
/* The text so far, "" while empty; valid until the next change. */
const char* hone_str_text(const hone_str_t* str);
/* Hands the text over, to be freed with hone_free(allocator, text, size + 1),
 * and leaves `str` empty. `out_size` may be NULL. Errors: OUT_OF_MEMORY, `str` is then freed. */
HONE_MUST_USE hone_status_t hone_str_take(hone_str_t* str, char** out_text, size_t* out_size);

#endif
