/* Streams of the CPU: whatever is put there is done before the call returns. */
#include "backends/cpu/device.h"
#include "base/memory.h"

hone_status_t hone_cpu_stream_create(hone_device_t* device, hone_stream_t** out_stream) {
  *out_stream = hone_alloc(device->allocator, sizeof **out_stream);
  if (!*out_stream) return hone_oom();
  (*out_stream)->device = device;
  return NULL;
}

void hone_cpu_stream_destroy(hone_stream_t* stream) {
  if (stream) hone_free(stream->device->allocator, stream, sizeof *stream);
}

hone_status_t hone_cpu_synchronize(hone_stream_t* stream) {
  (void)stream;
  return NULL;
}

hone_status_t hone_cpu_callback(hone_stream_t* stream, void (*fn)(void* self), void* self) {
  (void)stream;
  fn(self);
  return NULL;
}
