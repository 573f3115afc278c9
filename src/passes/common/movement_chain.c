/* Movement of movement: chains become one step, and steps that do nothing go. */
#include "passes/common/match.h"
#include "passes/common/movement.h"

static hone_value_t* in(const hone_node_t* node) { return node->inputs[0]; }

static bool same_axes(const hone_node_t* a, const hone_node_t* b) {
  for (int i = 0; i < a->n_axes; i++)
    if (a->axes[i] != b->axes[i]) return false;
  return a->n_axes == b->n_axes;
}

/* `now`, unless it is just what `node` is already. */
static hone_value_t* if_new(const hone_node_t* node, hone_value_t* now) {
  if (!now || now == node->outputs[0]) return NULL;
  bool same =
      now->node->prim == node->prim && in(now->node) == in(node) && same_axes(now->node, node);
  return same ? NULL : now;
}

static hone_value_t* chain_permute(hone_rewriter_t* r, hone_node_t* node) {
  return if_new(node, hone_move_permute(r->b, in(node), node->axes));
}

/* Before the order of axes is chosen, a permute stays one step, which lets factors
 * sink next to a grouped convolution. What repeats as a whole along axes that stay is reshaped
 * before, so that who reads it has plain indices. */
static hone_value_t* chain_reshape(hone_rewriter_t* r, hone_node_t* node) {
  bool is_late = r->context->phase >= HONE_PHASE_LAYOUT;
  hone_value_t* moved =
      hone_move_through_reshape(r->b, in(node), node->n_dims, node->shape, is_late);
  if (!moved && hone_match_prim(in(node), HONE_PRIM_EXPAND))
    moved = hone_move_unreshape(r->b, in(node), node->n_dims, node->shape);
  return moved ? moved : if_new(node, hone_move_reshape(r->b, in(node), node->n_dims, node->shape));
}

static hone_value_t* chain_expand(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* inner = hone_match_prim(in(node), HONE_PRIM_EXPAND);
  hone_value_t* x = inner ? in(inner) : in(node);
  return if_new(node, hone_expand(r->b, x, node->n_dims, node->shape));
}

/* ---- slice ---- */

typedef struct range {
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK], step[HONE_MAX_RANK];
} range_t;

/* Axis `i` of slicing what was sliced; false when steps are in the way. */
static bool join_ranges(hone_builder_t* b, const hone_node_t* first, const hone_node_t* then, int i,
                        range_t* out) {
  out->step[i] = then->step[i];
  if (hone_dim_is(first->step[i], 1)) {
    out->lo[i] = hone_d_add(b, first->lo[i], then->lo[i]);
    out->hi[i] = hone_d_add(b, first->lo[i], then->hi[i]);
    return true;
  }
  hone_dim_t all[] = {first->lo[i], first->step[i], then->lo[i], then->hi[i], then->step[i]};
  for (int k = 0; k < 5; k++)
    if (!hone_dim_is_int(all[k])) return false;
  int64_t stride = first->step[i].k, lo = first->lo[i].k + then->lo[i].k * stride;
  bool empty = then->hi[i].k <= then->lo[i].k;
  out->lo[i] = hone_d(empty ? first->lo[i].k : lo);
  out->hi[i] = hone_d(empty ? first->lo[i].k : first->lo[i].k + (then->hi[i].k - 1) * stride + 1);
  out->step[i] = hone_d(stride * then->step[i].k);
  return true;
}

static hone_value_t* slice_of_slice(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* inner = hone_match_prim(in(node), HONE_PRIM_SLICE);
  range_t range;
  for (int i = 0; inner && i < node->n_dims; i++)
    if (!join_ranges(r->b, inner, node, i, &range)) return NULL;
  return inner ? hone_slice(r->b, in(inner), range.lo, range.hi, range.step) : NULL;
}

