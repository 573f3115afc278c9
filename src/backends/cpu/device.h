/* The CPU as a device: what its parts share. Kernels are functions of a shared
 * library; a stream runs each launch at once, on its caller's thread and the
 * workers that the pool lends it, so that it is always done with what was put
 * there. */
#ifndef HONE_BACKENDS_CPU_DEVICE_H
#define HONE_BACKENDS_CPU_DEVICE_H

#include <pthread.h>

#include "codegen/library.h"
#include "codegen/toolchain.h"
#include "hone/backend.h"

struct hone_device {
  const hone_allocator_t* allocator;
  hone_device_properties_t properties;
  int threads; /* that a launch may use */
  bool deterministic;
  bool guard; /* memory and launches are those of fence.h */
  hone_arena_t* arena;
  hone_target_t target;
  /* Found when something is first to be built: a machine without a compiler
   * still runs what was built before. */
  pthread_mutex_t mutex;
  hone_compiler_t compiler;
  hone_cache_t* cache;
  const char* prelude;    /* NULL before */
  int64_t build_limit_ms; /* for each kernel; 0: the toolchain's own */
};

/* Memory of the host, allocated or the caller's. */
struct hone_memory {
  char* data;
  size_t size;
  bool wrapped;
};

struct hone_stream {
  hone_device_t* device;
};

/* A kernel: runs the rounds begin … end - 1 of its parallel axes, which count as
 * one axis in row-major order. `buffers` and `sizes` are in the kernel's order. */
typedef void (*cpu_entry_fn)(void* const* buffers, const int64_t* sizes, int64_t begin,
                             int64_t end);

struct hone_module {
  hone_library_t* library;
  int n_entries;
  cpu_entry_fn* entries;
};

/* Elements of a vector of f32; other types have as many. */
int hone_cpu_lanes(const hone_device_t* device);

/* memory.c */
hone_status_t hone_cpu_alloc(hone_device_t* device, hone_memory_kind_t kind, size_t size,
                             hone_memory_t** out_memory);
void hone_cpu_free(hone_device_t* device, hone_memory_t* memory);
hone_status_t hone_cpu_wrap(hone_device_t* device, void* data, size_t size,
                            hone_memory_t** out_memory);
hone_status_t hone_cpu_map(hone_stream_t* stream, hone_memory_t* memory, size_t offset, size_t size,
                           void** out_data);
hone_status_t hone_cpu_unmap(hone_stream_t* stream, hone_memory_t* memory, void* data);
hone_status_t hone_cpu_copy_in(hone_stream_t* stream, hone_memory_t* memory, size_t offset,
                               const void* data, size_t size);
hone_status_t hone_cpu_copy_out(hone_stream_t* stream, void* data, const hone_memory_t* memory,
                                size_t offset, size_t size);
hone_status_t hone_cpu_copy(hone_stream_t* stream, hone_memory_t* to, size_t to_offset,
                            const hone_memory_t* from, size_t from_offset, size_t size);

/* stream.c */
hone_status_t hone_cpu_stream_create(hone_device_t* device, hone_stream_t** out_stream);
void hone_cpu_stream_destroy(hone_stream_t* stream);
hone_status_t hone_cpu_synchronize(hone_stream_t* stream);
hone_status_t hone_cpu_callback(hone_stream_t* stream, void (*fn)(void* self), void* self);

/* event.c */
hone_status_t hone_cpu_event_record(hone_stream_t* stream, hone_event_t** out_event);
void hone_cpu_event_destroy(hone_event_t* event);
hone_status_t hone_cpu_event_wait(hone_stream_t* stream, hone_event_t* event);
hone_status_t hone_cpu_event_synchronize(hone_event_t* event);
bool hone_cpu_event_done(hone_event_t* event);
hone_status_t hone_cpu_event_elapsed(hone_event_t* from, hone_event_t* to, uint64_t* out_ns);

/* launch.c */
hone_status_t hone_cpu_launch(hone_stream_t* stream, const hone_launch_t* launch);
/* Where its buffers lie: room for launch->n_buffers. */
void hone_cpu_addresses(const hone_launch_t* launch, void** out);

/* turns.c */
hone_status_t hone_cpu_launch_turns(hone_stream_t* stream, const hone_launch_t* launches,
                                    const hone_turn_plan_t* plan);

/* module.c */
hone_status_t hone_cpu_build(hone_device_t* device, int count, const char* const* names,
                             const char* const* sources, hone_blob_t* out_binary);
hone_status_t hone_cpu_assembly(hone_device_t* device, int count, const char* const* names,
                                const char* const* sources, hone_blob_t* out_texts);
/* The properties, with the compiler and the name of the processor. */
hone_status_t hone_cpu_identify(hone_device_t* device, hone_device_properties_t* out_properties);
void hone_cpu_limit_build(hone_device_t* device, double seconds);
hone_status_t hone_cpu_load(hone_device_t* device, const hone_blob_t* binary, int count,
                            const char* const* names, hone_module_t** out_module);
void hone_cpu_unload(hone_device_t* device, hone_module_t* module);

#endif
