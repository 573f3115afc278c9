/* The device that tests of the OpenCL backend run on. */
#ifndef HONE_BACKENDS_OPENCL_TESTING_DEVICE_H
#define HONE_BACKENDS_OPENCL_TESTING_DEVICE_H

#include "base/testing/test.h"
#include "hone/backend.h"

typedef struct test_device {
  const hone_backend_t* backend;
  hone_device_t* device; /* NULL: there is none */
  hone_stream_t* stream;
} test_device_t;

/* Opens the OpenCL device that HONE_TEST_DEVICE names, or the first; says why where there is none,
 * and leaves `device` and `stream` NULL. Fails the test when a usable one does not open. */
test_device_t test_device_open(void);
void test_device_close(const test_device_t* opened);

#endif
