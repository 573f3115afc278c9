/* Pictures: rows of 8-bit pixels, gray or red, green, blue, in and out of
 * JPEG, PNG and PPM/PGM files; BMP, WebP, TIFF and JPEG 2000 are read only.
 *
 * Alpha is dropped, 16-bit samples lose their low byte, palettes are looked up,
 * and colour profiles, gamma and EXIF rotation are left aside: what comes out
 * are the samples of the file. */
#ifndef HONE_TOOLS_PICTURE_H
#define HONE_TOOLS_PICTURE_H

#include "base/file.h"

typedef struct hone_picture {
  const hone_allocator_t* allocator;
  int width, height;
  int channels;    /* 1: gray; 3: red, green, blue */
  uint8_t* pixels; /* height rows of width * channels bytes, no gaps */
} hone_picture_t;

/* A file of a few bytes can claim any size: larger ones are refused. */
enum { HONE_PICTURE_MAX_SIDE = 1 << 16, HONE_PICTURE_MAX_PIXELS = 1 << 27 };

/* Black pixels. Errors: INVALID_DATA (no size, or an absurd one), OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_picture_create(const hone_allocator_t* allocator, int width,
                                                int height, int channels,
                                                hone_picture_t* out_picture);
void hone_picture_free(hone_picture_t* picture); /* a zeroed one is allowed */

/* Reads by what the bytes are, whatever the file is called. Errors: INVALID_DATA,
 * UNSUPPORTED, OUT_OF_MEMORY, and those of opening the file. */
HONE_MUST_USE hone_status_t hone_picture_read_memory(const hone_allocator_t* allocator,
                                                     const uint8_t* data, size_t size,
                                                     hone_picture_t* out_picture);
HONE_MUST_USE hone_status_t hone_picture_read(const hone_allocator_t* allocator, const char* path,
                                              hone_picture_t* out_picture);
/* Writes by the name's end: .jpg .jpeg .png .ppm .pgm .pnm. A file that is
 * there is replaced once the new one is whole. */
HONE_MUST_USE hone_status_t hone_picture_write(const hone_picture_t* picture, const char* path);

/* ---- the formats ---- */

HONE_MUST_USE hone_status_t hone_jpeg_read(const hone_allocator_t* allocator, const uint8_t* data,
                                           size_t size, hone_picture_t* out_picture);
HONE_MUST_USE hone_status_t hone_png_read(const hone_allocator_t* allocator, const uint8_t* data,
                                          size_t size, hone_picture_t* out_picture);
HONE_MUST_USE hone_status_t hone_pnm_read(const hone_allocator_t* allocator, const uint8_t* data,
                                          size_t size, hone_picture_t* out_picture);
/* Errors of the writer itself show when it is committed. */
HONE_MUST_USE hone_status_t hone_jpeg_write(const hone_picture_t* picture,
                                            hone_file_writer_t* writer);
HONE_MUST_USE hone_status_t hone_png_write(const hone_picture_t* picture,
                                           hone_file_writer_t* writer);
HONE_MUST_USE hone_status_t hone_pnm_write(const hone_picture_t* picture,
                                           hone_file_writer_t* writer);

#endif
