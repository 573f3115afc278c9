/* Resize and Upsample: each axis is read at positions that follow from its
 * extents before and after, one axis at a time. Positions are computed in
 * f64 from an iota, so sizes may be expressions and scales run-time values.
 *
 * Before opset 11 (and in Upsample) positions are asymmetric, and nearest
 * means floor where an axis grows and ceil where it shrinks. */
#include <math.h>
#include <string.h>

#include "ops/common/resample.h"

typedef struct resize resize_t;
typedef struct resize_axis resize_axis_t;
typedef hone_value_t* (*position_fn)(const resize_t* r, const resize_axis_t* a, hone_value_t* i);
typedef hone_value_t* (*rounding_fn)(hone_builder_t* b, hone_value_t* x);

/* One axis that changes. Scalars are f64. */
struct resize_axis {
  int axis;
  hone_dim_t before, after;
  double known_scale;      /* 0 when it is not a known number */
  hone_value_t* scale;     /* after / before, exactly as given */
  hone_value_t *from, *to; /* of the region of interest; NULL without one */
};

struct resize {
  hone_lower_t* l;
  hone_builder_t* b;
  const char* mode;
  position_fn position;
  bool crops; /* positions outside give `extrapolation` */
  rounding_fn rounding;
  bool legacy;
  bool antialias;
  bool exclude_outside;
  double cubic_a, extrapolation;
  int n_axes;
  resize_axis_t axes[HONE_MAX_RANK];
};

static hone_value_t* number(hone_builder_t* b, hone_dim_t d) {
  return hone_dim_scalar(b, HONE_F64, d);
}

/* Rounded to f32: scales are numbers of that type, so what comes out a hair
 * beside a whole number is meant to be that. */
static hone_value_t* snap(hone_builder_t* b, hone_value_t* x) {
  return hone_cast(b, hone_cast(b, x, HONE_F32), HONE_F64);
}

/* before * scale: the extent after, before it became an integer. */
static hone_value_t* exact_length(const resize_t* r, const resize_axis_t* a) {
  return snap(r->b, hone_mul(r->b, number(r->b, a->before), a->scale));
}

/* ---- positions: from the index after to the place before ---- */

static hone_value_t* at_asymmetric(const resize_t* r, const resize_axis_t* a, hone_value_t* i) {
  return hone_div(r->b, i, a->scale);
}

static hone_value_t* at_half_pixel(const resize_t* r, const resize_axis_t* a, hone_value_t* i) {
  return hone_add_number(r->b, hone_div(r->b, hone_add_number(r->b, i, 0.5), a->scale), -0.5);
}

static hone_value_t* at_half_pixel_for_nearest(const resize_t* r, const resize_axis_t* a,
                                               hone_value_t* i) {
  return hone_div(r->b, hone_add_number(r->b, i, 0.5), a->scale);
}

static hone_value_t* at_half_pixel_symmetric(const resize_t* r, const resize_axis_t* a,
                                             hone_value_t* i) {
  hone_builder_t* b = r->b;
  hone_value_t* used = hone_div(b, number(b, a->after), exact_length(r, a));
  hone_value_t* half = hone_mul_number(b, number(b, a->before), 0.5);
  hone_value_t* shift = hone_sub(b, half, hone_mul(b, half, used));
  return hone_add(b, at_half_pixel(r, a, i), shift);
}

/* `many` where the result has more than one element, else `single`. */
static hone_value_t* unless_single(const resize_t* r, const resize_axis_t* a, hone_value_t* many,
                                   hone_value_t* single) {
  hone_value_t* is_many = hone_gt_number(r->b, number(r->b, a->after), 1);
  return hone_select(r->b, is_many, many, single);
}

static hone_value_t* at_pytorch(const resize_t* r, const resize_axis_t* a, hone_value_t* i) {
  return unless_single(r, a, at_half_pixel(r, a, i), hone_scalar(r->b, HONE_F64, 0));
}

