/* RoiAlign: regions of a feature map, each cut into a fixed number of bins
 * that are sampled bilinearly on a small grid and averaged (or the largest).
 *
 * Rows and columns are worked out alike: for region r, bin p, sample s and
 * neighbour k an index and a weight [R, P, S, 2]. When the number of samples
 * adapts to the region, S is the largest one needed and the samples that a
 * smaller region does not have weigh nothing. */
#include <math.h>
#include <string.h>

#include "ops/op.h"

typedef struct side {
  hone_value_t* index;  /* [R, P, S, 2], i64 */
  hone_value_t* weight; /* [R, P, S, 2] */
  hone_value_t* used;   /* [R, 1, S, 1], bool; NULL when all are */
  hone_value_t* count;  /* samples of each region [R, 1, 1, 1] */
  hone_dim_t bins, samples;
} side_t;

typedef struct roi {
  hone_lower_t* l;
  hone_builder_t* b;
  hone_dtype_t dtype; /* in which positions and sums are made */
  hone_value_t* rois; /* [R, 4] */
  double scale;
  int64_t sampling; /* 0: adaptive */
  bool half_pixel;
  bool largest;
} roi_t;

/* Column of the regions as [R, 1, 1], in pixels of the feature map. */
static hone_value_t* corner(const roi_t* r, int column) {
  hone_builder_t* b = r->b;
  hone_value_t* at = hone_mul_number(b, hone_pick(b, r->rois, 1, hone_d(column)), r->scale);
  at = hone_add_number(b, at, r->half_pixel ? -0.5 : 0);
  return hone_unsqueeze(b, hone_unsqueeze(b, at, 1), 2);
}

/* Sets count, samples and used; `bin`: its size for each region [R, 1, 1]. */
static void plan_samples(const roi_t* r, side_t* side, hone_value_t* bin) {
  hone_builder_t* b = r->b;
  if (r->sampling > 0) {
    side->samples = hone_d(r->sampling);
    side->count = hone_scalar(b, r->dtype, (double)r->sampling);
    return;
  }
  side->count = hone_max_number(b, hone_ceil(b, bin), 0);
  hone_value_t* most =
      hone_reduce(b, HONE_COMBINE_MAX, side->count, 3, (int64_t[]){0, 1, 2}, false);
  most = hone_cast(b, hone_max_number(b, most, 1), HONE_I64);
  side->samples = hone_d_scalar(b, most, 1, INT32_MAX);
  hone_dim_t shape[3] = {hone_d(1), hone_d(1), side->samples};
  hone_value_t* used = hone_lt(b, hone_iota(b, r->dtype, 3, shape, 2), side->count);
  side->used = hone_unsqueeze(b, used, 3);
}

/* Where the samples lie: [R, P, S]. */
static hone_value_t* place_samples(const roi_t* r, side_t* side, int column) {
  hone_builder_t* b = r->b;
  hone_value_t* start = corner(r, column);
  hone_value_t* size = hone_sub(b, corner(r, column + 2), start);
  if (!r->half_pixel) size = hone_max_number(b, size, 1);
  hone_value_t* bin = hone_div(b, size, hone_dim_scalar(b, r->dtype, side->bins));
  plan_samples(r, side, bin);
  hone_dim_t rows[3] = {hone_d(1), side->bins, hone_d(1)};
  hone_dim_t grid[3] = {hone_d(1), hone_d(1), side->samples};
  hone_value_t* p = hone_iota(b, r->dtype, 3, rows, 1);
  hone_value_t* s = hone_add_number(b, hone_iota(b, r->dtype, 3, grid, 2), 0.5);
  hone_value_t* inner = hone_div(b, hone_mul(b, s, bin), hone_max_number(b, side->count, 1));
  if (side->used) side->count = hone_unsqueeze(b, side->count, 3);
  return hone_add(b, hone_add(b, start, hone_mul(b, p, bin)), inner);
}

/* The two neighbours of each sample, and their weights. A sample more than one
 * pixel outside counts as 0. */
