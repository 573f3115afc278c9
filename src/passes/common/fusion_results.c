/* Results that stay out of a group, since loops of their own would compute all of it again, or
 * would have no lanes. */
#include "ir/outline.h"
#include "passes/common/fusion_impl.h"
#include "passes/common/match.h"

/* ---- views at the end ---- */

static bool is_read_by(const hone_fusion_search_t* s, const hone_value_t* value, int group,
                       bool inside) {
  const hone_graph_t* graph = s->f->graph;
  for (int i = 0; i < graph->n_outputs; i++)
    if (!inside && graph->outputs[i] == value) return true;
  for (int i = s->index_of[value->id]; i <= s->last_reader[value->id]; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++)
      if (graph->nodes[i]->inputs[k] == value && (hone_fusion_group_at(s->f, i) == group) == inside)
        return true;
  return false;
}

/* Whether the group gives another value of that shape, which the same loops could store. */
static bool gives_another(const hone_fusion_search_t* s, int group, const hone_value_t* like) {
  const hone_fusion_t* f = s->f;
  for (int i = f->groups[group].first; i <= f->groups[group].last; i++) {
    const hone_value_t* value = f->graph->nodes[i]->outputs[0];
    if (hone_fusion_group_at(f, i) == group && value != like &&
        hone_match_same_shape(value, like) && is_read_by(s, value, group, false))
      return true;
  }
  return false;
}

/* A reshape of a result stays out of a group that gives others in the shape that it had:
 * stored by loops of its own, it would be computed a second time. */
void hone_fusion_leave_views_out(hone_fusion_t* f, const hone_fusion_search_t* s) {
  for (int i = 0; i < f->graph->n_nodes; i++) {
    const hone_node_t* node = f->graph->nodes[i];
    int group = hone_fusion_group_at(f, i);
    if (group < 0 || node->prim != HONE_PRIM_RESHAPE ||
        hone_fusion_group_of(f, s->index_of, node->inputs[0]) != group ||
        is_read_by(s, node->outputs[0], group, true))
      continue;
    if (gives_another(s, group, node->inputs[0])) f->group_of[i] = -1;
  }
}

/* ---- results in another order ---- */

/* Whether it is a constant by channels, say, that only one node reads. */
static bool is_own_constant(const hone_fusion_search_t* s, const hone_value_t* value) {
  return value->node->prim == HONE_PRIM_EXPAND && s->uses[value->id] == 1 &&
         value->node->inputs[0]->node->prim == HONE_PRIM_CONSTANT;
}

/* The operand of the group that an elementwise node, view or pad is computed from, beside constants
 * and what comes from elsewhere; NULL: of several, or none. */
static const hone_value_t* operand_in(const hone_fusion_search_t* s, int group,
                                      const hone_node_t* node) {
  const hone_value_t* found = NULL;
  bool is_map =
      hone_fusion_is_view(node) || hone_fusion_keeps_shape(node) || node->prim == HONE_PRIM_PAD;
  for (int i = 0; i < node->n_inputs && is_map; i++) {
    const hone_value_t* input = node->inputs[i];
    if (hone_value_is_cheap(input) || is_own_constant(s, input) ||
        hone_fusion_group_of(s->f, s->index_of, input) != group)
      continue;
    if (found && found != input) return NULL;
    found = input;
  }
  return found;
}

/* Whether the group stores a value, in its shape or, by another node than `but`, in another one. */
static bool is_stored(const hone_fusion_search_t* s, const hone_value_t* value, int group,
                      int but) {
  const hone_graph_t* graph = s->f->graph;
  if (is_read_by(s, value, group, false)) return true;
  for (int i = s->index_of[value->id]; i <= s->last_reader[value->id]; i++)
    if (i != but && graph->nodes[i]->prim == HONE_PRIM_RESHAPE &&
        graph->nodes[i]->inputs[0] == value && hone_fusion_group_at(s->f, i) == group &&
        is_read_by(s, graph->nodes[i]->outputs[0], group, false))
      return true;
  return false;
}

/* Lists the nodes from the one at `last` up to what the group stores as well, where one of them
 * turns it, or pads it in another shape; 0: there is nothing such. */
