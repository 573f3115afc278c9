/* Kernel trials: candidates of one kernel are built, checked and run on a device.
 *
 * A rig holds a kernel as it was lowered, the sizes that it is tried
 * with, and the data: inputs drawn at random, and what the default's kernel made
 * of them, against which every candidate is checked. Data is made when it is
 * first needed, and may be dropped in between. */
#ifndef HONE_RUNTIME_TRIAL_RIG_H
#define HONE_RUNTIME_TRIAL_RIG_H

#include "runtime/kernel_source.h"
#include "tune/measure.h"
#include "tune/tactic_set.h"

typedef struct hone_rig hone_rig_t;

/* What all rigs of a tuning share. */
typedef struct hone_rig_shared {
  const hone_allocator_t* allocator;
  const hone_backend_t* backend;
  hone_device_t* device;
  hone_stream_t* stream;
  size_t held;     /* bytes of data in all rigs */
  size_t room;     /* that may be held; more is dropped first */
  hone_rig_t* all; /* rigs, the latest made first */
} hone_rig_shared_t;

/* Copies the kernel. `sizes` are values of its run-time sizes, in order. Errors:
 * UNSUPPORTED (its data has no tensors, or takes too much memory), OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_rig_create(hone_rig_shared_t* shared, const hone_kernel_t* kernel,
                                            const int64_t* sizes, const hone_tactic_set_t* set,
                                            hone_rig_t** out_bench);
void hone_rig_destroy(hone_rig_t* rig); /* NULL is allowed */
/* A driver for measuring; the rig outlives it. */
hone_measurer_t hone_rig_measurer(hone_rig_t* rig);

#endif
