/* Texts that the kernel writes, from a kernel that cannot be trusted. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_count.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  char* text = malloc(size + 1);
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  text[size] = 0;
  static const char* const controllers[] = {"", "cpu", "cpuacct"};
  for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++) {
    char path[16];
    if (hone_cgroup_path(text, controllers[i], path, sizeof path) && !strstr(text, path)) abort();
  }
  if (!(hone_cpu_quota_v2(text) >= 0) || !(hone_cpu_quota_v1(text, text) >= 0)) abort();
  free(text);
  return 0;
}
