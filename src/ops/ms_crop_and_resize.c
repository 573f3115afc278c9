/* CropAndResize (com.microsoft): boxes of images, resized to one size with
 * corners aligned; outside of the image a given value. */
#include <string.h>

#include "ops/common/ms.h"

/* Sampling positions along one axis: [rois, crop]. */
static hone_value_t* positions(hone_lower_t* l, int start_column, int64_t crop, hone_dim_t extent) {
  hone_builder_t* b = l->b;
  hone_value_t* rois = hone_op_in(l, 1);
  hone_dim_t c = hone_d(start_column), length = hone_d(crop);
  hone_value_t* start = hone_slice_axis(b, rois, 1, c, hone_d_add(b, c, hone_d(1)));
  hone_value_t* end =
      hone_slice_axis(b, rois, 1, hone_d_add(b, c, hone_d(2)), hone_d_add(b, c, hone_d(3)));
  hone_value_t* last = hone_dim_scalar(b, HONE_F32, hone_d_sub(b, extent, hone_d(1)));
  if (crop == 1) return hone_mul(b, hone_mul_number(b, hone_add(b, start, end), 0.5), last);
  hone_value_t* scale =
      hone_div_number(b, hone_mul(b, hone_sub(b, end, start), last), (double)(crop - 1));
  hone_value_t* step = hone_iota(b, HONE_F32, 1, &length, 0);
  hone_value_t* at = hone_add(b, hone_mul(b, start, last), hone_mul(b, step, scale));
  return hone_select(b, hone_eq_number(b, step, (double)(crop - 1)), hone_mul(b, end, last), at);
}

/* What the four (or one) samples of each output pixel share. */
typedef struct sampler {
  hone_builder_t* b;
  hone_value_t* pixels; /* [batch * height * width, channels] */
  hone_value_t* image;  /* i64 [rois, 1, 1]: first pixel of each box's image */
  hone_dim_t height, width;
} sampler_t;

/* Within the image, as i64. */
static hone_value_t* clamped(const sampler_t* s, hone_value_t* at, hone_dim_t extent) {
  hone_value_t* last = hone_dim_scalar(s->b, HONE_F32, hone_d_sub(s->b, extent, hone_d(1)));
  return hone_cast(s->b, hone_min(s->b, hone_max_number(s->b, at, 0), last), HONE_I64);
}

/* [rois, crop height, crop width, channels] at whole positions [rois, h, 1], [rois, 1, w]. */
static hone_value_t* sample(const sampler_t* s, hone_value_t* y, hone_value_t* x) {
  hone_builder_t* b = s->b;
  hone_value_t* row = hone_mul(b, clamped(s, y, s->height), hone_dim_scalar(b, HONE_I64, s->width));
  hone_value_t* at = hone_add(b, hone_add(b, s->image, row), clamped(s, x, s->width));
  return hone_gather(b, s->pixels, at);
}

static hone_value_t* mix(hone_builder_t* b, hone_value_t* from, hone_value_t* to,
                         hone_value_t* share) {
  return hone_add(b, from, hone_mul(b, hone_sub(b, to, from), share));
}

static hone_value_t* bilinear(const sampler_t* s, hone_value_t* y, hone_value_t* x) {
  hone_builder_t* b = s->b;
  hone_value_t *top = hone_floor(b, y), *left = hone_floor(b, x);
  hone_value_t *bottom = hone_ceil(b, y), *right = hone_ceil(b, x);
  hone_value_t* x_share = hone_unsqueeze(b, hone_sub(b, x, left), 3);
  hone_value_t* y_share = hone_unsqueeze(b, hone_sub(b, y, top), 3);
  hone_value_t* upper = mix(b, sample(s, top, left), sample(s, top, right), x_share);
  hone_value_t* lower = mix(b, sample(s, bottom, left), sample(s, bottom, right), x_share);
  return mix(b, upper, lower, y_share);
}

