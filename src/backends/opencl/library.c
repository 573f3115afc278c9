/* Opens the OpenCL library and names its errors. */
#include "backends/opencl/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hone/backend.h"

enum { FUNCTION_COUNT = sizeof(hone_opencl_api_t) / sizeof(void*) };

/* In the order of the members of hone_opencl_api_t. */
static const char* const function_names[FUNCTION_COUNT] = {
#define FUNCTION_NAME(name) "cl" #name,
    HONE_OPENCL_FUNCTIONS(FUNCTION_NAME)
#undef FUNCTION_NAME
};

bool hone_opencl_library_open(const char* file, hone_opencl_api_t* out_api, char* why,
                              size_t size) {
  void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    snprintf(why, size,
             "%s cannot be opened: install a driver (Debian: pocl-opencl-icd for CPUs, or the "
             "GPU vendor's), or set HONE_OPENCL_LIBRARY",
             file);
    return false;
  }
  for (int i = 0; i < FUNCTION_COUNT; i++) {
    void* function = dlsym(handle, function_names[i]);
    if (!function) {
      snprintf(why, size, "%s has no %s: OpenCL 1.2 or later is needed", file, function_names[i]);
      return false;
    }
    memcpy((char*)out_api + (size_t)i * sizeof(void*), &function, sizeof function);
  }
  return true;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static hone_opencl_api_t api;
static bool is_open;
static char why_not[HONE_DEVICE_TEXT_SIZE];

static void open_library(void) {
  const char* file = getenv("HONE_OPENCL_LIBRARY");
  is_open = hone_opencl_library_open(file && *file ? file : "libOpenCL.so.1", &api, why_not,
                                     sizeof why_not);
}

const hone_opencl_api_t* hone_opencl_library(const char** out_why) {
  pthread_once(&once, open_library);
  *out_why = why_not;
  return is_open ? &api : NULL;
}

/* The errors that users meet, and what they are to hone. */
static const struct {
  cl_int cl;
  hone_code_t code;
  const char* name;
} errors[] = {
    {CL_DEVICE_NOT_AVAILABLE, HONE_UNAVAILABLE, "the device is not available"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, HONE_OUT_OF_MEMORY, "no memory for the buffer"},
    {CL_OUT_OF_RESOURCES, HONE_OUT_OF_MEMORY, "the device is out of resources"},
    {CL_OUT_OF_HOST_MEMORY, HONE_OUT_OF_MEMORY, "the host is out of memory"},
    {CL_INVALID_BUFFER_SIZE, HONE_OUT_OF_MEMORY, "a buffer larger than the device allows"},
    {CL_PROFILING_INFO_NOT_AVAILABLE, HONE_UNSUPPORTED, "the driver does not time events"},
    {CL_MEM_COPY_OVERLAP, HONE_INVALID_ARGUMENT, "source and target overlap"},
    {CL_BUILD_PROGRAM_FAILURE, HONE_INTERNAL, "the program does not compile"},
    {CL_INVALID_KERNEL_NAME, HONE_NOT_FOUND, "no kernel of that name"},
    {CL_INVALID_WORK_GROUP_SIZE, HONE_UNSUPPORTED, "a work-group larger than the device allows"},
};

hone_status_t hone_opencl_check(cl_int code, const char* call) {
  if (code == CL_SUCCESS) return NULL;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].cl == code)
      return hone_status_make(errors[i].code, "opencl: cl%s: %s (error %d)", call, errors[i].name,
                              code);
  return hone_status_make(HONE_INTERNAL, "opencl: cl%s failed with error %d of the driver", call,
                          code);
}
