/* Whatever a picture's bytes are, it is read or refused; what was read can be resized. */
#include <stdint.h>

#include "base/memory.h"
#include "picture_transform.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  enum { LIMIT = 64 << 20 };
  hone_limit_allocator_t* limit;
  hone_picture_t picture = {0}, small = {0};
  hone_status_t status = hone_limit_allocator_create(NULL, LIMIT, &limit);
  if (status) {
    hone_status_free(status);
    return 0;
  }
  status = hone_picture_read_memory(hone_limit_allocator_get(limit), data, size, &picture);
  if (!status) status = hone_picture_resize(&picture, 3, 3, HONE_FILTER_BILINEAR, &small);
  hone_picture_free(&picture);
  hone_picture_free(&small);
  hone_limit_allocator_destroy(limit);
  hone_status_free(status);
  return 0;
}
