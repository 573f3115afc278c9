/* Statuses are allocated from the system: they must be reportable when an
 * allocator of the user's has nothing left. */
#include "hone/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct hone_status {
  hone_code_t code;
  char message[]; /* ends in 0 */
};

/* Shared, never freed: what there is to say when there is no memory to say it. */
static struct {
  hone_code_t code;
  char message[16];
} out_of_memory = {HONE_OUT_OF_MEMORY, "out of memory"};

static hone_status_t shared_oom(void) { return (hone_status_t)(void*)&out_of_memory; }

hone_status_t hone_oom(void) { return shared_oom(); }

hone_status_t hone_status_make_va(hone_code_t code, const char* format, va_list args) {
  va_list measure;
  va_copy(measure, args);
  int length = vsnprintf(NULL, 0, format, measure);
  va_end(measure);
  if (length < 0) length = 0;
  hone_status_t status = malloc(sizeof *status + (size_t)length + 1);
  if (!status) return shared_oom();
  status->code = code;
  status->message[0] = 0;
  vsnprintf(status->message, (size_t)length + 1, format, args);
  return status;
}

hone_status_t hone_status_make(hone_code_t code, const char* format, ...) {
  va_list args;
  va_start(args, format);
  hone_status_t status = hone_status_make_va(code, format, args);
  va_end(args);
  return status;
}

hone_status_t hone_status_annotate(hone_status_t status, const char* format, ...) {
  if (!status || status == shared_oom()) return status;
  va_list args;
  va_start(args, format);
  hone_status_t context = hone_status_make_va(status->code, format, args);
  va_end(args);
  if (context == shared_oom()) return status;
  hone_status_t joined =
      hone_status_make(status->code, "%s: %s", context->message, status->message);
  hone_status_free(context);
  if (joined == shared_oom()) return status;
  hone_status_free(status);
  return joined;
}

hone_code_t hone_status_code(hone_status_t status) { return status ? status->code : HONE_OK; }

const char* hone_status_message(hone_status_t status) { return status ? status->message : ""; }

void hone_status_free(hone_status_t status) {
  if (status != shared_oom()) free(status);
}

typedef struct code_row {
  const char* name;
  const char* text;
  const char* advice;
} code_row_t;

static const code_row_t code_rows[] = {
#define CODE_ROW(name, text, advice) {#name, text, advice},
    HONE_CODES(CODE_ROW)
#undef CODE_ROW
};

static const code_row_t* code_row(hone_code_t code) {
  return &code_rows[(unsigned)code < HONE_CODE_COUNT ? code : HONE_INTERNAL];
}

const char* hone_code_name(hone_code_t code) { return code_row(code)->name; }
const char* hone_code_text(hone_code_t code) { return code_row(code)->text; }
const char* hone_code_advice(hone_code_t code) { return code_row(code)->advice; }
