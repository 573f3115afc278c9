/* BMP: palettes of 1, 4 and 8 bits, plain and run-length encoded; 16, 24 and
 * 32 bits with or without bit fields; rows from below or from above. */
#include <string.h>

#include "ops/common/image.h"

enum { PLAIN = 0, RLE8 = 1, RLE4 = 2, BIT_FIELDS = 3, ALPHA_BIT_FIELDS = 6 };

typedef struct bmp {
  const unsigned char* data;
  size_t size;
  hone_image_t* image;
  int64_t width, height;
  bool top_down;
  uint32_t bits, compression;
  uint32_t masks[3];
  size_t palette_at, palette_step, palette_count;
  size_t pixels_at;
} bmp_t;

/* Little endian; 0 behind the end. */
static uint32_t read_at(const bmp_t* bmp, size_t at, int bytes) {
  uint32_t value = 0;
  for (int i = 0; i < bytes; i++)
    if (at + (size_t)i < bmp->size) value |= (uint32_t)bmp->data[at + (size_t)i] << (8 * i);
  return value;
}

static void read_masks(bmp_t* bmp, size_t at) {
  static const uint32_t masks_16[] = {0x7c00, 0x03e0, 0x001f};
  static const uint32_t masks_32[] = {0xff0000, 0x00ff00, 0x0000ff};
  for (int i = 0; i < 3; i++) {
    bool given = bmp->compression == BIT_FIELDS || bmp->compression == ALPHA_BIT_FIELDS;
    bmp->masks[i] = given             ? read_at(bmp, at + 4 * (size_t)i, 4)
                    : bmp->bits == 16 ? masks_16[i]
                                      : masks_32[i];
  }
}

static bool is_known_form(const bmp_t* bmp) {
  uint32_t bits = bmp->bits;
  if (bmp->compression == RLE8) return bits == 8;
  if (bmp->compression == RLE4) return bits == 4;
  if (bmp->compression == BIT_FIELDS || bmp->compression == ALPHA_BIT_FIELDS)
    return bits == 16 || bits == 32;
  return bmp->compression == PLAIN &&
         (bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32);
}

static bool read_header(bmp_t* bmp) {
  if (bmp->size < 26) return false;
  size_t header = read_at(bmp, 14, 4);
  bool old = header == 12;
  if ((!old && header < 40) || header > bmp->size - 14) return false;
  bmp->width = old ? (int64_t)read_at(bmp, 18, 2) : (int32_t)read_at(bmp, 18, 4);
  bmp->height = old ? (int64_t)read_at(bmp, 20, 2) : (int32_t)read_at(bmp, 22, 4);
  bmp->bits = read_at(bmp, old ? 24 : 28, 2);
  bmp->compression = old ? PLAIN : read_at(bmp, 30, 4);
  bmp->top_down = bmp->height < 0;
  if (bmp->top_down) bmp->height = -bmp->height;
  read_masks(bmp, 14 + 40);
  bool masks_follow = header == 40 && bmp->compression == BIT_FIELDS;
  bmp->palette_at = 14 + header + (masks_follow ? 12 : 0);
  bmp->palette_step = old ? 3 : 4;
  bmp->palette_count = old ? 0 : read_at(bmp, 46, 4);
  if (bmp->bits <= 8 && (bmp->palette_count == 0 || bmp->palette_count > 256))
    bmp->palette_count = (size_t)1 << bmp->bits;
  bmp->pixels_at = read_at(bmp, 10, 4);
  return is_known_form(bmp);
}

/* ---- pixels ---- */

static unsigned char* pixel(const bmp_t* bmp, int64_t x, int64_t y) {
  int64_t row = bmp->top_down ? y : bmp->height - 1 - y;
  return bmp->image->rgb + (row * bmp->width + x) * 3;
}

static void put_index(const bmp_t* bmp, int64_t x, int64_t y, uint32_t index) {
  if (x >= bmp->width || y >= bmp->height || index >= bmp->palette_count) return;
  uint32_t color = read_at(bmp, bmp->palette_at + index * bmp->palette_step, 3);
  unsigned char* rgb = pixel(bmp, x, y);
  for (int c = 0; c < 3; c++) rgb[c] = (unsigned char)(color >> (16 - 8 * c));
}

