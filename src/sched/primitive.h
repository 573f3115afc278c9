/* Schedule primitives as the text of a schedule calls them: a line is the
 * name of a primitive and its arguments, separated by blanks.
 *
 * A primitive is one file of this folder, src/sched/NAME.c, that exports one
 * constant descriptor hone_primitive_NAME; being there is being registered.
 * Its function in C is declared in hone/schedule.h. */
#ifndef HONE_SCHED_PRIMITIVE_H
#define HONE_SCHED_PRIMITIVE_H

#include "hone/schedule.h"

typedef struct hone_primitive {
  const char* name;
  const char* usage;      /* "split LOOP FACTOR [exact|guard|peel|long]" */
  int min_args, max_args; /* -1: any number */
  /* Arguments without the name. */
  hone_status_t (*apply)(hone_kernel_t* kernel, int n, const char* const* args);
} hone_primitive_t;

extern const hone_primitive_t* const hone_primitives[];
extern const int hone_primitive_count;

#endif
