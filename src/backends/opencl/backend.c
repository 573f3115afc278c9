/* opencl: kernels as OpenCL C for the drivers of CPUs and GPUs that are
 * installed. The library is opened at run time (library.h). */
#include "backends/opencl/opencl.h"

extern const hone_backend_t hone_backend_opencl;
const hone_backend_t hone_backend_opencl = {
    .struct_size = sizeof(hone_backend_t),
    .name = "opencl",
    .summary = "compiles kernels as OpenCL C for the drivers that are installed",
#define HONE_OPENCL_SLOT(slot) .slot = hone_opencl_##slot,
    HONE_OPENCL_SLOTS(HONE_OPENCL_SLOT)
#undef HONE_OPENCL_SLOT
};