/* The bits under the mask, stretched to 0 … 255. */
static unsigned char masked(uint32_t value, uint32_t mask) {
  if (!mask) return 0;
  int shift = __builtin_ctz(mask);
  uint64_t limit = mask >> shift, part = (value & mask) >> shift;
  return (unsigned char)((part * 255 + limit / 2) / limit);
}

static void put_color(const bmp_t* bmp, int64_t x, int64_t y, uint32_t value) {
  unsigned char* rgb = pixel(bmp, x, y);
  for (int c = 0; c < 3; c++)
    rgb[c] =
        bmp->bits == 24 ? (unsigned char)(value >> (16 - 8 * c)) : masked(value, bmp->masks[c]);
}

static size_t plain_stride(const bmp_t* bmp) {
  return ((size_t)bmp->width * bmp->bits + 31) / 32 * 4;
}

/* Whether all pixels are there, which is asked before memory is taken for them. */
static bool is_whole(const bmp_t* bmp) {
  if (bmp->compression == RLE8 || bmp->compression == RLE4) return true;
  if (bmp->width < 1 || bmp->height < 1 || bmp->pixels_at > bmp->size) return false;
  return (size_t)bmp->height <= (bmp->size - bmp->pixels_at) / plain_stride(bmp);
}

static void read_plain(const bmp_t* bmp) {
  size_t stride = plain_stride(bmp);
  for (int64_t y = 0; y < bmp->height; y++) {
    size_t row = bmp->pixels_at + (size_t)y * stride;
    for (int64_t x = 0; x < bmp->width; x++) {
      size_t bit = (size_t)x * bmp->bits;
      uint32_t value = read_at(bmp, row + bit / 8, bmp->bits < 8 ? 1 : (int)bmp->bits / 8);
      if (bmp->bits < 8) value = value >> (8 - bmp->bits - bit % 8) & ((1u << bmp->bits) - 1);
      if (bmp->bits <= 8)
        put_index(bmp, x, y, value);
      else
        put_color(bmp, x, y, value);
    }
  }
}

/* What runs leave out is color 0. */
static void fill_background(const bmp_t* bmp) {
  uint32_t color = read_at(bmp, bmp->palette_at, 3);
  unsigned char* rgb = bmp->image->rgb;
  for (int64_t i = 0; i < bmp->width * bmp->height; i++, rgb += 3)
    for (int c = 0; c < 3; c++) rgb[c] = (unsigned char)(color >> (16 - 8 * c));
}

/* Index `i` of a run whose two nibbles, or byte, alternate in `byte`. */
static uint32_t run_index(const bmp_t* bmp, uint32_t byte, uint32_t i) {
  return bmp->bits == 8 ? byte : i % 2 ? byte & 15 : byte >> 4;
}

/* Pairs of bytes: a run of one color; or after 0 the end of a row (0), of the
 * picture (1), a jump (2), or so many colors as they are. Says by false that
 * the data ended too early. */
static bool read_runs(const bmp_t* bmp) {
  int64_t x = 0, y = 0;
  for (size_t at = bmp->pixels_at; at + 1 < bmp->size && y < bmp->height;) {
    uint32_t count = bmp->data[at], second = bmp->data[at + 1];
    at += 2;
    if (count) {
      for (uint32_t i = 0; i < count; i++) put_index(bmp, x++, y, run_index(bmp, second, i));
    } else if (second == 0) {
      x = 0;
      y++;
    } else if (second == 1) {
      return true;
    } else if (second == 2) {
      x += read_at(bmp, at, 1);
      y += read_at(bmp, at + 1, 1);
      at += 2;
    } else {
      size_t per_byte = 8 / bmp->bits, bytes = (second + per_byte - 1) / per_byte;
      for (uint32_t i = 0; i < second; i++)
        put_index(bmp, x++, y, run_index(bmp, read_at(bmp, at + i / per_byte, 1), i));
      at += (bytes + 1) / 2 * 2;
    }
  }
  return y >= bmp->height;
}

hone_status_t hone_image_bmp(const unsigned char* data, size_t size, hone_image_t* image) {
  bmp_t bmp = {.data = data, .size = size, .image = image};
  if (!read_header(&bmp) || !is_whole(&bmp) || !hone_image_create(image, bmp.width, bmp.height))
    return NULL;
  bool runs = bmp.compression == RLE8 || bmp.compression == RLE4;
  if (runs)
    fill_background(&bmp);
  else
    read_plain(&bmp);
  if (runs && !read_runs(&bmp)) hone_image_free(image);
  return NULL;
}
