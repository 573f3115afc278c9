/* Col2Im: columns of blocks added up into the image they were taken from.
 * Every element of a block is scattered to its pixel; what falls into the
 * padding goes to one extra place that is cut off again. */
#include "ops/op.h"

typedef struct fold {
  int spatial;
  const hone_dim_t *image, *block;
  int64_t strides[HONE_MAX_RANK], dilations[HONE_MAX_RANK], pads[2 * HONE_MAX_RANK];
} fold_t;

static bool read_list(hone_lower_t* l, const char* name, int wanted, int64_t fallback,
                      int64_t* out) {
  int count;
  const int64_t* given = hone_attr_ints(l->node, name, &count);
  if (given && count != wanted) {
    hone_op_fail(l, "%s has %d entries; %d are needed", name, count, wanted);
    return false;
  }
  for (int i = 0; i < wanted; i++) out[i] = given ? given[i] : fallback;
  return true;
}

/* How many blocks fit along axis `i`. */
static hone_dim_t block_count(hone_builder_t* b, const fold_t* f, int i) {
  hone_dim_t reach = hone_d_mul(b, hone_d_sub(b, f->block[i], hone_d(1)), hone_d(f->dilations[i]));
  hone_dim_t pads = hone_d_add(b, hone_d(f->pads[i]), hone_d(f->pads[f->spatial + i]));
  hone_dim_t room = hone_d_sub(b, hone_d_add(b, f->image[i], pads), hone_d(1));
  hone_dim_t steps = hone_d_floordiv(b, hone_d_sub(b, room, reach), hone_d(f->strides[i]));
  return hone_d_add(b, steps, hone_d(1));
}

/* Pixel of element `grid[i]` of block `grid[spatial + i]`, for all of them;
 * the number of pixels for those in the padding. */
static hone_value_t* pixels(hone_builder_t* b, const fold_t* f, const hone_dim_t* grid,
                            hone_dim_t total) {
  int n = f->spatial;
  hone_value_t *pixel = NULL, *outside = NULL;
  for (int i = 0; i < n; i++) {
    hone_value_t* element = hone_iota(b, HONE_I64, 2 * n, grid, i);
    hone_value_t* block = hone_iota(b, HONE_I64, 2 * n, grid, n + i);
    hone_value_t* at = hone_add(b, hone_mul_number(b, element, (double)f->dilations[i]),
                                hone_mul_number(b, block, (double)f->strides[i]));
    at = hone_add_number(b, at, -(double)f->pads[i]);
    hone_value_t* extent = hone_dim_scalar(b, HONE_I64, f->image[i]);
    hone_value_t* off = hone_or(b, hone_lt_number(b, at, 0), hone_ge(b, at, extent));
    outside = outside ? hone_or(b, outside, off) : off;
    pixel = pixel ? hone_add(b, hone_mul(b, pixel, extent), at) : at;
  }
  return hone_select(b, outside, hone_dim_scalar(b, HONE_I64, total), pixel);
}

static hone_value_t* fold(hone_builder_t* b, const fold_t* f, hone_value_t* x) {
  int n = f->spatial;
  hone_dims_t* d = b->graph->dims;
  hone_dim_t split[2 * HONE_MAX_RANK + 2];
  split[0] = hone_dim(x, 0);
  split[1] = hone_d_floordiv(b, hone_dim(x, 1), hone_dim_product(d, n, f->block));
  for (int i = 0; i < n; i++) {
    split[2 + i] = f->block[i];
    split[2 + n + i] = block_count(b, f, i);
  }
  x = hone_reshape(b, x, 2 * n + 2, split);
  /* Batch and channel last, so that a pixel is one row. */
  x = hone_move_axis(b, hone_move_axis(b, x, 0, -1), 0, -1);
  hone_dim_t total = hone_dim_product(d, n, f->image);
  hone_dim_t rows[3] = {hone_d_add(b, total, hone_d(1)), split[0], split[1]};
  if (!x) return NULL;
  hone_value_t* empty = hone_full(b, hone_dtype_of(x), 0, 3, rows);
  hone_value_t* sum = hone_scatter(b, HONE_COMBINE_ADD, empty, pixels(b, f, split + 2, total), x);
  sum = hone_slice_axis(b, sum, 0, hone_d(0), total);
  sum = hone_move_axis(b, sum, 0, -1);
  hone_dim_t shape[HONE_MAX_RANK] = {split[0], split[1]};
  for (int i = 0; i < n; i++) shape[2 + i] = f->image[i];
  return hone_reshape(b, sum, n + 2, shape);
}

static void lower_col2im(hone_lower_t* l) {
  fold_t f;
  int n_block;
  f.image = hone_op_known_dims(l, 1, &f.spatial);
  f.block = hone_op_known_dims(l, 2, &n_block);
  if (!f.image || !f.block) return;
  if (n_block != f.spatial || f.spatial < 1 || f.spatial > 6 || hone_rank(hone_op_in(l, 0)) != 3) {
    hone_op_fail(l, "needs an input [N, C * block, L] and as many image as block extents (1 to 6)");
    return;
  }
  if (!read_list(l, "strides", f.spatial, 1, f.strides) ||
      !read_list(l, "dilations", f.spatial, 1, f.dilations) ||
      !read_list(l, "pads", 2 * f.spatial, 0, f.pads))
    return;
  for (int i = 0; i < f.spatial; i++)
    if (f.strides[i] < 1 || f.dilations[i] < 1) {
      hone_op_fail(l, "strides and dilations must be at least 1");
      return;
    }
  hone_op_out(l, 0, fold(l->b, &f, hone_op_in(l, 0)));
}

static const hone_op_t ops[] = {
    {.name = "Col2Im",
     .min_opset = 18,
     .min_inputs = 3,
     .max_inputs = 3,
     .attrs = "strides pads dilations",
     .lower = lower_col2im},
};
HONE_OP_FAMILY(col2im, ops)
