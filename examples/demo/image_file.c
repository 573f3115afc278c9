/* Pictures in files: PNG and JPEG in, JPEG out. */
#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* jpeglib.h needs stdio.h before it. */
#include <jpeglib.h>

#include "image.h"

static void store_row(image_t* image, int y, const unsigned char* row) {
  float* to = image->rgb + (size_t)y * (size_t)image->width * 3;
  for (int i = 0; i < image->width * 3; i++) to[i] = (float)row[i] / 255.0f;
}

/* ---- PNG ---- */

static hone_status_t png_pixels(png_image* png, const char* path, image_t* out_image) {
  png->format = PNG_FORMAT_RGB;
  HONE_TRY(image_create((int)png->width, (int)png->height, out_image));
  unsigned char* bytes = malloc(PNG_IMAGE_SIZE(*png));
  if (!bytes) return hone_status_make(HONE_OUT_OF_MEMORY, "%s", path);
  const png_color white = {255, 255, 255}; /* under what is transparent */
  hone_status_t status = NULL;
  if (!png_image_finish_read(png, &white, bytes, 0, NULL)) {
    status = hone_status_make(HONE_INVALID_DATA, "%s: %s", path, png->message);
  }
  for (int y = 0; !status && y < out_image->height; y++) {
    store_row(out_image, y, bytes + (size_t)y * png->width * 3);
  }
  free(bytes);
  return status;
}

static hone_status_t load_png(FILE* file, const char* path, image_t* out_image) {
  png_image png = {.version = PNG_IMAGE_VERSION};
  if (!png_image_begin_read_from_stdio(&png, file)) {
    return hone_status_make(HONE_INVALID_DATA, "%s: %s", path, png.message);
  }
  hone_status_t status = png_pixels(&png, path, out_image);
  png_image_free(&png);
  return status;
}

/* ---- JPEG ---- */

/* libjpeg reports through error_exit, which must not return. */
typedef struct jpeg_trouble {
  struct jpeg_error_mgr manager;
  jmp_buf back;
  char message[JMSG_LENGTH_MAX];
} jpeg_trouble_t;

static void jpeg_failed(j_common_ptr codec) {
  jpeg_trouble_t* trouble = (jpeg_trouble_t*)(void*)codec->err;
  codec->err->format_message(codec, trouble->message);
  longjmp(trouble->back, 1);
}

static void jpeg_quiet(j_common_ptr codec) { (void)codec; }

static struct jpeg_error_mgr* jpeg_errors(jpeg_trouble_t* trouble) {
  struct jpeg_error_mgr* manager = jpeg_std_error(&trouble->manager);
  manager->error_exit = jpeg_failed;
  manager->output_message = jpeg_quiet;
  return manager;
}

static hone_status_t jpeg_pixels(struct jpeg_decompress_struct* jpeg, FILE* file,
                                 image_t* out_image) {
  jpeg_stdio_src(jpeg, file);
  jpeg_read_header(jpeg, TRUE);
  jpeg->out_color_space = JCS_RGB;
  jpeg_start_decompress(jpeg);
  HONE_TRY(image_create((int)jpeg->output_width, (int)jpeg->output_height, out_image));
  JSAMPARRAY row =
      jpeg->mem->alloc_sarray((j_common_ptr)jpeg, JPOOL_IMAGE, jpeg->output_width * 3, 1);
  while (jpeg->output_scanline < jpeg->output_height) {
    int y = (int)jpeg->output_scanline;
    jpeg_read_scanlines(jpeg, row, 1);
    store_row(out_image, y, row[0]);
  }
  jpeg_finish_decompress(jpeg);
  return NULL;
}

static hone_status_t load_jpeg(FILE* file, const char* path, image_t* out_image) {
  struct jpeg_decompress_struct jpeg;
  jpeg_trouble_t trouble;
  jpeg.err = jpeg_errors(&trouble);
  jpeg_create_decompress(&jpeg);
  hone_status_t status;
  if (setjmp(trouble.back)) {
    status = hone_status_make(HONE_INVALID_DATA, "%s: %s", path, trouble.message);
  } else {
    status = jpeg_pixels(&jpeg, file, out_image);
    if (!status && trouble.manager.num_warnings) { /* filled with grey where data is missing */
      status = hone_status_make(HONE_INVALID_DATA, "%s: the picture is damaged or cut short", path);
    }
  }
  jpeg_destroy_decompress(&jpeg);
  return status;
}

static hone_status_t load_any(FILE* file, const char* path, image_t* out_image) {
  unsigned char magic[2] = {0};
  size_t got = fread(magic, 1, sizeof magic, file);
  rewind(file);
  if (got == 2 && magic[0] == 0x89 && magic[1] == 'P') return load_png(file, path, out_image);
  if (got == 2 && magic[0] == 0xFF && magic[1] == 0xD8) return load_jpeg(file, path, out_image);
  return hone_status_make(HONE_INVALID_DATA, "%s: neither a PNG nor a JPEG file", path);
}

hone_status_t image_load(const char* path, image_t* out_image) {
  *out_image = (image_t){0};
  FILE* file = fopen(path, "rb");
  if (!file) {
    return hone_status_make(HONE_IO, "%s: cannot open: %s", path, strerror(errno));
  }
  hone_status_t status = load_any(file, path, out_image);
  fclose(file);
  if (status) image_free(out_image);
  return status;
}

static void encode_rows(struct jpeg_compress_struct* jpeg, const image_t* image) {
  JSAMPARRAY row =
      jpeg->mem->alloc_sarray((j_common_ptr)jpeg, JPOOL_IMAGE, (JDIMENSION)image->width * 3, 1);
  while (jpeg->next_scanline < jpeg->image_height) {
    const float* from = image->rgb + (size_t)jpeg->next_scanline * (size_t)image->width * 3;
    for (int i = 0; i < image->width * 3; i++) row[0][i] = (JSAMPLE)(from[i] * 255.0f + 0.5f);
    jpeg_write_scanlines(jpeg, row, 1);
  }
}

hone_status_t image_encode(const image_t* image, unsigned char** out_bytes, size_t* out_size) {
  struct jpeg_compress_struct jpeg;
  jpeg_trouble_t trouble;
  unsigned long size = 0;
  *out_bytes = NULL;
  jpeg.err = jpeg_errors(&trouble);
  jpeg_create_compress(&jpeg);
  if (setjmp(trouble.back)) {
    jpeg_destroy_compress(&jpeg);
    return hone_status_make(HONE_INTERNAL, "cannot make a JPEG: %s", trouble.message);
  }
  jpeg_mem_dest(&jpeg, out_bytes, &size);
  jpeg.image_width = (JDIMENSION)image->width;
  jpeg.image_height = (JDIMENSION)image->height;
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 90, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  encode_rows(&jpeg, image);
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  *out_size = size;
  return NULL;
}
