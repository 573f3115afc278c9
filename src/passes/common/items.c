#include "passes/common/items.h"

#include <string.h>

#include "base/memory.h"
#include "passes/common/match.h"

static int axis_at(const hone_items_t* items, const hone_value_t* value) {
  return items->axis[value->id];
}

/* Whether the value, the same for all items, is repeated along the axis. */
static bool is_repeated(const hone_value_t* value, int axis) {
  const hone_node_t* node = value->node;
  return node->prim == HONE_PRIM_EXPAND && axis < node->n_dims &&
         hone_dim_is(node->inputs[0]->type.dims[axis], 1);
}

static bool names_axis(const hone_node_t* node, int axis) {
  for (int i = 0; i < node->n_axes; i++)
    if (node->axes[i] == axis) return true;
  return false;
}

/* Elementwise, and concat: all operands have the axis, or repeat along it. */
static int axis_of_all(const hone_items_t* items, const hone_node_t* node) {
  int axis = HONE_ITEMS_NONE;
  for (int i = 0; i < node->n_inputs; i++) {
    int own = axis_at(items, node->inputs[i]);
    if (own == HONE_ITEMS_NONE) continue;
    if (axis >= 0 && own != axis) return HONE_ITEMS_MIXED;
    axis = own;
  }
  for (int i = 0; i < node->n_inputs && axis >= 0; i++)
    if (axis_at(items, node->inputs[i]) < 0 && !is_repeated(node->inputs[i], axis))
      return HONE_ITEMS_MIXED;
  return axis;
}

/* ---- movement ---- */

/* The axis of a reshape's result that has as many elements in front of it. */
static int axis_of_reshape(const hone_items_t* items, hone_dims_t* dims, const hone_node_t* node,
                           int axis) {
  const hone_type_t *from = &node->inputs[0]->type, *to = &node->outputs[0]->type;
  hone_dim_t before = hone_dim_product(dims, axis, from->dims), product = hone_dim_int(1);
  for (int i = 0; i < to->rank; i++) {
    if (hone_dim_same(product, before) && hone_dim_same(to->dims[i], items->count)) return i;
    product = hone_dim_mul(dims, product, to->dims[i]);
  }
  return HONE_ITEMS_MIXED;
}

static int axis_of_permute(const hone_node_t* node, int axis) {
  int i = 0;
  while (node->axes[i] != axis) i++;
  return i;
}

static bool takes_all(const hone_items_t* items, const hone_node_t* slice, int axis) {
  return hone_dim_is(slice->lo[axis], 0) && hone_dim_same(slice->hi[axis], items->count) &&
         hone_dim_is(slice->step[axis], 1);
}

static int axis_of_movement(const hone_items_t* items, hone_dims_t* dims, const hone_node_t* node) {
  int axis = axis_at(items, node->inputs[0]);
  bool keeps = false;
  if (node->prim == HONE_PRIM_CONCAT) {
    axis = axis_of_all(items, node);
    return names_axis(node, axis) ? HONE_ITEMS_MIXED : axis;
  }
  if (axis < 0 || (node->n_inputs > 1 && axis_at(items, node->inputs[1]) >= 0))
    return HONE_ITEMS_MIXED;
  if (node->prim == HONE_PRIM_RESHAPE) return axis_of_reshape(items, dims, node, axis);
  if (node->prim == HONE_PRIM_PERMUTE) return axis_of_permute(node, axis);
  if (node->prim == HONE_PRIM_EXPAND) keeps = true;
  if (node->prim == HONE_PRIM_SLICE) keeps = takes_all(items, node, axis);
  if (node->prim == HONE_PRIM_PAD)
    keeps = hone_dim_is(node->lo[axis], 0) && hone_dim_is(node->hi[axis], 0);
  if (node->prim == HONE_PRIM_FLIP || node->prim == HONE_PRIM_WINDOW)
    keeps = !names_axis(node, axis);
  return keeps ? axis : HONE_ITEMS_MIXED;
}

/* ---- whole tensors ---- */

static int axis_of_reduce(const hone_node_t* node, int axis) {
  int before = 0;
  if (axis < 0 || names_axis(node, axis)) return HONE_ITEMS_MIXED;
  for (int i = 0; i < node->n_axes; i++) before += node->axes[i] < axis;
  return axis - before;
}

/* The pair of a contraction that has the operand's axis; -1: it is a free one. */
static int pair_of(const hone_node_t* contract, int side, int axis) {
  for (int i = 0; 2 * i < contract->n_axes; i++)
    if (contract->axes[2 * i + side] == axis) return i;
  return -1;
}

static int axis_of_contract(const hone_items_t* items, const hone_node_t* node) {
  int a = axis_at(items, node->inputs[0]), b = axis_at(items, node->inputs[1]);
  int side = a >= 0 ? 0 : 1, axis = side ? b : a, pair = pair_of(node, side, axis);
  if (pair >= 0) {
    bool is_batch =
        pair < node->n_batch && a == node->axes[2 * pair] && b == node->axes[2 * pair + 1];
    return is_batch ? pair : HONE_ITEMS_MIXED;
  }
  if (a >= 0 && b >= 0) return HONE_ITEMS_MIXED;
  int at = node->n_batch + (side ? node->inputs[0]->type.rank - node->n_axes / 2 : 0);
  for (int i = 0; i < axis; i++) at += pair_of(node, side, i) < 0;
  return at;
}

