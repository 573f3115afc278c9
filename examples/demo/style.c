/* The network takes a picture in 0..1 and a weight for each style it knows. */
#include "style.h"

static hone_status_t style_weights(int style, hone_tensor_t** out_weights) {
  if (style < 0 || style >= STYLE_COUNT) {
    return hone_status_make(HONE_OUT_OF_RANGE, "style %d: there are 0 to %d", style,
                            STYLE_COUNT - 1);
  }
  const int64_t dims[1] = {STYLE_COUNT};
  HONE_TRY(hone_tensor_create(NULL, HONE_F32, 1, dims, out_weights));
  ((float*)hone_tensor_data(*out_weights))[style] = 1;
  return NULL;
}

hone_status_t style_apply(net_t* net, const image_t* photo, int style, image_t* out_painted) {
  const float mean[3] = {0, 0, 0}, deviation[3] = {1, 1, 1};
  hone_tensor_t *inputs[2] = {NULL, NULL}, *output = NULL;
  *out_painted = (image_t){0};
  hone_status_t status = image_to_tensor(photo, mean, deviation, &inputs[0]);
  if (!status) status = style_weights(style, &inputs[1]);
  if (!status) status = net_run(net, 2, inputs, &output);
  if (!status) status = image_from_tensor(output, out_painted);
  hone_tensor_release(output);
  hone_tensor_release(inputs[1]);
  hone_tensor_release(inputs[0]);
  return status;
}
