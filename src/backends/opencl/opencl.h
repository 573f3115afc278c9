/* What the files of this backend know of one another's objects, and their
 * functions for the slots of the descriptor. */
#ifndef HONE_BACKENDS_OPENCL_OPENCL_H
#define HONE_BACKENDS_OPENCL_OPENCL_H

#include <pthread.h>

#include "backends/opencl/library.h"
#include "base/str.h"
#include "hone/backend.h"
#include "ir/prim.h"

enum { HONE_OPENCL_MAX_DEVICES = 64 };

struct hone_device {
  const hone_allocator_t* allocator;
  const hone_opencl_api_t* cl;
  cl_device_id id;
  cl_device_id part; /* made of `id` for fewer threads, to be released; NULL mostly */
  cl_context context;
  hone_device_properties_t properties;
  bool is_cpu;
  bool has_f16, has_f64; /* arithmetic; f16 is stored in any case */
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

/* device.c */
hone_status_t hone_opencl_enumerate(int room, hone_device_info_t* out_devices, int* out_count);
hone_status_t hone_opencl_open(int index, const hone_open_options_t* options,
                               hone_device_t** out_device);
void hone_opencl_close(hone_device_t* device);
void hone_opencl_properties(const hone_device_t* device, hone_device_properties_t* out_properties);
hone_status_t hone_opencl_health(hone_device_t* device);

/* memory.c */
hone_status_t hone_opencl_alloc(hone_device_t* device, hone_memory_kind_t kind, size_t size,
                                hone_memory_t** out_memory);
void hone_opencl_free(hone_device_t* device, hone_memory_t* memory);
hone_status_t hone_opencl_wrap(hone_device_t* device, void* data, size_t size,
                               hone_memory_t** out_memory);
hone_status_t hone_opencl_map(hone_stream_t* stream, hone_memory_t* memory, size_t offset,
                              size_t size, void** out_data);
hone_status_t hone_opencl_unmap(hone_stream_t* stream, hone_memory_t* memory, void* data);
hone_status_t hone_opencl_copy_in(hone_stream_t* stream, hone_memory_t* memory, size_t offset,
                                  const void* data, size_t size);
hone_status_t hone_opencl_copy_out(hone_stream_t* stream, void* data, const hone_memory_t* memory,
                                   size_t offset, size_t size);
hone_status_t hone_opencl_copy(hone_stream_t* stream, hone_memory_t* to, size_t to_offset,
                               const hone_memory_t* from, size_t from_offset, size_t size);

/* stream.c */
hone_status_t hone_opencl_stream_create(hone_device_t* device, hone_stream_t** out_stream);
void hone_opencl_stream_destroy(hone_stream_t* stream);
hone_status_t hone_opencl_synchronize(hone_stream_t* stream);
hone_status_t hone_opencl_event_record(hone_stream_t* stream, hone_event_t** out_event);
void hone_opencl_event_destroy(hone_event_t* event);
hone_status_t hone_opencl_event_wait(hone_stream_t* stream, hone_event_t* event);
hone_status_t hone_opencl_event_synchronize(hone_event_t* event);
bool hone_opencl_event_done(hone_event_t* event);
hone_status_t hone_opencl_event_elapsed(hone_event_t* from, hone_event_t* to, uint64_t* out_ns);
hone_status_t hone_opencl_callback(hone_stream_t* stream, void (*fn)(void* self), void* self);

/* prelude.c */
void hone_opencl_prelude(const hone_device_t* device, hone_str_t* out);
/* Whether there is a form of it for vectors; one that folds all lanes. */
bool hone_opencl_has_vector(hone_prim_t prim, hone_dtype_t dtype);
bool hone_opencl_has_fold(hone_dtype_t dtype);

/* render.c */
bool hone_opencl_supports(const hone_device_t* device, const hone_kernel_t* kernel, char* why);
hone_status_t hone_opencl_render(const hone_device_t* device, const hone_kernel_t* kernel,
                                 const char* name, hone_blob_t* out_source);

/* module.c */
hone_status_t hone_opencl_build(hone_device_t* device, int count, const char* const* names,
                                const char* const* sources, hone_blob_t* out_binary);
hone_status_t hone_opencl_load(hone_device_t* device, const hone_blob_t* binary, int count,
                               const char* const* names, hone_module_t** out_module);
void hone_opencl_unload(hone_device_t* device, hone_module_t* module);
hone_status_t hone_opencl_launch(hone_stream_t* stream, const hone_launch_t* launch);

#endif