static int find_turned(const hone_fusion_search_t* s, int group, int last, int room,
                       int* out_path) {
  const hone_fusion_t* f = s->f;
  const hone_value_t* value = f->graph->nodes[last]->outputs[0];
  bool is_turned = false, is_padded = false;
  for (int n = 0; n < room;) {
    out_path[n++] = s->index_of[value->id];
    is_padded |= value->node->prim == HONE_PRIM_PAD;
    is_turned |= value->node->prim == HONE_PRIM_PERMUTE ||
                 (is_padded && value->node->prim == HONE_PRIM_RESHAPE);
    value = operand_in(s, group, value->node);
    if (!value || hone_fusion_kind_of(value->node) == HONE_FUSION_WHOLE) return 0;
    if (is_stored(s, value, group, out_path[n - 1])) return is_turned ? n : 0;
    if (s->uses[value->id] != 1) return 0;
  }
  return 0;
}

/* Whether a reshape makes several axes of the last one, which would fill lanes: none of them does,
 * or of `narrow` numbers, whose weights cannot be laid out for lanes that lie apart, the last. */
static bool splits_lanes(const hone_node_t* node, bool narrow) {
  enum { LANES = 8 };
  if (node->prim != HONE_PRIM_RESHAPE) return false;
  const hone_type_t *from = &node->inputs[0]->type, *to = &node->outputs[0]->type;
  hone_dim_t whole = from->dims[from->rank - 1];
  int64_t left = hone_dim_is_int(whole) && whole.k >= LANES ? whole.k : 0;
  for (int i = to->rank - 1; i >= 0 && left > 1; i--) {
    hone_dim_t part = to->dims[i];
    if (!hone_dim_is_int(part) || part.k < 1 || left % part.k) return false;
    if (part.k >= LANES) return narrow && i < to->rank - 1;
    left /= part.k;
  }
  return left == 1;
}

/* Lists the nodes from the one at `last` up to a reshape that leaves no lanes to products by
 * weights, where their parts are then put in another order, as channels that become pixels; 0:
 * there is nothing such. */
static int find_apart(const hone_fusion_search_t* s, int group, int last, int room, int* out_path) {
  const hone_value_t* value = s->f->graph->nodes[last]->outputs[0];
  const hone_fusion_group_t* g = &s->f->groups[group];
  bool is_turned = false, narrow = g->anchor->inputs[0]->type.dtype != HONE_F32;
  if (g->kind != HONE_FUSION_CONTRACT || hone_fusion_is_of_values(g->anchor)) return 0;
  for (int n = 0; n < room;) {
    const hone_node_t* node = value->node;
    out_path[n++] = s->index_of[value->id];
    is_turned |= node->prim == HONE_PRIM_PERMUTE;
    value = operand_in(s, group, node);
    if (!value) return 0;
    if (is_turned && splits_lanes(node, narrow)) return n;
    if (s->uses[value->id] != 1 || hone_fusion_kind_of(value->node) == HONE_FUSION_WHOLE) return 0;
  }
  return 0;
}

static void move_with_constants(hone_fusion_t* f, const hone_fusion_search_t* s, int index,
                                int group) {
  const hone_node_t* node = f->graph->nodes[index];
  for (int i = 0; i < node->n_inputs; i++)
    if (is_own_constant(s, node->inputs[i]))
      hone_fusion_move(f, s->index_of[node->inputs[i]->id], group);
  hone_fusion_move(f, index, group);
}

/* A result that is another one of the group in another order of axes would be computed a second
 * time, by loops of its own: behind sums it becomes a kernel that reads the other one. So does what
 * is put in such an order that loops over it would sum up each by itself. */
void hone_fusion_leave_turned_out(hone_fusion_t* f, const hone_fusion_search_t* s) {
  enum { MOST = 16 };
  int path[MOST];
  for (int i = f->graph->n_nodes - 1; i >= 0; i--) {
    const hone_value_t* value = f->graph->nodes[i]->outputs[0];
    int group = hone_fusion_group_at(f, i);
    if (group < 0 ||
        (f->groups[group].kind != HONE_FUSION_REDUCE &&
         f->groups[group].kind != HONE_FUSION_CONTRACT) ||
        !is_read_by(s, value, group, false) || is_read_by(s, value, group, true))
      continue;
    int n = find_turned(s, group, i, MOST, path);
    if (n == 0) n = find_apart(s, group, i, MOST, path);
    if (n == 0) continue;
    int own = hone_fusion_start_group(f, f->graph->nodes[path[n - 1]], path[n - 1]);
    for (int k = 0; k < n; k++) move_with_constants(f, s, path[k], own);
  }
}

/* ---- results that follow from others ---- */