static void plan_side(const roi_t* r, side_t* side, int column, hone_dim_t extent) {
  hone_builder_t* b = r->b;
  hone_value_t* at = place_samples(r, side, column);
  hone_value_t* outside =
      hone_or(b, hone_lt_number(b, at, -1), hone_gt(b, at, hone_dim_scalar(b, r->dtype, extent)));
  hone_value_t* last = hone_dim_scalar(b, r->dtype, hone_d_sub(b, extent, hone_d(1)));
  at = hone_select(b, hone_is_nan(b, at), hone_scalar(b, r->dtype, 0), at);
  at = hone_max_number(b, hone_min(b, at, last), 0);
  hone_value_t* low = hone_floor(b, at);
  hone_value_t* high = hone_min(b, hone_add_number(b, low, 1), last);
  hone_value_t* part = hone_sub(b, at, low);
  hone_value_t* ends[2] = {hone_unsqueeze(b, low, 3), hone_unsqueeze(b, high, 3)};
  hone_value_t* one = hone_scalar(b, r->dtype, 1);
  hone_value_t* shares[2] = {hone_unsqueeze(b, hone_sub(b, one, part), 3),
                             hone_unsqueeze(b, part, 3)};
  side->index = hone_cast(b, hone_concat(b, 2, ends, 3), HONE_I64);
  side->weight = hone_select(b, hone_unsqueeze(b, outside, 3), hone_scalar(b, r->dtype, 0),
                             hone_concat(b, 2, shares, 3));
}

/* `v` [R|1, P, S, 2] as the rows' or columns' axes of [R, Ph, Sh, 2, Pw, Sw, 2, C|1]. */
static hone_value_t* spread(const roi_t* r, hone_value_t* v, bool rows, bool channels) {
  if (!v) return NULL;
  hone_dim_t shape[8];
  for (int i = 0; i < 8; i++) shape[i] = hone_d(1);
  if (hone_rank(v) != 4) return v; /* a scalar fits everywhere */
  shape[0] = hone_dim(v, 0);
  for (int i = 1; i < 4; i++) shape[rows ? i : i + 3] = hone_dim(v, i);
  return hone_reshape(r->b, v, channels ? 8 : 7, shape);
}

/* x [N, C, H, W] at every neighbour: [R, Ph, Sh, 2, Pw, Sw, 2, C]. */
static hone_value_t* gather_all(const roi_t* r, const side_t* y, const side_t* x) {
  hone_builder_t* b = r->b;
  hone_value_t* image = hone_op_in(r->l, 0);
  hone_dim_t h = hone_dim(image, 2), w = hone_dim(image, 3);
  hone_dim_t flat[2] = {
      hone_dim_product(b->graph->dims, 3, (hone_dim_t[]){hone_dim(image, 0), h, w}),
      hone_dim(image, 1)};
  image = hone_reshape(b, hone_move_axis(b, image, 1, 3), 2, flat);
  hone_value_t* batch = hone_cast(b, hone_op_in(r->l, 2), HONE_I64);
  for (int i = 1; i < 7; i++) batch = hone_unsqueeze(b, batch, i);
  hone_value_t* row = hone_mul(b, batch, hone_dim_scalar(b, HONE_I64, h));
  row = hone_add(b, row, spread(r, y->index, true, false));
  row = hone_mul(b, row, hone_dim_scalar(b, HONE_I64, w));
  row = hone_add(b, row, spread(r, x->index, false, false));
  return hone_cast(b, hone_gather(b, image, row), r->dtype);
}

static hone_value_t* average(const roi_t* r, const side_t* y, const side_t* x,
                             hone_value_t* parts) {
  hone_builder_t* b = r->b;
  static const int64_t axes[] = {2, 3, 5, 6};
  hone_value_t* sum = hone_reduce(b, HONE_COMBINE_ADD, parts, 4, axes, true);
  hone_value_t* count =
      hone_mul(b, spread(r, y->count, true, true), spread(r, x->count, false, true));
  return hone_div(b, sum, hone_max_number(b, count, 1));
}

