/* Pictures in memory: sampling, and the way into tensors and back. */
#include "image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIDE = 1 << 14 };

hone_status_t image_create(int width, int height, image_t* out_image) {
  *out_image = (image_t){0};
  if (width < 1 || height < 1 || width > MAX_SIDE || height > MAX_SIDE) {
    return hone_status_make(HONE_OUT_OF_RANGE, "a picture of %d x %d: each side must be 1 to %d",
                            width, height, MAX_SIDE);
  }
  float* rgb = calloc((size_t)width * (size_t)height * 3, sizeof *rgb);
  if (!rgb) {
    return hone_status_make(HONE_OUT_OF_MEMORY, "a picture of %d x %d", width, height);
  }
  *out_image = (image_t){width, height, rgb};
  return NULL;
}

void image_free(image_t* image) {
  free(image->rgb);
  *image = (image_t){0};
}

box_t image_box(const image_t* image) {
  float w = (float)image->width, h = (float)image->height;
  return (box_t){{{0, 0}, {w, 0}, {w, h}, {0, h}}};
}

static int clamp(int value, int limit) {
  return value < 0 ? 0 : value >= limit ? limit - 1 : value;
}

/* Adds the colour at a place, between the middles of the four pixels around it. */
static void add_colour(const image_t* image, float x, float y, float sum[3]) {
  float left = floorf(x - 0.5f), top = floorf(y - 0.5f);
  float fx = x - 0.5f - left, fy = y - 0.5f - top;
  for (int corner = 0; corner < 4; corner++) {
    int dx = corner & 1, dy = corner >> 1;
    int px = clamp((int)left + dx, image->width), py = clamp((int)top + dy, image->height);
    float weight = (dx ? fx : 1 - fx) * (dy ? fy : 1 - fy);
    const float* pixel = image->rgb + ((size_t)py * (size_t)image->width + (size_t)px) * 3;
    for (int c = 0; c < 3; c++) sum[c] += weight * pixel[c];
  }
}

static float length(point_t a, point_t b) { return hypotf(b.x - a.x, b.y - a.y); }

/* Samples a side of an output pixel: as many as it covers input pixels. */
static int samples(float covered, int pixels) {
  int n = (int)ceilf(covered / (float)pixels);
  return n < 1 ? 1 : n > 16 ? 16 : n;
}

/* The mean colour over the cell of the unit square of `part` from (u, v), of size (du, dv). */
static void cell_colour(const image_t* image, const box_t* part, const float at[4], int nx, int ny,
                        float out[3]) {
  point_t o = part->corner[0], r = part->corner[1], d = part->corner[3];
  float sum[3] = {0};
  for (int i = 0; i < nx * ny; i++) {
    int row = i / nx, column = i % nx;
    float u = at[0] + at[2] * ((float)column + 0.5f) / (float)nx;
    float v = at[1] + at[3] * ((float)row + 0.5f) / (float)ny;
    add_colour(image, o.x + u * (r.x - o.x) + v * (d.x - o.x),
               o.y + u * (r.y - o.y) + v * (d.y - o.y), sum);
  }
  for (int c = 0; c < 3; c++) out[c] = sum[c] / (float)(nx * ny);
}

hone_status_t image_sample(const image_t* image, const box_t* part, int width, int height,
                           image_t* out_image) {
  HONE_TRY(image_create(width, height, out_image));
  int nx = samples(length(part->corner[0], part->corner[1]), width);
  int ny = samples(length(part->corner[0], part->corner[3]), height);
  float du = 1 / (float)width, dv = 1 / (float)height;
  float* to = out_image->rgb;
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++, to += 3) {
      const float at[4] = {(float)x * du, (float)y * dv, du, dv};
      cell_colour(image, part, at, nx, ny, to);
    }
  }
  return NULL;
}

hone_status_t image_resize(const image_t* image, int width, int height, image_t* out_image) {
  box_t all = image_box(image);
  return image_sample(image, &all, width, height, out_image);
}

hone_status_t image_to_tensor(const image_t* image, const float mean[3], const float deviation[3],
                              hone_tensor_t** out_tensor) {
  const int64_t dims[4] = {1, 3, image->height, image->width};
  HONE_TRY(hone_tensor_create(NULL, HONE_F32, 4, dims, out_tensor));
  float* to = hone_tensor_data(*out_tensor);
  size_t pixels = (size_t)image->width * (size_t)image->height;
  for (int c = 0; c < 3; c++) {
    for (size_t i = 0; i < pixels; i++) *to++ = (image->rgb[i * 3 + c] - mean[c]) / deviation[c];
  }
  return NULL;
}

hone_status_t image_from_tensor(const hone_tensor_t* tensor, image_t* out_image) {
  const int64_t* dims = hone_tensor_dims(tensor);
  if (hone_tensor_dtype(tensor) != HONE_F32 || hone_tensor_rank(tensor) != 4 || dims[0] != 1 ||
      dims[1] != 3 || dims[2] > MAX_SIDE || dims[3] > MAX_SIDE) {
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "the network's answer is no picture f32[1, 3, height, width]");
  }
  HONE_TRY(image_create((int)dims[3], (int)dims[2], out_image));
  const float* from = hone_tensor_data(tensor);
  size_t pixels = (size_t)dims[2] * (size_t)dims[3];
  for (size_t i = 0; i < pixels * 3; i++) {
    out_image->rgb[i % pixels * 3 + i / pixels] = fminf(fmaxf(from[i], 0), 1);
  }
  return NULL;
}