/* The part of a concat that the slice lies in wholly. */
static hone_value_t* slice_of_concat(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* inner = hone_match_prim(in(node), HONE_PRIM_CONCAT);
  if (!inner) return NULL;
  int64_t axis = inner->axes[0];
  if (!hone_dim_is_int(node->lo[axis]) || !hone_dim_is_int(node->hi[axis])) return NULL;
  int64_t start = 0, lo = node->lo[axis].k, hi = node->hi[axis].k;
  for (int p = 0; p < inner->n_inputs; p++) {
    hone_value_t* part = inner->inputs[p];
    hone_dim_t extent = part->type.dims[axis];
    if (!hone_dim_is_int(extent)) return NULL;
    if (lo >= start && hi <= start + extent.k && lo < hi) {
      range_t range;
      for (int i = 0; i < node->n_dims; i++) {
        int64_t back = i == axis ? start : 0;
        range.lo[i] = hone_d_sub(r->b, node->lo[i], hone_d(back));
        range.hi[i] = hone_d_sub(r->b, node->hi[i], hone_d(back));
      }
      return hone_slice(r->b, part, range.lo, range.hi, node->step);
    }
    start += extent.k;
  }
  return NULL;
}

/* When no part of the padding is looked at. */
static hone_value_t* slice_of_pad(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* inner = hone_match_prim(in(node), HONE_PRIM_PAD);
  range_t range;
  for (int i = 0; inner && i < node->n_dims; i++) {
    range.lo[i] = hone_d_sub(r->b, node->lo[i], inner->lo[i]);
    range.hi[i] = hone_d_sub(r->b, node->hi[i], inner->lo[i]);
    hone_dim_t room = hone_d_sub(r->b, in(inner)->type.dims[i], range.hi[i]);
    if (hone_dim_min_value(range.lo[i]) < 0 || hone_dim_min_value(room) < 0 ||
        hone_dim_is_bad(room))
      return NULL;
  }
  return inner ? hone_slice(r->b, in(inner), range.lo, range.hi, node->step) : NULL;
}

/* Of what repeats only the other axes need slicing. */
static hone_value_t* slice_of_expand(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* inner = hone_match_prim(in(node), HONE_PRIM_EXPAND);
  if (!inner) return NULL;
  range_t range;
  const hone_type_t *narrow = &in(inner)->type, *wide = &in(node)->type;
  for (int i = 0; i < node->n_dims; i++) {
    bool repeats = hone_dim_is(narrow->dims[i], 1) && !hone_dim_is(wide->dims[i], 1);
    if (!repeats && !hone_dim_same(narrow->dims[i], wide->dims[i])) return NULL;
    range.lo[i] = repeats ? hone_d(0) : node->lo[i];
    range.hi[i] = repeats ? hone_d(1) : node->hi[i];
    range.step[i] = repeats ? hone_d(1) : node->step[i];
  }
  hone_value_t* part = hone_slice(r->b, in(inner), range.lo, range.hi, range.step);
  return hone_expand(r->b, part, node->n_dims, node->outputs[0]->type.dims);
}

static hone_value_t* chain_slice(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* x = hone_slice(r->b, in(node), node->lo, node->hi, node->step);
  if (x == in(node)) return x;
  x = slice_of_slice(r, node);
  if (!x) x = slice_of_concat(r, node);
  if (!x) x = slice_of_pad(r, node);
  return x ? x : slice_of_expand(r, node);
}

/* ---- pad, flip, concat, window ---- */

static hone_value_t* chain_pad(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* x = hone_pad(r->b, in(node), node->lo, node->hi, node->inputs[1]);
  if (x == in(node)) return x;
  hone_node_t* inner = hone_match_prim_once(in(node), HONE_PRIM_PAD);
  double a, b;
  if (!inner || !hone_match_number(inner->inputs[1], &a) ||
      !hone_match_number(node->inputs[1], &b) || !hone_match_is_number(inner->inputs[1], b))
    return NULL;
  range_t range;
  for (int i = 0; i < node->n_dims; i++) {
    range.lo[i] = hone_d_add(r->b, inner->lo[i], node->lo[i]);
    range.hi[i] = hone_d_add(r->b, inner->hi[i], node->hi[i]);
  }
  return hone_pad(r->b, in(inner), range.lo, range.hi, node->inputs[1]);
}

