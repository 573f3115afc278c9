/* Attention is a chain: a contraction sums over the rows that a softmax makes of the results
 * of another contraction. As one kernel it works on some rows at a time, which never leave
 * the caches; what is computed for a row must be of use to all that is computed from it. */
#include "ir/outline.h"
#include "passes/common/fusion_impl.h"
#include "passes/common/match.h"

typedef struct chain {
  int first, rows, last;     /* groups: contraction, reductions, contraction */
  const hone_node_t* scores; /* the first one's contraction */
} chain_t;

enum { LEAST_ROWS = 8, MOST_STEPS = 200 };

static bool is_free(const hone_node_t* contract, int axis, int side) {
  int first = contract->inputs[0]->type.rank - contract->n_axes / 2;
  return axis >= contract->n_batch && (axis >= contract->n_batch + first) == (side == 1);
}

/* The axis of `value`, or a view of it, that becomes axis `axis` of the node's result. What
 * varies fastest goes on doing so when axes are joined or split. */
static int axis_before(const hone_node_t* node, int axis) {
  const hone_type_t* type = &node->inputs[0]->type;
  if (node->prim == HONE_PRIM_SLICE || node->prim == HONE_PRIM_FLIP ||
      node->prim == HONE_PRIM_WINDOW)
    return -1;
  if (node->prim == HONE_PRIM_EXPAND && hone_dim_is(type->dims[axis], 1)) return -1;
  int before = hone_match_axis_before(node, axis);
  bool is_last = axis == node->outputs[0]->type.rank - 1;
  if (before < 0 && node->prim == HONE_PRIM_RESHAPE && is_last) before = type->rank - 1;
  return before;
}

int hone_fusion_trace(const hone_fusion_search_t* s, int group, const hone_value_t** value,
                      int axis, const hone_node_t* target, int* steps) {
  const hone_value_t* v = *value;
  const hone_node_t* node = s->f->graph->nodes[s->index_of[v->id]];
  bool is_inside = hone_fusion_group_at(s->f, s->index_of[v->id]) == group;
  if (axis < 0 || (*steps)++ > MOST_STEPS) return -1;
  if (target ? v->node == target : !is_inside) return axis;
  if (!is_inside || hone_fusion_kind_of(node) != HONE_FUSION_MAP) return -1;
  bool is_view = hone_prim_info(node->prim)->family == HONE_FAMILY_MOVEMENT;
  int n = is_view ? 1 : node->n_inputs;
  for (int i = 0; i < n; i++) {
    *value = node->inputs[i];
    if (!target && i > 0) break;
    int found =
        hone_fusion_trace(s, group, value, is_view ? axis_before(node, axis) : axis, target, steps);
    if (found >= 0) return found;
  }
  return -1;
}

/* Whether the group's results all lie as the second operand's free axis does: what is
 * computed for a row serves consecutive elements. */
static bool lies_along_values(const hone_fusion_search_t* s, int group, const hone_node_t* sums,
                              int side) {
  const hone_fusion_group_t* g = &s->f->groups[group];
  const hone_graph_t* graph = s->f->graph;
  for (int i = g->first; i <= g->last; i++) {
    const hone_value_t* v = graph->nodes[i]->outputs[0];
    bool is_used = false;
    if (hone_fusion_group_at(s->f, i) != group || graph->nodes[i]->n_outputs != 1) continue;
    for (int k = 0; k < graph->n_outputs; k++) is_used |= graph->outputs[k] == v;
    for (int k = i + 1; k < graph->n_nodes && !is_used; k++)
      for (int n = 0; n < graph->nodes[k]->n_inputs; n++)
        is_used |= graph->nodes[k]->inputs[n] == v && hone_fusion_group_at(s->f, k) != group;
    int steps = 0,
        axis = is_used ? hone_fusion_trace(s, group, &v, v->type.rank - 1, sums, &steps) : 0;
    if (is_used && (axis < 0 || !is_free(sums, axis, 1 - side))) return false;
  }
  return true;
}

/* The contraction from which the rows are computed. */
static bool find_scores(const hone_fusion_search_t* s, chain_t* chain) {
  const hone_fusion_t* f = s->f;
  const hone_fusion_group_t* rows = &f->groups[chain->rows];
  chain->first = -1;
  for (int i = rows->first; i <= rows->last; i++) {
    const hone_node_t* node = f->graph->nodes[i];
    for (int k = 0; k < node->n_inputs && hone_fusion_group_at(f, i) == chain->rows; k++) {
      int g = hone_fusion_group_of(f, s->index_of, node->inputs[k]);
      if (g < 0 || g == chain->rows || f->groups[g].kind != HONE_FUSION_CONTRACT) continue;
      if (chain->first >= 0 && chain->first != g) return false;
      chain->first = g;
    }
  }
  if (chain->first < 0) return false;
  chain->scores = f->groups[chain->first].anchor;
  return hone_match_same_shape(f->groups[chain->first].shape, chain->scores->outputs[0]);
}

