/* The inside of reports. */
#ifndef HONE_RUNTIME_REPORT_IMPL_H
#define HONE_RUNTIME_REPORT_IMPL_H

#include "base/map.h"
#include "hone/report.h"
#include "runtime/limits.h"
#include "runtime/session_impl.h"

/* A step, and its time in each run that is measured. */
typedef struct hone_report_row {
  hone_report_step_t step;
  double *seconds, *device_seconds, *launch_seconds; /* by run */
  double current, current_device, current_launch;    /* of the run at hand */
  int64_t count;                                     /* of its times in it */
  int end; /* the last place of the step and what runs inside of it */
} hone_report_row_t;

struct hone_report {
  const hone_allocator_t* allocator;
  hone_arena_t* arena;
  hone_session_t* session;
  hone_program_t* program; /* NULL: the device takes whole graphs */
  int64_t* symbols;        /* by id */
  hone_limits_t limits;
  hone_report_memory_t memory;
  hone_report_device_t device;
  hone_report_times_t times;
  int n_values;
  hone_report_value_t* values;
  int n_unknown;
  hone_report_unknown_t* unknown;
  int n_rows, rows_room;
  hone_report_row_t** rows;
  hone_map_t by_step; /* a program's step (as a number) to its row */
  hone_map_t by_name; /* other nodes: "origin\nprimitive" */
  int n_nodes;
  hone_report_node_t* nodes;
};

/* An empty row; NULL when memory is out. */
hone_report_row_t* hone_report_add_row(hone_report_t* report);
/* The row of a program's step. */
hone_report_row_t* hone_report_row_of(const hone_report_t* report, const hone_step_t* step);
/* Where steps and values stand in the whole: in time, and in planned memory (report_order.c). */
void hone_report_put_in_order(hone_report_t* report);
/* What became of the model's nodes (report_nodes.c). */
HONE_MUST_USE hone_status_t hone_report_fill_nodes(hone_report_t* report,
                                                   const hone_session_parts_t* parts);

#endif
