/* Encoded images to pixels. BMP and the portable anymaps are read here; the
 * other formats by the libraries that the system has, which are opened when
 * they are needed and never linked. */
#ifndef HONE_OPS_COMMON_IMAGE_H
#define HONE_OPS_COMMON_IMAGE_H

#include "hone/allocator.h"

/* Rows from top to bottom, three bytes (red, green, blue) a pixel. */
typedef struct hone_image {
  const hone_allocator_t* allocator;
  int64_t width, height;
  unsigned char* rgb; /* NULL: nothing could be decoded */
} hone_image_t;

/* Pixels more than this are refused: a small file can claim any size. */
enum { HONE_IMAGE_MAX_PIXELS = 1 << 28 };

/* Makes room for the pixels; false when the size is absurd or memory is out. */
bool hone_image_create(hone_image_t* image, int64_t width, int64_t height);
void hone_image_free(hone_image_t* image);

/* Decodes whatever format the first bytes show. What cannot be decoded gives
 * an image without pixels and no error. Errors: UNAVAILABLE when a library is
 * missing, with the package to install. */
HONE_MUST_USE hone_status_t hone_image_decode(const unsigned char* data, size_t size,
                                              hone_image_t* image);

/* A format: `image` is empty before, and after a failure to decode. */
typedef hone_status_t (*hone_image_decoder_t)(const unsigned char* data, size_t size,
                                              hone_image_t* image);
HONE_MUST_USE hone_status_t hone_image_bmp(const unsigned char* data, size_t size,
                                           hone_image_t* image);
HONE_MUST_USE hone_status_t hone_image_pnm(const unsigned char* data, size_t size,
                                           hone_image_t* image);
HONE_MUST_USE hone_status_t hone_image_jpeg(const unsigned char* data, size_t size,
                                            hone_image_t* image);
HONE_MUST_USE hone_status_t hone_image_png(const unsigned char* data, size_t size,
                                           hone_image_t* image);
HONE_MUST_USE hone_status_t hone_image_webp(const unsigned char* data, size_t size,
                                            hone_image_t* image);
HONE_MUST_USE hone_status_t hone_image_tiff(const unsigned char* data, size_t size,
                                            hone_image_t* image);
HONE_MUST_USE hone_status_t hone_image_jp2(const unsigned char* data, size_t size,
                                           hone_image_t* image);

/* A function to be found in a library. */
typedef struct hone_image_symbol {
  const char* name;
  void* target; /* address of a function pointer */
} hone_image_symbol_t;

/* Opens a library for good and finds functions in it. Errors: UNAVAILABLE,
 * naming the format and the Debian package. */
HONE_MUST_USE hone_status_t hone_image_library(const char* format, const char* library,
                                               const char* package, int count,
                                               const hone_image_symbol_t* symbols);

#endif