/* Halves round up: positions that count are not negative. */
static hone_value_t* nearest(const sampler_t* s, hone_value_t* y, hone_value_t* x) {
  hone_builder_t* b = s->b;
  return sample(s, hone_floor(b, hone_add_number(b, y, 0.5)),
                hone_floor(b, hone_add_number(b, x, 0.5)));
}

static hone_value_t* is_inside(hone_builder_t* b, hone_value_t* at, hone_dim_t extent) {
  hone_value_t* last = hone_dim_scalar(b, HONE_F32, hone_d_sub(b, extent, hone_d(1)));
  return hone_and(b, hone_not(b, hone_lt_number(b, at, 0)), hone_not(b, hone_gt(b, at, last)));
}

static sampler_t make_sampler(hone_lower_t* l, hone_value_t* x) {
  hone_builder_t* b = l->b;
  sampler_t s = {.b = b, .height = hone_dim(x, 2), .width = hone_dim(x, 3)};
  hone_dim_t area = hone_d_mul(b, s.height, s.width);
  hone_dim_t flat[2] = {hone_d_mul(b, hone_dim(x, 0), area), hone_dim(x, 1)};
  s.pixels = hone_reshape(b, hone_move_axis(b, x, 1, 3), 2, flat);
  hone_value_t* image =
      hone_mul(b, hone_cast(b, hone_op_in(l, 2), HONE_I64), hone_dim_scalar(b, HONE_I64, area));
  s.image = hone_unsqueeze(b, hone_unsqueeze(b, image, 1), 2);
  return s;
}

static void lower_crop_and_resize(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  const char* mode = hone_attr_string(l->node, "mode", "bilinear");
  bool is_nearest = strcmp(mode, "nearest") == 0;
  const hone_tensor_t* crop = hone_op_known(l, 3);
  if (!crop) return;
  if (hone_rank(x) != 4 || hone_rank(hone_op_in(l, 1)) != 2 || hone_tensor_count(crop) != 2 ||
      (!is_nearest && strcmp(mode, "bilinear") != 0)) {
    hone_op_fail(l, "mode '%s' (bilinear or nearest), image of rank %d (4), %lld crop sizes (2)",
                 mode, hone_rank(x), (long long)hone_tensor_count(crop));
    return;
  }
  if (hone_tensor_i64(crop, 0) < 1 || hone_tensor_i64(crop, 1) < 1) {
    hone_op_fail(l, "crop_size is %lld by %lld; both must be positive",
                 (long long)hone_tensor_i64(crop, 0), (long long)hone_tensor_i64(crop, 1));
    return;
  }
  sampler_t s = make_sampler(l, x);
  hone_value_t* at_y = positions(l, 0, hone_tensor_i64(crop, 0), s.height);
  hone_value_t* at_x = positions(l, 1, hone_tensor_i64(crop, 1), s.width);
  hone_value_t *rows = hone_unsqueeze(b, at_y, 2), *columns = hone_unsqueeze(b, at_x, 1);
  if (!rows || !columns) return;
  hone_value_t* y = is_nearest ? nearest(&s, rows, columns) : bilinear(&s, rows, columns);
  hone_value_t* inside = hone_and(b, is_inside(b, rows, s.height), is_inside(b, columns, s.width));
  double outside = hone_attr_float(l->node, "extrapolation_value", 0);
  y = hone_select(b, hone_unsqueeze(b, inside, 3), y, hone_scalar(b, HONE_F32, outside));
  hone_op_out(l, 0, hone_move_axis(b, y, 3, 1));
}

static const hone_op_t ops[] = {
    {.domain = HONE_MS_DOMAIN,
     .name = "CropAndResize",
     .min_opset = 1,
     .min_inputs = 4,
     .max_inputs = 4,
     .attrs = "extrapolation_value mode",
     .lower = lower_crop_and_resize},
};
HONE_OP_FAMILY(ms_crop_and_resize, ops)
