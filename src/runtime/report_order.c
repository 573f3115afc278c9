/* Reports: routines put together to one whole, in the order in which their steps run and their
 * blocks lie one after the other. */
#include "base/memory.h"
#include "runtime/report_impl.h"

/* Rows of routines follow each other, those of the whole first. */
typedef struct order {
  const hone_report_t* report;
  int* rows; /* by routine: its first row */
  int* ends; /* by row: the last place of the step and what runs inside of it */
  int places;
} order_t;

static void put_routine(order_t* o, const hone_routine_t* routine) {
  for (int s = 0; s < routine->n_steps; s++) {
    const hone_step_t* step = &routine->steps[s];
    int row = o->rows[routine->index] + s;
    o->report->rows[row]->step.place = o->places++;
    for (int i = 0; i < 2; i++)
      if (step->bodies[i]) put_routine(o, step->bodies[i]);
    o->ends[row] = o->places - 1;
  }
}

/* Some values live to the end of the routine, which is the step after its last. */
static void put_value(const order_t* o, hone_report_value_t* value) {
  const hone_routine_t* routine = o->report->program->routines[value->routine];
  int row = o->rows[value->routine];
  int last = value->last < routine->n_steps ? value->last : routine->n_steps - 1;
  if (last < 0) return;
  value->begin = o->report->rows[row + value->first]->step.place;
  value->end = o->ends[row + last];
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

hone_status_t hone_report_put_in_order(hone_report_t* report) {
  const hone_program_t* program = report->program;
  order_t o = {.report = report};
  int rows = 0;
  o.rows = hone_arena_array(report->arena, (size_t)program->n_routines, sizeof *o.rows);
  o.ends = hone_arena_array(report->arena, (size_t)report->n_rows, sizeof *o.ends);
  if (!o.rows || !o.ends) return hone_oom();
  for (int r = 0; r < program->n_routines; r++) {
    o.rows[r] = rows;
    rows += program->routines[r]->n_steps;
  }
  put_routine(&o, program->routines[0]);
  for (int i = 0; i < report->n_values; i++) put_value(&o, &report->values[i]);
  put_blocks(report);
  return NULL;
}
