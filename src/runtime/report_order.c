/* Reports: routines put together to one whole, in the order in which their steps run and their
 * blocks lie one after the other. */
#include "runtime/report_impl.h"

/* Gives the place behind. */
static int put_routine(const hone_report_t* report, const hone_routine_t* routine, int place) {
  for (int s = 0; s < routine->n_steps; s++) {
    const hone_step_t* step = &routine->steps[s];
    hone_report_row_t* row = hone_report_row_of(report, step);
    row->step.place = place++;
    for (int i = 0; i < 2; i++)
      if (step->bodies[i]) place = put_routine(report, step->bodies[i], place);
    row->end = place - 1;
  }
  return place;
}

/* Some values live to the end of the routine, which is the step after its last. */
static void put_value(const hone_report_t* report, hone_report_value_t* value) {
  const hone_routine_t* routine = report->program->routines[value->routine];
  int last = value->last < routine->n_steps ? value->last : routine->n_steps - 1;
  if (last < 0) return;
  value->begin = hone_report_row_of(report, &routine->steps[value->first])->step.place;
  value->end = hone_report_row_of(report, &routine->steps[last])->end;
}

/* Values come routine by routine. */
static void put_blocks(hone_report_t* report) {
  uint64_t block = 0, next = 0;
  for (int i = 0; i < report->n_values; i++) {
    hone_report_value_t* value = &report->values[i];
    if (i == 0 || value->routine != value[-1].routine) block = next;
    if (!value->is_planned) continue;
    value->block = block;
    next = block + value->block_bytes * (uint64_t)value->blocks;
  }
}

void hone_report_put_in_order(hone_report_t* report) {
  put_routine(report, report->program->routines[0], 0);
  for (int i = 0; i < report->n_values; i++) put_value(report, &report->values[i]);
  put_blocks(report);
}
