/* Read before each file, by clang-tidy only. It tells the analyzer what it
 * cannot see across files: a status that was made is never NULL, and one that
 * is annotated stays what it was. */
#include "base/memory.h"
#include "hone/status.h"

int tidy_made(hone_code_t code, const char* format, ...) HONE_PRINTF(2, 3);
int tidy_made_va(hone_code_t code, const char* format, va_list args);
extern char tidy_status;
static inline hone_status_t tidy_annotate(hone_status_t status, const char* format, ...) {
  return status;
}

#define TIDY_STATUS(call) ((call), (hone_status_t)(void*)&tidy_status)
#define hone_status_make(...) TIDY_STATUS(tidy_made(__VA_ARGS__))
#define hone_status_make_va(...) TIDY_STATUS(tidy_made_va(__VA_ARGS__))
#define hone_status_annotate(...) tidy_annotate(__VA_ARGS__)
#define hone_oom() TIDY_STATUS(0)
