/* Limits: what a device can do at best, which a roofline is made of.
 *
 * Where its driver does not say, kernels are built and timed: some that do nothing but
 * multiply-adds in registers, from data in the first cache, of f32, and of bf16 and bytes by the
 * instructions that the device has for them, and one that does nothing but read f32, from working
 * sets of several sizes. The best of a few times counts. That is what code of this compiler reached
 * on this machine while it was measured, not what its maker promises: a busy machine gives low
 * figures. Results are kept in the cache of kernels for each device, compiler and number of
 * threads; `hone cache clear` forgets them. */
#ifndef HONE_RUNTIME_LIMITS_H
#define HONE_RUNTIME_LIMITS_H

#include "hone/backend.h"
#include "loop/work.h"

enum { HONE_MEMORY_LEVELS = 3 };

/* Multiply-adds of numbers of that type, summed in f32 or i32. */
typedef enum hone_peak { HONE_PEAK_F32, HONE_PEAK_BF16, HONE_PEAK_INT8, HONE_PEAKS } hone_peak_t;

/* Reading from a working set of up to so many bytes. */
typedef struct hone_memory_level {
  double bytes;  /* of all threads together; the last: without limit */
  double gbytes; /* 10^9 bytes a second; 0: no such level */
} hone_memory_level_t;

typedef enum hone_limits_source {
  HONE_LIMITS_UNKNOWN,  /* nothing could be measured: all is 0 */
  HONE_LIMITS_DEVICE,   /* the driver says so */
  HONE_LIMITS_MEASURED, /* just now */
  HONE_LIMITS_KEPT,     /* measured earlier */
} hone_limits_source_t;

typedef struct hone_limits {
  double gflops_one[HONE_PEAKS]; /* 10^9 operations a second, on one thread (group) */
  double gflops[HONE_PEAKS];     /* on all of them */
  int threads;
  hone_memory_level_t levels[HONE_MEMORY_LEVELS]; /* from the smallest working set on */
  hone_limits_source_t source;
} hone_limits_t;

/* Errors: OUT_OF_MEMORY, and what building and running meets. */
HONE_MUST_USE hone_status_t hone_limits_find(const hone_allocator_t* allocator,
                                             const hone_backend_t* backend, hone_device_t* device,
                                             hone_limits_t* out_limits);

/* Least seconds that the work takes: of computing and of moving its bytes, whose
 * larger one is the roofline. 0 where nothing is known. */
double hone_limits_compute_seconds(const hone_limits_t* limits, const hone_work_amount_t* work);
double hone_limits_memory_seconds(const hone_limits_t* limits, const hone_work_amount_t* work);

#endif
