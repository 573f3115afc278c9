/* Builder calls for movement: nothing here computes a number. */
#include <string.h>

#include "base/memory.h"
#include "ir/builder.h"

hone_value_t* hone_reshape(hone_builder_t* b, hone_value_t* x, int rank, const hone_dim_t* shape) {
  if (!hone_is_known(b, x)) return NULL;
  bool same = rank == x->type.rank;
  for (int i = 0; same && i < rank; i++) same = hone_dim_same(shape[i], x->type.dims[i]);
  if (same) return x;
  hone_node_t node = {
      .prim = HONE_PRIM_RESHAPE, .n_inputs = 1, .inputs = &x, .n_dims = rank, .shape = shape};
  return hone_emit(b, &node);
}

hone_value_t* hone_reshape_like(hone_builder_t* b, hone_value_t* x, const hone_value_t* like) {
  if (!hone_is_known(b, like)) return NULL;
  return hone_reshape(b, x, like->type.rank, like->type.dims);
}

hone_value_t* hone_permute(hone_builder_t* b, hone_value_t* x, const int64_t* axes) {
  if (!hone_is_known(b, x)) return NULL;
  bool same = true;
  for (int i = 0; i < x->type.rank; i++) same = same && axes[i] == i;
  if (same) return x;
  hone_node_t node = {
      .prim = HONE_PRIM_PERMUTE, .n_inputs = 1, .inputs = &x, .n_axes = x->type.rank, .axes = axes};
  return hone_emit(b, &node);
}

hone_value_t* hone_transpose(hone_builder_t* b, hone_value_t* x) {
  if (!hone_is_known(b, x)) return NULL;
  int rank = x->type.rank;
  return rank < 2 ? x : hone_move_axis(b, x, rank - 1, rank - 2);
}

hone_value_t* hone_move_axis(hone_builder_t* b, hone_value_t* x, int from, int to) {
  if (!hone_is_known(b, x)) return NULL;
  int rank = x->type.rank;
  from = hone_axis(b, from, rank);
  to = hone_axis(b, to, rank);
  int64_t axes[HONE_MAX_RANK];
  for (int i = 0, k = 0; i < rank; i++) {
    if (i == to) {
      axes[i] = from;
      continue;
    }
    if (k == from) k++;
    axes[i] = k++;
  }
  return hone_permute(b, x, axes);
}

hone_value_t* hone_expand(hone_builder_t* b, hone_value_t* x, int rank, const hone_dim_t* shape) {
  if (!hone_is_known(b, x)) return NULL;
  int offset = rank - x->type.rank;
  if (offset < 0) return hone_fail(b, HONE_INVALID_MODEL, "cannot broadcast to a smaller rank");
  hone_dim_t padded[HONE_MAX_RANK];
  if (rank > HONE_MAX_RANK) return hone_fail(b, HONE_UNSUPPORTED, "more than 16 axes");
  for (int i = 0; i < rank; i++) padded[i] = i < offset ? hone_d(1) : x->type.dims[i - offset];
  x = hone_reshape(b, x, rank, padded);
  bool same = true;
  for (int i = 0; i < rank; i++) same = same && hone_dim_same(padded[i], shape[i]);
  if (!x || same) return x;
  hone_node_t node = {
      .prim = HONE_PRIM_EXPAND, .n_inputs = 1, .inputs = &x, .n_dims = rank, .shape = shape};
  return hone_emit(b, &node);
}

hone_value_t* hone_slice(hone_builder_t* b, hone_value_t* x, const hone_dim_t* lo,
                         const hone_dim_t* hi, const hone_dim_t* step) {
  if (!hone_is_known(b, x)) return NULL;
  hone_dim_t ones[HONE_MAX_RANK];
  bool whole = true;
  for (int i = 0; i < x->type.rank; i++) {
    ones[i] = hone_d(1);
    whole = whole && hone_dim_is(lo[i], 0) && hone_dim_same(hi[i], x->type.dims[i]) &&
            (!step || hone_dim_is(step[i], 1));
  }
  if (whole) return x;
  hone_node_t node = {.prim = HONE_PRIM_SLICE,
                      .n_inputs = 1,
                      .inputs = &x,
                      .n_dims = x->type.rank,
                      .lo = lo,
                      .hi = hi,
                      .step = step ? step : ones};
  return hone_emit(b, &node);
}

hone_value_t* hone_slice_axis(hone_builder_t* b, hone_value_t* x, int axis, hone_dim_t lo,
                              hone_dim_t hi) {
  if (!hone_is_known(b, x)) return NULL;
  int at = hone_axis(b, axis, x->type.rank);
  hone_dim_t from[HONE_MAX_RANK], to[HONE_MAX_RANK];
  for (int i = 0; i < x->type.rank; i++) {
    from[i] = i == at ? lo : hone_d(0);
    to[i] = i == at ? hi : x->type.dims[i];
  }
  return hone_slice(b, x, from, to, NULL);
}

hone_value_t* hone_pick(hone_builder_t* b, hone_value_t* x, int axis, hone_dim_t index) {
  if (!hone_is_known(b, x)) return NULL;
  hone_value_t* part = hone_slice_axis(b, x, axis, index, hone_d_add(b, index, hone_d(1)));
  return hone_squeeze(b, part, axis);
}

