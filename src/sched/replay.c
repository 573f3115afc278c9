/* Schedules in text: finding the primitive of each line and applying it. */
#include <string.h>

#include "base/memory.h"
#include "base/str.h"
#include "loop/kernel.h"
#include "sched/primitive.h"

enum { MAX_WORDS = 72, MAX_LINE = 4096 };

static const hone_primitive_t* find_primitive(const char* name) {
  for (int i = 0; i < hone_primitive_count; i++)
    if (strcmp(hone_primitives[i]->name, name) == 0) return hone_primitives[i];
  return NULL;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Cuts a line into words in place; -1: there are too many. */
static int cut_words(char* line, const char* words[MAX_WORDS]) {
  int n = 0;
  for (char* c = line; *c;) {
    while (is_blank(*c)) *c++ = 0;
    if (!*c || *c == '#') {
      *c = 0;
      break;
    }
    if (n == MAX_WORDS) return -1;
    words[n++] = c;
    while (*c && !is_blank(*c)) c++;
  }
  return n;
}

static hone_status_t apply_line(hone_kernel_t* kernel, char* line) {
  const char* words[MAX_WORDS];
  int n = cut_words(line, words);
  if (n == 0) return NULL;
  if (n < 0) return hone_status_make(HONE_INVALID_ARGUMENT, "too many words");
  const hone_primitive_t* primitive = find_primitive(words[0]);
  if (!primitive)
    return hone_status_make(HONE_NOT_FOUND, "there is no schedule primitive '%s'", words[0]);
  if (n - 1 < primitive->min_args || (primitive->max_args >= 0 && n - 1 > primitive->max_args))
    return hone_status_make(HONE_INVALID_ARGUMENT, "it is written '%s'", primitive->usage);
  return primitive->apply(kernel, n - 1, words + 1);
}

hone_status_t hone_schedule_apply(hone_kernel_t* kernel, const char* text) {
  char line[MAX_LINE];
  for (int number = 1; *text; number++) {
    size_t length = strcspn(text, "\n");
    if (length >= sizeof line)
      return hone_status_make(HONE_INVALID_ARGUMENT, "schedule, line %d: too long", number);
    memcpy(line, text, length);
    line[length] = 0;
    hone_status_t status = apply_line(kernel, line);
    if (status) return hone_status_annotate(status, "schedule, line %d", number);
    text += length + (text[length] == '\n');
  }
  return NULL;
}

const char* hone_schedule_text(const hone_kernel_t* kernel) {
  return hone_str_text(kernel->schedule);
}

const char* hone_schedule_help(int index) {
  return index >= 0 && index < hone_primitive_count ? hone_primitives[index]->usage : NULL;
}
