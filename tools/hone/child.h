/* Child: a program that answers lines with lines, such as a peer of `hone bench`.
 *
 * It is a process group of its own, which can be held, so that it costs nothing
 * while others are measured, and which ends with this process. What it says on
 * standard error is kept for messages. */
#ifndef HONE_TOOLS_CHILD_H
#define HONE_TOOLS_CHILD_H

#include <sched.h>
#include <sys/types.h>

#include "base/str.h"

/* All zeros is one that was not started. */
typedef struct hone_child {
  pid_t pid;       /* 0: there is none */
  int line;        /* both of its standard input and output */
  int messages;    /* a file: its standard error */
  hone_str_t text; /* the last answer, and what came after it */
} hone_child_t;

typedef enum hone_child_answer {
  HONE_CHILD_ANSWERED,
  HONE_CHILD_ENDED, /* instead of answering */
  HONE_CHILD_LATE,  /* there was no line within the limit */
} hone_child_answer_t;

/* argv[0] is the program's path. Errors: IO. */
HONE_MUST_USE hone_status_t hone_child_start(const char* const* argv, hone_child_t* out_child);
/* Sends a line, and waits `seconds` for the one that answers it, which *out_line
 * is until the next question. */
hone_child_answer_t hone_child_ask(hone_child_t* child, const char* question, double seconds,
                                   const char** out_line);
void hone_child_hold(const hone_child_t* child);
void hone_child_go_on(const hone_child_t* child);
/* Has its threads, those that it has now, run on these cores. */
void hone_child_bind(const hone_child_t* child, const cpu_set_t* cores);
/* Ends it and all that it started; why it had ended before goes to `why`, which may
 * be NULL: "signal 11, Segmentation fault; its last words". One not started is allowed. */
void hone_child_end(hone_child_t* child, hone_str_t* why);

#endif
