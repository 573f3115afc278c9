/* What the files of this backend know of one another's objects, and their
 * functions for the slots of the descriptor. */
#ifndef HONE_BACKENDS_OPENCL_OPENCL_H
#define HONE_BACKENDS_OPENCL_OPENCL_H

#include <pthread.h>

#include "backends/opencl/library.h"
#include "base/str.h"
#include "hone/backend.h"
#include "ir/prim.h"

struct hone_device {
  const hone_allocator_t* allocator;
  const hone_opencl_api_t* cl;
  cl_device_id id;
  cl_device_id part; /* made of `id` for fewer threads, to be released; NULL mostly */
  cl_context context;
  hone_device_properties_t properties;
  uint64_t memory_bytes; /* all that it has; 0: its driver does not say */
  bool is_cpu;
  bool has_f64; /* arithmetic; f16 is only stored */
};

struct hone_memory {
  cl_mem buffer;
  size_t size;
};

struct hone_stream {
  hone_device_t* device;
  cl_command_queue queue;
};

struct hone_event {
  hone_device_t* device;
  cl_event event;
};

/* Calls the function of OpenCL without "cl": HONE_CL(device, Finish, (queue)). */
#define HONE_CL(device, name, arguments) hone_opencl_check((device)->cl->name arguments, #name)

/* The slots of the descriptor that this backend fills, each with the function
 * hone_opencl_<slot> of the type that the descriptor says: enumerate to health
 * and tactic are in device.c, alloc to copy in memory.c, stream_create to callback in
 * stream.c, supports and render in render.c, build to launch in module.c. */
/* clang-format off */
#define HONE_OPENCL_SLOTS(X) \
  X(enumerate) X(open) X(close) X(properties) X(health) X(alloc) X(free) X(wrap) X(map) \
  X(unmap) X(copy_in) X(copy_out) X(copy) X(stream_create) X(stream_destroy) X(synchronize) \
  X(event_record) X(event_destroy) X(event_wait) X(event_synchronize) X(event_done) \
  X(event_elapsed) X(callback) X(supports) X(tactic) X(render) X(build) X(load) X(unload) \
  X(launch) X(launch_times)
/* clang-format on */

#define HONE_OPENCL_SLOT(name) __typeof__(*((const hone_backend_t*)0)->name) hone_opencl_##name;
HONE_OPENCL_SLOTS(HONE_OPENCL_SLOT)
#undef HONE_OPENCL_SLOT

/* stream.c: takes over `event`, also where it fails. */
hone_status_t hone_opencl_event_of(hone_device_t* device, cl_event event, hone_event_t** out_event);
/* prelude.c */
void hone_opencl_prelude(const hone_device_t* device, hone_str_t* out);
/* Whether there is a form of it for vectors; one that folds all lanes. */
bool hone_opencl_has_vector(hone_prim_t prim, hone_dtype_t dtype);
bool hone_opencl_has_fold(hone_dtype_t dtype);

#endif
