/* JPEG by libjpeg (libjpeg-turbo). Its header is needed when hone is built,
 * for the layout of two structs; the library only when a picture comes. */
#include "ops/common/image.h"

#if __has_include(<jpeglib.h>)
/* clang-format off */
#include <setjmp.h>
#include <stdio.h>
#include <jpeglib.h>
/* clang-format on */

typedef struct jpeg_api {
  struct jpeg_error_mgr* (*std_error)(struct jpeg_error_mgr*);
  void (*create)(j_decompress_ptr, int, size_t);
  void (*destroy)(j_decompress_ptr);
  void (*memory_source)(j_decompress_ptr, const unsigned char*, unsigned long);
  int (*read_header)(j_decompress_ptr, boolean);
  boolean (*start)(j_decompress_ptr);
  JDIMENSION (*read_lines)(j_decompress_ptr, JSAMPARRAY, JDIMENSION);
  boolean (*finish)(j_decompress_ptr);
} jpeg_api_t;

typedef struct jpeg_run {
  struct jpeg_decompress_struct info;
  struct jpeg_error_mgr error;
  jmp_buf on_error;
} jpeg_run_t;

static void jump_out(j_common_ptr info) {
  jpeg_run_t* run = (jpeg_run_t*)info; /* info is its first member */
  longjmp(run->on_error, 1);
}

static void keep_silent(j_common_ptr info) { (void)info; }

static void drop_warning(j_common_ptr info, int level) { (void)info, (void)level; }

/* CMYK as Adobe writes it, inverted, to red, green and blue in place. */
static void from_cmyk(const unsigned char* cmyk, unsigned char* rgb, int64_t width, bool inverted) {
  for (int64_t x = 0; x < width; x++, cmyk += 4, rgb += 3)
    for (int c = 0; c < 3; c++) {
      int ink = inverted ? 255 - cmyk[c] : cmyk[c], black = inverted ? 255 - cmyk[3] : cmyk[3];
      rgb[c] = (unsigned char)((255 - ink) * (255 - black) / 255);
    }
}

static void read_rows(const jpeg_api_t* api, jpeg_run_t* run, hone_image_t* image) {
  j_decompress_ptr info = &run->info;
  int64_t stride = image->width * 3;
  bool cmyk = info->out_color_space == JCS_CMYK;
  JSAMPARRAY buffer = NULL;
  if (cmyk)
    buffer =
        info->mem->alloc_sarray((j_common_ptr)info, JPOOL_IMAGE, (JDIMENSION)(image->width * 4), 1);
  while (info->output_scanline < info->output_height) {
    unsigned char* row = image->rgb + info->output_scanline * stride;
    if (!cmyk) {
      api->read_lines(info, &row, 1);
    } else {
      api->read_lines(info, buffer, 1);
      from_cmyk(buffer[0], row, image->width, info->saw_Adobe_marker);
    }
  }
}

static void run_jpeg(const jpeg_api_t* api, jpeg_run_t* run, const unsigned char* data, size_t size,
                     hone_image_t* image) {
  run->info.err = api->std_error(&run->error);
  run->error.error_exit = jump_out;
  run->error.output_message = keep_silent;
  run->error.emit_message = drop_warning;
  if (setjmp(run->on_error)) {
    api->destroy(&run->info);
    hone_image_free(image);
    return;
  }
  api->create(&run->info, JPEG_LIB_VERSION, sizeof run->info);
  api->memory_source(&run->info, data, size);
  api->read_header(&run->info, TRUE);
  bool cmyk = run->info.jpeg_color_space == JCS_CMYK || run->info.jpeg_color_space == JCS_YCCK;
  run->info.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  if (hone_image_create(image, run->info.image_width, run->info.image_height)) {
    api->start(&run->info);
    read_rows(api, run, image);
    api->finish(&run->info);
  }
  api->destroy(&run->info);
}

#if JPEG_LIB_VERSION >= 80
#define JPEG_LIBRARY "libjpeg.so.8"
#else
#define JPEG_LIBRARY "libjpeg.so.62"
#endif

hone_status_t hone_image_jpeg(const unsigned char* data, size_t size, hone_image_t* image) {
  jpeg_api_t api;
  const hone_image_symbol_t symbols[] = {
      {"jpeg_std_error", &api.std_error},        {"jpeg_CreateDecompress", &api.create},
      {"jpeg_destroy_decompress", &api.destroy}, {"jpeg_mem_src", &api.memory_source},
      {"jpeg_read_header", &api.read_header},    {"jpeg_start_decompress", &api.start},
      {"jpeg_read_scanlines", &api.read_lines},  {"jpeg_finish_decompress", &api.finish},
  };
  HONE_TRY(hone_image_library("JPEG", JPEG_LIBRARY, "libjpeg62-turbo",
                              sizeof symbols / sizeof *symbols, symbols));
  jpeg_run_t run = {0};
  run_jpeg(&api, &run, data, size, image);
  return NULL;
}

#else

hone_status_t hone_image_jpeg(const unsigned char* data, size_t size, hone_image_t* image) {
  (void)data, (void)size, (void)image;
  return hone_status_make(
      HONE_UNAVAILABLE,
      "hone was built without jpeglib.h, so JPEG images cannot be read; install "
      "the package libjpeg62-turbo-dev and build again");
}

#endif
