/* Memory: blocks are OpenCL buffers, copies are commands of the stream's queue. */
#include "base/memory.h"

#include <inttypes.h>

#include "backends/opencl/opencl.h"

static hone_status_t create(hone_device_t* device, cl_mem_flags flags, void* data, size_t size,
                            hone_memory_t** out_memory) {
  hone_memory_t* memory = hone_alloc(device->allocator, sizeof *memory);
  if (!memory) return hone_oom();
  cl_int code;
  /* OpenCL has no buffers without bytes. */
  *memory = (hone_memory_t){.size = size};
  memory->buffer = device->cl->CreateBuffer(device->context, CL_MEM_READ_WRITE | flags,
                                            size ? size : 1, data, &code);
  if (code != CL_SUCCESS) {
    hone_free(device->allocator, memory, sizeof *memory);
    return hone_status_annotate(hone_opencl_check(code, "CreateBuffer"), "a block of %zu bytes",
                                size);
  }
  *out_memory = memory;
  return NULL;
}

/* Drivers for GPUs find room for a buffer when it is first used, and promise more than there is. */
static hone_status_t check_size(const hone_device_t* device, size_t size) {
  if (!device->memory_bytes || size <= device->memory_bytes) return NULL;
  return hone_status_make(HONE_OUT_OF_MEMORY,
                          "opencl: a block of %zu bytes; '%s' has %" PRIu64
                          ": take a smaller batch or model, or another device",
                          size, device->properties.target, device->memory_bytes);
}

hone_status_t hone_opencl_alloc(hone_device_t* device, hone_memory_kind_t kind, size_t size,
                                hone_memory_t** out_memory) {
  HONE_TRY(check_size(device, size));
  return create(device, kind == HONE_MEMORY_HOST ? CL_MEM_ALLOC_HOST_PTR : 0, NULL, size,
                out_memory);
}

void hone_opencl_free(hone_device_t* device, hone_memory_t* memory) {
  if (!memory) return;
  device->cl->ReleaseMemObject(memory->buffer);
  hone_free(device->allocator, memory, sizeof *memory);
}

/* Others than CPUs may work on a copy that only mapping brings up to date: they get no such
 * blocks. */
hone_status_t hone_opencl_wrap(hone_device_t* device, void* data, size_t size,
                               hone_memory_t** out_memory) {
  if (!device->is_cpu || !device->properties.shares_host_memory)
    return hone_status_make(HONE_UNSUPPORTED, "opencl: '%s' does not work in the host's memory",
                            device->properties.target);
  if (!size || (uintptr_t)data % device->properties.alignment)
    return hone_status_make(HONE_UNSUPPORTED,
                            "opencl: only memory aligned to %zu bytes can be used",
                            device->properties.alignment);
  return create(device, CL_MEM_USE_HOST_PTR, data, size, out_memory);
}

hone_status_t hone_opencl_map(hone_stream_t* stream, hone_memory_t* memory, size_t offset,
                              size_t size, void** out_data) {
  cl_int code;
  *out_data = stream->device->cl->EnqueueMapBuffer(stream->queue, memory->buffer, CL_TRUE,
                                                   CL_MAP_READ | CL_MAP_WRITE, offset,
                                                   size ? size : 1, 0, NULL, NULL, &code);
  return hone_opencl_check(code, "EnqueueMapBuffer");
}

hone_status_t hone_opencl_unmap(hone_stream_t* stream, hone_memory_t* memory, void* data) {
  return HONE_CL(stream->device, EnqueueUnmapMemObject,
                 (stream->queue, memory->buffer, data, 0, NULL, NULL));
}

hone_status_t hone_opencl_copy_in(hone_stream_t* stream, hone_memory_t* memory, size_t offset,
                                  const void* data, size_t size) {
  if (!size) return NULL;
  return HONE_CL(stream->device, EnqueueWriteBuffer,
                 (stream->queue, memory->buffer, CL_FALSE, offset, size, data, 0, NULL, NULL));
}

hone_status_t hone_opencl_copy_out(hone_stream_t* stream, void* data, const hone_memory_t* memory,
                                   size_t offset, size_t size) {
  if (!size) return NULL;
  return HONE_CL(stream->device, EnqueueReadBuffer,
                 (stream->queue, memory->buffer, CL_FALSE, offset, size, data, 0, NULL, NULL));
}

hone_status_t hone_opencl_copy(hone_stream_t* stream, hone_memory_t* to, size_t to_offset,
                               const hone_memory_t* from, size_t from_offset, size_t size) {
  if (!size) return NULL;
  return HONE_CL(
      stream->device, EnqueueCopyBuffer,
      (stream->queue, from->buffer, to->buffer, from_offset, to_offset, size, 0, NULL, NULL));
}
