/* Texts come from model files and command lines, and may be any bytes; JSON is
 * UTF-8 throughout. */
#include "json.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "import/utf8.h"

json_t* hone_json_text(const char* data, size_t size) {
  char* copy = hone_alloc(NULL, size + 1);
  if (!copy) return NULL;
  if (size) memcpy(copy, data, size);
  hone_utf8_repair(copy, size, false);
  json_t* made = json_stringn(copy, size);
  hone_free(NULL, copy, size + 1);
  return made;
}

json_t* hone_json_string(const char* text) {
  return text ? hone_json_text(text, strlen(text)) : json_null();
}

hone_status_t hone_json_print(json_t* root) {
  if (!root) return hone_oom();
  int failed = json_dumpf(root, stdout, JSON_INDENT(2));
  json_decref(root);
  putchar('\n');
  return failed ? hone_status_make(HONE_IO, "the report could not be printed") : NULL;
}