/* i * (before - 1) / (exact length - 1), and 0 for a single one. */
static hone_value_t* spread(const resize_t* r, const resize_axis_t* a, hone_value_t* i) {
  hone_builder_t* b = r->b;
  hone_value_t* steps = hone_add_number(b, exact_length(r, a), -1);
  hone_value_t* zero = hone_scalar(b, HONE_F64, 0);
  hone_value_t* last = number(b, hone_d_sub(b, a->before, hone_d(1)));
  return unless_single(r, a, hone_div(b, hone_mul(b, i, last), steps), zero);
}

static hone_value_t* at_crop(const resize_t* r, const resize_axis_t* a, hone_value_t* i) {
  hone_builder_t* b = r->b;
  if (!a->from) {
    hone_op_fail(r->l, "tf_crop_and_resize needs the input 'roi'");
    return NULL;
  }
  hone_value_t* last = number(b, hone_d_sub(b, a->before, hone_d(1)));
  hone_value_t* many = hone_add(b, hone_mul(b, a->from, last),
                                hone_mul(b, spread(r, a, i), hone_sub(b, a->to, a->from)));
  hone_value_t* middle = hone_mul_number(b, hone_add(b, a->from, a->to), 0.5);
  return unless_single(r, a, many, hone_mul(b, middle, last));
}

static const struct {
  const char* name;
  position_fn position;
} transforms[] = {
    {"half_pixel", at_half_pixel},
    {"half_pixel_symmetric", at_half_pixel_symmetric},
    {"pytorch_half_pixel", at_pytorch},
    {"align_corners", spread},
    {"asymmetric", at_asymmetric},
    {"tf_crop_and_resize", at_crop},
    {"tf_half_pixel_for_nn", at_half_pixel_for_nearest},
};

/* ---- nearest ---- */

static hone_value_t* half_down(hone_builder_t* b, hone_value_t* x) {
  return hone_ceil(b, hone_add_number(b, x, -0.5));
}

static hone_value_t* half_up(hone_builder_t* b, hone_value_t* x) {
  return hone_floor(b, hone_add_number(b, x, 0.5));
}

static const struct {
  const char* name;
  rounding_fn rounding;
} roundings[] = {
    {"round_prefer_floor", half_down},
    {"round_prefer_ceil", half_up},
    {"floor", hone_floor},
    {"ceil", hone_ceil},
};

static hone_value_t* nearest(const resize_t* r, const resize_axis_t* a, hone_value_t* x,
                             hone_value_t* at) {
  hone_builder_t* b = r->b;
  at = snap(b, at);
  if (r->legacy) {
    hone_value_t* shrinks = hone_lt_number(b, a->scale, 1);
    at = hone_select(b, shrinks, hone_ceil(b, at), hone_floor(b, at));
  } else {
    at = r->rounding(b, at);
  }
  at = hone_min(b, at, number(b, hone_d_sub(b, a->before, hone_d(1))));
  at = hone_cast(b, hone_max_number(b, at, 0), HONE_I64);
  return hone_take(b, x, at, a->axis);
}

/* ---- linear and cubic ---- */

/* With antialias the filter is as many times wider as the axis shrinks. */
static hone_dim_t tap_count(const resize_t* r, const resize_axis_t* a, int reach) {
  if (!r->antialias) return hone_d(2 * (int64_t)reach);
  if (a->known_scale > 0) {
    double wide = ceil(reach / fmin(a->known_scale, 1));
    return hone_d(wide < 1e6 ? 2 * (int64_t)wide : 2000000);
  }
  hone_dim_t wide = hone_d_ceildiv(r->b, hone_d_mul(r->b, a->before, hone_d(reach)), a->after);
  return hone_d_mul(r->b, hone_d_max(r->b, wide, hone_d(reach)), hone_d(2));
}

static hone_value_t* filtered(const resize_t* r, const resize_axis_t* a, hone_value_t* x,
                              hone_value_t* at) {
  bool cubic = strcmp(r->mode, "cubic") == 0;
  hone_taps_t taps = {.filter = cubic ? HONE_FILTER_CUBIC : HONE_FILTER_LINEAR,
                      .cubic_a = r->cubic_a,
                      .count = tap_count(r, a, cubic ? 2 : 1),
                      .exclude_outside = r->exclude_outside};
  if (r->antialias) taps.stretch = hone_min_number(r->b, a->scale, 1);
  return hone_resample_axis(r->b, x, a->axis, at, &taps);
}

