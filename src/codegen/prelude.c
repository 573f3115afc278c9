#include "codegen/prelude.h"

#include <string.h>

#include "base/memory.h"
#include "base/str.h"

enum { MOST_NESTED = 8 };

static const hone_embedded_text_t* find(const char* name, size_t length) {
  for (const hone_embedded_text_t* text = hone_embedded_texts; text->name; text++)
    if (strlen(text->name) == length && memcmp(text->name, name, length) == 0) return text;
  return NULL;
}

/* The end of the comment, if one starts at `at`; else `at`. The preludes have
 * no strings that look like comments. */
static const char* skip_comment(const char* at) {
  if (at[0] == '/' && at[1] == '/') return at + strcspn(at, "\n");
  if (at[0] != '/' || at[1] != '*') return at;
  const char* end = strstr(at, "*/");
  return end ? end + 2 : at + strlen(at);
}

static hone_status_t append(hone_str_t* out, const hone_embedded_text_t* text, int depth) {
  static const char include[] = "#include \"";
  const size_t length = sizeof include - 1;
  for (const char* at = text->text; *at;) {
    if (strncmp(at, include, length) == 0) {
      size_t name = strcspn(at + length, "\"");
      const hone_embedded_text_t* other = find(at + length, name);
      if (!other || depth == MOST_NESTED)
        return hone_status_make(HONE_NOT_FOUND, "prelude %s includes '%.*s', which is not there",
                                text->name, (int)name, at + length);
      HONE_TRY(append(out, other, depth + 1));
      at += strcspn(at, "\n");
      continue;
    }
    const char* after = skip_comment(at);
    if (after != at) {
      hone_str_append_char(out, ' ');
      at = after;
    } else if (*at == '\n' && out->size && out->data[out->size - 1] == '\n') {
      at++;
    } else {
      size_t line = strcspn(at, "\n/");
      if (line) {
        hone_str_append_n(out, at, line);
        at += line;
      } else {
        hone_str_append_char(out, *at++);
      }
    }
  }
  return NULL;
}

hone_status_t hone_prelude_make(hone_arena_t* arena, const char* name, int lanes,
                                const char** out_text) {
  *out_text = NULL;
  const hone_embedded_text_t* text = find(name, strlen(name));
  if (!text) return hone_status_make(HONE_NOT_FOUND, "there is no prelude '%s'", name);
  hone_str_t str;
  hone_str_init(&str, hone_allocator_system());
  if (lanes) hone_str_appendf(&str, "#define HONE_LANES %d\n", lanes);
  hone_status_t status = append(&str, text, 0);
  if (!status && str.failed) status = hone_oom();
  if (!status && !(*out_text = hone_arena_strndup(arena, str.data, str.size))) status = hone_oom();
  hone_str_free(&str);
  return status;
}
