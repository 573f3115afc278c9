/* Positions from flags and from index tuples. */
#include "ops/common/indexing.h"

#include <string.h>

/* How many there are: those before the last one and that one, where there is a last one. */
static hone_value_t* count_ones(hone_builder_t* b, hone_value_t* ones, hone_value_t* before) {
  hone_dim_t extent = hone_dim(ones, 0);
  if (hone_dim_min_value(extent) < 1)
    return hone_reduce(b, HONE_COMBINE_ADD, ones, 1, (int64_t[]){0}, false);
  hone_dim_t last = hone_d_sub(b, extent, hone_d(1));
  return hone_add(b, hone_pick(b, before, 0, last), hone_pick(b, ones, 0, last));
}

hone_value_t* hone_true_positions(hone_builder_t* b, hone_value_t* flags) {
  if (!hone_is_known(b, flags)) return NULL;
  hone_dim_t extent = hone_dim(flags, 0);
  hone_value_t* ones = hone_cast(b, flags, HONE_I64);
  hone_value_t* before = hone_scan(b, HONE_COMBINE_ADD, ones, 0, true);
  hone_value_t* total = before ? count_ones(b, ones, before) : NULL;
  hone_dim_t count = hone_d_scalar(b, total, 0, hone_dim_max_value(extent));
  /* Those that are not true all go to one place behind the others. */
  hone_dim_t room = hone_d_add(b, count, hone_d(1));
  hone_value_t* where = hone_select(b, flags, before, total);
  hone_value_t* list = hone_scatter(b, HONE_COMBINE_SET, hone_full(b, HONE_I64, 0, 1, &room), where,
                                    hone_iota(b, HONE_I64, 1, &extent, 0));
  return hone_slice_axis(b, list, 0, hone_d(0), count);
}

static hone_value_t* add_part(hone_builder_t* b, hone_value_t* total, hone_value_t* at,
                              hone_dim_t stride) {
  hone_value_t* part = hone_mul(b, at, hone_dim_scalar(b, HONE_I64, stride));
  return total ? hone_add(b, total, part) : part;
}

hone_value_t* hone_tuple_position(hone_builder_t* b, hone_value_t* index, int count,
                                  const hone_dim_t* extents) {
  if (!hone_is_known(b, index)) return NULL;
  hone_value_t* total = NULL;
  hone_dim_t stride = hone_d(1);
  for (int i = count - 1; i >= 0; i--) {
    hone_value_t* at = hone_wrap_index(b, hone_pick(b, index, -1, hone_d(i)), extents[i]);
    total = add_part(b, total, at, stride);
    stride = hone_d_mul(b, stride, extents[i]);
  }
  return total ? total : hone_full(b, HONE_I64, 0, index->type.rank - 1, index->type.dims);
}

hone_value_t* hone_row_number(hone_builder_t* b, int rank, const hone_dim_t* shape, int n_axes) {
  hone_value_t* total = NULL;
  hone_dim_t stride = hone_d(1);
  for (int i = n_axes - 1; i >= 0; i--) {
    total = add_part(b, total, hone_iota(b, HONE_I64, rank, shape, i), stride);
    stride = hone_d_mul(b, stride, shape[i]);
  }
  return total ? total : hone_full(b, HONE_I64, 0, rank, shape);
}

hone_value_t* hone_floor_mod(hone_builder_t* b, hone_value_t* x, hone_value_t* y) {
  hone_value_t* rest = hone_rem(b, x, y);
  if (!rest) return NULL;
  return hone_select(b, hone_lt_number(b, rest, 0), hone_add(b, rest, y), rest);
}

hone_combine_t hone_scatter_combine(hone_lower_t* l) {
  static const struct {
    const char* name;
    hone_combine_t combine;
  } names[] = {{"none", HONE_COMBINE_SET},
               {"add", HONE_COMBINE_ADD},
               {"mul", HONE_COMBINE_MUL},
               {"min", HONE_COMBINE_MIN},
               {"max", HONE_COMBINE_MAX}};
  const char* reduction = hone_attr_string(l->node, "reduction", "none");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i].name, reduction) == 0) return names[i].combine;
  hone_op_fail(l, "reduction '%s' is unknown; use none, add, mul, min or max", reduction);
  return HONE_COMBINE_COUNT;
}
