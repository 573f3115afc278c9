/* Builder calls for reductions, contractions, indexing, scans and sorts. */
#include <string.h>

#include "base/memory.h"
#include "ir/builder.h"

/* ---- reductions ---- */

static hone_value_t* restore_axes(hone_builder_t* b, hone_value_t* reduced, const hone_value_t* x,
                                  int n_axes, const int64_t* axes) {
  hone_dim_t shape[HONE_MAX_RANK];
  memcpy(shape, x->type.dims, (size_t)x->type.rank * sizeof *shape);
  for (int i = 0; i < n_axes; i++) shape[axes[i]] = hone_d(1);
  return hone_reshape(b, reduced, x->type.rank, shape);
}

hone_value_t* hone_reduce(hone_builder_t* b, hone_combine_t combine, hone_value_t* x, int n_axes,
                          const int64_t* axes, bool keep_dims) {
  if (!hone_is_known(b, x)) return NULL;
  if (n_axes > HONE_MAX_RANK) return hone_fail(b, HONE_INVALID_MODEL, "more axes than the tensor");
  int64_t positive[HONE_MAX_RANK];
  for (int i = 0; i < n_axes; i++) positive[i] = hone_axis(b, axes[i], x->type.rank);
  if (n_axes == 0) return x;
  hone_node_t node = {.prim = HONE_PRIM_REDUCE,
                      .n_inputs = 1,
                      .inputs = &x,
                      .combine = combine,
                      .n_axes = n_axes,
                      .axes = positive};
  hone_value_t* out = hone_emit(b, &node);
  return keep_dims && out ? restore_axes(b, out, x, n_axes, positive) : out;
}

hone_value_t* hone_reduce_last(hone_builder_t* b, hone_combine_t combine, hone_value_t* x,
                               int count, bool keep_dims) {
  int64_t axes[HONE_MAX_RANK];
  for (int i = 0; i < count && i < HONE_MAX_RANK; i++) axes[i] = i - count;
  return hone_reduce(b, combine, x, count, axes, keep_dims);
}

hone_value_t* hone_mean(hone_builder_t* b, hone_value_t* x, int n_axes, const int64_t* axes,
                        bool keep_dims) {
  if (!hone_is_known(b, x)) return NULL;
  hone_dim_t count = hone_d(1);
  for (int i = 0; i < n_axes; i++)
    count = hone_d_mul(b, count, x->type.dims[hone_axis(b, axes[i], x->type.rank)]);
  hone_value_t* sum = hone_reduce(b, HONE_COMBINE_ADD, x, n_axes, axes, keep_dims);
  return hone_div(b, sum, hone_dim_scalar(b, x->type.dtype, count));
}

hone_value_t* hone_softmax(hone_builder_t* b, hone_value_t* x, int axis) {
  if (!hone_is_known(b, x)) return NULL;
  int64_t axes[1] = {hone_axis(b, axis, x->type.rank)};
  hone_value_t* top = hone_reduce(b, HONE_COMBINE_MAX, x, 1, axes, true);
  hone_value_t* e = hone_exp(b, hone_sub(b, x, top));
  return hone_div(b, e, hone_reduce(b, HONE_COMBINE_ADD, e, 1, axes, true));
}

/* The smallest index at which x equals its extreme; NaN counts as extreme. Of 32 bits, of which a
 * vector has twice as many, where they hold all that there can be. */
hone_value_t* hone_arg_max(hone_builder_t* b, hone_value_t* x, int axis, bool smallest, bool last,
                           bool keep_dims) {
  if (!hone_is_known(b, x)) return NULL;
  int64_t axes[1] = {hone_axis(b, axis, x->type.rank)};
  hone_combine_t extreme = smallest ? HONE_COMBINE_MIN : HONE_COMBINE_MAX;
  hone_value_t* best = hone_reduce(b, extreme, x, 1, axes, true);
  hone_value_t* hit = hone_eq(b, x, best);
  if (hone_dtype_is_float(x->type.dtype)) hit = hone_or(b, hit, hone_is_nan(b, x));
  bool is_short = hone_dim_max_value(x->type.dims[axes[0]]) < INT32_MAX;
  hone_dtype_t dtype = is_short ? HONE_I32 : HONE_I64;
  hone_value_t* index = hone_iota(b, dtype, x->type.rank, x->type.dims, (int)axes[0]);
  hone_value_t* never = hone_scalar_i64(b, dtype, last ? -1 : is_short ? INT32_MAX : INT64_MAX);
  index = hone_reduce(b, last ? HONE_COMBINE_MAX : HONE_COMBINE_MIN,
                      hone_select(b, hit, index, never), 1, axes, keep_dims);
  return hone_cast(b, index, HONE_I64);
}

/* ---- contractions ---- */

