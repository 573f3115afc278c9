/* Schedules: the processors of an OpenCL device for CPUs are those of the cpu
 * backend, one group a thread, so they get its recipes, in explicit vectors:
 * drivers do not make vectors of outer loops. Elsewhere each work-item computes
 * one element of an output, in groups of ITEMS. */
#include "backends/common/schedule.h"

#include <stdio.h>

#include "backends/opencl/opencl.h"
#include "hone/schedule.h"

enum { ITEMS = 64, NAME = 128 };

/* True when the primitive was applied; what it refuses is left as it is. */
static bool did(hone_status_t* status, hone_status_t result) {
  bool was_applied = !result;
  if (hone_status_code(result) == HONE_OUT_OF_MEMORY && !*status)
    *status = result;
  else
    hone_status_free(result);
  return was_applied;
}

static hone_stmt_t* only_loop(const hone_stmt_t* stmt) {
  bool is_one = stmt->n_body == 1 && stmt->body[0]->kind == HONE_STMT_LOOP;
  return is_one && !stmt->body[0]->is_reduction ? stmt->body[0] : NULL;
}

/* Groups of work-items over all elements of the only output's nest. */
static hone_status_t schedule_items(hone_kernel_t* kernel, int64_t items) {
  hone_status_t status = NULL;
  char name[NAME];
  kernel->tactic = "items";
  kernel->why = "a device of many small processors: one work-item an element";
  for (hone_stmt_t* outer; (outer = only_loop(kernel->root)) && only_loop(outer);)
    if (!did(&status, hone_sched_fuse(kernel, outer->name, only_loop(outer)->name))) break;
  const hone_stmt_t* loop = only_loop(kernel->root);
  if (!loop || status) return status;
  char outer[NAME + 2], inner[NAME + 2];
  snprintf(name, sizeof name, "%s", loop->name);
  snprintf(outer, sizeof outer, "%s.o", name);
  snprintf(inner, sizeof inner, "%s.i", name);
  if (did(&status, hone_sched_split(kernel, name, items, HONE_TAIL_GUARD)) &&
      did(&status, hone_sched_bind(kernel, outer, HONE_BIND_GROUP)))
    did(&status, hone_sched_bind(kernel, inner, HONE_BIND_ITEM));
  return status;
}

hone_status_t hone_opencl_schedule(const hone_device_t* device, hone_kernel_t* kernel) {
  const hone_device_properties_t* p = &device->properties;
  if (!device->is_cpu)
    return schedule_items(kernel, p->max_group_size < ITEMS ? p->max_group_size : ITEMS);
  int lanes = p->vector_bytes / 4;
  const hone_cpu_shape_t shape = {.lanes = lanes < 4 ? 4 : lanes, .registers = p->vector_registers};
  return hone_cpu_schedule(kernel, &shape);
}
