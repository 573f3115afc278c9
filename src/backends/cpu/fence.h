/* Fences of the CPU: blocks whose last byte is the last of a page, between pages that
 * may not be touched, and kernels that are stopped when they do. */
#ifndef HONE_BACKENDS_CPU_FENCE_H
#define HONE_BACKENDS_CPU_FENCE_H

#include <stdatomic.h>

#include "backends/cpu/device.h"

/* A block of `size` bytes and a multiple of 64; NULL when memory is out. */
hone_memory_t* hone_cpu_fence_alloc(hone_device_t* device, size_t size);
void hone_cpu_fence_free(hone_device_t* device, hone_memory_t* memory);

/* What a thread does that may be stopped. */
typedef struct cpu_trap {
  void (*run)(void* context, int64_t begin, int64_t end);
  void* context;
  void* _Atomic address; /* where the first access went that was stopped; NULL: none */
} cpu_trap_t;

/* Takes SIGSEGV and SIGBUS for the process; faults of others than kernels go on to
 * whoever had these signals before. */
void hone_cpu_trap_arm(void);
/* Runs a part of the work on this thread; `trap` is a cpu_trap_t. */
void hone_cpu_trap_run(void* trap, int64_t begin, int64_t end);
/* A status that says where `address` lies, among the buffers of the launch. */
HONE_MUST_USE hone_status_t hone_cpu_trap_status(const void* address, const hone_launch_t* launch);

#endif
