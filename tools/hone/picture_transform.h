/* Changes of pictures. Each makes a new one from the allocator of its source. */
#ifndef HONE_TOOLS_PICTURE_TRANSFORM_H
#define HONE_TOOLS_PICTURE_TRANSFORM_H

#include "picture.h"

typedef enum hone_filter {
  HONE_FILTER_BILINEAR, /* a triangle as wide as what it shrinks, so that nothing is skipped */
  HONE_FILTER_NEAREST,
} hone_filter_t;

/* To exactly width x height. */
HONE_MUST_USE hone_status_t hone_picture_resize(const hone_picture_t* picture, int width,
                                                int height, hone_filter_t filter,
                                                hone_picture_t* out_picture);
/* The middle. Errors: INVALID_ARGUMENT when the picture is smaller. */
HONE_MUST_USE hone_status_t hone_picture_crop(const hone_picture_t* picture, int width, int height,
                                              hone_picture_t* out_picture);
/* To gray (1: weights of ITU-R BT.601) or to RGB (3). */
HONE_MUST_USE hone_status_t hone_picture_set_channels(const hone_picture_t* picture, int channels,
                                                      hone_picture_t* out_picture);
/* The size that makes the shorter side `side` and keeps the proportions. */
void hone_picture_fit_shorter(const hone_picture_t* picture, int side, int* out_width,
                              int* out_height);

#endif
