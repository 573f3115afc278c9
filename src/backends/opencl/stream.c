/* Streams are in-order command queues that take times; events are markers in them. */
#include "backends/opencl/opencl.h"
#include "base/memory.h"

hone_status_t hone_opencl_stream_create(hone_device_t* device, hone_stream_t** out_stream) {
  hone_stream_t* stream = hone_alloc(device->allocator, sizeof *stream);
  if (!stream) return hone_oom();
  cl_int code;
  stream->device = device;
  stream->queue =
      device->cl->CreateCommandQueue(device->context, device->id, CL_QUEUE_PROFILING_ENABLE, &code);
  if (code != CL_SUCCESS) {
    hone_free(device->allocator, stream, sizeof *stream);
    return hone_opencl_check(code, "CreateCommandQueue");
  }
  *out_stream = stream;
  return NULL;
}

void hone_opencl_stream_destroy(hone_stream_t* stream) {
  if (!stream) return;
  stream->device->cl->Finish(stream->queue);
  stream->device->cl->ReleaseCommandQueue(stream->queue);
  hone_free(stream->device->allocator, stream, sizeof *stream);
}

hone_status_t hone_opencl_synchronize(hone_stream_t* stream) {
  return HONE_CL(stream->device, Finish, (stream->queue));
}

/* Flushed, so that whoever waits for it waits for something that is under way. */
static hone_status_t mark(hone_stream_t* stream, cl_event* out_event) {
  HONE_TRY(HONE_CL(stream->device, EnqueueMarkerWithWaitList, (stream->queue, 0, NULL, out_event)));
  return HONE_CL(stream->device, Flush, (stream->queue));
}

hone_status_t hone_opencl_event_record(hone_stream_t* stream, hone_event_t** out_event) {
  hone_event_t* event = hone_alloc(stream->device->allocator, sizeof *event);
  if (!event) return hone_oom();
  *event = (hone_event_t){.device = stream->device};
  hone_status_t status = mark(stream, &event->event);
  if (status) {
    hone_opencl_event_destroy(event);
    return status;
  }
  *out_event = event;
  return NULL;
}

void hone_opencl_event_destroy(hone_event_t* event) {
  if (!event) return;
  if (event->event) event->device->cl->ReleaseEvent(event->event);
  hone_free(event->device->allocator, event, sizeof *event);
}

/* Devices share no context, so across two of them the host does the waiting. */
hone_status_t hone_opencl_event_wait(hone_stream_t* stream, hone_event_t* event) {
  if (stream->device != event->device) return hone_opencl_event_synchronize(event);
  return HONE_CL(stream->device, EnqueueBarrierWithWaitList,
                 (stream->queue, 1, &event->event, NULL));
}

hone_status_t hone_opencl_event_synchronize(hone_event_t* event) {
  return HONE_CL(event->device, WaitForEvents, (1, &event->event));
}

/* One that failed is done as well. */
bool hone_opencl_event_done(hone_event_t* event) {
  cl_int state = CL_QUEUED;
  event->device->cl->GetEventInfo(event->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
                                  &state, NULL);
  return state <= CL_COMPLETE;
}

hone_status_t hone_opencl_event_elapsed(hone_event_t* from, hone_event_t* to, uint64_t* out_ns) {
  cl_ulong times[2] = {0};
  hone_event_t* const events[2] = {from, to};
  for (int i = 0; i < 2; i++)
    HONE_TRY(
        HONE_CL(events[i]->device, GetEventProfilingInfo,
                (events[i]->event, CL_PROFILING_COMMAND_END, sizeof times[i], &times[i], NULL)));
  *out_ns = times[1] > times[0] ? times[1] - times[0] : 0;
  return NULL;
}

typedef struct call {
  const hone_allocator_t* allocator;
  void (*fn)(void* self);
  void* self;
} call_t;

static void CL_CALLBACK do_call(cl_event event, cl_int state, void* self) {
  (void)event;
  (void)state;
  call_t call = *(call_t*)self;
  hone_free(call.allocator, self, sizeof call);
  call.fn(call.self);
}

hone_status_t hone_opencl_callback(hone_stream_t* stream, void (*fn)(void* self), void* self) {
  hone_device_t* device = stream->device;
  call_t* call = hone_alloc(device->allocator, sizeof *call);
  if (!call) return hone_oom();
  *call = (call_t){device->allocator, fn, self};
  cl_event event = NULL;
  hone_status_t status = mark(stream, &event);
  if (!status) status = HONE_CL(device, SetEventCallback, (event, CL_COMPLETE, do_call, call));
  if (status) hone_free(device->allocator, call, sizeof *call);
  if (event) device->cl->ReleaseEvent(event);
  return status;
}