/* The largest of the weighted neighbours; 0 for a region without samples. */
static hone_value_t* maximum(const roi_t* r, hone_value_t* parts, hone_value_t* used) {
  hone_builder_t* b = r->b;
  static const int64_t axes[] = {2, 3, 5, 6};
  if (!used) return hone_reduce(b, HONE_COMBINE_MAX, parts, 4, axes, true);
  parts = hone_select(b, used, parts, hone_scalar(b, r->dtype, -INFINITY));
  hone_value_t* most = hone_reduce(b, HONE_COMBINE_MAX, parts, 4, axes, true);
  hone_value_t* any = hone_reduce(b, HONE_COMBINE_MAX, used, 4, axes, true);
  return hone_select(b, any, most, hone_scalar(b, r->dtype, 0));
}

static hone_value_t* pool(const roi_t* r, const side_t* y, const side_t* x) {
  hone_builder_t* b = r->b;
  hone_value_t* weight =
      hone_mul(b, spread(r, y->weight, true, true), spread(r, x->weight, false, true));
  hone_value_t* parts = hone_mul(b, gather_all(r, y, x), weight);
  hone_value_t* used = NULL;
  if (y->used) used = hone_and(b, spread(r, y->used, true, true), spread(r, x->used, false, true));
  if (used && !r->largest) parts = hone_select(b, used, parts, hone_scalar(b, r->dtype, 0));
  parts = r->largest ? maximum(r, parts, used) : average(r, y, x, parts);
  if (!parts) return NULL;
  hone_dim_t shape[4] = {hone_dim(parts, 0), y->bins, x->bins, hone_dim(parts, 7)};
  return hone_move_axis(b, hone_reshape(b, parts, 4, shape), 3, 1);
}

static bool read_attributes(hone_lower_t* l, roi_t* r) {
  const char* mode = hone_attr_string(l->node, "mode", "avg");
  const char* transform = hone_attr_string(l->node, "coordinate_transformation_mode",
                                           l->opset < 16 ? "output_half_pixel" : "half_pixel");
  r->largest = strcmp(mode, "max") == 0;
  r->half_pixel = strcmp(transform, "half_pixel") == 0;
  r->scale = hone_attr_float(l->node, "spatial_scale", 1);
  r->sampling = hone_attr_int(l->node, "sampling_ratio", 0);
  if ((!r->largest && strcmp(mode, "avg") != 0) ||
      (!r->half_pixel && strcmp(transform, "output_half_pixel") != 0) || r->sampling < 0) {
    hone_op_fail(l,
                 "mode must be avg or max (is '%s'), coordinate_transformation_mode half_pixel "
                 "or output_half_pixel (is '%s'), sampling_ratio >= 0",
                 mode, transform);
    return false;
  }
  return true;
}

static void lower_roi_align(hone_lower_t* l) {
  hone_value_t *x = hone_op_in(l, 0), *rois = hone_op_in(l, 1);
  roi_t r = {.l = l, .b = l->b};
  if (!read_attributes(l, &r)) return;
  int64_t height = hone_attr_int(l->node, "output_height", 1);
  int64_t width = hone_attr_int(l->node, "output_width", 1);
  if (hone_rank(x) != 4 || hone_rank(rois) != 2 || hone_rank(hone_op_in(l, 2)) != 1 || height < 1 ||
      width < 1) {
    hone_op_fail(l, "needs X [N, C, H, W], rois [R, 4], batch_indices [R] and output sizes >= 1");
    return;
  }
  hone_dtype_t dtype = hone_dtype_of(x);
  r.dtype = dtype == HONE_F64 ? HONE_F64 : HONE_F32;
  r.rois = hone_cast(l->b, rois, r.dtype);
  side_t rows = {.bins = hone_d(height)}, columns = {.bins = hone_d(width)};
  plan_side(&r, &rows, 1, hone_dim(x, 2));
  plan_side(&r, &columns, 0, hone_dim(x, 3));
  if (hone_builder_ok(l->b)) hone_op_out(l, 0, hone_cast(l->b, pool(&r, &rows, &columns), dtype));
}

static const hone_op_t ops[] = {
    {.name = "RoiAlign",
     .min_opset = 10,
     .min_inputs = 3,
     .max_inputs = 3,
     .attrs = "mode output_height output_width sampling_ratio spatial_scale "
              "coordinate_transformation_mode",
     .lower = lower_roi_align},
};
HONE_OP_FAMILY(roi_align, ops)
