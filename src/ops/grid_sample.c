/* GridSample: the input read at positions that another tensor gives.
 *
 * For r spatial axes all neighbours of a position are gathered at once: index
 * and weight tensors have the grid's axes and one axis of taps for each
 * spatial axis, and the sum over taps is the result. */
#include <string.h>

#include "ops/common/resample.h"

typedef enum padding { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION } padding_t;

typedef struct sampler {
  hone_lower_t* l;
  hone_builder_t* b;
  int spatial; /* axes of the image */
  int taps;    /* neighbours along each: 1 nearest, 2 linear, 4 cubic */
  padding_t padding;
  bool align;
  hone_dtype_t dtype;   /* of positions and weights */
  hone_value_t* index;  /* row of the flat image, so far */
  hone_value_t* weight; /* product of the weights so far; NULL for nearest */
  hone_value_t* inside; /* with zero padding: whether the tap lies in the image */
} sampler_t;

static hone_value_t* number(const sampler_t* s, hone_dim_t d) {
  return hone_dim_scalar(s->b, s->dtype, d);
}

/* From -1 … 1 to positions in an axis. */
static hone_value_t* denormalize(const sampler_t* s, hone_value_t* at, hone_dim_t extent) {
  hone_builder_t* b = s->b;
  hone_value_t* shifted = hone_add_number(b, at, 1);
  if (s->align) {
    hone_value_t* last = number(s, hone_d_sub(b, extent, hone_d(1)));
    return hone_mul(b, hone_mul_number(b, shifted, 0.5), last);
  }
  hone_value_t* doubled = hone_mul(b, shifted, number(s, extent));
  return hone_mul_number(b, hone_add_number(b, doubled, -1), 0.5);
}

static hone_value_t* clamp(const sampler_t* s, hone_value_t* at, hone_dim_t extent) {
  hone_value_t* last = number(s, hone_d_sub(s->b, extent, hone_d(1)));
  return hone_max_number(s->b, hone_min(s->b, at, last), 0);
}

/* Mirrored at the borders (centers or edges of the outer elements) until it
 * lies between them. */
static hone_value_t* reflect(const sampler_t* s, hone_value_t* at, hone_dim_t extent) {
  hone_builder_t* b = s->b;
  double low = s->align ? 0 : -0.5;
  hone_value_t* range = number(s, s->align ? hone_d_sub(b, extent, hone_d(1)) : extent);
  hone_value_t* period = hone_mul_number(b, range, 2);
  hone_value_t* moved = hone_add_number(b, at, -low);
  hone_value_t* turns = hone_floor(b, hone_div(b, moved, period));
  hone_value_t* rest = hone_sub(b, moved, hone_mul(b, turns, period));
  rest = hone_min(b, rest, hone_sub(b, period, rest));
  hone_value_t* is_wide = hone_gt_number(b, range, 0);
  rest = hone_select(b, is_wide, rest, hone_scalar(b, s->dtype, 0));
  return hone_add_number(b, rest, low);
}

/* Which position is not a number is anybody's guess: it counts as the first. */
static hone_value_t* as_number(const sampler_t* s, hone_value_t* at) {
  return hone_select(s->b, hone_is_nan(s->b, at), hone_scalar(s->b, s->dtype, 0), at);
}

static hone_value_t* pad_position(const sampler_t* s, hone_value_t* at, hone_dim_t extent) {
  if (s->padding == PAD_BORDER) return clamp(s, at, extent);
  if (s->padding == PAD_REFLECTION) return reflect(s, at, extent);
  return at;
}

/* `v` with the axes of the taps behind its own: all of extent 1 but that of
 * spatial axis `axis` (-1: none), which is the last of v. */
static hone_value_t* with_tap_axes(const sampler_t* s, hone_value_t* v, int axis) {
  if (!v) return NULL;
  hone_dim_t shape[HONE_MAX_RANK];
  int own = hone_rank(v) - (axis >= 0 ? 1 : 0), rank = own + s->spatial;
  for (int i = 0; i < rank; i++) shape[i] = i < own ? hone_dim(v, i) : hone_d(1);
  if (axis >= 0) shape[own + axis] = hone_dim(v, -1);
  return hone_reshape(s->b, v, rank, shape);
}

static void add_inside(sampler_t* s, hone_value_t* at, hone_dim_t extent) {
  hone_builder_t* b = s->b;
  hone_value_t* last = number(s, hone_d_sub(b, extent, hone_d(1)));
  hone_value_t* zero = hone_scalar(b, s->dtype, 0);
  hone_value_t* inside = hone_and(b, hone_ge(b, at, zero), hone_le(b, at, last));
  s->inside = s->inside ? hone_and(b, s->inside, inside) : inside;
}

static void add_weight(sampler_t* s, hone_value_t* weight) {
  s->weight = s->weight ? hone_mul(s->b, s->weight, weight) : weight;
}