/* Whether the softmax goes along a free axis of the scores, and there are rows besides. */
static bool goes_along_keys(const hone_fusion_search_t* s, const chain_t* chain) {
  const hone_value_t* row = s->f->groups[chain->rows].rows;
  const hone_node_t* scores = chain->scores;
  const hone_value_t* v = row;
  int steps = 0, axis = row->type.rank - 1;
  /* Through what the reductions' group does to the scores, then through their own. */
  for (int at = chain->rows; v->node != scores; at = chain->first) {
    axis = hone_fusion_trace(s, at, &v, axis, at == chain->first ? scores : NULL, &steps);
    if (axis < 0) return false;
    if (at == chain->first) break;
    if (hone_fusion_group_of(s->f, s->index_of, v) != chain->first) return false;
  }
  int side = is_free(scores, axis, 1);
  if (!is_free(scores, axis, side)) return false;
  for (int i = scores->n_batch; i < scores->outputs[0]->type.rank; i++) {
    hone_dim_t extent = scores->outputs[0]->type.dims[i];
    if (is_free(scores, i, 1 - side) && !(hone_dim_is_int(extent) && extent.k < LEAST_ROWS))
      return hone_dim_max_value(row->type.dims[row->type.rank - 1]) <= s->f->longest_row;
  }
  return false;
}

bool hone_fusion_is_of_values(const hone_node_t* contract) {
  return !hone_match_from_constants(contract->inputs[0]) &&
         !hone_match_from_constants(contract->inputs[1]);
}

static bool is_read_by_one(const hone_fusion_search_t* s, int group, int reader) {
  bool is_only;
  return hone_fusion_only_reader(s->f, s, group, &is_only) == reader && is_only &&
         !hone_fusion_gives_output(s->f, s, group);
}

/* Whether operand `side` of the group's contraction is the rows of a chain, summed up. */
static bool find_chain(hone_fusion_search_t* s, int last, int side, chain_t* chain) {
  const hone_fusion_t* f = s->f;
  const hone_node_t* sums = f->groups[last].anchor;
  if (sums->n_axes - 2 * sums->n_batch != 2) return false;
  const hone_value_t* v = sums->inputs[side];
  int steps = 0, axis = (int)sums->axes[2 * sums->n_batch + side];
  axis = hone_fusion_trace(s, last, &v, axis, NULL, &steps);
  int group = axis < 0 ? -1 : hone_fusion_group_of(f, s->index_of, v);
  if (group < 0 || group == last) return false;
  const hone_fusion_group_t* rows = &f->groups[group];
  *chain = (chain_t){.rows = group, .last = last};
  return rows->kind == HONE_FUSION_REDUCE && rows->rows && rows->anchor->n_axes == 1 &&
         hone_match_same_shape(rows->rows, v) && axis == v->type.rank - 1 &&
         is_read_by_one(s, group, last) && find_scores(s, chain) &&
         is_read_by_one(s, chain->first, group) && goes_along_keys(s, chain) &&
         hone_fusion_is_of_values(sums) && hone_fusion_is_of_values(chain->scores) &&
         lies_along_values(s, last, sums, side);
}

/* Whether a reshape makes one axis of several: an end of the operand's axes is within one of the
 * result's. Extents that only a run knows are not told apart. */
static bool joins_axes(const hone_node_t* reshape) {
  const hone_type_t *from = &reshape->inputs[0]->type, *to = &reshape->outputs[0]->type;
  int64_t before = 1, after = 1;
  for (int i = 0, k = 0; i < from->rank; i++) {
    if (!hone_dim_is_int(from->dims[i])) return false;
    before *= from->dims[i].k;
    while (k < to->rank && after < before && hone_dim_is_int(to->dims[k])) after *= to->dims[k++].k;
    if (after != before) return after > before;
  }
  return false;
}

/* Operands whose axes are joined are views before the chain: rows that are lanes then lie evenly.
 */
static void leave_joined_out(hone_fusion_t* f, const hone_fusion_search_t* s, int group) {
  for (int i = f->groups[group].first; i <= f->groups[group].last; i++) {
    const hone_node_t* node = f->graph->nodes[i];
    if (hone_fusion_group_at(f, i) == group && node->prim == HONE_PRIM_RESHAPE &&
        joins_axes(node) && !hone_value_is_cheap(node->inputs[0]) &&
        hone_fusion_group_of(f, s->index_of, node->inputs[0]) != group)
      f->group_of[i] = -1;
  }
}

/* What only one group reads has no way around that to the other. */
static void join_chain(hone_fusion_t* f, hone_fusion_search_t* s, int last) {
  chain_t chain;
  if (!find_chain(s, last, 0, &chain) && !find_chain(s, last, 1, &chain)) return;
  if (hone_fusion_grows_too_large(s, chain.first, chain.rows) ||
      hone_fusion_grows_too_large(s, chain.rows, last))
    return;
  hone_fusion_merge(f, chain.first, last);
  hone_fusion_merge(f, chain.rows, last);
  leave_joined_out(f, s, last);
}

void hone_fusion_join_chains(hone_fusion_t* f, hone_fusion_search_t* s) {
  for (int g = 0; g < f->n_groups; g++)
    if (f->groups[g].merged < 0 && f->groups[g].kind == HONE_FUSION_CONTRACT) join_chain(f, s, g);
}
