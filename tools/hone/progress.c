#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/trace.h"

enum { CELLS = 24, TEXT = 70, PAUSE_NS = 50000000 };

static bool is_terminal(void) {
  const char* term = getenv("TERM");
  return isatty(STDERR_FILENO) && (!term || strcmp(term, "dumb") != 0);
}

void hone_progress_show(hone_progress_t* progress, double part, const char* text) {
  int64_t now = hone_clock_ns();
  if (progress->shown_ns && now - progress->shown_ns < PAUSE_NS) return;
  progress->shown_ns = now;
  if (!is_terminal()) return;
  progress->is_there = true;
  int filled = (int)(part * CELLS);
  fputs("\r\033[K[", stderr);
  for (int i = 0; i < CELLS; i++) fputs(i < filled ? "█" : " ", stderr);
  fprintf(stderr, "] %.*s", TEXT, text);
  fflush(stderr);
}

void hone_progress_clear(hone_progress_t* progress) {
  if (progress->is_there) fputs("\r\033[K", stderr);
  *progress = (hone_progress_t){0};
}
