/* Reshapes that add or drop extents of 1 pass through primitives that do not
 * touch these: pad, slice, flip, window and reduce along the other axes. */
#include "passes/common/match.h"
#include "passes/common/movement.h"

/* The node at hand, and its operand before the reshape. */
typedef struct ones {
  hone_node_t* node;
  hone_value_t* plain;
  const hone_type_t* reshaped;
  int partner[HONE_MAX_RANK];
} ones_t;

static bool look(hone_node_t* node, ones_t* out) {
  hone_node_t* reshape = hone_match_prim(node->inputs[0], HONE_PRIM_RESHAPE);
  if (!reshape) return false;
  *out = (ones_t){node, reshape->inputs[0], &node->inputs[0]->type, {0}};
  if (!hone_move_same_but_ones(&out->plain->type, out->reshaped->rank, out->reshaped->dims))
    return false;
  hone_move_partners(&out->plain->type, out->reshaped, out->partner);
  return true;
}

/* What the node gives, with `copy` applied to the plain operand. */
static hone_value_t* finish(hone_rewriter_t* r, const ones_t* o, const hone_node_t* copy) {
  hone_value_t* inputs[2] = {o->plain, copy->n_inputs > 1 ? copy->inputs[1] : NULL};
  const hone_type_t* type = &o->node->outputs[0]->type;
  return hone_reshape(r->b, hone_rewrite_copy(r, copy, inputs), type->rank, type->dims);
}

static bool untouched(const hone_node_t* node, int axis) {
  if (node->prim == HONE_PRIM_PAD)
    return hone_dim_is(node->lo[axis], 0) && hone_dim_is(node->hi[axis], 0);
  return hone_dim_is(node->lo[axis], 0) && hone_dim_is(node->hi[axis], 1);
}

/* pad, slice */
static hone_value_t* with_lists(hone_rewriter_t* r, const ones_t* o) {
  hone_node_t copy = *o->node;
  bool slices = copy.prim == HONE_PRIM_SLICE;
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK], step[HONE_MAX_RANK];
  for (int i = 0; i < o->plain->type.rank; i++) { /* those without a partner are of extent 1 */
    lo[i] = hone_d(0);
    hi[i] = hone_d(slices ? 1 : 0);
    step[i] = hone_d(1);
  }
  for (int i = 0; i < o->reshaped->rank; i++) {
    int at = o->partner[i];
    if (at < 0 && !untouched(&copy, i)) return NULL;
    if (at < 0) continue;
    lo[at] = copy.lo[i];
    hi[at] = copy.hi[i];
    if (slices) step[at] = copy.step[i];
  }
  copy.n_dims = o->plain->type.rank;
  copy.lo = lo;
  copy.hi = hi;
  copy.step = slices ? step : NULL;
  return finish(r, o, &copy);
}

/* flip, window, reduce */
static hone_value_t* with_axes(hone_rewriter_t* r, const ones_t* o) {
  hone_node_t copy = *o->node;
  int64_t axes[HONE_MAX_RANK];
  for (int i = 0; i < copy.n_axes; i++) {
    axes[i] = o->partner[copy.axes[i]];
    if (axes[i] < 0) return NULL;
  }
  copy.axes = axes;
  return finish(r, o, &copy);
}

hone_value_t* hone_movement_ones(hone_rewriter_t* r, hone_node_t* node) {
  ones_t o;
  switch (node->prim) {
    case HONE_PRIM_PAD:
    case HONE_PRIM_SLICE:
      return look(node, &o) ? with_lists(r, &o) : NULL;
    case HONE_PRIM_FLIP:
    case HONE_PRIM_WINDOW:
    case HONE_PRIM_REDUCE:
      return look(node, &o) ? with_axes(r, &o) : NULL;
    default:
      return NULL;
  }
}
