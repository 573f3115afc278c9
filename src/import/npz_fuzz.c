/* Whatever a .npz archive says, each of its arrays is read or refused. */
#include <stdint.h>

#include "base/memory.h"
#include "import/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  enum { LIMIT = 64 << 20 };
  hone_limit_allocator_t* limit;
  hone_npz_t* npz = NULL;
  hone_status_t status = hone_limit_allocator_create(NULL, LIMIT, &limit);
  if (!status) status = hone_npz_open_memory(hone_limit_allocator_get(limit), data, size, &npz);
  for (int i = 0; npz && i < hone_npz_count(npz) && i < 8; i++) {
    hone_tensor_t* tensor;
    hone_status_free(hone_npz_read(npz, i, HONE_BF16, &tensor));
    hone_tensor_release(tensor);
  }
  hone_npz_close(npz);
  hone_limit_allocator_destroy(limit);
  hone_status_free(status);
  return 0;
}
