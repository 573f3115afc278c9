/* Which format it is; room for pixels; opening libraries. */
#include "ops/common/image.h"

#include <dlfcn.h>
#include <string.h>

#include "base/memory.h"

bool hone_image_create(hone_image_t* image, int64_t width, int64_t height) {
  if (width < 1 || height < 1 || width > HONE_IMAGE_MAX_PIXELS / height) return false;
  image->rgb = hone_alloc(image->allocator, (size_t)(width * height * 3));
  image->width = image->rgb ? width : 0;
  image->height = image->rgb ? height : 0;
  return image->rgb != NULL;
}

void hone_image_free(hone_image_t* image) {
  hone_free(image->allocator, image->rgb, (size_t)(image->width * image->height * 3));
  image->rgb = NULL;
  image->width = image->height = 0;
}

hone_status_t hone_image_library(const char* format, const char* library, const char* package,
                                 int count, const hone_image_symbol_t* symbols) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  bool all = handle != NULL;
  for (int i = 0; i < count && all; i++) {
    void* found = dlsym(handle, symbols[i].name);
    memcpy(symbols[i].target, &found, sizeof found);
    all = found != NULL;
  }
  if (handle) dlclose(handle);
  if (all) return NULL;
  return hone_status_make(HONE_UNAVAILABLE,
                          "%s images need the library %s, which %s; install the package %s", format,
                          library, handle ? "is too old" : "is not there", package);
}

/* ---- formats ---- */

typedef struct format {
  const char* magic;
  size_t size, at;
  hone_image_decoder_t decode;
} format_t;

static const format_t formats[] = {
    {"\xff\xd8\xff", 3, 0, hone_image_jpeg},
    {"\x89PNG\r\n\x1a\n", 8, 0, hone_image_png},
    {"BM", 2, 0, hone_image_bmp},
    {"WEBP", 4, 8, hone_image_webp},
    {"II*\0", 4, 0, hone_image_tiff},
    {"MM\0*", 4, 0, hone_image_tiff},
    {"II+\0", 4, 0, hone_image_tiff},
    {"MM\0+", 4, 0, hone_image_tiff},
    {"\0\0\0\x0cjP  ", 8, 0, hone_image_jp2},
    {"\xff\x4f\xff\x51", 4, 0, hone_image_jp2},
    {"P", 1, 0, hone_image_pnm},
};

hone_status_t hone_image_decode(const unsigned char* data, size_t size, hone_image_t* image) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    const format_t* f = &formats[i];
    if (size >= f->at + f->size && memcmp(data + f->at, f->magic, f->size) == 0)
      return f->decode(data, size, image);
  }
  return NULL;
}
