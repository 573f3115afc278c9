/* UTF-8 after Unicode's table of well-formed byte sequences. */
#include "ops/common/text.h"

#include <locale.h>
#include <wctype.h>

#include "base/memory.h"

/* How many bytes follow a lead byte, and the smallest character of that length. */
static int follow_count(unsigned char lead, int32_t* value, int32_t* least) {
  static const int32_t leasts[] = {0, 0x80, 0x800, 0x10000};
  int n = lead < 0x80 ? 0 : (lead & 0xe0) == 0xc0 ? 1 : (lead & 0xf0) == 0xe0 ? 2 : 3;
  if (lead >= 0x80 && (lead < 0xc2 || lead > 0xf4)) return -1;
  *value = n == 0 ? lead : lead & (0x3f >> n);
  *least = leasts[n];
  return n;
}

int32_t hone_text_next(const char* text, size_t size, size_t* at) {
  int32_t value, least;
  size_t start = (*at)++;
  int n = follow_count((unsigned char)text[start], &value, &least);
  if (n < 0 || (size_t)n > size - start - 1) return HONE_NO_CHAR;
  for (int i = 1; i <= n; i++) {
    unsigned char byte = (unsigned char)text[start + (size_t)i];
    if ((byte & 0xc0) != 0x80) return HONE_NO_CHAR;
    value = value << 6 | (byte & 0x3f);
  }
  if (value < least || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return HONE_NO_CHAR;
  *at += (size_t)n;
  return value;
}

void hone_text_append(hone_str_t* out, int32_t c) {
  char bytes[4];
  int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const int leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (int i = n - 1; i > 0; i--, c >>= 6) bytes[i] = (char)(0x80 | (c & 0x3f));
  bytes[0] = (char)(leads[n] | c);
  hone_str_append_n(out, bytes, (size_t)n);
}

/* ---- case ---- */

struct hone_text_case {
  const hone_allocator_t* allocator;
  locale_t locale;
};

hone_status_t hone_text_case_create(const hone_allocator_t* allocator,
                                    hone_text_case_t** out_case) {
  *out_case = hone_alloc(allocator, sizeof **out_case);
  if (!*out_case) return hone_oom();
  (*out_case)->allocator = allocator;
  locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  if (!locale) locale = newlocale(LC_CTYPE_MASK, "en_US.UTF-8", (locale_t)0);
  if (!locale) locale = newlocale(LC_CTYPE_MASK, "C", (locale_t)0);
  if (!locale) {
    hone_text_case_destroy(*out_case);
    *out_case = NULL;
    return hone_oom();
  }
  (*out_case)->locale = locale;
  return NULL;
}

void hone_text_case_destroy(hone_text_case_t* text_case) {
  if (!text_case) return;
  if (text_case->locale) freelocale(text_case->locale);
  hone_free(text_case->allocator, text_case, sizeof *text_case);
}

int32_t hone_text_lower(const hone_text_case_t* text_case, int32_t c) {
  return c < 0 ? c : (int32_t)towlower_l((wint_t)c, text_case->locale);
}

int32_t hone_text_upper(const hone_text_case_t* text_case, int32_t c) {
  return c < 0 ? c : (int32_t)towupper_l((wint_t)c, text_case->locale);
}
