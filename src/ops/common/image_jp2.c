/* JPEG 2000 by OpenJPEG 2. The two structs below mirror those of its ABI,
 * which its shared object's number 7 stands for. */
#include <string.h>

#include "base/memory.h"
#include "ops/common/image.h"

enum { FORMAT_CODE_STREAM = 0, FORMAT_JP2 = 2, COLOR_SYCC = 3, COLOR_CMYK = 5 };
/* Room for its decoding parameters, which it fills in itself: two paths of
 * 4096 bytes and some numbers. */
enum { PARAMETERS_SIZE = 16384, STREAM_BUFFER = 1 << 16 };

typedef struct jp2_component {
  uint32_t dx, dy, w, h, x0, y0, precision, bits, is_signed, resolutions, factor;
  int32_t* data;
  uint16_t alpha;
} jp2_component_t;

typedef struct jp2_image {
  uint32_t x0, y0, x1, y1, n_components;
  int color_space;
  jp2_component_t* components;
  unsigned char* icc_profile;
  uint32_t icc_size;
} jp2_image_t;

typedef size_t (*jp2_read_t)(void* to, size_t count, void* self);
typedef int64_t (*jp2_skip_t)(int64_t count, void* self);
typedef int (*jp2_seek_t)(int64_t to, void* self);

typedef struct jp2_api {
  void (*default_parameters)(void* parameters);
  void* (*create_codec)(int format);
  void (*destroy_codec)(void* codec);
  int (*setup)(void* codec, void* parameters);
  void* (*create_stream)(size_t buffer, int is_input);
  void (*destroy_stream)(void* stream);
  void (*set_read)(void* stream, jp2_read_t read);
  void (*set_skip)(void* stream, jp2_skip_t skip);
  void (*set_seek)(void* stream, jp2_seek_t seek);
  void (*set_user)(void* stream, void* self, void (*free_self)(void*));
  void (*set_size)(void* stream, uint64_t size);
  int (*read_header)(void* stream, void* codec, jp2_image_t** out_image);
  int (*decode)(void* codec, void* stream, jp2_image_t* image);
  void (*destroy_image)(jp2_image_t* image);
} jp2_api_t;

typedef struct memory_file {
  const unsigned char* data;
  int64_t size, at;
} memory_file_t;

static size_t read_file(void* to, size_t count, void* self) {
  memory_file_t* file = self;
  size_t left = (size_t)(file->size - file->at);
  if (left == 0) return (size_t)-1;
  if (count > left) count = left;
  memcpy(to, file->data + file->at, count);
  file->at += (int64_t)count;
  return count;
}

static int seek_file(int64_t to, void* self) {
  memory_file_t* file = self;
  if (to < 0 || to > file->size) return 0;
  file->at = to;
  return 1;
}

static int64_t skip_file(int64_t count, void* self) {
  memory_file_t* file = self;
  int64_t to;
  return hone_i64_add(file->at, count, &to) && seek_file(to, file) ? count : -1;
}

/* ---- pixels ---- */

/* One sample as a byte; components may be coarser than the picture. */
static int sample(const jp2_component_t* c, int64_t x, int64_t y) {
  int64_t column = c->dx ? x / c->dx : x, row = c->dy ? y / c->dy : y;
  if (column >= c->w) column = (int64_t)c->w - 1;
  if (row >= c->h) row = (int64_t)c->h - 1;
  int64_t value = c->data[row * c->w + column];
  if (c->is_signed) value += INT64_C(1) << (c->precision - 1);
  value = c->precision > 8 ? value >> (c->precision - 8) : value * (1 << (8 - c->precision));
  return value < 0 ? 0 : value > 255 ? 255 : (int)value;
}

static unsigned char clamp(double value) {
  return (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5);
}

/* From luma and two differences of color, as JPEG has them. */
static void from_ycc(unsigned char* rgb) {
  double y = rgb[0], blue = rgb[1] - 128.0, red = rgb[2] - 128.0;
  rgb[0] = clamp(y + 1.402 * red);
  rgb[1] = clamp(y - 0.344136 * blue - 0.714136 * red);
  rgb[2] = clamp(y + 1.772 * blue);
}

