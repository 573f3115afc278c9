/* Launches on the CPU: the rounds of the kernel's parallel axes are shared out
 * among the threads. Which thread does which round changes no result: rounds
 * are independent of each other, so a run is as deterministic as its kernels. */
#include "backends/cpu/device.h"
#include "backends/cpu/fence.h"
#include "base/memory.h"
#include "base/thread_pool.h"

enum {
  FEW_BUFFERS = 32,    /* that need no memory of their own */
  FAR_LEAST_NS = 24000 /* of a launch that is shared by cores that are far from each other */
};

typedef struct call {
  cpu_entry_fn entry;
  void* const* buffers;
  const int64_t* sizes;
} call_t;

static void run_rounds(void* context, int64_t begin, int64_t end) {
  const call_t* call = context;
  call->entry(call->buffers, call->sizes, begin, end);
}

void hone_cpu_addresses(const hone_launch_t* launch, void** out) {
  for (int i = 0; i < launch->n_buffers; i++) {
    const hone_argument_t* argument = &launch->buffers[i];
    out[i] = argument->memory ? argument->memory->data + argument->offset : NULL;
  }
}

/* The threads that share a launch: those for which it is long enough. Some fifty lines go from one
 * core to another, one after the other, for what a small launch reads and writes: where cores are
 * far from each other that takes longer than the grain says. */
static hone_thread_pool_t* choose_pool(const hone_launch_t* launch, int64_t rounds) {
  if (rounds <= 1 || rounds <= launch->grain) return NULL;
  hone_thread_pool_t* pool = hone_thread_pool_shared();
  bool is_small = launch->nanoseconds > 0 && launch->nanoseconds < FAR_LEAST_NS;
  return is_small && hone_thread_pool_is_far(pool) ? NULL : pool;
}

static hone_status_t run(const hone_device_t* device, const hone_launch_t* launch, void** buffers) {
  hone_cpu_addresses(launch, buffers);
  call_t call = {launch->module->entries[launch->entry], buffers, launch->sizes};
  int64_t rounds = launch->groups[0] * launch->groups[1] * launch->groups[2];
  hone_thread_pool_t* pool = choose_pool(launch, rounds);
  if (!device->guard) {
    hone_parallel_for_on(pool, device->threads, rounds, launch->grain, run_rounds, &call);
    return NULL;
  }
  hone_cpu_trap_arm();
  cpu_trap_t trap = {.run = run_rounds, .context = &call};
  hone_parallel_for_on(pool, device->threads, rounds, launch->grain, hone_cpu_trap_run, &trap);
  const void* address = atomic_load(&trap.address);
  return address ? hone_cpu_trap_status(address, launch) : NULL;
}

hone_status_t hone_cpu_launch(hone_stream_t* stream, const hone_launch_t* launch) {
  const hone_device_t* device = stream->device;
  void* few[FEW_BUFFERS];
  if (launch->n_buffers <= FEW_BUFFERS) return run(device, launch, few);
  size_t bytes = (size_t)launch->n_buffers * sizeof(void*);
  void** buffers = hone_alloc(device->allocator, bytes);
  if (!buffers) return hone_oom();
  hone_status_t status = run(device, launch, buffers);
  hone_free(device->allocator, buffers, bytes);
  return status;
}