/* ---- one axis ---- */

static hone_value_t* extrapolate(const resize_t* r, const resize_axis_t* a, hone_value_t* x,
                                 hone_value_t* at) {
  hone_builder_t* b = r->b;
  if (!x) return NULL;
  hone_value_t* last = number(b, hone_d_sub(b, a->before, hone_d(1)));
  hone_value_t* outside = hone_or(b, hone_lt_number(b, at, 0), hone_gt(b, at, last));
  hone_dim_t shape[HONE_MAX_RANK];
  int rank = hone_rank(x) - a->axis;
  for (int i = 0; i < rank; i++) shape[i] = i ? hone_d(1) : a->after;
  outside = hone_reshape(b, outside, rank, shape);
  return hone_select(b, outside, hone_scalar(b, hone_dtype_of(x), r->extrapolation), x);
}

static hone_value_t* resize_one(const resize_t* r, const resize_axis_t* a, hone_value_t* x) {
  hone_builder_t* b = r->b;
  if (!r->crops && (a->known_scale == 1 || a->known_scale == 0) &&
      hone_dim_same(a->before, a->after))
    return x;
  hone_value_t* at = r->position(r, a, hone_iota(b, HONE_F64, 1, &a->after, 0));
  hone_value_t* out =
      strcmp(r->mode, "nearest") == 0 ? nearest(r, a, x, at) : filtered(r, a, x, at);
  return r->crops ? extrapolate(r, a, out, at) : out;
}

static hone_value_t* resize_all(const resize_t* r, hone_value_t* x) {
  hone_dtype_t dtype = hone_dtype_of(x);
  bool sums = strcmp(r->mode, "nearest") != 0;
  if (sums) x = hone_cast(r->b, x, hone_resample_dtype(dtype));
  for (int i = 0; i < r->n_axes && x; i++) x = resize_one(r, &r->axes[i], x);
  return sums && x ? hone_saturate(r->b, x, dtype) : x;
}

/* ---- extents ---- */

/* floor(before * scale) where the scale is near a fraction with a small
 * denominator, exactly; an extent measured when it runs otherwise. */
static hone_dim_t scaled_extent(const resize_t* r, const resize_axis_t* a) {
  hone_builder_t* b = r->b;
  if (a->known_scale > 0 && hone_dim_is_int(a->before))
    return hone_d((int64_t)floorf((float)a->before.k * (float)a->known_scale));
  for (int q = 1; q <= 16 && a->known_scale > 0; q++) {
    double p = round(a->known_scale * q);
    if (p < 1 || p > 1e6 || fabs(a->known_scale * q - p) > 1e-6 * p) continue;
    return hone_d_floordiv(b, hone_d_mul(b, a->before, hone_d((int64_t)p)), hone_d(q));
  }
  hone_value_t* length = hone_floor(b, exact_length(r, a));
  return hone_d_scalar(b, hone_cast(b, length, HONE_I64), 0, INT32_MAX);
}

/* Entry `i` of a float input as an f64 scalar. */
static hone_value_t* entry(hone_builder_t* b, hone_value_t* list, int i) {
  return hone_cast(b, hone_pick(b, list, 0, hone_d(i)), HONE_F64);
}

static void set_scales(resize_t* r, hone_value_t* scales) {
  const hone_tensor_t* known = hone_known_tensor(r->b, scales);
  for (int i = 0; i < r->n_axes; i++) {
    resize_axis_t* a = &r->axes[i];
    a->known_scale = known ? hone_tensor_f64(known, i) : 0;
    if (known && !(a->known_scale > 0)) {
      hone_op_fail(r->l, "scale %d is %g; scales must be > 0", i, a->known_scale);
      return;
    }
    a->scale = known ? hone_scalar(r->b, HONE_F64, a->known_scale) : entry(r->b, scales, i);
    a->after = scaled_extent(r, a);
  }
}

static void set_quotient(resize_t* r, resize_axis_t* a) {
  bool known = hone_dim_is_int(a->before) && hone_dim_is_int(a->after) && a->before.k > 0;
  a->known_scale = known ? (double)a->after.k / (double)a->before.k : 0;
  a->scale = hone_div(r->b, number(r->b, a->after), number(r->b, a->before));
}

