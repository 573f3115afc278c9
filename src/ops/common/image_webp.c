/* WebP by libwebp. */
#include <string.h>

#include "ops/common/image.h"

hone_status_t hone_image_webp(const unsigned char* data, size_t size, hone_image_t* image) {
  int (*get_info)(const uint8_t* data, size_t size, int* width, int* height);
  uint8_t* (*decode_into)(const uint8_t* data, size_t size, uint8_t* out, size_t out_size,
                          int stride);
  const hone_image_symbol_t symbols[] = {
      {"WebPGetInfo", &get_info},
      {"WebPDecodeRGBInto", &decode_into},
  };
  HONE_TRY(hone_image_library("WebP", "libwebp.so.7", "libwebp7", 2, symbols));
  int width, height;
  if (!get_info(data, size, &width, &height) || !hone_image_create(image, width, height))
    return NULL;
  size_t bytes = (size_t)width * (size_t)height * 3;
  if (!decode_into(data, size, image->rgb, bytes, width * 3)) hone_image_free(image);
  return NULL;
}
