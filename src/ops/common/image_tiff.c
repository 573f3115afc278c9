/* TIFF by libtiff 4.5 or newer (which can be told to be silent for one file). */
#include <string.h>

#include "ops/common/image.h"

enum { TAG_WIDTH = 256, TAG_HEIGHT = 257, TOP_LEFT = 1 };

/* The file that libtiff reads: the bytes in memory. */
typedef struct memory_file {
  const unsigned char* data;
  int64_t size, at;
} memory_file_t;

static int64_t read_file(void* self, void* to, int64_t count) {
  memory_file_t* file = self;
  if (count > file->size - file->at) count = file->size - file->at;
  if (count > 0) memcpy(to, file->data + file->at, (size_t)count);
  file->at += count > 0 ? count : 0;
  return count;
}

static int64_t write_file(void* self, void* from, int64_t count) {
  (void)self, (void)from, (void)count;
  return 0;
}

static uint64_t seek_file(void* self, uint64_t offset, int whence) {
  memory_file_t* file = self;
  int64_t base = whence == 1 ? file->at : whence == 2 ? file->size : 0;
  int64_t to = base + (int64_t)offset;
  if (to < 0 || to > file->size) return (uint64_t)-1;
  file->at = to;
  return (uint64_t)to;
}

static int close_file(void* self) {
  (void)self;
  return 0;
}

static uint64_t file_size(void* self) { return (uint64_t)((memory_file_t*)self)->size; }

static int keep_silent(void* tiff, void* user, const char* module, const char* format,
                       va_list args) {
  (void)tiff, (void)user, (void)module, (void)format, (void)args;
  return 1;
}

typedef int (*tiff_message_t)(void* tiff, void* user, const char* module, const char* format,
                              va_list args);
typedef struct tiff_api {
  void* (*options_create)(void);
  void (*options_free)(void* options);
  void (*set_error)(void* options, tiff_message_t handler, void* user);
  void (*set_warning)(void* options, tiff_message_t handler, void* user);
  void* (*open)(const char* name, const char* mode, void* self,
                int64_t (*read)(void*, void*, int64_t), int64_t (*write)(void*, void*, int64_t),
                uint64_t (*seek)(void*, uint64_t, int), int (*close)(void*),
                uint64_t (*size)(void*), int (*map)(void*, void**, uint64_t*),
                void (*unmap)(void*, void*, uint64_t), void* options);
  void (*close)(void* tiff);
  int (*get)(void* tiff, uint32_t tag, ...);
  int (*read_rgba)(void* tiff, uint32_t width, uint32_t height, uint32_t* pixels, int origin,
                   int stop);
} tiff_api_t;

/* libtiff gives four bytes a pixel, red in the lowest. */
static void read_pixels(const tiff_api_t* api, void* tiff, hone_image_t* image) {
  uint32_t width = 0, height = 0;
  if (!api->get(tiff, TAG_WIDTH, &width) || !api->get(tiff, TAG_HEIGHT, &height)) return;
  hone_image_t wide = {.allocator = image->allocator};
  /* Four bytes a pixel need a third more room than three. */
  if (!hone_image_create(&wide, (int64_t)width * 4, height)) return;
  uint32_t* pixels = (uint32_t*)(void*)wide.rgb;
  if (api->read_rgba(tiff, width, height, pixels, TOP_LEFT, 1) &&
      hone_image_create(image, width, height))
    for (size_t i = 0; i < (size_t)width * height; i++)
      for (int c = 0; c < 3; c++)
        image->rgb[3 * i + (size_t)c] = (unsigned char)(pixels[i] >> (8 * c));
  hone_image_free(&wide);
}

hone_status_t hone_image_tiff(const unsigned char* data, size_t size, hone_image_t* image) {
  tiff_api_t api;
  const hone_image_symbol_t symbols[] = {
      {"TIFFOpenOptionsAlloc", &api.options_create},
      {"TIFFOpenOptionsFree", &api.options_free},
      {"TIFFOpenOptionsSetErrorHandlerExtR", &api.set_error},
      {"TIFFOpenOptionsSetWarningHandlerExtR", &api.set_warning},
      {"TIFFClientOpenExt", &api.open},
      {"TIFFClose", &api.close},
      {"TIFFGetField", &api.get},
      {"TIFFReadRGBAImageOriented", &api.read_rgba},
  };
  HONE_TRY(hone_image_library("TIFF", "libtiff.so.6", "libtiff6", sizeof symbols / sizeof *symbols,
                              symbols));
  void* options = api.options_create();
  if (!options) return NULL;
  api.set_error(options, keep_silent, NULL);
  api.set_warning(options, keep_silent, NULL);
  memory_file_t file = {.data = data, .size = (int64_t)size};
  void* tiff = api.open("image", "rm", &file, read_file, write_file, seek_file, close_file,
                        file_size, NULL, NULL, options);
  if (tiff) {
    read_pixels(&api, tiff, image);
    api.close(tiff);
  }
  api.options_free(options);
  return NULL;
}
