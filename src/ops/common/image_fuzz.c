/* Fuzzes the image formats that hone reads itself. */
#include "ops/common/image.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone_image_t bmp = {0}, pnm = {0};
  hone_status_free(hone_image_bmp(data, size, &bmp));
  hone_status_free(hone_image_pnm(data, size, &pnm));
  hone_image_free(&bmp);
  hone_image_free(&pnm);
  return 0;
}
