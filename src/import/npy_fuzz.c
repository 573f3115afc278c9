/* Whatever a .npy file says, it is read or refused; what was read can be
 * written, and reads back the same. The first byte is the type that raw bytes
 * are taken as. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void expect(bool holds) {
  if (!holds) abort();
}

static void same(const hone_tensor_t* a, const hone_tensor_t* b) {
  expect(hone_tensor_dtype(a) == hone_tensor_dtype(b));
  expect(hone_tensor_count(a) == hone_tensor_count(b));
  if (hone_tensor_dtype(a) == HONE_STRING || !hone_tensor_bytes(a)) return;
  expect(memcmp(hone_tensor_data(a), hone_tensor_data(b), hone_tensor_bytes(a)) == 0);
}

static void there_and_back(const hone_tensor_t* tensor) {
  hone_npy_image_t image;
  hone_status_t status = hone_npy_image_make(NULL, tensor, &image);
  if (status) {
    expect(hone_tensor_dtype(tensor) == HONE_STRING);
    hone_status_free(status);
    return;
  }
  size_t size = image.header_size + image.body_size;
  char* whole = malloc(size);
  if (whole) {
    memcpy(whole, image.header, image.header_size);
    if (image.body_size) memcpy(whole + image.header_size, image.body, image.body_size);
    hone_tensor_t* back;
    status = hone_npy_load_memory(NULL, whole, size, hone_tensor_dtype(tensor), &back);
    expect(!status);
    same(tensor, back);
    hone_tensor_release(back);
  }
  free(whole);
  hone_npy_image_free(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!size) return 0;
  hone_dtype_t void_as = (hone_dtype_t)(data[0] % HONE_DTYPE_COUNT);
  hone_tensor_t* tensor;
  hone_status_t status = hone_npy_load_memory(NULL, data + 1, size - 1, void_as, &tensor);
  if (!status) there_and_back(tensor);
  hone_status_free(status);
  hone_tensor_release(tensor);
  return 0;
}
