#include "picture.h"

#include <string.h>

#include "base/memory.h"
#include "ops/common/image.h"

hone_status_t hone_picture_create(const hone_allocator_t* allocator, int width, int height,
                                  int channels, hone_picture_t* out_picture) {
  *out_picture = (hone_picture_t){0};
  bool sides_fit = width >= 1 && height >= 1 && width <= HONE_PICTURE_MAX_SIDE &&
                   height <= HONE_PICTURE_MAX_SIDE;
  if (!sides_fit || (int64_t)width * height > HONE_PICTURE_MAX_PIXELS)
    return hone_status_make(HONE_INVALID_DATA,
                            "a picture of %d x %d pixels; each side must be 1 to %d, and all "
                            "pixels at most %d",
                            width, height, HONE_PICTURE_MAX_SIDE, HONE_PICTURE_MAX_PIXELS);
  size_t bytes = (size_t)width * (size_t)height * (size_t)channels;
  uint8_t* pixels = hone_alloc(allocator, bytes);
  if (!pixels) return hone_oom();
  *out_picture = (hone_picture_t){allocator, width, height, channels, pixels};
  return NULL;
}

void hone_picture_free(hone_picture_t* picture) {
  size_t bytes = (size_t)picture->width * (size_t)picture->height * (size_t)picture->channels;
  hone_free(picture->allocator, picture->pixels, bytes);
  *picture = (hone_picture_t){0};
}

/* Formats that are read alone: those of the operator ImageDecoder. */
static hone_status_t read_other(const hone_allocator_t* allocator, const uint8_t* data, size_t size,
                                hone_picture_t* out_picture) {
  hone_image_t image = {.allocator = allocator};
  HONE_TRY(hone_image_decode(data, size, &image));
  if (!image.rgb)
    return hone_status_make(HONE_INVALID_DATA,
                            "no picture that can be read: JPEG, PNG, binary PPM or PGM, BMP, WebP, "
                            "TIFF or JPEG 2000");
  hone_status_t status =
      hone_picture_create(allocator, (int)image.width, (int)image.height, 3, out_picture);
  if (!status) memcpy(out_picture->pixels, image.rgb, (size_t)(image.width * image.height) * 3);
  hone_image_free(&image);
  return status;
}

hone_status_t hone_picture_read_memory(const hone_allocator_t* allocator, const uint8_t* data,
                                       size_t size, hone_picture_t* out_picture) {
  *out_picture = (hone_picture_t){0};
  if (size >= 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0)
    return hone_png_read(allocator, data, size, out_picture);
  if (size >= 3 && memcmp(data, "\xff\xd8\xff", 3) == 0)
    return hone_jpeg_read(allocator, data, size, out_picture);
  if (size >= 2 && data[0] == 'P' && (data[1] == '5' || data[1] == '6'))
    return hone_pnm_read(allocator, data, size, out_picture);
  return read_other(allocator, data, size, out_picture);
}

hone_status_t hone_picture_read(const hone_allocator_t* allocator, const char* path,
                                hone_picture_t* out_picture) {
  *out_picture = (hone_picture_t){0};
  hone_file_map_t map;
  HONE_TRY(hone_file_map_open(path, &map));
  hone_status_t status = hone_picture_read_memory(allocator, map.data, map.size, out_picture);
  hone_file_map_close(&map);
  return hone_status_annotate(status, "%s", path);
}

typedef hone_status_t (*encode_fn)(const hone_picture_t* picture, hone_file_writer_t* writer);

static encode_fn find_encoder(const char* path) {
  static const struct {
    const char* end;
    encode_fn encode;
  } rows[] = {{".jpg", hone_jpeg_write}, {".jpeg", hone_jpeg_write}, {".png", hone_png_write},
              {".ppm", hone_pnm_write},  {".pgm", hone_pnm_write},   {".pnm", hone_pnm_write}};
  const char* dot = strrchr(path, '.');
  for (size_t i = 0; dot && i < sizeof rows / sizeof *rows; i++)
    if (strcasecmp(dot, rows[i].end) == 0) return rows[i].encode;
  return NULL;
}

hone_status_t hone_picture_write(const hone_picture_t* picture, const char* path) {
  encode_fn encode = find_encoder(path);
  if (!encode)
    return hone_status_make(HONE_INVALID_ARGUMENT, "%s: no picture format has this ending", path);
  hone_file_writer_t* writer = NULL;
  HONE_TRY(hone_file_writer_create(picture->allocator, path, &writer));
  hone_status_t status = encode(picture, writer);
  if (!status) return hone_file_writer_commit(writer);
  hone_file_writer_abort(writer);
  return hone_status_annotate(status, "%s", path);
}
