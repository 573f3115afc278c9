#include "passes/common/either.h"

#include "passes/common/match.h"

enum { PARTS = 2, MOST_OPERANDS = 2 };

hone_dim_t hone_either_many(hone_dims_t* dims, hone_dim_t rows, int64_t least) {
  return hone_dim_select_lt(dims, rows, hone_d(least), hone_d(0), rows);
}

/* Whether it is none of `rows` or all, as hone_either_many gives. */
static bool is_many(hone_dims_t* dims, hone_dim_t extent, hone_dim_t rows) {
  hone_dim_t few, all;
  return hone_dim_is_choice(dims, extent, &few, &all) && hone_dim_is(few, 0) &&
         hone_dim_same(all, rows);
}

bool hone_either_is(hone_dims_t* dims, const hone_node_t* node) {
  if (node->prim != HONE_PRIM_CONCAT || node->n_inputs != PARTS) return false;
  int64_t axis = node->axes[0];
  return is_many(dims, node->inputs[0]->type.dims[axis], node->outputs[0]->type.dims[axis]);
}

bool hone_either_takes_part(hone_dims_t* dims, const hone_node_t* node) {
  if (node->prim != HONE_PRIM_SLICE) return false;
  const hone_type_t *whole = &node->inputs[0]->type, *part = &node->outputs[0]->type;
  for (int i = 0; i < whole->rank; i++) {
    hone_dim_t rest = hone_dim_sub(dims, whole->dims[i], part->dims[i]);
    if (is_many(dims, part->dims[i], whole->dims[i]) || is_many(dims, rest, whole->dims[i]))
      return true;
  }
  return false;
}

/* The concat of such parts that the value is; NULL: it is another one. */
static const hone_node_t* find_concat(hone_dims_t* dims, const hone_value_t* x) {
  return x->node && hone_either_is(dims, x->node) ? x->node : NULL;
}

static bool is_parted_at(const hone_node_t* concat, int axis, hone_dim_t many) {
  return concat && concat->axes[0] == axis &&
         hone_dim_same(concat->inputs[0]->type.dims[axis], many);
}

void hone_either_parts(hone_builder_t* b, hone_value_t* x, int axis, hone_dim_t many,
                       hone_value_t** out_parts) {
  const hone_node_t* concat = find_concat(b->graph->dims, x);
  bool is_parted = is_parted_at(concat, axis, many);
  out_parts[0] = is_parted ? concat->inputs[0] : hone_slice_axis(b, x, axis, hone_d(0), many);
  out_parts[1] =
      is_parted ? concat->inputs[1] : hone_slice_axis(b, x, axis, many, x->type.dims[axis]);
}

/* Whether all rows of the value are the same. */
static bool repeats(const hone_value_t* x, int axis) {
  const hone_node_t* expand = hone_match_prim(x, HONE_PRIM_EXPAND);
  return expand && hone_dim_is(expand->inputs[0]->type.dims[axis], 1);
}

hone_value_t* hone_either_longer(hone_dims_t* dims, const hone_value_t* part, int axis) {
  const hone_node_t* slice = hone_match_prim(part, HONE_PRIM_SLICE);
  hone_dim_t few, all;
  if (!slice || !hone_dim_is_choice(dims, part->type.dims[axis], &few, &all) ||
      !hone_dim_is(few, 0))
    return NULL;
  const hone_type_t* whole = &slice->inputs[0]->type;
  for (int i = 0; i < whole->rank; i++) {
    bool is_all = hone_dim_same(part->type.dims[i], whole->dims[i]);
    if (!hone_dim_is(slice->lo[i], 0) || !hone_dim_is(slice->step[i], 1) || (i != axis && !is_all))
      return NULL;
  }
  return slice->inputs[0];
}

/* Whether what it makes of finite numbers is finite, but for those that are too large. */
static bool keeps_finite(hone_prim_t prim) {
  static const hone_prim_t all[] = {HONE_PRIM_ADD, HONE_PRIM_SUB, HONE_PRIM_MUL, HONE_PRIM_MIN,
                                    HONE_PRIM_MAX, HONE_PRIM_NEG, HONE_PRIM_ABS, HONE_PRIM_TANH,
                                    HONE_PRIM_ERF, HONE_PRIM_CAST};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] == prim) return true;
  return false;
}

/* How many rows the first parts of the operands have, with those that nobody reads: as many as
 * are read where one has others than the rest. */
static hone_dim_t count_rows(hone_dims_t* dims, const hone_node_t* node, int axis,
                             hone_dim_t many) {
  hone_dim_t rows = many;
  if (!keeps_finite(node->prim)) return many;
  for (int i = 0, n = 0; i < node->n_inputs; i++) {
    if (repeats(node->inputs[i], axis)) continue;
    const hone_value_t* longer = hone_either_longer(dims, node->inputs[i]->node->inputs[0], axis);
    if (!longer || (n++ && !hone_dim_same(rows, longer->type.dims[axis]))) return many;
    rows = longer->type.dims[axis];
  }
  return rows;
}

/* An operand of so many rows for part `k` of the concat. */
static hone_value_t* operand_for(hone_builder_t* b, const hone_node_t* concat, int k,
                                 hone_dim_t rows, hone_value_t* x) {
  int axis = (int)concat->axes[0];
  if (!repeats(x, axis)) {
    hone_value_t* part = x->node->inputs[k];
    return hone_dim_same(part->type.dims[axis], rows)
               ? part
               : hone_either_longer(b->graph->dims, part, axis);
  }
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0; i < x->type.rank; i++) shape[i] = x->type.dims[i];
  shape[axis] = rows;
  return hone_expand(b, x->node->inputs[0], x->type.rank, shape);
}

/* The node of part `k` of its operands. */
static hone_value_t* compute_part(hone_rewriter_t* r, const hone_node_t* node,
                                  const hone_node_t* concat, int k) {
  int axis = (int)concat->axes[0];
  const hone_dim_t given = concat->inputs[k]->type.dims[axis];
  hone_dim_t rows = k == 0 ? count_rows(r->graph->dims, node, axis, given) : given;
  hone_value_t* operands[MOST_OPERANDS];
  for (int i = 0; i < node->n_inputs; i++) {
    operands[i] = operand_for(r->b, concat, k, rows, node->inputs[i]);
    if (!operands[i]) return NULL;
  }
  hone_value_t* part = hone_rewrite_copy(r, node, operands);
  return part ? hone_slice_axis(r->b, part, axis, hone_d(0), given) : NULL;
}

hone_value_t* hone_either_apart(hone_rewriter_t* r, const hone_node_t* node) {
  hone_dims_t* dims = r->graph->dims;
  const hone_node_t* concat = NULL;
  if (!hone_prim_is_elementwise(node->prim) || node->n_inputs > MOST_OPERANDS) return NULL;
  for (int i = 0; i < node->n_inputs && !concat; i++) concat = find_concat(dims, node->inputs[i]);
  if (!concat) return NULL;
  int axis = (int)concat->axes[0];
  hone_dim_t many = concat->inputs[0]->type.dims[axis];
  for (int i = 0; i < node->n_inputs; i++)
    if (!repeats(node->inputs[i], axis) &&
        !is_parted_at(find_concat(dims, node->inputs[i]), axis, many))
      return NULL;
  hone_value_t* parts[PARTS];
  for (int k = 0; k < PARTS; k++) {
    parts[k] = compute_part(r, node, concat, k);
    if (!parts[k]) return NULL;
  }
  return hone_concat(r->b, PARTS, parts, axis);
}
