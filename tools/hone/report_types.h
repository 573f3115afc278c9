/* Time by type of node: what `profile` prints and draws. */
#ifndef HONE_TOOLS_REPORT_TYPES_H
#define HONE_TOOLS_REPORT_TYPES_H

#include "reporting.h"

typedef struct hone_type_sum {
  char name[64]; /* "Conv" */
  int steps;
  double seconds;
} hone_type_sum_t;

typedef struct hone_types {
  int count, room;
  hone_type_sum_t* list; /* the slowest first; all steps that ran */
} hone_types_t;

HONE_MUST_USE hone_status_t hone_types_sum(const hone_report_t* report, hone_types_t* out);
void hone_types_free(hone_types_t* types);

#endif
