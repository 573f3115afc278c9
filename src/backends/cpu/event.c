/* Events of the CPU: the moment at which they were recorded, which has passed. */
#include "backends/cpu/device.h"
#include "base/memory.h"
#include "base/trace.h"

struct hone_event {
  const hone_allocator_t* allocator;
  int64_t ns;
};

hone_status_t hone_cpu_event_record(hone_stream_t* stream, hone_event_t** out_event) {
  const hone_allocator_t* allocator = stream->device->allocator;
  hone_event_t* event = hone_alloc(allocator, sizeof *event);
  *out_event = event;
  if (!event) return hone_oom();
  *event = (hone_event_t){.allocator = allocator, .ns = hone_clock_ns()};
  return NULL;
}

void hone_cpu_event_destroy(hone_event_t* event) {
  if (event) hone_free(event->allocator, event, sizeof *event);
}

hone_status_t hone_cpu_event_wait(hone_stream_t* stream, hone_event_t* event) {
  (void)stream;
  (void)event;
  return NULL;
}

hone_status_t hone_cpu_event_synchronize(hone_event_t* event) {
  (void)event;
  return NULL;
}

bool hone_cpu_event_done(hone_event_t* event) {
  (void)event;
  return true;
}

hone_status_t hone_cpu_event_elapsed(hone_event_t* from, hone_event_t* to, uint64_t* out_ns) {
  *out_ns = to->ns > from->ns ? (uint64_t)(to->ns - from->ns) : 0;
  return NULL;
}
