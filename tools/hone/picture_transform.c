/* Resizing works on one axis after the other: each output pixel is a weighted
 * sum of a short run of input pixels, the same run for every row (or column).
 * Both sums are exact to float; pixels are rounded once, at the end. */
#include "picture_transform.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* For output pixel i: weights[i * width …] for input pixels first[i], first[i] + 1, … */
typedef struct taps {
  int count, width;
  int* first;
  float* weights;
} taps_t;

static void taps_free(const hone_allocator_t* allocator, taps_t* taps) {
  hone_free(allocator, taps->first, (size_t)taps->count * sizeof(int));
  hone_free(allocator, taps->weights, (size_t)taps->count * (size_t)taps->width * sizeof(float));
}

/* The triangle around the centre of output pixel i, cut off at the borders and
 * scaled to a sum of 1. */
static void fill_triangle(taps_t* taps, int i, int in, double ratio) {
  double reach = ratio > 1 ? ratio : 1, centre = (i + 0.5) * ratio, sum = 0;
  int first = (int)fmax(0, floor(centre - reach + 0.5));
  int last = (int)fmin(in, floor(centre + reach + 0.5));
  float* weights = taps->weights + (size_t)i * (size_t)taps->width;
  taps->first[i] = first;
  for (int k = first; k < last; k++) sum += fmax(0, 1 - fabs(k + 0.5 - centre) / reach);
  for (int k = first; k < last; k++)
    weights[k - first] = (float)(fmax(0, 1 - fabs(k + 0.5 - centre) / reach) / sum);
}

static void fill_nearest(taps_t* taps, int i, int in, double ratio) {
  int nearest = (int)((i + 0.5) * ratio);
  taps->first[i] = nearest < in ? nearest : in - 1;
  taps->weights[i] = 1;
}

static hone_status_t taps_make(const hone_allocator_t* allocator, int in, int out,
                               hone_filter_t filter, taps_t* taps) {
  double ratio = (double)in / out;
  bool nearest = filter == HONE_FILTER_NEAREST;
  int width = nearest ? 1 : (int)ceil(2 * fmax(ratio, 1)) + 1;
  *taps = (taps_t){.count = out, .width = width};
  taps->first = hone_alloc(allocator, (size_t)out * sizeof(int));
  taps->weights = hone_alloc(allocator, (size_t)out * (size_t)width * sizeof(float));
  if (!taps->first || !taps->weights) return hone_oom();
  for (int i = 0; i < out; i++)
    if (nearest)
      fill_nearest(taps, i, in, ratio);
    else
      fill_triangle(taps, i, in, ratio);
  return NULL;
}

/* Taps of the last pixels would reach beyond the input, with weight 0. */
static int taps_used(const taps_t* taps, int i, int in) {
  return taps->first[i] + taps->width <= in ? taps->width : in - taps->first[i];
}

/* One row of the source, `taps->count` pixels wide. */
static void resize_row(const taps_t* taps, const uint8_t* row, int width, int channels,
                       float* out) {
  for (int x = 0; x < taps->count; x++) {
    const float* weights = taps->weights + (size_t)x * (size_t)taps->width;
    int used = taps_used(taps, x, width);
    for (int c = 0; c < channels; c++) {
      float sum = 0;
      const uint8_t* at = row + (size_t)taps->first[x] * (size_t)channels + c;
      for (int k = 0; k < used; k++) sum += weights[k] * at[(size_t)k * (size_t)channels];
      *out++ = sum;
    }
  }
}

static uint8_t to_pixel(float value) {
  return (uint8_t)(value <= 0 ? 0 : value >= 255 ? 255 : value + 0.5f);
}

/* Row y of the result, from rows that have their final width. */
static void mix_rows(const taps_t* taps, int y, const float* rows, int height, size_t row_size,
                     uint8_t* out) {
  const float* weights = taps->weights + (size_t)y * (size_t)taps->width;
  const float* from = rows + (size_t)taps->first[y] * row_size;
  int used = taps_used(taps, y, height);
  for (size_t i = 0; i < row_size; i++) {
    float sum = 0;
    for (int k = 0; k < used; k++) sum += weights[k] * from[(size_t)k * row_size + i];
    out[i] = to_pixel(sum);
  }
}

