/* Tile: the input repeated along its axes. Each repeated axis gets an axis of
 * its own in front, which is expanded and then merged with it. */
#include "ops/op.h"

static hone_value_t* repeat(hone_builder_t* b, hone_value_t* x, const hone_dim_t* repeats) {
  hone_dim_t single[2 * HONE_MAX_RANK], wide[2 * HONE_MAX_RANK], merged[HONE_MAX_RANK];
  int rank = hone_rank(x), n = 0;
  for (int i = 0; i < rank; i++) {
    hone_dim_t extent = hone_dim(x, i);
    merged[i] = hone_d_mul(b, extent, repeats[i]);
    if (!hone_dim_is(repeats[i], 1)) {
      single[n] = hone_d(1);
      wide[n++] = repeats[i];
    }
    single[n] = wide[n] = extent;
    n++;
  }
  if (n > HONE_MAX_RANK)
    return hone_fail(b, HONE_UNSUPPORTED, "too many repeated axes at once (%d axes, %d allowed)", n,
                     HONE_MAX_RANK);
  x = hone_expand(b, hone_reshape(b, x, n, single), n, wide);
  return hone_reshape(b, x, rank, merged);
}

/* Opset 1: one axis, and how often. */
static void lower_tile_axis(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  const hone_tensor_t *tiles = hone_op_known(l, 1), *axis = hone_op_known(l, 2);
  if (!tiles || !axis || hone_tensor_count(tiles) != 1 || hone_tensor_count(axis) != 1) {
    if (hone_builder_ok(l->b)) hone_op_fail(l, "tiles and axis must be one number each");
    return;
  }
  hone_dim_t repeats[HONE_MAX_RANK];
  int at = hone_axis(l->b, hone_tensor_i64(axis, 0), hone_rank(x));
  for (int i = 0; i < hone_rank(x); i++)
    repeats[i] = hone_d(i == at ? hone_tensor_i64(tiles, 0) : 1);
  hone_op_out(l, 0, repeat(l->b, x, repeats));
}

static void lower_tile(hone_lower_t* l) {
  hone_value_t* x = hone_op_in(l, 0);
  int count;
  const hone_dim_t* repeats = hone_op_known_dims(l, 1, &count);
  if (!repeats) return;
  if (count != hone_rank(x)) {
    hone_op_fail(l, "%d repeats for %d axes", count, hone_rank(x));
    return;
  }
  hone_op_out(l, 0, repeat(l->b, x, repeats));
}

static const hone_op_t ops[] = {
    {.name = "Tile",
     .min_opset = 1,
     .max_opset = 5,
     .min_inputs = 3,
     .max_inputs = 3,
     .attrs = "",
     .lower = lower_tile_axis},
    {.name = "Tile",
     .min_opset = 6,
     .min_inputs = 2,
     .max_inputs = 2,
     .attrs = "",
     .lower = lower_tile},
};
HONE_OP_FAMILY(tile, ops)