/* One scale for all axes, the least or the largest of what the sizes ask for. */
static void keep_aspect_ratio(resize_t* r, bool smallest) {
  hone_builder_t* b = r->b;
  hone_value_t* common = NULL;
  double known = 0;
  bool all_known = true;
  for (int i = 0; i < r->n_axes; i++) {
    const resize_axis_t* a = &r->axes[i];
    all_known = all_known && a->known_scale > 0;
    if (i == 0 || (smallest ? a->known_scale < known : a->known_scale > known))
      known = a->known_scale;
    if (i == 0)
      common = a->scale;
    else
      common = smallest ? hone_min(b, common, a->scale) : hone_max(b, common, a->scale);
  }
  for (int i = 0; i < r->n_axes; i++) {
    resize_axis_t* a = &r->axes[i];
    a->scale = common;
    a->known_scale = all_known ? known : 0;
    hone_value_t* length = hone_floor(b, hone_add_number(b, exact_length(r, a), 0.5));
    a->after = all_known ? hone_d((int64_t)floor(known * (double)a->before.k + 0.5))
                         : hone_d_scalar(b, hone_cast(b, length, HONE_I64), 0, INT32_MAX);
  }
}

static void set_sizes(resize_t* r, const hone_dim_t* sizes) {
  const char* policy = hone_attr_string(r->l->node, "keep_aspect_ratio_policy", "stretch");
  bool not_larger = strcmp(policy, "not_larger") == 0;
  for (int i = 0; i < r->n_axes; i++) {
    r->axes[i].after = sizes[i];
    set_quotient(r, &r->axes[i]);
  }
  if (not_larger || strcmp(policy, "not_smaller") == 0)
    keep_aspect_ratio(r, not_larger);
  else if (strcmp(policy, "stretch") != 0)
    hone_op_fail(r->l, "keep_aspect_ratio_policy '%s' is unknown", policy);
}

/* ---- reading the node ---- */

/* True for an input that is there and not the empty list that some opsets
 * take as "not given". */
static bool is_given(const hone_value_t* v) {
  return v && !(hone_rank(v) == 1 && hone_dim_is(hone_dim(v, 0), 0));
}

static bool has_entries(const resize_t* r, const hone_value_t* v, int count) {
  if (hone_rank(v) == 1 && (!hone_dim_is_int(hone_dim(v, 0)) || hone_dim_is(hone_dim(v, 0), count)))
    return true;
  hone_op_fail(r->l, "scales, sizes and roi must have an entry for each resized axis (%d)",
               r->n_axes);
  return false;
}

static void read_axes(resize_t* r, const hone_value_t* x) {
  int count;
  const int64_t* axes = hone_op_axes(r->l, "axes", -1, hone_rank(x), &count);
  r->n_axes = axes ? count : hone_rank(x);
  for (int i = 0; i < r->n_axes; i++) {
    int axis = axes ? (int)axes[i] : i;
    r->axes[i] = (resize_axis_t){.axis = axis, .before = hone_dim(x, axis)};
  }
}

static void read_roi(resize_t* r, hone_value_t* roi) {
  if (!r->crops || !is_given(roi) || !has_entries(r, roi, 2 * r->n_axes)) return;
  for (int i = 0; i < r->n_axes; i++) {
    r->axes[i].from = entry(r->b, roi, i);
    r->axes[i].to = entry(r->b, roi, r->n_axes + i);
  }
}

static bool read_modes(resize_t* r, const char* transform, const char* rounding) {
  size_t t = 0, n = 0;
  size_t n_transforms = sizeof transforms / sizeof *transforms;
  size_t n_roundings = sizeof roundings / sizeof *roundings;
  while (t < n_transforms && strcmp(transforms[t].name, transform) != 0) t++;
  while (n < n_roundings && strcmp(roundings[n].name, rounding) != 0) n++;
  bool mode_ok = strcmp(r->mode, "nearest") == 0 || strcmp(r->mode, "linear") == 0 ||
                 strcmp(r->mode, "cubic") == 0;
  if (t == n_transforms || n == n_roundings || !mode_ok) {
    hone_op_fail(r->l,
                 "mode '%s' with coordinate_transformation_mode '%s' and nearest_mode '%s' is "
                 "unknown",
                 r->mode, transform, rounding);
    return false;
  }
  r->position = transforms[t].position;
  r->crops = r->position == at_crop;
  r->rounding = roundings[n].rounding;
  return true;
}

