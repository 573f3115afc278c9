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

hone_status_t hone_opencl_event_of(hone_device_t* device, cl_event event,
                                   hone_event_t** out_event) {
  hone_event_t* made = hone_alloc(device->allocator, sizeof *made);
  if (made)
    *made = (hone_event_t){.device = device, .event = event};
  else
    device->cl->ReleaseEvent(event);
  *out_event = made;
  return made ? NULL : hone_oom();
}

hone_status_t hone_opencl_event_record(hone_stream_t* stream, hone_event_t** out_event) {
  cl_event event = NULL;
  hone_status_t status = mark(stream, &event);
  if (!status) return hone_opencl_event_of(stream->device, event, out_event);
  if (event) stream->device->cl->ReleaseEvent(event);
  return status;
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

/* From one moment of an event to one of another. */
static hone_status_t between(hone_event_t* from, cl_profiling_info first, hone_event_t* to,
                             cl_profiling_info last, uint64_t* out_ns) {
  cl_ulong a, b;
  HONE_TRY(HONE_CL(from->device, GetEventProfilingInfo, (from->event, first, sizeof a, &a, NULL)));
  HONE_TRY(HONE_CL(to->device, GetEventProfilingInfo, (to->event, last, sizeof b, &b, NULL)));
  *out_ns = b > a ? b - a : 0;
  return NULL;
}

hone_status_t hone_opencl_event_elapsed(hone_event_t* from, hone_event_t* to, uint64_t* out_ns) {
  return between(from, CL_PROFILING_COMMAND_END, to, CL_PROFILING_COMMAND_END, out_ns);
}

hone_status_t hone_opencl_launch_times(hone_event_t* launch, uint64_t* out_started_ns,
                                       uint64_t* out_ran_ns) {
  const cl_profiling_info start = CL_PROFILING_COMMAND_START;
  HONE_TRY(between(launch, CL_PROFILING_COMMAND_QUEUED, launch, start, out_started_ns));
  return between(launch, start, launch, CL_PROFILING_COMMAND_END, out_ran_ns);
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
