/* Pictures to tensors and back. */
#include <math.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "preprocess.h"

static bool is_channel_extent(int64_t extent) { return extent == 1 || extent == 3; }

/* Where in a tensor of this shape the axes of a picture are; -1: there is no
 * such axis. Channels come last only where they cannot come first. */
typedef struct axes {
  int rank, channel, row, column;
} axes_t;

static axes_t axes_of(hone_layout_t layout, int rank, const int64_t* dims) {
  static const axes_t table[] = {
      [HONE_LAYOUT_NCHW] = {4, 1, 2, 3}, [HONE_LAYOUT_NHWC] = {4, 3, 1, 2},
      [HONE_LAYOUT_CHW] = {3, 0, 1, 2},  [HONE_LAYOUT_HWC] = {3, 2, 0, 1},
      [HONE_LAYOUT_HW] = {2, -1, 0, 1},
  };
  if (layout != HONE_LAYOUT_AUTO) return table[layout];
  if (rank == 2) return table[HONE_LAYOUT_HW];
  bool last = (rank == 3 || rank == 4) && is_channel_extent(dims[rank - 1]) &&
              !is_channel_extent(dims[rank - 3]);
  if (rank == 3) return table[last ? HONE_LAYOUT_HWC : HONE_LAYOUT_CHW];
  return table[last ? HONE_LAYOUT_NHWC : HONE_LAYOUT_NCHW];
}

static void fill_dims(const axes_t* axes, int channels, int height, int width, int64_t* dims) {
  for (int i = 0; i < axes->rank; i++) dims[i] = 1;
  if (axes->channel >= 0) dims[axes->channel] = channels;
  dims[axes->row] = height;
  dims[axes->column] = width;
}

/* Elements from one channel, row or column to the next. */
typedef struct strides {
  int64_t channel, row, column;
} strides_t;

static int64_t stride_of(const int64_t* dims, int rank, int axis) {
  int64_t stride = 1;
  for (int i = rank - 1; i > axis; i--) stride *= dims[i];
  return axis < 0 ? 0 : stride;
}

static strides_t strides_of(const axes_t* axes, const int64_t* dims) {
  return (strides_t){stride_of(dims, axes->rank, axes->channel),
                     stride_of(dims, axes->rank, axes->row),
                     stride_of(dims, axes->rank, axes->column)};
}

/* BGR counts channels from the other end. */
static int picture_channel(const hone_preprocess_t* steps, int channels, int channel) {
  return steps->channels == HONE_CHANNELS_BGR && channels == 3 ? 2 - channel : channel;
}

/* ---- going in ---- */

/* Puts a new picture in the place of the old one. */
static void replace(hone_picture_t* picture, hone_picture_t with) {
  hone_picture_free(picture);
  *picture = with;
}

static hone_status_t resize_step(const hone_preprocess_t* steps, hone_picture_t* picture) {
  int width = steps->resize_width, height = steps->resize_height;
  if (!width) return NULL;
  if (!height) hone_picture_fit_shorter(picture, steps->resize_width, &width, &height);
  hone_picture_t next;
  HONE_TRY(hone_picture_resize(picture, width, height, steps->filter, &next));
  replace(picture, next);
  return NULL;
}

static hone_status_t crop_step(const hone_preprocess_t* steps, hone_picture_t* picture) {
  if (!steps->crop_width) return NULL;
  hone_picture_t next;
  HONE_TRY(hone_picture_crop(picture, steps->crop_width, steps->crop_height, &next));
  replace(picture, next);
  return NULL;
}

static hone_status_t channels_step(int channels, hone_picture_t* picture) {
  if (channels == picture->channels) return NULL;
  hone_picture_t next;
  HONE_TRY(hone_picture_set_channels(picture, channels, &next));
  replace(picture, next);
  return NULL;
}

static int wanted_channels(const hone_preprocess_t* steps, const axes_t* axes,
                           const hone_value_want_t* want) {
  if (steps->channels == HONE_CHANNELS_GRAY || axes->channel < 0) return 1;
  bool known = want->rank == axes->rank && want->dims[axes->channel] == 1;
  return steps->channels == HONE_CHANNELS_AUTO && known ? 1 : 3;
}

/* An integer type takes the nearest of its values. */
static void store(hone_dtype_t dtype, double value, void* element) {
  if (!hone_dtype_is_int(dtype)) {
    hone_from_double(dtype, value, true, element);
    return;
  }
  int bits = hone_dtype_bits(dtype);
  bool is_unsigned = hone_dtype_is_unsigned(dtype);
  double low = is_unsigned ? 0 : -ldexp(1, bits - 1);
  double high = ldexp(1, is_unsigned ? bits : bits - 1) - 1;
  hone_from_double(dtype, fmin(fmax(nearbyint(value), low), high), true, element);
}