/* x[i]: items are looked up in, or look up by themselves. */
static int axis_of_gather(const hone_items_t* items, const hone_node_t* node) {
  int x = axis_at(items, node->inputs[0]), index = axis_at(items, node->inputs[1]);
  if (x == HONE_ITEMS_NONE) return index;
  return x > 0 && index < 0 ? x - 1 + node->inputs[1]->type.rank : HONE_ITEMS_MIXED;
}

static int axis_of_whole(const hone_items_t* items, const hone_node_t* node) {
  switch (node->prim) {
    case HONE_PRIM_REDUCE:
      return axis_of_reduce(node, axis_at(items, node->inputs[0]));
    case HONE_PRIM_CONTRACT:
      return axis_of_contract(items, node);
    case HONE_PRIM_GATHER:
      return axis_of_gather(items, node);
    default:
      return HONE_ITEMS_MIXED;
  }
}

/* ---- any node ---- */

static bool is_plain(const hone_value_t* value) {
  return value && hone_type_is_known(&value->type) && value->type.dtype != HONE_STRING;
}

static int axis_by_family(const hone_items_t* items, hone_dims_t* dims, const hone_node_t* node) {
  switch (hone_prim_info(node->prim)->family) {
    case HONE_FAMILY_UNARY:
    case HONE_FAMILY_BINARY:
    case HONE_FAMILY_SELECT:
    case HONE_FAMILY_CAST:
      return axis_of_all(items, node);
    case HONE_FAMILY_MOVEMENT:
      return axis_of_movement(items, dims, node);
    case HONE_FAMILY_WHOLE:
      return axis_of_whole(items, node);
    default:
      return HONE_ITEMS_MIXED;
  }
}

int hone_items_axis_of(const hone_items_t* items, hone_dims_t* dims, const hone_node_t* node) {
  bool any = false, all_plain = node->n_outputs == 1 && is_plain(node->outputs[0]);
  for (int i = 0; i < node->n_inputs; i++) {
    if (node->inputs[i] && axis_at(items, node->inputs[i]) == HONE_ITEMS_MIXED)
      return HONE_ITEMS_MIXED;
    all_plain &= is_plain(node->inputs[i]);
    any |= node->inputs[i] && axis_at(items, node->inputs[i]) >= 0;
  }
  if (!any) return HONE_ITEMS_NONE;
  if (!all_plain || node->outputs[0]->binds) return HONE_ITEMS_MIXED;
  int axis = axis_by_family(items, dims, node);
  bool fits = axis >= 0 && hone_dim_same(node->outputs[0]->type.dims[axis], items->count);
  return fits ? axis : HONE_ITEMS_MIXED;
}

/* ---- one item ---- */

/* The list with 1 at `axis`. */
static const hone_dim_t* with_one(hone_builder_t* b, int count, const hone_dim_t* list, int axis) {
  hone_dim_t* copy = hone_arena_array(b->graph->arena, (size_t)count, sizeof *copy);
  if (!copy) return (void*)hone_fail_status(b, hone_oom());
  memcpy(copy, list, (size_t)count * sizeof *copy);
  copy[axis] = hone_dim_int(1);
  return copy;
}

/* What repeats for all items, for one. */
static hone_value_t* repeat_once(hone_builder_t* b, const hone_node_t* expand,
                                 hone_value_t* repeated, int axis) {
  hone_node_t copy = *expand;
  hone_value_t* inputs[1] = {hone_resolve(b, repeated)};
  copy.shape = with_one(b, expand->n_dims, expand->shape, axis);
  copy.inputs = inputs;
  return copy.shape ? hone_emit(b, &copy) : NULL;
}

/* Whether operands stand element for element beside one another. */
static bool is_side_by_side(const hone_node_t* node) {
  return node->prim == HONE_PRIM_CONCAT || hone_prim_is_elementwise(node->prim);
}

static bool set_extents(hone_builder_t* b, hone_node_t* copy, int before, int axis) {
  if (copy->prim == HONE_PRIM_RESHAPE || copy->prim == HONE_PRIM_EXPAND)
    return (copy->shape = with_one(b, copy->n_dims, copy->shape, axis)) != NULL;
  if (copy->prim == HONE_PRIM_SLICE)
    return (copy->hi = with_one(b, copy->n_dims, copy->hi, before)) != NULL;
  return true;
}

hone_value_t* hone_items_copy(const hone_items_t* items, hone_builder_t* b, const hone_node_t* node,
                              hone_value_t* const* inputs) {
  hone_node_t copy = *node;
  int axis = axis_at(items, node->outputs[0]);
  hone_value_t** own = hone_arena_array(b->graph->arena, (size_t)node->n_inputs, sizeof *own);
  if (!own) return hone_fail_status(b, hone_oom());
  copy.inputs = own;
  for (int i = 0; i < node->n_inputs; i++) {
    const hone_value_t* operand = node->inputs[i];
    own[i] = inputs[i];
    if (axis >= 0 && axis_at(items, operand) < 0 && is_side_by_side(node))
      own[i] = repeat_once(b, operand->node, inputs[i]->node->inputs[0], axis);
  }
  if (axis >= 0 && !set_extents(b, &copy, axis_at(items, node->inputs[0]), axis)) return NULL;
  return hone_emit(b, &copy);
}
