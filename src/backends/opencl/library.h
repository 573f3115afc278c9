/* The OpenCL library, opened at run time: hone links no vendor's code.
 *
 * One table lists the functions that hone calls; each is the member of its
 * name (less "cl") in hone_opencl_api_t, with the type that Khronos' header
 * declares. Only functions of OpenCL 1.2 are asked for. */
#ifndef HONE_BACKENDS_OPENCL_LIBRARY_H
#define HONE_BACKENDS_OPENCL_LIBRARY_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "hone/status.h"

/* clang-format off */
#define HONE_OPENCL_FUNCTIONS(X) \
  X(GetPlatformIDs) X(GetPlatformInfo) X(GetDeviceIDs) X(GetDeviceInfo) X(CreateSubDevices) \
  X(ReleaseDevice) X(CreateContext) X(ReleaseContext) X(CreateBuffer) X(ReleaseMemObject) \
  X(CreateCommandQueue) X(ReleaseCommandQueue) X(EnqueueReadBuffer) X(EnqueueWriteBuffer) \
  X(EnqueueCopyBuffer) X(EnqueueMapBuffer) X(EnqueueUnmapMemObject) \
  X(EnqueueMarkerWithWaitList) X(EnqueueBarrierWithWaitList) X(EnqueueNDRangeKernel) X(Flush) \
  X(Finish) X(WaitForEvents) X(GetEventInfo) X(GetEventProfilingInfo) X(SetEventCallback) \
  X(ReleaseEvent) X(CreateProgramWithSource) X(CreateProgramWithBinary) X(BuildProgram) \
  X(GetProgramBuildInfo) X(GetProgramInfo) X(ReleaseProgram) X(CreateKernel) X(SetKernelArg) \
  X(ReleaseKernel)
/* clang-format on */

typedef struct hone_opencl_api {
#define HONE_OPENCL_MEMBER(name) __typeof__(&cl##name) name;
  HONE_OPENCL_FUNCTIONS(HONE_OPENCL_MEMBER)
#undef HONE_OPENCL_MEMBER
} hone_opencl_api_t;

/* The library of this process, opened by the first call and never closed:
 * drivers do not survive it. HONE_OPENCL_LIBRARY names another file to open.
 * NULL when it cannot be used; *out_why then says why and what to do. Thread-safe. */
const hone_opencl_api_t* hone_opencl_library(const char** out_why);

/* Opens `file`. False with the reason in `why` when it or a function is missing. */
bool hone_opencl_library_open(const char* file, hone_opencl_api_t* out_api, char* why, size_t size);

/* The status of a call of the function `call`; NULL for CL_SUCCESS. */
HONE_MUST_USE hone_status_t hone_opencl_check(cl_int code, const char* call);

#endif