/* Inks: each takes away from white, black from all. */
static void from_cmyk(unsigned char* rgb, int black) {
  for (int c = 0; c < 3; c++) rgb[c] = (unsigned char)((255 - rgb[c]) * (255 - black) / 255);
}

static bool is_usable(const jp2_image_t* decoded) {
  if (decoded->n_components < 1 || decoded->x1 <= decoded->x0 || decoded->y1 <= decoded->y0)
    return false;
  for (uint32_t i = 0; i < decoded->n_components; i++) {
    const jp2_component_t* c = &decoded->components[i];
    if (!c->data || c->w < 1 || c->h < 1 || c->precision < 1 || c->precision > 31) return false;
  }
  return true;
}

static void take_pixels(const jp2_image_t* decoded, hone_image_t* image) {
  if (!is_usable(decoded) || !hone_image_create(image, (int64_t)decoded->x1 - decoded->x0,
                                                (int64_t)decoded->y1 - decoded->y0))
    return;
  bool color = decoded->n_components >= 3;
  unsigned char* rgb = image->rgb;
  for (int64_t y = 0; y < image->height; y++)
    for (int64_t x = 0; x < image->width; x++, rgb += 3) {
      for (int c = 0; c < 3; c++)
        rgb[c] = (unsigned char)sample(&decoded->components[color ? c : 0], x, y);
      if (color && decoded->color_space == COLOR_SYCC) from_ycc(rgb);
      if (decoded->n_components > 3 && decoded->color_space == COLOR_CMYK)
        from_cmyk(rgb, sample(&decoded->components[3], x, y));
    }
}

static void run_codec(const jp2_api_t* api, void* codec, void* stream, void* parameters,
                      memory_file_t* file, hone_image_t* image) {
  jp2_image_t* decoded = NULL;
  api->default_parameters(parameters);
  api->set_read(stream, read_file);
  api->set_skip(stream, skip_file);
  api->set_seek(stream, seek_file);
  api->set_user(stream, file, NULL);
  api->set_size(stream, (uint64_t)file->size);
  if (api->setup(codec, parameters) && api->read_header(stream, codec, &decoded) && decoded &&
      (int64_t)(decoded->x1 - decoded->x0) * (decoded->y1 - decoded->y0) <= HONE_IMAGE_MAX_PIXELS &&
      api->decode(codec, stream, decoded))
    take_pixels(decoded, image);
  if (decoded) api->destroy_image(decoded);
}

static void run_jp2(const jp2_api_t* api, const unsigned char* data, size_t size,
                    hone_image_t* image) {
  memory_file_t file = {.data = data, .size = (int64_t)size};
  void* codec = api->create_codec(data[0] == 0xff ? FORMAT_CODE_STREAM : FORMAT_JP2);
  void* stream = api->create_stream(STREAM_BUFFER, 1);
  void* parameters = hone_alloc(image->allocator, PARAMETERS_SIZE);
  if (codec && stream && parameters) run_codec(api, codec, stream, parameters, &file, image);
  if (stream) api->destroy_stream(stream);
  if (codec) api->destroy_codec(codec);
  hone_free(image->allocator, parameters, PARAMETERS_SIZE);
}

hone_status_t hone_image_jp2(const unsigned char* data, size_t size, hone_image_t* image) {
  jp2_api_t api;
  const hone_image_symbol_t symbols[] = {
      {"opj_set_default_decoder_parameters", &api.default_parameters},
      {"opj_create_decompress", &api.create_codec},
      {"opj_destroy_codec", &api.destroy_codec},
      {"opj_setup_decoder", &api.setup},
      {"opj_stream_create", &api.create_stream},
      {"opj_stream_destroy", &api.destroy_stream},
      {"opj_stream_set_read_function", &api.set_read},
      {"opj_stream_set_skip_function", &api.set_skip},
      {"opj_stream_set_seek_function", &api.set_seek},
      {"opj_stream_set_user_data", &api.set_user},
      {"opj_stream_set_user_data_length", &api.set_size},
      {"opj_read_header", &api.read_header},
      {"opj_decode", &api.decode},
      {"opj_image_destroy", &api.destroy_image},
  };
  HONE_TRY(hone_image_library("JPEG 2000", "libopenjp2.so.7", "libopenjp2-7",
                              sizeof symbols / sizeof *symbols, symbols));
  run_jp2(&api, data, size, image);
  return NULL;
}
