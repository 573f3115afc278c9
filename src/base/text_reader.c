/* Tokens of text forms. */
#include "base/text_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool hone_text_is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

int hone_text_hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void hone_text_fail(hone_text_reader_t* reader, const char* what) {
  if (reader->status) return;
  int line = 1, column = 1;
  for (const char* c = reader->text; c < reader->at; c++) {
    column = *c == '\n' ? 1 : column + 1;
    line += *c == '\n';
  }
  reader->status = hone_status_make(reader->code, "%s, line %d, column %d: %s", reader->subject,
                                    line, column, what);
}

void hone_text_skip_blanks(hone_text_reader_t* reader) {
  for (;; reader->at++) {
    if (*reader->at == '#') reader->at += strcspn(reader->at, "\n");
    char c = *reader->at;
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
  }
}

bool hone_text_peek(hone_text_reader_t* reader, char c) {
  hone_text_skip_blanks(reader);
  return !reader->status && *reader->at == c;
}

bool hone_text_take(hone_text_reader_t* reader, char c) {
  if (!hone_text_peek(reader, c)) return false;
  reader->at++;
  return true;
}

void hone_text_expect(hone_text_reader_t* reader, char c) {
  char what[] = "expected 'x'";
  what[10] = c;
  if (!hone_text_take(reader, c)) hone_text_fail(reader, what);
}

bool hone_text_take_word(hone_text_reader_t* reader, const char* word) {
  hone_text_skip_blanks(reader);
  size_t length = strlen(word);
  if (reader->status || strncmp(reader->at, word, length) != 0) return false;
  if (hone_text_is_word(reader->at[length])) return false;
  reader->at += length;
  return true;
}

int64_t hone_text_read_int(hone_text_reader_t* reader) {
  hone_text_skip_blanks(reader);
  char* end;
  errno = 0;
  long long value = strtoll(reader->at, &end, 10);
  if (end == reader->at || errno)
    hone_text_fail(reader, "expected a whole number");
  else
    reader->at = end;
  return value;
}

int hone_text_read_small(hone_text_reader_t* reader, int64_t limit) {
  int64_t value = hone_text_read_int(reader);
  if (value < 0 || value >= limit) hone_text_fail(reader, "the number is out of range");
  return reader->status ? 0 : (int)value;
}

void hone_text_expect_end(hone_text_reader_t* reader) {
  hone_text_skip_blanks(reader);
  if (*reader->at) hone_text_fail(reader, "something follows the end");
}
