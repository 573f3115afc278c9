#include "line.h"

#include <stdio.h>

#include "base/memory.h"
#include "import/utf8.h"

/* Whether a byte begins a character (all but UTF-8's continuations do). */
static bool begins_character(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

/* Bytes of the first `columns` characters. */
static size_t bytes_of(const char* text, size_t columns) {
  size_t at = 0;
  for (; text[at]; at++)
    if (begins_character(text[at]) && columns-- == 0) break;
  return at;
}

size_t hone_line_width(const hone_str_t* line) {
  size_t width = 0;
  for (size_t i = 0; i < line->size; i++) width += begins_character(line->data[i]);
  return width;
}

void hone_line_pad(hone_str_t* line, size_t width) {
  size_t now = hone_line_width(line);
  if (now < width) hone_str_appendf(line, "%*s", (int)(width - now), "");
}

hone_status_t hone_line_flush(hone_str_t* line) {
  if (line->failed) return hone_oom();
  if (line->data) hone_utf8_repair(line->data, line->size, true);
  const char* text = hone_str_text(line);
  size_t whole = bytes_of(text, HONE_LINE_COLUMNS);
  bool fits = !text[whole];
  printf("%.*s%s\n", (int)(fits ? whole : bytes_of(text, HONE_LINE_COLUMNS - 1)), text,
         fits ? "" : "…");
  line->size = 0;
  if (line->data) line->data[0] = 0;
  return NULL;
}

hone_status_t hone_line_report(hone_status_t (*print)(const void* what, hone_str_t* line),
                               const void* what) {
  hone_str_t line;
  hone_str_init(&line, NULL);
  hone_status_t status = print(what, &line);
  hone_str_free(&line);
  return status;
}
