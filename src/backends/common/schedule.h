/* Schedules for CPUs: what is done to a kernel that nobody has tuned. */
#ifndef HONE_BACKENDS_COMMON_SCHEDULE_H
#define HONE_BACKENDS_COMMON_SCHEDULE_H

#include "loop/kernel.h"

/* The machine, as far as schedules care. */
typedef struct hone_cpu_shape {
  int lanes;     /* f32 in a vector */
  int registers; /* vectors that fit in registers */
} hone_cpu_shape_t;

/* Gives the kernel a schedule by what it is: a contraction, rows, or maps.
 * Whatever a primitive refuses is left as it is. Errors: OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_cpu_schedule(hone_kernel_t* kernel, const hone_cpu_shape_t* shape);

#endif
