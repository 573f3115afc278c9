/* How a picture becomes an input, and an output a picture again:
 *
 *   resize=224x224,crop=224x224,channels=rgb,layout=nchw,scale=1/255,mean=0.5,std=0.5
 *
 * Going in, in this order whatever the order of the words: resize, crop,
 * channels, then value = (pixel * scale - mean) / std, then layout; mean and std
 * are in the order of the channels as the model sees them. Coming out
 * the way is walked back: pixel = (value * std + mean) / scale, rounded to the
 * nearest integer and held to 0 … 255; then channels and resize. */
#ifndef HONE_TOOLS_PREPROCESS_H
#define HONE_TOOLS_PREPROCESS_H

#include "picture_transform.h"
#include "value.h"

typedef enum hone_layout {
  HONE_LAYOUT_AUTO, /* where the tensor's extent is 1 or 3: there are the channels */
  HONE_LAYOUT_NCHW,
  HONE_LAYOUT_NHWC,
  HONE_LAYOUT_CHW,
  HONE_LAYOUT_HWC,
  HONE_LAYOUT_HW,
} hone_layout_t;

typedef enum hone_channels {
  HONE_CHANNELS_AUTO, /* gray for one channel, else RGB */
  HONE_CHANNELS_RGB,
  HONE_CHANNELS_BGR,
  HONE_CHANNELS_GRAY,
} hone_channels_t;

struct hone_preprocess {
  int resize_width, resize_height; /* 0: no resize; height 0: the shorter side is `width` */
  int crop_width, crop_height;     /* 0: no crop */
  hone_filter_t filter;
  hone_layout_t layout;
  hone_channels_t channels;
  double scale, mean[3], std[3];
};

/* What nothing said means: pixels as they are. */
hone_preprocess_t hone_preprocess_default(void);
/* `text` NULL or empty: the default. Errors: INVALID_ARGUMENT, names the word. */
HONE_MUST_USE hone_status_t hone_preprocess_parse(const char* text, hone_preprocess_t* out);

/* A tensor of the type and rank that `want` asks for (float32 where it does
 * not say) from a picture. */
HONE_MUST_USE hone_status_t hone_preprocess_apply(const hone_preprocess_t* steps,
                                                  const hone_picture_t* picture,
                                                  const hone_value_want_t* want,
                                                  hone_tensor_t** out_tensor);
/* A picture from a tensor of one picture. Errors: INVALID_ARGUMENT (no
 * picture has this shape), OUT_OF_MEMORY. */
HONE_MUST_USE hone_status_t hone_preprocess_undo(const hone_allocator_t* allocator,
                                                 const hone_preprocess_t* steps,
                                                 const hone_tensor_t* tensor,
                                                 hone_picture_t* out_picture);

#endif
