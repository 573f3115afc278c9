/* Opening a device for tests, and what its driver may keep to itself. */
#include "backends/opencl/testing/device.h"

#include <stdlib.h>

/* What drivers keep to themselves is no leak of hone's. The sanitizer asks by
 * this name. NOLINTBEGIN(cert-dcl37-c,cert-dcl51-cpp,bugprone-reserved-identifier) */
const char* __lsan_default_suppressions(void);  /* NOLINT(cert-dcl51-cpp) */
const char* __lsan_default_suppressions(void) { /* NOLINT(cert-dcl51-cpp) */
  return "leak:libpocl\nleak:libOpenCL\nleak:libLLVM\nleak:libclang\n";
}
/* NOLINTEND(cert-dcl37-c,cert-dcl51-cpp,bugprone-reserved-identifier) */

enum { MOST_DEVICES = 16 };

test_device_t test_device_open(void) {
  test_device_t opened = {.backend = hone_backend_find("opencl")};
  hone_device_info_t found[MOST_DEVICES];
  const char* name = getenv("HONE_TEST_DEVICE");
  int count, index = name ? hone_device_index(name) : 0;
  assert_non_null(opened.backend);
  assert_ok(opened.backend->enumerate(MOST_DEVICES, found, &count));
  assert_in_range(index, 0, (count < MOST_DEVICES ? count : MOST_DEVICES) - 1);
  if (!found[index].usable) {
    print_message("opencl: no device for the tests: %s\n", found[index].reason);
    return opened;
  }
  hone_open_options_t options = {.struct_size = sizeof options};
  assert_ok(opened.backend->open(index, &options, &opened.device));
  assert_ok(opened.backend->stream_create(opened.device, &opened.stream));
  return opened;
}

void test_device_close(const test_device_t* opened) {
  if (!opened->device) return;
  opened->backend->stream_destroy(opened->stream);
  opened->backend->close(opened->device);
}
