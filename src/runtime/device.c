/* The backends of this build, found by the build's scan of src/backends. */
#include "runtime/device.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

extern const hone_backend_t* const hone_backends[];
extern const int hone_backend_count;

int hone_backend_total(void) { return hone_backend_count; }

const hone_backend_t* hone_backend_at(int index) {
  return index >= 0 && index < hone_backend_count ? hone_backends[index] : NULL;
}

const hone_backend_t* hone_backend_find(const char* device) {
  size_t length = strcspn(device, ":");
  for (int i = 0; i < hone_backend_count; i++) {
    const char* name = hone_backends[i]->name;
    if (strlen(name) == length && strncmp(name, device, length) == 0) return hone_backends[i];
  }
  return NULL;
}

int hone_device_index(const char* device) {
  const char* colon = strchr(device, ':');
  if (!colon) return 0;
  char* end;
  long index = strtol(colon + 1, &end, 10);
  return end == colon + 1 || *end || index < 0 || index > INT_MAX ? -1 : (int)index;
}

hone_status_t hone_device_backend(const char* name, const hone_backend_t** out_backend) {
  *out_backend = hone_backend_find(name);
  if (*out_backend) return NULL;
  return hone_status_make(HONE_NOT_FOUND, "there is no device '%s'; see `hone devices`", name);
}

hone_status_t hone_device_open(const char* name, const hone_open_options_t* options,
                               const hone_backend_t** out_backend, hone_device_t** out_device) {
  *out_device = NULL;
  HONE_TRY(hone_device_backend(name, out_backend));
  if (hone_backend_runs_kernels(*out_backend))
    return (*out_backend)->open(hone_device_index(name), options, out_device);
  return hone_status_make(HONE_UNSUPPORTED,
                          "device '%s' takes whole graphs and has no kernels: name another, such "
                          "as cpu",
                          name);
}