hone_value_t* hone_pad(hone_builder_t* b, hone_value_t* x, const hone_dim_t* lo,
                       const hone_dim_t* hi, hone_value_t* value) {
  if (!hone_is_known(b, x)) return NULL;
  bool nothing = true;
  for (int i = 0; i < x->type.rank; i++)
    nothing = nothing && hone_dim_is(lo[i], 0) && hone_dim_is(hi[i], 0);
  if (nothing) return x;
  hone_value_t* in[2] = {x, value ? value : hone_scalar(b, x->type.dtype, 0)};
  if (!in[1]) return NULL;
  hone_node_t node = {.prim = HONE_PRIM_PAD,
                      .n_inputs = 2,
                      .inputs = in,
                      .n_dims = x->type.rank,
                      .lo = lo,
                      .hi = hi};
  return hone_emit(b, &node);
}

hone_value_t* hone_flip(hone_builder_t* b, hone_value_t* x, int axis) {
  if (!hone_is_known(b, x)) return NULL;
  int64_t at = hone_axis(b, axis, x->type.rank);
  hone_node_t node = {
      .prim = HONE_PRIM_FLIP, .n_inputs = 1, .inputs = &x, .n_axes = 1, .axes = &at};
  return hone_emit(b, &node);
}

/* Parts whose extents are open and that are joined at a time: the sum of more would be too long an
 * expression, and that of so many is long enough to get a short name. */
enum { MOST_OPEN = 24 };

static bool has_many_open(int count, hone_value_t* const* parts, int64_t axis) {
  int open = 0;
  for (int i = 0; i < count; i++) open += !hone_dim_is_int(parts[i]->type.dims[axis]);
  return open > MOST_OPEN;
}

/* As many as there are of those, and the rest. */
/* NOLINTNEXTLINE(misc-no-recursion): with a twenty-fourth of the parts, and some */
static hone_value_t* concat_by_groups(hone_builder_t* b, int count, hone_value_t* const* parts,
                                      int axis) {
  int n = 0;
  hone_value_t** joined = hone_arena_array(b->graph->arena, (size_t)count, sizeof *joined);
  if (!joined) return hone_fail_status(b, hone_oom());
  for (int i = 0; i < count;) {
    bool is_whole = count - i >= MOST_OPEN;
    joined[n++] = is_whole ? hone_concat(b, MOST_OPEN, parts + i, axis) : parts[i];
    i += is_whole ? MOST_OPEN : 1;
  }
  return hone_concat(b, n, joined, axis);
}

/* NOLINTNEXTLINE(misc-no-recursion): see above */
hone_value_t* hone_concat(hone_builder_t* b, int count, hone_value_t* const* parts, int axis) {
  for (int i = 0; i < count; i++)
    if (!hone_is_known(b, parts[i])) return NULL;
  if (count == 0) return hone_fail(b, HONE_INVALID_MODEL, "concat of nothing");
  int64_t at = hone_axis(b, axis, parts[0]->type.rank);
  if (count == 1) return parts[0];
  if (at >= 0 && at < parts[0]->type.rank && has_many_open(count, parts, at))
    return concat_by_groups(b, count, parts, (int)at);
  hone_value_t** copy = hone_arena_memdup(b->graph->arena, parts, (size_t)count * sizeof *parts);
  if (!copy) return hone_fail_status(b, hone_oom());
  hone_node_t node = {
      .prim = HONE_PRIM_CONCAT, .n_inputs = count, .inputs = copy, .n_axes = 1, .axes = &at};
  return hone_emit(b, &node);
}

hone_value_t* hone_window(hone_builder_t* b, hone_value_t* x, int count, const int64_t* axes,
                          const hone_dim_t* sizes, const hone_dim_t* strides,
                          const hone_dim_t* dilations) {
  if (!hone_is_known(b, x)) return NULL;
  hone_node_t node = {.prim = HONE_PRIM_WINDOW,
                      .n_inputs = 1,
                      .inputs = &x,
                      .n_axes = count,
                      .axes = axes,
                      .n_dims = count,
                      .shape = sizes,
                      .step = strides,
                      .hi = dilations};
  return hone_emit(b, &node);
}

hone_value_t* hone_unsqueeze(hone_builder_t* b, hone_value_t* x, int axis) {
  if (!hone_is_known(b, x)) return NULL;
  int rank = x->type.rank + 1;
  if (rank > HONE_MAX_RANK) return hone_fail(b, HONE_UNSUPPORTED, "more than 16 axes");
  int at = hone_axis(b, axis, rank);
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0, k = 0; i < rank; i++) shape[i] = i == at ? hone_d(1) : x->type.dims[k++];
  return hone_reshape(b, x, rank, shape);
}

hone_value_t* hone_squeeze(hone_builder_t* b, hone_value_t* x, int axis) {
  if (!hone_is_known(b, x)) return NULL;
  int at = hone_axis(b, axis, x->type.rank), rank = 0;
  if (!hone_builder_ok(b)) return NULL;
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0; i < x->type.rank; i++)
    if (i != at) shape[rank++] = x->type.dims[i];
  return hone_reshape(b, x, rank, shape);
}

hone_value_t* hone_flatten(hone_builder_t* b, hone_value_t* x, int axis) {
  if (!hone_is_known(b, x)) return NULL;
  hone_dims_t* d = b->graph->dims;
  hone_dim_t shape[2] = {
      hone_dim_product(d, axis, x->type.dims),
      hone_dim_product(d, x->type.rank - axis, x->type.dims + axis),
  };
  return hone_reshape(b, x, 2, shape);
}

hone_value_t* hone_ravel(hone_builder_t* b, hone_value_t* x) {
  if (!hone_is_known(b, x)) return NULL;
  hone_dim_t count = hone_elements(b, x);
  return hone_reshape(b, x, 1, &count);
}
