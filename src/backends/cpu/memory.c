/* Memory of the CPU: that of the host. A copy is done when the call returns. */
#include "base/memory.h"

#include <string.h>

#include "backends/cpu/device.h"
#include "backends/cpu/fence.h"

enum { LEAST_BYTES = 64 }; /* what a buffer without elements still has */

hone_status_t hone_cpu_alloc(hone_device_t* device, hone_memory_kind_t kind, size_t size,
                             hone_memory_t** out_memory) {
  (void)kind;
  const hone_allocator_t* allocator = device->allocator;
  *out_memory = NULL;
  if (size < LEAST_BYTES) size = LEAST_BYTES;
  if (device->guard) {
    *out_memory = hone_cpu_fence_alloc(device, size);
    return *out_memory ? NULL : hone_oom();
  }
  hone_memory_t* memory = hone_alloc(allocator, sizeof *memory);
  if (!memory) return hone_oom();
  memory->data = allocator->resize(allocator->self, NULL, 0, size); /* not zeroed */
  memory->size = size;
  if (!memory->data) {
    hone_free(allocator, memory, sizeof *memory);
    return hone_oom();
  }
  *out_memory = memory;
  return NULL;
}

void hone_cpu_free(hone_device_t* device, hone_memory_t* memory) {
  if (!memory) return;
  if (device->guard) {
    hone_cpu_fence_free(device, memory);
    return;
  }
  if (!memory->wrapped) hone_free(device->allocator, memory->data, memory->size);
  hone_free(device->allocator, memory, sizeof *memory);
}

hone_status_t hone_cpu_wrap(hone_device_t* device, void* data, size_t size,
                            hone_memory_t** out_memory) {
  *out_memory = NULL;
  if (device->guard)
    return hone_status_make(HONE_UNSUPPORTED, "memory of others has no fences around it");
  if ((uintptr_t)data % device->properties.alignment)
    return hone_status_make(HONE_UNSUPPORTED, "memory at %p is not aligned to %zu bytes", data,
                            device->properties.alignment);
  hone_memory_t* memory = hone_alloc(device->allocator, sizeof *memory);
  if (!memory) return hone_oom();
  *memory = (hone_memory_t){.data = data, .size = size, .wrapped = true};
  *out_memory = memory;
  return NULL;
}

hone_status_t hone_cpu_map(hone_stream_t* stream, hone_memory_t* memory, size_t offset, size_t size,
                           void** out_data) {
  (void)stream;
  (void)size;
  *out_data = memory->data + offset;
  return NULL;
}

hone_status_t hone_cpu_unmap(hone_stream_t* stream, hone_memory_t* memory, void* data) {
  (void)stream;
  (void)memory;
  (void)data;
  return NULL;
}

hone_status_t hone_cpu_copy_in(hone_stream_t* stream, hone_memory_t* memory, size_t offset,
                               const void* data, size_t size) {
  (void)stream;
  if (size) memcpy(memory->data + offset, data, size);
  return NULL;
}

hone_status_t hone_cpu_copy_out(hone_stream_t* stream, void* data, const hone_memory_t* memory,
                                size_t offset, size_t size) {
  (void)stream;
  if (size) memcpy(data, memory->data + offset, size);
  return NULL;
}

hone_status_t hone_cpu_copy(hone_stream_t* stream, hone_memory_t* to, size_t to_offset,
                            const hone_memory_t* from, size_t from_offset, size_t size) {
  (void)stream;
  if (size) memmove(to->data + to_offset, from->data + from_offset, size);
  return NULL;
}