hone_value_t* hone_contract(hone_builder_t* b, hone_value_t* x, hone_value_t* y, int n_pairs,
                            const int64_t (*pairs)[2], int n_batch, hone_dtype_t dtype) {
  if (!hone_is_known(b, x) || !hone_is_known(b, y)) return NULL;
  if (n_pairs > HONE_MAX_RANK) return hone_fail(b, HONE_INVALID_MODEL, "more than 16 axis pairs");
  int64_t axes[2 * HONE_MAX_RANK];
  for (int i = 0; i < n_pairs; i++) {
    axes[2 * i] = hone_axis(b, pairs[i][0], x->type.rank);
    axes[2 * i + 1] = hone_axis(b, pairs[i][1], y->type.rank);
  }
  hone_value_t* in[2] = {x, y};
  hone_node_t node = {.prim = HONE_PRIM_CONTRACT,
                      .n_inputs = 2,
                      .inputs = in,
                      .n_axes = 2 * n_pairs,
                      .axes = axes,
                      .n_batch = n_batch,
                      .dtype = dtype == HONE_UNKNOWN ? x->type.dtype : dtype};
  return hone_emit(b, &node);
}

/* Broadcasts the axes before the last two of x and y against each other. */
static void broadcast_batches(hone_builder_t* b, hone_value_t** x, hone_value_t** y) {
  hone_value_t* batch[2];
  hone_value_t* full[2] = {*x, *y};
  int rank = (*x)->type.rank > (*y)->type.rank ? (*x)->type.rank : (*y)->type.rank;
  for (int i = 0; i < 2; i++) {
    hone_type_t type = full[i]->type;
    batch[i] = hone_full(b, HONE_BOOL, 0, type.rank - 2, type.dims);
  }
  hone_broadcast(b, 2, batch);
  if (!hone_builder_ok(b)) return;
  hone_dim_t shape[HONE_MAX_RANK];
  memcpy(shape, batch[0]->type.dims, (size_t)(rank - 2) * sizeof *shape);
  for (int i = 0; i < 2; i++) {
    shape[rank - 2] = hone_dim(full[i], -2);
    shape[rank - 1] = hone_dim(full[i], -1);
    full[i] = hone_expand(b, full[i], rank, shape);
  }
  *x = full[0];
  *y = full[1];
}

hone_value_t* hone_matmul(hone_builder_t* b, hone_value_t* x, hone_value_t* y, hone_dtype_t dtype) {
  if (!hone_is_known(b, x) || !hone_is_known(b, y)) return NULL;
  if (x->type.rank < 1 || y->type.rank < 1)
    return hone_fail(b, HONE_INVALID_MODEL, "matmul of a scalar");
  bool row = x->type.rank == 1, column = y->type.rank == 1;
  if (row) x = hone_unsqueeze(b, x, 0);
  if (column) y = hone_unsqueeze(b, y, 1);
  if (!x || !y) return NULL;
  /* Without batches on the right one contraction does it all. */
  if (y->type.rank > 2) broadcast_batches(b, &x, &y);
  if (!x || !y) return NULL;
  int64_t pairs[HONE_MAX_RANK][2];
  int n = 0;
  for (; n < y->type.rank - 2; n++) pairs[n][0] = pairs[n][1] = n;
  pairs[n][0] = x->type.rank - 1;
  pairs[n][1] = y->type.rank - 2;
  hone_value_t* out = hone_contract(b, x, y, n + 1, (const int64_t(*)[2])pairs, n, dtype);
  if (column) out = hone_squeeze(b, out, -1);
  return row ? hone_squeeze(b, out, column ? -1 : -2) : out;
}

/* ---- indexing ---- */

hone_value_t* hone_gather(hone_builder_t* b, hone_value_t* x, hone_value_t* index) {
  if (!hone_is_known(b, x) || !hone_is_known(b, index)) return NULL;
  hone_value_t* in[2] = {x, index};
  hone_node_t node = {.prim = HONE_PRIM_GATHER, .n_inputs = 2, .inputs = in};
  return hone_emit(b, &node);
}

/* True when every element is known not to be negative. */
static bool counts_from_front(const hone_value_t* index) {
  if (!index->content || !hone_type_is_static(&index->type)) return false;
  int64_t count = 1;
  for (int i = 0; i < index->type.rank; i++) count *= index->type.dims[i].k;
  for (int64_t i = 0; i < count; i++)
    if (hone_dim_min_value(index->content[i]) < 0) return false;
  return true;
}

hone_value_t* hone_wrap_index(hone_builder_t* b, hone_value_t* index, hone_dim_t extent) {
  if (!hone_is_known(b, index)) return NULL;
  index = hone_cast(b, index, HONE_I64);
  if (!index || counts_from_front(index)) return index;
  hone_value_t* wrapped = hone_add(b, index, hone_dim_scalar(b, HONE_I64, extent));
  return hone_select(b, hone_lt_number(b, index, 0), wrapped, index);
}

/* The axes of `index` stand in front after gathering: move those of x that
 * come before `axis` back to the front. */
