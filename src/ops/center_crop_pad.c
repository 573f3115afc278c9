/* CenterCropPad: axes cropped or padded with zeros to given extents, the
 * content staying in the middle. */
#include "ops/op.h"

typedef struct edges {
  hone_dim_t from[HONE_MAX_RANK], to[HONE_MAX_RANK]; /* what is kept */
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];   /* what is added */
} edges_t;

static void fit_axis(hone_builder_t* b, edges_t* e, int axis, hone_dim_t extent, hone_dim_t want) {
  hone_dim_t zero = hone_d(0), two = hone_d(2);
  hone_dim_t more = hone_d_max(b, hone_d_sub(b, want, extent), zero);
  hone_dim_t less = hone_d_max(b, hone_d_sub(b, extent, want), zero);
  e->from[axis] = hone_d_floordiv(b, less, two);
  e->to[axis] = hone_d_add(b, e->from[axis], hone_d_min(b, extent, want));
  e->lo[axis] = hone_d_floordiv(b, more, two);
  e->hi[axis] = hone_d_sub(b, more, e->lo[axis]);
}

static void lower_center_crop_pad(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* x = hone_op_in(l, 0);
  int rank = hone_rank(x), count, n_axes;
  const hone_dim_t* wanted = hone_op_known_dims(l, 1, &count);
  const int64_t* axes = hone_op_axes(l, "axes", -1, rank, &n_axes);
  if (!axes) n_axes = rank;
  if (!hone_builder_ok(b)) return;
  if (count != n_axes) {
    hone_op_fail(l, "shape has %d entries for %d axes", count, n_axes);
    return;
  }
  edges_t e;
  for (int i = 0; i < rank; i++) fit_axis(b, &e, i, hone_dim(x, i), hone_dim(x, i));
  for (int i = 0; i < n_axes; i++) {
    int axis = axes ? (int)axes[i] : i;
    fit_axis(b, &e, axis, hone_dim(x, axis), wanted[i]);
  }
  hone_op_out(l, 0, hone_pad(b, hone_slice(b, x, e.from, e.to, NULL), e.lo, e.hi, NULL));
}

static const hone_op_t ops[] = {
    {.name = "CenterCropPad",
     .min_opset = 18,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "axes",
     .lower = lower_center_crop_pad},
};
HONE_OP_FAMILY(center_crop_pad, ops)