static hone_value_t* chain_flip(hone_rewriter_t* r, hone_node_t* node) {
  bool moves = false;
  for (int i = 0; i < node->n_axes; i++)
    moves = moves || !hone_dim_is(in(node)->type.dims[node->axes[i]], 1);
  if (!moves) return in(node);
  hone_node_t* inner = hone_match_prim(in(node), HONE_PRIM_FLIP);
  if (inner && same_axes(inner, node)) return in(inner);
  return NULL;
}

static bool is_empty(const hone_value_t* v, int64_t axis) {
  return hone_dim_is(v->type.dims[axis], 0);
}

/* Parts without elements go, parts that are concats of the same axis dissolve. */
static hone_value_t* chain_concat(hone_rewriter_t* r, hone_node_t* node) {
  int64_t axis = node->axes[0];
  int count = 0;
  for (int i = 0; i < node->n_inputs; i++) {
    hone_node_t* inner = hone_match_prim_once(node->inputs[i], HONE_PRIM_CONCAT);
    count += inner && inner->axes[0] == axis ? inner->n_inputs : 1;
  }
  hone_value_t** parts = hone_arena_array(r->graph->arena, (size_t)count, sizeof *parts);
  if (!parts) return hone_fail(r->b, HONE_OUT_OF_MEMORY, "no memory for a rewrite");
  int n = 0;
  for (int i = 0; i < node->n_inputs; i++) {
    hone_node_t* inner = hone_match_prim_once(node->inputs[i], HONE_PRIM_CONCAT);
    bool dissolves = inner && inner->axes[0] == axis;
    for (int k = 0; k < (dissolves ? inner->n_inputs : 1); k++) {
      hone_value_t* part = dissolves ? inner->inputs[k] : node->inputs[i];
      if (!is_empty(part, axis)) parts[n++] = part;
    }
  }
  if (n == 0 || (n == node->n_inputs && n == count)) return NULL;
  return hone_concat(r->b, n, parts, (int)axis);
}

/* Windows of one element are a slice with that stride. */
static hone_value_t* chain_window(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* x = in(node);
  range_t range, rest; /* of x; and of what stays a window: sizes, strides, dilations */
  int64_t axes[HONE_MAX_RANK];
  int rank = x->type.rank, left = 0;
  for (int i = 0; i < rank; i++) {
    range.lo[i] = hone_d(0);
    range.hi[i] = x->type.dims[i];
    range.step[i] = hone_d(1);
  }
  for (int i = 0; i < node->n_axes; i++) {
    if (hone_dim_is(node->shape[i], 1)) {
      range.step[node->axes[i]] = node->step[i];
      continue;
    }
    axes[left] = node->axes[i];
    rest.lo[left] = node->shape[i];
    rest.step[left] = node->step[i];
    rest.hi[left++] = node->hi[i];
  }
  if (left == node->n_axes) return NULL;
  x = hone_slice(r->b, x, range.lo, range.hi, range.step);
  if (left) x = hone_window(r->b, x, left, axes, rest.lo, rest.step, rest.hi);
  const hone_type_t* type = &node->outputs[0]->type;
  return hone_reshape(r->b, x, type->rank, type->dims);
}

typedef hone_value_t* (*chain_fn)(hone_rewriter_t* r, hone_node_t* node);

static const chain_fn chains[HONE_PRIM_COUNT] = {
    [HONE_PRIM_PERMUTE] = chain_permute, [HONE_PRIM_RESHAPE] = chain_reshape,
    [HONE_PRIM_EXPAND] = chain_expand,   [HONE_PRIM_SLICE] = chain_slice,
    [HONE_PRIM_PAD] = chain_pad,         [HONE_PRIM_FLIP] = chain_flip,
    [HONE_PRIM_CONCAT] = chain_concat,   [HONE_PRIM_WINDOW] = chain_window,
};

hone_value_t* hone_movement_chain(hone_rewriter_t* r, hone_node_t* node) {
  return chains[node->prim] ? chains[node->prim](r, node) : NULL;
}
