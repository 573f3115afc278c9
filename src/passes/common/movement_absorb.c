/* Permutes pass through, or vanish in, primitives that name their axes. */
#include <string.h>

#include "base/float_convert.h"
#include "passes/common/match.h"
#include "passes/common/movement.h"

enum { MAX_PARTS = 64 };

static hone_node_t* permute_of(const hone_node_t* node) {
  return hone_move_permute_of(node->inputs[0]);
}

static void map_axes(int count, const int64_t* axes, const int64_t* by, int64_t* out) {
  for (int i = 0; i < count; i++) out[i] = by[axes[i]];
}

/* Entry i of each list belongs to axis i of the permuted, by[i] of the plain. */
static const hone_dim_t* map_dims(hone_rewriter_t* r, int rank, const hone_dim_t* dims,
                                  const int64_t* by) {
  if (!dims) return NULL;
  hone_dim_t* out = hone_arena_array(r->graph->arena, (size_t)rank, sizeof *out);
  for (int i = 0; out && i < rank; i++) out[by[i]] = dims[i];
  if (!out) hone_fail(r->b, HONE_OUT_OF_MEMORY, "no memory for a rewrite");
  return out;
}

/* slice, pad: lists with an entry an axis. */
static hone_value_t* through_lists(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* permute = permute_of(node);
  if (!permute) return NULL;
  hone_node_t copy = *node;
  copy.lo = map_dims(r, node->n_dims, node->lo, permute->axes);
  copy.hi = map_dims(r, node->n_dims, node->hi, permute->axes);
  copy.step = map_dims(r, node->n_dims, node->step, permute->axes);
  hone_value_t* inputs[2] = {permute->inputs[0], node->n_inputs > 1 ? node->inputs[1] : NULL};
  if (!hone_builder_ok(r->b)) return NULL;
  return hone_permute(r->b, hone_rewrite_copy(r, &copy, inputs), permute->axes);
}

/* flip, scan: axes stay axes. */
static hone_value_t* through_axes(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* permute = permute_of(node);
  if (!permute) return NULL;
  int64_t axes[HONE_MAX_RANK];
  map_axes(node->n_axes, node->axes, permute->axes, axes);
  hone_node_t copy = *node;
  copy.axes = axes;
  return hone_permute(r->b, hone_rewrite_copy(r, &copy, permute->inputs), permute->axes);
}

/* New axes come last, whatever the order of those before. */
static hone_value_t* through_window(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* permute = permute_of(node);
  if (!permute) return NULL;
  int64_t axes[HONE_MAX_RANK], after[HONE_MAX_RANK];
  int rank = permute->n_axes, total = node->outputs[0]->type.rank;
  map_axes(node->n_axes, node->axes, permute->axes, axes);
  for (int i = 0; i < total; i++) after[i] = i < rank ? permute->axes[i] : i;
  hone_node_t copy = *node;
  copy.axes = axes;
  return hone_permute(r->b, hone_rewrite_copy(r, &copy, permute->inputs), after);
}

/* The axes that stay, in the order of the permuted, by their place among those
 * that stay of the plain. */
static hone_value_t* through_reduce(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* permute = permute_of(node);
  if (!permute) return NULL;
  int64_t axes[HONE_MAX_RANK], after[HONE_MAX_RANK];
  bool gone[HONE_MAX_RANK] = {false};
  int place[HONE_MAX_RANK], stay = 0, n = 0;
  map_axes(node->n_axes, node->axes, permute->axes, axes);
  for (int i = 0; i < node->n_axes; i++) gone[axes[i]] = true;
  for (int i = 0; i < permute->n_axes; i++) place[i] = gone[i] ? -1 : stay++;
  for (int i = 0; i < permute->n_axes; i++)
    if (!gone[permute->axes[i]]) after[n++] = place[permute->axes[i]];
  hone_node_t copy = *node;
  copy.axes = axes;
  return hone_permute(r->b, hone_rewrite_copy(r, &copy, permute->inputs), after);
}

