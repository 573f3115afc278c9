/* Image: pictures as the networks want them, rows of red, green and blue in 0..1. */
#ifndef DEMO_IMAGE_H
#define DEMO_IMAGE_H

#include "hone/hone.h"

typedef struct point {
  float x, y;
} point_t;

/* A rectangle of a picture, perhaps turned. Corners clockwise from the top
 * left, in pixels; the middle of the first pixel is at (0.5, 0.5). */
typedef struct box {
  point_t corner[4];
} box_t;

typedef struct image {
  int width, height;
  float* rgb; /* rgb[(y * width + x) * 3 + channel] */
} image_t;

HONE_MUST_USE hone_status_t image_create(int width, int height, image_t* out_image);
void image_free(image_t* image);
/* A PNG or JPEG file, told apart by its first bytes. */
HONE_MUST_USE hone_status_t image_load(const char* path, image_t* out_image);
/* The part of `image` inside `part`, stretched to width x height. */
HONE_MUST_USE hone_status_t image_sample(const image_t* image, const box_t* part, int width,
                                         int height, image_t* out_image);
HONE_MUST_USE hone_status_t image_resize(const image_t* image, int width, int height,
                                         image_t* out_image);
box_t image_box(const image_t* image); /* all of it */

/* A tensor [1, 3, height, width] of (value - mean) / deviation, by channel. */
HONE_MUST_USE hone_status_t image_to_tensor(const image_t* image, const float mean[3],
                                            const float deviation[3], hone_tensor_t** out_tensor);
/* The picture in a float tensor [1, 3, height, width], cut to 0..1. */
HONE_MUST_USE hone_status_t image_from_tensor(const hone_tensor_t* tensor, image_t* out_image);

/* The bytes of a JPEG file; free with free(). */
HONE_MUST_USE hone_status_t image_encode(const image_t* image, unsigned char** out_bytes,
                                         size_t* out_size);

#endif