hone_value_t* hone_take(hone_builder_t* b, hone_value_t* x, hone_value_t* index, int axis) {
  if (!hone_is_known(b, x) || !hone_is_known(b, index)) return NULL;
  int at = hone_axis(b, axis, x->type.rank), n = index->type.rank;
  if (!hone_builder_ok(b)) return NULL;
  index = hone_wrap_index(b, index, hone_dim(x, at));
  hone_value_t* out = hone_gather(b, hone_move_axis(b, x, at, 0), index);
  if (!out) return NULL;
  int64_t axes[HONE_MAX_RANK];
  for (int i = 0; i < out->type.rank; i++) axes[i] = i < at ? n + i : i < at + n ? i - at : i;
  return hone_permute(b, out, axes);
}

/* Row-major position in x of each element of `index`, with `index` along `axis`. */
static hone_value_t* linear_index(hone_builder_t* b, const hone_value_t* x, hone_value_t* index,
                                  int axis) {
  hone_value_t* total = NULL;
  hone_dim_t stride = hone_d(1);
  for (int i = x->type.rank - 1; i >= 0; i--) {
    hone_value_t* at =
        i == axis ? index : hone_iota(b, HONE_I64, index->type.rank, index->type.dims, i);
    hone_value_t* part = hone_mul(b, at, hone_dim_scalar(b, HONE_I64, stride));
    total = total ? hone_add(b, total, part) : part;
    stride = hone_d_mul(b, stride, x->type.dims[i]);
  }
  return total;
}

static hone_value_t* take_along(hone_builder_t* b, hone_value_t* x, hone_value_t* index, int axis,
                                bool wraps) {
  if (!hone_is_known(b, x) || !hone_is_known(b, index)) return NULL;
  if (x->type.rank != index->type.rank)
    return hone_fail(b, HONE_INVALID_MODEL, "data and indices have different ranks");
  int at = hone_axis(b, axis, x->type.rank);
  if (!hone_builder_ok(b)) return NULL;
  index = wraps ? hone_wrap_index(b, index, hone_dim(x, at)) : hone_cast(b, index, HONE_I64);
  return hone_gather(b, hone_ravel(b, x), index ? linear_index(b, x, index, at) : NULL);
}

hone_value_t* hone_take_along(hone_builder_t* b, hone_value_t* x, hone_value_t* index, int axis) {
  return take_along(b, x, index, axis, true);
}

hone_value_t* hone_take_from_front(hone_builder_t* b, hone_value_t* x, hone_value_t* index,
                                   int axis) {
  return take_along(b, x, index, axis, false);
}

hone_value_t* hone_scatter_along(hone_builder_t* b, hone_combine_t combine, hone_value_t* x,
                                 hone_value_t* index, hone_value_t* updates, int axis) {
  if (!hone_is_known(b, x) || !hone_is_known(b, index)) return NULL;
  if (x->type.rank != index->type.rank)
    return hone_fail(b, HONE_INVALID_MODEL, "data and indices have different ranks");
  int at = hone_axis(b, axis, x->type.rank);
  if (!hone_builder_ok(b)) return NULL;
  index = hone_wrap_index(b, index, hone_dim(x, at));
  if (!index) return NULL;
  hone_value_t* out =
      hone_scatter(b, combine, hone_ravel(b, x), linear_index(b, x, index, at), updates);
  return hone_reshape_like(b, out, x);
}

hone_value_t* hone_scatter(hone_builder_t* b, hone_combine_t combine, hone_value_t* x,
                           hone_value_t* index, hone_value_t* updates) {
  if (!hone_is_known(b, x) || !hone_is_known(b, index) || !hone_is_known(b, updates)) return NULL;
  hone_value_t* in[3] = {x, index, updates};
  hone_node_t node = {.prim = HONE_PRIM_SCATTER, .n_inputs = 3, .inputs = in, .combine = combine};
  return hone_emit(b, &node);
}

/* ---- scans and sorts ---- */

hone_value_t* hone_scan(hone_builder_t* b, hone_combine_t combine, hone_value_t* x, int axis,
                        bool exclusive) {
  if (!hone_is_known(b, x)) return NULL;
  int64_t at = hone_axis(b, axis, x->type.rank);
  hone_node_t node = {.prim = HONE_PRIM_SCAN,
                      .n_inputs = 1,
                      .inputs = &x,
                      .combine = combine,
                      .n_axes = 1,
                      .axes = &at,
                      .flags = exclusive ? HONE_FLAG_EXCLUSIVE : 0};
  return hone_emit(b, &node);
}

hone_value_t* hone_sort(hone_builder_t* b, hone_value_t* x, int axis, hone_dim_t count,
                        bool descending, hone_value_t** out_index) {
  if (out_index) *out_index = NULL;
  if (!hone_is_known(b, x)) return NULL;
  int64_t at = hone_axis(b, axis, x->type.rank);
  hone_node_t node = {.prim = HONE_PRIM_SORT,
                      .n_inputs = 1,
                      .inputs = &x,
                      .n_axes = 1,
                      .axes = &at,
                      .n_dims = 1,
                      .shape = &count,
                      .flags = descending ? HONE_FLAG_DESCENDING : 0};
  hone_value_t* out = hone_emit(b, &node);
  if (out && out_index) *out_index = out->node->outputs[1];
  return out;
}