static hone_status_t resize_with(const hone_picture_t* picture, const taps_t* across,
                                 const taps_t* down, hone_picture_t* out) {
  size_t row_size = (size_t)across->count * (size_t)picture->channels;
  size_t bytes = row_size * (size_t)picture->height * sizeof(float);
  float* rows = hone_alloc(picture->allocator, bytes);
  if (!rows) return hone_oom();
  size_t source_row = (size_t)picture->width * (size_t)picture->channels;
  for (int y = 0; y < picture->height; y++)
    resize_row(across, picture->pixels + (size_t)y * source_row, picture->width, picture->channels,
               rows + (size_t)y * row_size);
  for (int y = 0; y < down->count; y++)
    mix_rows(down, y, rows, picture->height, row_size, out->pixels + (size_t)y * row_size);
  hone_free(picture->allocator, rows, bytes);
  return NULL;
}

hone_status_t hone_picture_resize(const hone_picture_t* picture, int width, int height,
                                  hone_filter_t filter, hone_picture_t* out_picture) {
  HONE_TRY(hone_picture_create(picture->allocator, width, height, picture->channels, out_picture));
  taps_t across = {0}, down = {0};
  hone_status_t status = taps_make(picture->allocator, picture->width, width, filter, &across);
  if (!status) status = taps_make(picture->allocator, picture->height, height, filter, &down);
  if (!status) status = resize_with(picture, &across, &down, out_picture);
  taps_free(picture->allocator, &across);
  taps_free(picture->allocator, &down);
  if (status) hone_picture_free(out_picture);
  return status;
}

void hone_picture_fit_shorter(const hone_picture_t* picture, int side, int* out_width,
                              int* out_height) {
  int shorter = picture->width < picture->height ? picture->width : picture->height;
  int64_t w = picture->width, h = picture->height;
  *out_width = (int)(w * side / shorter);
  *out_height = (int)(h * side / shorter);
}

hone_status_t hone_picture_crop(const hone_picture_t* picture, int width, int height,
                                hone_picture_t* out_picture) {
  *out_picture = (hone_picture_t){0};
  if (width > picture->width || height > picture->height)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "a crop to %dx%d of a picture of %dx%d: resize it first", width, height,
                            picture->width, picture->height);
  HONE_TRY(hone_picture_create(picture->allocator, width, height, picture->channels, out_picture));
  size_t left = (size_t)(picture->width - width) / 2, top = (size_t)(picture->height - height) / 2;
  size_t channels = (size_t)picture->channels, row = (size_t)width * channels;
  for (size_t y = 0; y < (size_t)height; y++)
    memcpy(out_picture->pixels + y * row,
           picture->pixels + ((top + y) * (size_t)picture->width + left) * channels, row);
  return NULL;
}

/* 0.299 R + 0.587 G + 0.114 B in 16 bits of fraction, rounded. */
static uint8_t luma(const uint8_t* rgb) {
  return (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
}

hone_status_t hone_picture_set_channels(const hone_picture_t* picture, int channels,
                                        hone_picture_t* out_picture) {
  HONE_TRY(hone_picture_create(picture->allocator, picture->width, picture->height, channels,
                               out_picture));
  size_t pixels = (size_t)picture->width * (size_t)picture->height;
  const uint8_t* from = picture->pixels;
  uint8_t* to = out_picture->pixels;
  if (channels == picture->channels) memcpy(to, from, pixels * (size_t)channels);
  for (size_t i = 0; i < pixels && channels < picture->channels; i++) to[i] = luma(from + 3 * i);
  for (size_t i = 0; i < pixels && channels > picture->channels; i++)
    to[3 * i] = to[3 * i + 1] = to[3 * i + 2] = from[i];
  return NULL;
}