/* The permute that most parts have. */
static hone_node_t* common_permute(const hone_node_t* node) {
  hone_node_t* best = NULL;
  int best_count = 0;
  for (int i = 0; i < node->n_inputs; i++) {
    hone_node_t* permute = hone_move_permute_of(node->inputs[i]);
    int count = 0;
    for (int k = 0; permute && k < node->n_inputs; k++) {
      const hone_node_t* other = hone_move_permute_of(node->inputs[k]);
      size_t bytes = (size_t)permute->n_axes * sizeof *permute->axes;
      count += other && memcmp(other->axes, permute->axes, bytes) == 0;
    }
    if (count > best_count) best = permute;
    if (count > best_count) best_count = count;
  }
  return best;
}

static hone_value_t* through_concat(hone_rewriter_t* r, hone_node_t* node) {
  if (node->n_inputs > MAX_PARTS) return NULL;
  hone_node_t* permute = common_permute(node);
  hone_value_t* parts[MAX_PARTS];
  if (!permute) return NULL;
  for (int i = 0; i < node->n_inputs; i++) {
    parts[i] = hone_move_unpermute(r->b, node->inputs[i], permute->axes);
    if (!parts[i]) return NULL;
  }
  hone_value_t* joined =
      hone_concat(r->b, node->n_inputs, parts, (int)permute->axes[node->axes[0]]);
  return hone_permute(r->b, joined, permute->axes);
}

/* Rows along another axis than the first are taken in its place: as if `x` had not
 * been permuted but for that axis, which is brought to the front and then back. */
static hone_value_t* gather_in_place(hone_rewriter_t* r, hone_node_t* node,
                                     const hone_node_t* permute) {
  int64_t front[HONE_MAX_RANK], back[HONE_MAX_RANK], after[HONE_MAX_RANK], k = permute->axes[0];
  int rank = permute->n_axes, count = node->inputs[1]->type.rank, total = rank - 1 + count;
  hone_move_to_front(rank, k, front);
  if (memcmp(front, permute->axes, (size_t)rank * sizeof *front) == 0 || total > HONE_MAX_RANK)
    return NULL;
  hone_move_back(total, count, k, back);
  for (int i = 0; i < total; i++) {
    int64_t axis = i < count ? k : permute->axes[i - count + 1];
    after[i] = i < count ? k + i : axis < k ? axis : axis + count - 1;
  }
  hone_value_t* rows =
      hone_gather(r->b, hone_permute(r->b, permute->inputs[0], front), node->inputs[1]);
  return hone_permute(r->b, hone_permute(r->b, rows, back), after);
}

/* Rows of what is permuted behind the first axis only. */
static hone_value_t* through_gather(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* permute = permute_of(node);
  if (!permute) return NULL;
  if (permute->axes[0] != 0) return gather_in_place(r, node, permute);
  int64_t after[HONE_MAX_RANK];
  int lead = node->inputs[1]->type.rank, total = node->outputs[0]->type.rank;
  for (int i = 0; i < total; i++) after[i] = i < lead ? i : permute->axes[i - lead + 1] + lead - 1;
  hone_value_t* rows = hone_gather(r->b, permute->inputs[0], node->inputs[1]);
  return hone_permute(r->b, rows, after);
}

/* Extents of 1 reduced away: a reshape, where that is exact (a sum turns -0 to 0). */
static hone_value_t* reduce_ones(hone_rewriter_t* r, hone_node_t* node) {
  if (node->combine == HONE_COMBINE_ADD && hone_dtype_is_float(node->inputs[0]->type.dtype) &&
      node->n_axes > 0)
    return NULL;
  for (int i = 0; i < node->n_axes; i++)
    if (!hone_dim_is(node->inputs[0]->type.dims[node->axes[i]], 1)) return NULL;
  const hone_type_t* type = &node->outputs[0]->type;
  return hone_reshape(r->b, node->inputs[0], type->rank, type->dims);
}