static void lower_resize(hone_lower_t* l) {
  const hone_onnx_node_t* node = l->node;
  resize_t r = {.l = l,
                .b = l->b,
                .mode = hone_attr_string(node, "mode", "nearest"),
                .antialias = hone_attr_int(node, "antialias", 0) != 0,
                .exclude_outside = hone_attr_int(node, "exclude_outside", 0) != 0,
                .cubic_a = hone_attr_float(node, "cubic_coeff_a", -0.75),
                .extrapolation = hone_attr_float(node, "extrapolation_value", 0)};
  hone_value_t *x = hone_op_in(l, 0), *scales = hone_op_in(l, 2), *sizes = hone_op_in(l, 3);
  if (!read_modes(&r, hone_attr_string(node, "coordinate_transformation_mode", "half_pixel"),
                  hone_attr_string(node, "nearest_mode", "round_prefer_floor")))
    return;
  read_axes(&r, x);
  read_roi(&r, hone_op_in(l, 1));
  if (!is_given(scales) && !is_given(sizes)) {
    hone_op_fail(l, "neither scales nor sizes are given");
  } else if (is_given(sizes) && has_entries(&r, sizes, r.n_axes)) {
    int count;
    const hone_dim_t* wanted = hone_op_known_dims(l, 3, &count);
    if (wanted) set_sizes(&r, wanted);
  } else if (is_given(scales) && has_entries(&r, scales, r.n_axes)) {
    set_scales(&r, scales);
  }
  if (hone_builder_ok(l->b)) hone_op_out(l, 0, resize_all(&r, x));
}

/* Resize-10 and all of Upsample. */
static void lower_scaled(hone_lower_t* l, hone_value_t* scales) {
  const char* mode = hone_attr_string(l->node, "mode", "nearest");
  resize_t r = {
      .l = l, .b = l->b, .mode = strcmp(mode, "bilinear") == 0 ? "linear" : mode, .legacy = true};
  hone_value_t* x = hone_op_in(l, 0);
  if (!read_modes(&r, "asymmetric", "floor")) return;
  read_axes(&r, x);
  if (!scales || !has_entries(&r, scales, r.n_axes)) return;
  set_scales(&r, scales);
  if (hone_builder_ok(l->b)) hone_op_out(l, 0, resize_all(&r, x));
}

static void lower_resize_10(hone_lower_t* l) { lower_scaled(l, hone_op_in(l, 1)); }

static void lower_upsample(hone_lower_t* l) {
  if (hone_op_in(l, 1)) {
    lower_scaled(l, hone_op_in(l, 1));
    return;
  }
  int count;
  const float* scales = hone_attr_floats(l->node, "scales", &count);
  float sides[4] = {1, 1, (float)hone_attr_float(l->node, "height_scale", 0),
                    (float)hone_attr_float(l->node, "width_scale", 0)};
  int64_t dims[1] = {scales ? count : 4};
  lower_scaled(l, hone_constant_data(l->b, HONE_F32, 1, dims, scales ? scales : sides));
}

static const hone_op_t ops[] = {
    {.name = "Resize",
     .min_opset = 10,
     .max_opset = 10,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "mode",
     .lower = lower_resize_10},
    {.name = "Resize",
     .min_opset = 11,
     .min_inputs = 1,
     .max_inputs = 4,
     .attrs = "mode coordinate_transformation_mode nearest_mode cubic_coeff_a exclude_outside "
              "extrapolation_value antialias axes keep_aspect_ratio_policy",
     .lower = lower_resize},
    {.name = "Upsample",
     .min_opset = 1,
     .min_inputs = 1,
     .max_inputs = 2,
     .attrs = "mode scales height_scale width_scale",
     .lower = lower_upsample},
};
HONE_OP_FAMILY(resize, ops)
