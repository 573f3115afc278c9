/* A line on standard error that says how far something long is, and is gone when
 * that has ended. Nothing is written where standard error is no terminal. */
#ifndef HONE_TOOLS_PROGRESS_H
#define HONE_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* All zeros is a line that was not shown yet. */
typedef struct hone_progress {
  int64_t shown_ns; /* when it was last written; 0: never */
  bool is_there;
} hone_progress_t;

/* Shows a bar filled to `part` (0 … 1) and `text`; at most some twenty times a second. */
void hone_progress_show(hone_progress_t* progress, double part, const char* text);
void hone_progress_clear(hone_progress_t* progress);

#endif
