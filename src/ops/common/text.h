/* Text operators: UTF-8 one character at a time, and letter case that does not
 * depend on the locale that the process runs in. */
#ifndef HONE_OPS_COMMON_TEXT_H
#define HONE_OPS_COMMON_TEXT_H

#include "base/str.h"

enum { HONE_NO_CHAR = -1 };

/* The character at *at, which moves behind it; HONE_NO_CHAR (and one byte on)
 * where the bytes are not UTF-8. Needs *at < size. */
int32_t hone_text_next(const char* text, size_t size, size_t* at);
/* Appends a character as UTF-8. */
void hone_text_append(hone_str_t* out, int32_t c);

/* Case mapping after the C library's table for UTF-8. */
typedef struct hone_text_case hone_text_case_t;
HONE_MUST_USE hone_status_t hone_text_case_create(const hone_allocator_t* allocator,
                                                  hone_text_case_t** out_case);
void hone_text_case_destroy(hone_text_case_t* text_case); /* NULL is allowed */
int32_t hone_text_lower(const hone_text_case_t* text_case, int32_t c);
int32_t hone_text_upper(const hone_text_case_t* text_case, int32_t c);

#endif