/* Adds spatial axis `axis` to index and weights. `at`: positions along it. */
static void add_axis(sampler_t* s, hone_value_t* at, int axis, hone_dim_t extent) {
  hone_builder_t* b = s->b;
  at = as_number(s, denormalize(s, at, extent));
  if (s->taps == 1) at = hone_round(b, at);
  if (s->taps < 4) at = pad_position(s, at, extent); /* cubic: the taps only */
  if (!at) return;
  if (s->taps > 1) {
    hone_value_t* base = hone_floor(b, at);
    hone_value_t* part = hone_unsqueeze(b, hone_sub(b, at, base), -1);
    hone_dim_t taps = hone_d(s->taps);
    hone_value_t* offset = hone_iota(b, s->dtype, 1, &taps, 0);
    int first = 1 - s->taps / 2;
    offset = hone_add_number(b, offset, first);
    hone_filter_t filter = s->taps == 2 ? HONE_FILTER_LINEAR : HONE_FILTER_CUBIC;
    hone_value_t* distance = hone_abs(b, hone_sub(b, offset, part));
    add_weight(s, with_tap_axes(s, hone_filter_weight(b, filter, -0.75, distance), axis));
    at = with_tap_axes(s, hone_add(b, hone_unsqueeze(b, base, -1), offset), axis);
    at = pad_position(s, at, extent);
  } else {
    at = with_tap_axes(s, at, -1);
  }
  if (s->padding == PAD_ZEROS) add_inside(s, at, extent);
  at = hone_cast(b, as_number(s, clamp(s, at, extent)), HONE_I64);
  s->index = hone_add(b, hone_mul(b, s->index, hone_dim_scalar(b, HONE_I64, extent)), at);
}

/* The image with its channels last and all other axes merged. */
static hone_value_t* flat_image(const sampler_t* s, hone_value_t* x) {
  x = hone_move_axis(s->b, x, 1, -1);
  if (!x) return NULL;
  hone_dim_t shape[2] = {
      hone_dim_product(s->b->graph->dims, hone_rank(x) - 1, x->type.dims),
      hone_dim(x, -1),
  };
  return hone_reshape(s->b, x, 2, shape);
}

static hone_value_t* sample(sampler_t* s, hone_value_t* x) {
  hone_builder_t* b = s->b;
  hone_dtype_t dtype = hone_dtype_of(x);
  hone_value_t* image = flat_image(s, x);
  if (s->taps > 1) image = hone_cast(b, image, s->dtype);
  hone_value_t* parts = hone_gather(b, image, s->index);
  if (!parts) return NULL;
  if (s->inside)
    parts = hone_select(b, hone_unsqueeze(b, s->inside, -1), parts,
                        hone_scalar(b, hone_dtype_of(parts), 0));
  if (s->weight) parts = hone_mul(b, parts, hone_unsqueeze(b, s->weight, -1));
  if (!parts) return NULL;
  int64_t axes[HONE_MAX_RANK];
  for (int i = 0; i < s->spatial; i++) axes[i] = 1 + s->spatial + i;
  if (s->taps == 1) { /* one tap an axis: nothing to add */
    hone_dim_t shape[HONE_MAX_RANK];
    for (int i = 0; i <= s->spatial; i++) shape[i] = hone_dim(parts, i);
    shape[s->spatial + 1] = hone_dim(parts, -1);
    parts = hone_reshape(b, parts, s->spatial + 2, shape);
  } else {
    parts = hone_reduce(b, HONE_COMBINE_ADD, parts, s->spatial, axes, false);
  }
  return hone_cast(b, hone_move_axis(b, parts, -1, 1), dtype);
}

/* Index of `name` in a list that ends in NULL; -1 when it is not there. */
static int find(const char* const* list, const char* name) {
  for (int i = 0; list[i]; i++)
    if (strcmp(list[i], name) == 0) return i;
  return -1;
}

static bool read_modes(hone_lower_t* l, sampler_t* s) {
  static const char* const modes[] = {"nearest", "linear", "cubic", "bilinear", "bicubic", NULL};
  static const char* const paddings[] = {"zeros", "border", "reflection", NULL};
  static const int taps[] = {1, 2, 4, 2, 4};
  int mode = find(modes, hone_attr_string(l->node, "mode", "linear"));
  int padding = find(paddings, hone_attr_string(l->node, "padding_mode", "zeros"));
  if (mode < 0 || padding < 0) {
    hone_op_fail(l,
                 "unknown mode or padding_mode; use linear, nearest or cubic with zeros, "
                 "border or reflection");
    return false;
  }
  s->taps = taps[mode];
  s->padding = (padding_t)padding;
  return true;
}

static void lower_grid_sample(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t *x = hone_op_in(l, 0), *grid = hone_op_in(l, 1);
  sampler_t s = {.l = l,
                 .b = b,
                 .spatial = hone_rank(x) - 2,
                 .align = hone_attr_int(l->node, "align_corners", 0) != 0,
                 .dtype = hone_resample_dtype(hone_dtype_of(grid))};
  if (!read_modes(l, &s)) return;
  if (s.spatial < 1 || s.spatial > 4 || hone_rank(grid) != hone_rank(x) ||
      hone_dim_max_value(hone_dim(grid, -1)) < s.spatial) {
    hone_op_fail(l, "needs X [N, C, D1 … Dr] and grid [N, O1 … Or, r] with r from 1 to 4");
    return;
  }
  if (hone_resample_dtype(hone_dtype_of(x)) == HONE_F64) s.dtype = HONE_F64;
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0; i < hone_rank(grid) - 1; i++) shape[i] = i ? hone_d(1) : hone_dim(grid, 0);
  s.index = with_tap_axes(&s, hone_iota(b, HONE_I64, hone_rank(grid) - 1, shape, 0), -1);
  grid = hone_cast(b, grid, s.dtype);
  for (int i = 0; i < s.spatial; i++) /* the grid names the last axis first */
    add_axis(&s, hone_pick(b, grid, -1, hone_d(s.spatial - 1 - i)), i, hone_dim(x, 2 + i));
  if (hone_builder_ok(b)) hone_op_out(l, 0, sample(&s, x));
}

static const hone_op_t ops[] = {
    {.name = "GridSample",
     .min_opset = 16,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "mode padding_mode align_corners",
     .lower = lower_grid_sample},
};
HONE_OP_FAMILY(grid_sample, ops)
