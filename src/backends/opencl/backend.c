/* opencl: kernels as OpenCL C for the drivers of CPUs and GPUs that are
 * installed. The library is opened at run time (library.h). */
#include "backends/opencl/opencl.h"

extern const hone_backend_t hone_backend_opencl;
const hone_backend_t hone_backend_opencl = {
    .struct_size = sizeof(hone_backend_t),
    .name = "opencl",
    .summary = "compiles kernels as OpenCL C for the drivers that are installed",
    .enumerate = hone_opencl_enumerate,
    .open = hone_opencl_open,
    .close = hone_opencl_close,
    .properties = hone_opencl_properties,
    .health = hone_opencl_health,
    .alloc = hone_opencl_alloc,
    .free = hone_opencl_free,
    .wrap = hone_opencl_wrap,
    .map = hone_opencl_map,
    .unmap = hone_opencl_unmap,
    .copy_in = hone_opencl_copy_in,
    .copy_out = hone_opencl_copy_out,
    .copy = hone_opencl_copy,
    .stream_create = hone_opencl_stream_create,
    .stream_destroy = hone_opencl_stream_destroy,
    .synchronize = hone_opencl_synchronize,
    .event_record = hone_opencl_event_record,
    .event_destroy = hone_opencl_event_destroy,
    .event_wait = hone_opencl_event_wait,
    .event_synchronize = hone_opencl_event_synchronize,
    .event_done = hone_opencl_event_done,
    .event_elapsed = hone_opencl_event_elapsed,
    .callback = hone_opencl_callback,
    .supports = hone_opencl_supports,
    .render = hone_opencl_render,
    .build = hone_opencl_build,
    .load = hone_opencl_load,
    .unload = hone_opencl_unload,
    .launch = hone_opencl_launch,
};