/* The only group beside its own that reads the value, number by number; -1: there is none. */
static int only_mapping_reader(const hone_fusion_search_t* s, const hone_value_t* value,
                               int group) {
  const hone_graph_t* graph = s->f->graph;
  int reader = -1;
  if (is_read_by(s, value, group, true)) return -1;
  for (int i = 0; i < graph->n_outputs; i++)
    if (graph->outputs[i] == value) return -1;
  for (int i = s->index_of[value->id]; i <= s->last_reader[value->id]; i++)
    for (int k = 0; k < graph->nodes[i]->n_inputs; k++) {
      if (graph->nodes[i]->inputs[k] != value) continue;
      int mine = hone_fusion_group_at(s->f, i);
      if (mine < 0 || (reader >= 0 && reader != mine) || hone_fusion_is_view(graph->nodes[i]) ||
          !hone_fusion_keeps_shape(graph->nodes[i]))
        return -1;
      reader = mine;
    }
  return reader;
}

/* Lists the nodes from the one at `last` up to what the reader reads as well; 0: there is nothing
 * such, or it takes too long to find out twice. */
static int find_followed(const hone_fusion_search_t* s, int group, int reader, int last, int room,
                         int* out_path) {
  const hone_value_t* value = s->f->graph->nodes[last]->outputs[0];
  for (int n = 0; n < room;) {
    if (hone_prim_is_transcendental(value->node->prim) || hone_fusion_is_view(value->node))
      return 0;
    out_path[n++] = s->index_of[value->id];
    value = operand_in(s, group, value->node);
    if (!value) return 0;
    if (is_read_by(s, value, reader, true)) return n;
    if (s->uses[value->id] != 1) return 0;
  }
  return 0;
}

/* What follows from another result in few steps, as whether it is a number at all, is found out by
 * the map or reduction that reads both, rather than stored. */
void hone_fusion_leave_followed_out(hone_fusion_t* f, const hone_fusion_search_t* s) {
  enum { MOST = 4 };
  int path[MOST];
  for (int i = f->graph->n_nodes - 1; i >= 0; i--) {
    const hone_value_t* value = f->graph->nodes[i]->outputs[0];
    int group = hone_fusion_group_at(f, i);
    int reader = group < 0 ? -1 : only_mapping_reader(s, value, group);
    if (reader < 0 ||
        (f->groups[reader].kind != HONE_FUSION_MAP && f->groups[reader].kind != HONE_FUSION_REDUCE))
      continue;
    int n = find_followed(s, group, reader, i, MOST, path);
    for (int k = 0; k < n; k++) move_with_constants(f, s, path[k], reader);
  }
}

/* ---- results whose batches come last ---- */

/* The axis of the contraction's result that becomes the value's last one; -1: nobody knows. */
static int last_axis_of(const hone_fusion_search_t* s, int group, const hone_value_t* value) {
  int steps = 0;
  return hone_fusion_trace(s, group, &value, value->type.rank - 1, s->f->groups[group].anchor,
                           &steps);
}

/* Whether one operand has the batch last, as channels of which each has numbers of its own. */
static bool has_lanes_in_batch(const hone_node_t* contract, int batch) {
  for (int side = 0; side < 2; side++)
    if (contract->axes[2 * batch + side] == contract->inputs[side]->type.rank - 1) return true;
  return false;
}

/* The first node, from the contraction on, that puts one of its batches last; -1: none does. */
static int find_mixing(const hone_fusion_search_t* s, int group, const hone_value_t* value) {
  const hone_node_t* anchor = s->f->groups[group].anchor;
  int found = -1;
  while (value && value->node != anchor) {
    int axis = last_axis_of(s, group, value);
    if (axis < 0 || axis >= anchor->n_batch || has_lanes_in_batch(anchor, axis)) break;
    found = s->index_of[value->id];
    value = operand_in(s, group, value->node);
  }
  return found;
}

/* Products of two values, batch by batch, whose results are stored batch after batch for each
 * place have no lanes: another kernel turns them, and attention may become one. */
void hone_fusion_leave_mixing_out(hone_fusion_t* f, const hone_fusion_search_t* s) {
  for (int i = 0; i < f->graph->n_nodes; i++) {
    const hone_value_t* value = f->graph->nodes[i]->outputs[0];
    int group = hone_fusion_group_at(f, i);
    if (group < 0 || f->groups[group].kind != HONE_FUSION_CONTRACT ||
        !hone_fusion_is_of_values(f->groups[group].anchor) || !is_read_by(s, value, group, false))
      continue;
    int first = find_mixing(s, group, value);
    if (first < 0 || f->graph->nodes[first]->prim != HONE_PRIM_PERMUTE) continue;
    int own = hone_fusion_start_group(f, f->graph->nodes[first], first);
    for (int k = first; k <= i; k++)
      if (hone_fusion_group_at(f, k) == group) move_with_constants(f, s, k, own);
  }
}