static void fill_tensor(const hone_preprocess_t* steps, const hone_picture_t* picture,
                        const axes_t* axes, hone_tensor_t* tensor) {
  strides_t strides = strides_of(axes, hone_tensor_dims(tensor));
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  size_t size = hone_dtype_size(dtype);
  const uint8_t* pixel = picture->pixels;
  for (int y = 0; y < picture->height; y++)
    for (int x = 0; x < picture->width; x++)
      for (int c = 0; c < picture->channels; c++, pixel++) {
        int channel = picture_channel(steps, picture->channels, c);
        int64_t at = channel * strides.channel + y * strides.row + x * strides.column;
        double value = (*pixel * steps->scale - steps->mean[channel]) / steps->std[channel];
        store(dtype, value, (char*)hone_tensor_data(tensor) + (size_t)at * size);
      }
}

static hone_status_t apply_to(const hone_preprocess_t* steps, const hone_value_want_t* want,
                              hone_picture_t* picture, hone_tensor_t** out_tensor) {
  axes_t axes = axes_of(steps->layout, want->rank, want->dims);
  HONE_TRY(resize_step(steps, picture));
  HONE_TRY(crop_step(steps, picture));
  HONE_TRY(channels_step(wanted_channels(steps, &axes, want), picture));
  int64_t dims[4];
  fill_dims(&axes, picture->channels, picture->height, picture->width, dims);
  hone_dtype_t dtype = want->dtype == HONE_UNKNOWN ? HONE_F32 : want->dtype;
  HONE_TRY(hone_tensor_create(picture->allocator, dtype, axes.rank, dims, out_tensor));
  fill_tensor(steps, picture, &axes, *out_tensor);
  return NULL;
}

hone_status_t hone_preprocess_apply(const hone_preprocess_t* steps, const hone_picture_t* picture,
                                    const hone_value_want_t* want, hone_tensor_t** out_tensor) {
  *out_tensor = NULL;
  if (want->dtype == HONE_STRING || want->dtype == HONE_BOOL)
    return hone_status_make(HONE_INVALID_ARGUMENT, "a picture does not become a tensor of %s",
                            hone_dtype_name(want->dtype));
  hone_picture_t copy;
  HONE_TRY(hone_picture_set_channels(picture, picture->channels, &copy));
  hone_status_t status = apply_to(steps, want, &copy, out_tensor);
  hone_picture_free(&copy);
  return status;
}

/* ---- coming out ---- */

static hone_status_t check_picture(const axes_t* axes, const hone_tensor_t* tensor) {
  const int64_t* dims = hone_tensor_dims(tensor);
  bool ok = hone_tensor_kind(tensor) == HONE_KIND_TENSOR && hone_tensor_rank(tensor) == axes->rank;
  ok = ok && hone_tensor_dtype(tensor) != HONE_STRING;
  ok = ok && (axes->channel < 0 || is_channel_extent(dims[axes->channel]));
  ok = ok && (axes->rank != 4 || dims[0] == 1);
  ok =
      ok && dims[axes->row] <= HONE_PICTURE_MAX_SIDE && dims[axes->column] <= HONE_PICTURE_MAX_SIDE;
  if (ok) return NULL;
  return hone_status_make(HONE_INVALID_ARGUMENT,
                          "the output is no picture; one has the shape 1xCxHxW, 1xHxWxC, CxHxW, "
                          "HxWxC or HxW with 1 or 3 channels (see layout= of --postprocess)");
}

static uint8_t to_pixel(double value) {
  if (!(value > 0)) return 0;
  return (uint8_t)(value >= 255 ? 255 : value + 0.5);
}

static void fill_picture(const hone_preprocess_t* steps, const hone_tensor_t* tensor,
                         const axes_t* axes, hone_picture_t* picture) {
  strides_t strides = strides_of(axes, hone_tensor_dims(tensor));
  hone_dtype_t dtype = hone_tensor_dtype(tensor);
  size_t size = hone_dtype_size(dtype);
  uint8_t* pixel = picture->pixels;
  for (int y = 0; y < picture->height; y++)
    for (int x = 0; x < picture->width; x++)
      for (int c = 0; c < picture->channels; c++, pixel++) {
        int channel = picture_channel(steps, picture->channels, c);
        int64_t at = channel * strides.channel + y * strides.row + x * strides.column;
        double value = hone_to_double(dtype, (char*)hone_tensor_data(tensor) + (size_t)at * size);
        *pixel = to_pixel((value * steps->std[channel] + steps->mean[channel]) / steps->scale);
      }
}

hone_status_t hone_preprocess_undo(const hone_allocator_t* allocator,
                                   const hone_preprocess_t* steps, const hone_tensor_t* tensor,
                                   hone_picture_t* out_picture) {
  *out_picture = (hone_picture_t){0};
  const int64_t* dims = hone_tensor_dims(tensor);
  axes_t axes = axes_of(steps->layout, hone_tensor_rank(tensor), dims);
  HONE_TRY(check_picture(&axes, tensor));
  int channels = axes.channel < 0 ? 1 : (int)dims[axes.channel];
  HONE_TRY(hone_picture_create(allocator, (int)dims[axes.column], (int)dims[axes.row], channels,
                               out_picture));
  fill_picture(steps, tensor, &axes, out_picture);
  hone_status_t status = NULL;
  if (steps->channels == HONE_CHANNELS_GRAY) status = channels_step(1, out_picture);
  if (!status) status = resize_step(steps, out_picture);
  if (!status) status = crop_step(steps, out_picture);
  if (status) hone_picture_free(out_picture);
  return status;
}
