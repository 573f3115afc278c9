/* AffineGrid: a grid of positions between -1 and 1, mapped by an affine
 * matrix for each sample. */
#include "ops/op.h"

/* Evenly spaced positions along one axis of the grid, with its other axes of
 * extent 1: of the outer elements' centers or edges at -1 and 1. */
static hone_value_t* positions(hone_builder_t* b, hone_dtype_t dtype, int rank,
                               const hone_dim_t* shape, int axis, bool align) {
  hone_value_t* i = hone_iota(b, dtype, rank, shape, axis);
  hone_value_t* extent = hone_dim_scalar(b, dtype, shape[axis]);
  if (!align) {
    hone_value_t* odd = hone_add_number(b, hone_mul_number(b, i, 2), 1);
    return hone_add_number(b, hone_div(b, odd, extent), -1);
  }
  hone_value_t* gaps = hone_max_number(b, hone_add_number(b, extent, -1), 1);
  return hone_add_number(b, hone_div(b, hone_mul_number(b, i, 2), gaps), -1);
}

static void lower_affine_grid(hone_lower_t* l) {
  hone_builder_t* b = l->b;
  hone_value_t* theta = hone_op_in(l, 0);
  bool align = hone_attr_int(l->node, "align_corners", 0) != 0;
  int count;
  const hone_dim_t* size = hone_op_known_dims(l, 1, &count);
  if (!size) return;
  int spatial = count - 2;
  if (hone_rank(theta) != 3 || (spatial != 2 && spatial != 3)) {
    hone_op_fail(l, "needs theta [N, 2, 3] with 4 sizes or theta [N, 3, 4] with 5 sizes");
    return;
  }
  hone_dtype_t dtype = hone_dtype_of(theta);
  hone_dtype_t wide = dtype == HONE_F64 ? HONE_F64 : HONE_F32;
  hone_value_t* parts[4]; /* x, y, (z,) 1: the last axis comes first */
  for (int i = 0; i < spatial; i++)
    parts[i] =
        hone_unsqueeze(b, positions(b, wide, spatial, size + 2, spatial - 1 - i, align), spatial);
  parts[spatial] = hone_unsqueeze(b, hone_full(b, wide, 1, spatial, size + 2), spatial);
  hone_value_t* base = hone_concat(b, spatial + 1, parts, spatial);
  int64_t pairs[1][2] = {{2, spatial}};
  theta = hone_cast(b, theta, wide);
  hone_value_t* grid = hone_contract(b, theta, base, 1, (const int64_t(*)[2])pairs, 0, wide);
  hone_op_out(l, 0, hone_cast(b, hone_move_axis(b, grid, 1, -1), dtype));
}

static const hone_op_t ops[] = {
    {.name = "AffineGrid",
     .min_opset = 20,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "align_corners",
     .lower = lower_affine_grid},
};
HONE_OP_FAMILY(affine_grid, ops)
