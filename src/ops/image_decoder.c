/* ImageDecoder: the bytes of an image file to pixels, [height, width, channels]. */
#include <string.h>

#include "ops/common/host.h"
#include "ops/common/image.h"

typedef enum pixel_format { FORMAT_RGB, FORMAT_BGR, FORMAT_GRAY, FORMAT_BAD } pixel_format_t;

static pixel_format_t read_format(const hone_onnx_node_t* node) {
  static const char* const names[] = {"RGB", "BGR", "Grayscale"};
  const char* name = hone_attr_string(node, "pixel_format", "RGB");
  for (int i = 0; i < FORMAT_BAD; i++)
    if (strcmp(name, names[i]) == 0) return (pixel_format_t)i;
  return FORMAT_BAD;
}

static void write_pixels(const hone_image_t* image, pixel_format_t format, unsigned char* out) {
  const unsigned char* rgb = image->rgb;
  for (int64_t i = 0; i < image->width * image->height; i++, rgb += 3) {
    if (format == FORMAT_GRAY) {
      /* ITU-R 601 luma, with weights that add up to 2^16 */
      *out++ = (unsigned char)((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 32768) >> 16);
      continue;
    }
    for (int c = 0; c < 3; c++) *out++ = rgb[format == FORMAT_RGB ? c : 2 - c];
  }
}

static hone_status_t run_decoder(hone_host_call_t* call) {
  const hone_tensor_t* x;
  HONE_TRY(hone_host_tensor(call, 0, &x));
  if (hone_tensor_dtype(x) != HONE_U8)
    return hone_status_make(HONE_INVALID_ARGUMENT, "ImageDecoder: the input is %s; it must be u8",
                            hone_dtype_name(hone_tensor_dtype(x)));
  pixel_format_t format = read_format(call->node);
  hone_image_t image = {.allocator = call->allocator};
  HONE_TRY(hone_image_decode(hone_tensor_data(x), hone_tensor_bytes(x), &image));
  int64_t dims[] = {image.height, image.width, format == FORMAT_GRAY ? 1 : 3};
  hone_status_t status = hone_tensor_create(call->allocator, HONE_U8, 3, dims, &call->outputs[0]);
  if (!status && image.rgb) write_pixels(&image, format, hone_tensor_data(call->outputs[0]));
  hone_image_free(&image);
  return status;
}

static void lower_decoder(hone_lower_t* l) {
  pixel_format_t format = read_format(l->node);
  if (format == FORMAT_BAD) {
    hone_op_fail(l, "attribute pixel_format is '%s'; it may be RGB, BGR or Grayscale",
                 hone_attr_string(l->node, "pixel_format", ""));
    return;
  }
  hone_dim_t dims[] = {hone_d(-1), hone_d(-1), hone_d(format == FORMAT_GRAY ? 1 : 3)};
  hone_type_t type = hone_type_tensor(HONE_U8, 3, dims);
  hone_op_host(l, &type);
}

static const hone_op_t ops[] = {
    {.name = "ImageDecoder",
     .min_opset = 20,
     .min_inputs = 1,
     .max_inputs = 1,
     .attrs = "pixel_format",
     .lower = lower_decoder,
     .host = run_decoder},
};
HONE_OP_FAMILY(image_decoder, ops)