/* Extents of 1 that are reduced together with others, as by windows of 1 x 2 x 2, need no axis. */
static hone_value_t* drop_ones(hone_rewriter_t* r, hone_node_t* node) {
  const hone_type_t* type = &node->inputs[0]->type;
  hone_dim_t shape[HONE_MAX_RANK];
  int64_t axes[HONE_MAX_RANK];
  bool reduced[HONE_MAX_RANK] = {false};
  int rank = 0, n = 0;
  for (int i = 0; i < node->n_axes; i++) reduced[node->axes[i]] = true;
  for (int i = 0; i < type->rank; i++) {
    if (reduced[i] && hone_dim_is(type->dims[i], 1)) continue;
    if (reduced[i]) axes[n++] = rank;
    shape[rank++] = type->dims[i];
  }
  if (n == 0 || n == node->n_axes) return NULL;
  hone_value_t* x = hone_reshape(r->b, node->inputs[0], rank, shape);
  hone_node_t copy = *node;
  copy.axes = axes;
  copy.n_axes = n;
  return x ? hone_rewrite_copy(r, &copy, &x) : NULL;
}

static hone_value_t* absorb_reduce(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* x = reduce_ones(r, node);
  if (!x) x = drop_ones(r, node);
  return x ? x : through_reduce(r, node);
}

/* The first of `count` places that are known and follow one another, below `rows`; -1:
 * they are not so. */
static int64_t first_of_run(const hone_value_t* index, int64_t rows, int64_t* out_count) {
  const hone_tensor_t* places = hone_match_constant(index);
  hone_dtype_t dtype = index->type.dtype;
  if (!places || index->type.rank != 1 || (dtype != HONE_I64 && dtype != HONE_I32)) return -1;
  const char* data = hone_tensor_data(places);
  int64_t size = (int64_t)hone_dtype_size(dtype);
  int64_t first = -1, place, count = *out_count = hone_tensor_count(places);
  for (int64_t i = 0; i < count; i++) {
    hone_load_i64(dtype, data + i * size, 0, 1, &place);
    if (i == 0) first = place;
    if (place != first + i) return -1;
  }
  return first >= 0 && count <= rows && first <= rows - count ? first : -1;
}

/* One row at a place that is known is a slice, and so are several that follow one another. */
static hone_value_t* absorb_gather(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t *x = node->inputs[0], *index = node->inputs[1];
  double at;
  int64_t count, first = hone_dim_is_int(x->type.dims[0])
                             ? first_of_run(index, x->type.dims[0].k, &count)
                             : -1;
  if (first >= 0) return hone_slice_axis(r->b, x, 0, hone_d(first), hone_d(first + count));
  bool one = hone_match_count(&index->type) == 1 && hone_match_number(index, &at);
  if (!one || !hone_dim_is_int(x->type.dims[0]) || at < 0 || at >= (double)x->type.dims[0].k)
    return through_gather(r, node);
  hone_value_t* row = hone_slice_axis(r->b, x, 0, hone_d((int64_t)at), hone_d((int64_t)at + 1));
  const hone_type_t* type = &node->outputs[0]->type;
  return hone_reshape(r->b, row, type->rank, type->dims);
}

static hone_value_t* (*const absorbs[HONE_PRIM_COUNT])(hone_rewriter_t*, hone_node_t*) = {
    [HONE_PRIM_SLICE] = through_lists,   [HONE_PRIM_PAD] = through_lists,
    [HONE_PRIM_FLIP] = through_axes,     [HONE_PRIM_SCAN] = through_axes,
    [HONE_PRIM_WINDOW] = through_window, [HONE_PRIM_REDUCE] = absorb_reduce,
    [HONE_PRIM_CONCAT] = through_concat, [HONE_PRIM_GATHER] = absorb_gather,
};

hone_value_t* hone_movement_absorb(hone_rewriter_t* r, hone_node_t* node) {
  return absorbs[node->prim] ? absorbs[node->prim](r, node) : NULL;
}
