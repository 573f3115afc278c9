/* PNG by libpng 1.6, through functions only: no struct of it is looked into. */
#include <setjmp.h>
#include <string.h>

#include "ops/common/image.h"

#define PNG_LIBRARY "libpng16.so.16"
#define PNG_PACKAGE "libpng16-16"

typedef void (*png_message_t)(void* png, const char* message);
typedef void (*png_read_t)(void* png, unsigned char* to, size_t count);

typedef struct png_api {
  const char* (*version)(const void* png);
  void* (*create)(const char* version, void* run, png_message_t error, png_message_t warning);
  void* (*create_info)(void* png);
  void (*destroy)(void** png, void** info, void** end_info);
  void (*set_read)(void* png, void* run, png_read_t read);
  void (*read_info)(void* png, void* info);
  void (*expand)(void* png);
  void (*strip_16)(void* png);
  void (*strip_alpha)(void* png);
  void (*gray_to_rgb)(void* png);
  int (*interlace)(void* png);
  void (*update)(void* png, void* info);
  uint32_t (*width)(const void* png, const void* info);
  uint32_t (*height)(const void* png, const void* info);
  size_t (*row_bytes)(const void* png, const void* info);
  void (*read_rows)(void* png, unsigned char** rows, unsigned char** display, uint32_t count);
} png_api_t;

typedef struct png_run {
  const unsigned char* data;
  size_t size, at;
  void *png, *info;
  jmp_buf on_error;
} png_run_t;

/* libpng's callbacks get no more than the png; this asks it for the run, by a
 * function of the library, which is open at this point. */
static png_run_t* find_run(const char* getter, void* png) {
  void* (*get)(const void*) = NULL;
  const hone_image_symbol_t symbol = {getter, &get};
  hone_status_free(hone_image_library("PNG", PNG_LIBRARY, PNG_PACKAGE, 1, &symbol));
  return get(png);
}

static void ignore(void* png, const char* message) { (void)png, (void)message; }

/* Must not return. */
static void jump_out(void* png, const char* message) {
  (void)message;
  longjmp(find_run("png_get_error_ptr", png)->on_error, 1);
}

static void read_bytes(void* png, unsigned char* to, size_t count) {
  png_run_t* run = find_run("png_get_io_ptr", png);
  if (count > run->size - run->at) longjmp(run->on_error, 1);
  memcpy(to, run->data + run->at, count);
  run->at += count;
}

/* Whatever is in the file becomes three bytes a pixel. */
static void read_pixels(const png_api_t* api, png_run_t* run, hone_image_t* image) {
  void *png = run->png, *info = run->info;
  api->set_read(png, run, read_bytes);
  api->read_info(png, info);
  api->expand(png);
  api->strip_16(png);
  api->gray_to_rgb(png);
  api->strip_alpha(png);
  int passes = api->interlace(png);
  api->update(png, info);
  if (!hone_image_create(image, api->width(png, info), api->height(png, info))) return;
  if (api->row_bytes(png, info) != (size_t)image->width * 3) {
    hone_image_free(image);
    return;
  }
  for (int pass = 0; pass < passes; pass++)
    for (int64_t y = 0; y < image->height; y++) {
      unsigned char* row = image->rgb + y * image->width * 3;
      api->read_rows(png, &row, NULL, 1);
    }
}

static void run_png(const png_api_t* api, png_run_t* run, hone_image_t* image) {
  if (setjmp(run->on_error)) {
    hone_image_free(image);
  } else {
    run->png = api->create(api->version(NULL), run, jump_out, ignore);
    run->info = run->png ? api->create_info(run->png) : NULL;
    if (run->info) read_pixels(api, run, image);
  }
  if (run->png) api->destroy(&run->png, &run->info, NULL);
}

hone_status_t hone_image_png(const unsigned char* data, size_t size, hone_image_t* image) {
  png_api_t api;
  const hone_image_symbol_t symbols[] = {
      {"png_get_libpng_ver", &api.version},
      {"png_create_read_struct", &api.create},
      {"png_create_info_struct", &api.create_info},
      {"png_destroy_read_struct", &api.destroy},
      {"png_set_read_fn", &api.set_read},
      {"png_read_info", &api.read_info},
      {"png_set_expand", &api.expand},
      {"png_set_strip_16", &api.strip_16},
      {"png_set_strip_alpha", &api.strip_alpha},
      {"png_set_gray_to_rgb", &api.gray_to_rgb},
      {"png_set_interlace_handling", &api.interlace},
      {"png_read_update_info", &api.update},
      {"png_get_image_width", &api.width},
      {"png_get_image_height", &api.height},
      {"png_get_rowbytes", &api.row_bytes},
      {"png_read_rows", &api.read_rows},
  };
  HONE_TRY(hone_image_library("PNG", PNG_LIBRARY, PNG_PACKAGE, sizeof symbols / sizeof *symbols,
                              symbols));
  png_run_t run = {.data = data, .size = size};
  run_png(&api, &run, image);
  return NULL;
}
