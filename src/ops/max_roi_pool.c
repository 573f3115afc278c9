/* MaxRoiPool: regions cut into a fixed number of bins with whole-pixel
 * borders; the largest element of each bin, 0 where a bin is empty.
 *
 * A bin reads as many rows (and columns) as the largest bin of all has; those
 * beyond its own do not count. */
#include <math.h>

#include "ops/op.h"

typedef struct side {
  hone_value_t* index; /* [R, P, S] */
  hone_value_t* valid; /* [R, P, S], bool */
} side_t;

typedef struct regions {
  hone_builder_t* b;
  hone_value_t* rois; /* [R, 5], float: batch, x1, y1, x2, y2 */
  double scale;
} regions_t;

/* Column of the regions as [R, 1], in whole pixels: halves away from zero. */
static hone_value_t* corner(const regions_t* r, int column) {
  hone_builder_t* b = r->b;
  hone_value_t* at = hone_mul_number(b, hone_pick(b, r->rois, 1, hone_d(column)), r->scale);
  hone_value_t* up = hone_floor(b, hone_add_number(b, at, 0.5));
  hone_value_t* down = hone_ceil(b, hone_add_number(b, at, -0.5));
  return hone_unsqueeze(b, hone_select(b, hone_lt_number(b, at, 0), down, up), 1);
}

static hone_value_t* clamp(hone_builder_t* b, hone_value_t* at, hone_dim_t extent) {
  hone_value_t* end = hone_dim_scalar(b, hone_dtype_of(at), extent);
  return hone_max_number(b, hone_min(b, at, end), 0);
}

static side_t plan_side(const regions_t* r, int column, hone_dim_t extent, int64_t bins) {
  hone_builder_t* b = r->b;
  hone_dtype_t dtype = hone_dtype_of(r->rois);
  hone_dim_t shape[3] = {hone_d(1), hone_d(bins), hone_d(1)};
  hone_value_t* start = corner(r, column);
  hone_value_t* size = hone_add_number(b, hone_sub(b, corner(r, column + 2), start), 1);
  hone_value_t* bin = hone_div_number(b, hone_max_number(b, size, 1), (double)bins);
  hone_value_t* p = hone_iota(b, dtype, 2, shape, 1);
  hone_value_t* from = hone_floor(b, hone_mul(b, p, bin));
  hone_value_t* to = hone_ceil(b, hone_mul(b, hone_add_number(b, p, 1), bin));
  if (!from || !to) return (side_t){0};
  from = clamp(b, hone_add(b, from, start), extent);
  to = clamp(b, hone_add(b, to, start), extent);
  hone_value_t* most =
      hone_reduce(b, HONE_COMBINE_MAX, hone_sub(b, to, from), 2, (int64_t[]){0, 1}, false);
  most = hone_cast(b, hone_max_number(b, most, 1), HONE_I64);
  shape[1] = hone_d(1);
  shape[2] = hone_d_scalar(b, most, 1, INT32_MAX);
  hone_value_t* at = hone_add(b, hone_unsqueeze(b, from, 2), hone_iota(b, dtype, 3, shape, 2));
  side_t side = {.valid = hone_lt(b, at, hone_unsqueeze(b, to, 2))};
  hone_value_t* last = hone_dim_scalar(b, dtype, hone_d_sub(b, extent, hone_d(1)));
  side.index = hone_cast(b, hone_max_number(b, hone_min(b, at, last), 0), HONE_I64);
  return side;
}

/* [R, P, S] as the rows' or columns' axes of [R, Ph, Sh, Pw, Sw]. */
static hone_value_t* spread(hone_builder_t* b, hone_value_t* v, bool rows) {
  if (!v) return NULL;
  hone_dim_t one = hone_d(1), r = hone_dim(v, 0), p = hone_dim(v, 1), s = hone_dim(v, 2);
  hone_dim_t shape[5] = {r, rows ? p : one, rows ? s : one, rows ? one : p, rows ? one : s};
  return hone_reshape(b, v, 5, shape);
}

static hone_value_t* pool(const regions_t* r, hone_value_t* x, const side_t* rows,
                          const side_t* columns) {
  hone_builder_t* b = r->b;
  hone_dim_t h = hone_dim(x, 2), w = hone_dim(x, 3);
  hone_dim_t flat[2] = {hone_dim_product(b->graph->dims, 3, (hone_dim_t[]){hone_dim(x, 0), h, w}),
                        hone_dim(x, 1)};
  hone_value_t* image = hone_reshape(b, hone_move_axis(b, x, 1, 3), 2, flat);
  hone_value_t* at = hone_cast(b, hone_pick(b, r->rois, 1, hone_d(0)), HONE_I64);
  for (int i = 1; i < 5; i++) at = hone_unsqueeze(b, at, i);
  at = hone_add(b, hone_mul(b, at, hone_dim_scalar(b, HONE_I64, h)), spread(b, rows->index, true));
  at = hone_add(b, hone_mul(b, at, hone_dim_scalar(b, HONE_I64, w)),
                spread(b, columns->index, false));
  hone_value_t* valid = hone_and(b, spread(b, rows->valid, true), spread(b, columns->valid, false));
  hone_value_t* least = hone_scalar(b, hone_dtype_of(x), -INFINITY);
  hone_value_t* parts =
      hone_select(b, hone_unsqueeze(b, valid, 5), hone_gather(b, image, at), least);
  hone_value_t* most = hone_reduce(b, HONE_COMBINE_MAX, parts, 2, (int64_t[]){2, 4}, false);
  /* No element at all: the bin is empty. */
  hone_value_t* any = hone_reduce(b, HONE_COMBINE_MAX, valid, 2, (int64_t[]){2, 4}, false);
  most = hone_select(b, hone_unsqueeze(b, any, 3), most, hone_scalar(b, hone_dtype_of(x), 0));
  return hone_move_axis(b, most, 3, 1);
}

static void lower_max_roi_pool(hone_lower_t* l) {
  hone_value_t *x = hone_op_in(l, 0), *rois = hone_op_in(l, 1);
  int count;
  const int64_t* shape = hone_attr_ints(l->node, "pooled_shape", &count);
  if (count != 2 || shape[0] < 1 || shape[1] < 1 || hone_rank(x) != 4 || hone_rank(rois) != 2) {
    hone_op_fail(l, "needs X [N, C, H, W], rois [R, 5] and two pooled extents >= 1");
    return;
  }
  regions_t r = {.b = l->b, .scale = hone_attr_float(l->node, "spatial_scale", 1)};
  hone_dtype_t wide = hone_dtype_of(rois) == HONE_F64 ? HONE_F64 : HONE_F32;
  r.rois = hone_cast(l->b, rois, wide);
  side_t rows = plan_side(&r, 2, hone_dim(x, 2), shape[0]);
  side_t columns = plan_side(&r, 1, hone_dim(x, 3), shape[1]);
  hone_op_out(l, 0, pool(&r, x, &rows, &columns));
}

static const hone_op_t ops[] = {
    {.name = "MaxRoiPool",
     .min_opset = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "pooled_shape spatial_scale",
     .lower = lower_max_roi_pool},
};
HONE_OP_FAMILY(max_roi_pool, ops)
