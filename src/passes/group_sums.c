/* Sums over groups of channels, as group normalization takes them, where channels lie last:
 *
 *   reduce(reshape(x, [n, groups, -1]))   becomes   reduce(reshape(reduce(x), [n, groups, -1]))
 *
 * with the inner sums over all places of a picture, for each channel. A group's numbers lie apart
 * then, a few channels at each place: they were read one by one. What is computed of the groups
 * element by element is computed of x as it lies, by a number for each channel, so that pictures
 * keep their order up to the next convolution. */
#include <inttypes.h>

#include "passes/common/match.h"
#include "passes/common/rewrite.h"

enum { MOST_OPERANDS = 3, MOST_NODES = 32, DEEP = 8 };

/* x, [n, channels, places…], and what it is reshaped to, [n, groups, …]; or pictures as they lie,
 * [n, places…, channels], and [n, places…, groups, channels of each]. */
typedef struct grouping {
  hone_value_t* x;
  int channels, at;     /* the axis of x that they are; that of the groups in what it becomes */
  int64_t groups, each; /* channels of a group */
  int n_done;           /* values that are ungrouped already */
  const hone_value_t* done[MOST_NODES];
  hone_value_t* now[MOST_NODES];
} grouping_t;

/* ---- looking ---- */

/* Whether channels, axis 1, are the last axis of what the value is computed from: results of a
 * convolution. */
/* NOLINTNEXTLINE(misc-no-recursion): DEEP at the most */
static bool has_channels_last(const hone_value_t* value, int depth) {
  const hone_node_t* node = value->node;
  if (node->prim == HONE_PRIM_PERMUTE) return node->axes[1] == value->type.rank - 1;
  if (depth == DEEP || !hone_prim_is_elementwise(node->prim)) return false;
  for (int i = 0; i < node->n_inputs; i++)
    if (has_channels_last(node->inputs[i], depth + 1)) return true;
  return false;
}

/* Whether all axes of x but the first and that of channels, and the channels of a group, have as
 * many elements as the first `count` of others. */
static bool has_rest(hone_dims_t* dims, const hone_type_t* x, const grouping_t* g, int count,
                     const hone_dim_t* others) {
  hone_dim_t rest = hone_dim_int(g->at == 1 ? g->each : 1);
  for (int i = 1; i < x->rank; i++)
    if (i != g->channels) rest = hone_dim_mul(dims, rest, x->dims[i]);
  return hone_dim_same(rest, hone_dim_product(dims, count, others));
}

static bool groups_axis(hone_dims_t* dims, const hone_node_t* reshape, int channels, int at,
                        grouping_t* out) {
  const hone_type_t *x = &reshape->inputs[0]->type, *g = &reshape->outputs[0]->type;
  if (x->rank < 3 || g->rank < 3 || at < 1 || !hone_dim_same(x->dims[0], g->dims[0]) ||
      !hone_dim_is_int(x->dims[channels]) || !hone_dim_is_int(g->dims[at]) || g->dims[at].k < 1 ||
      x->dims[channels].k % g->dims[at].k)
    return false;
  int64_t groups = g->dims[at].k, each = x->dims[channels].k / groups;
  *out = (grouping_t){
      .x = reshape->inputs[0], .channels = channels, .at = at, .groups = groups, .each = each};
  return each > 1;
}

/* [n, channels, places…] to [n, groups, …], where channels lie last in memory. */
static bool groups_axis_1(hone_dims_t* dims, const hone_node_t* reshape, grouping_t* out) {
  const hone_type_t *x = &reshape->inputs[0]->type, *g = &reshape->outputs[0]->type;
  return groups_axis(dims, reshape, 1, 1, out) &&
         has_rest(dims, x, out, g->rank - 2, g->dims + 2) &&
         has_channels_last(reshape->inputs[0], 0);
}

/* [n, places…, channels] to [n, places…, groups, channels of each]. */
static bool groups_last_axis(hone_dims_t* dims, const hone_node_t* reshape, grouping_t* out) {
  const hone_type_t *x = &reshape->inputs[0]->type, *g = &reshape->outputs[0]->type;
  return groups_axis(dims, reshape, x->rank - 1, g->rank - 2, out) && out->at > 1 &&
         hone_dim_is(g->dims[g->rank - 1], out->each) &&
         has_rest(dims, x, out, g->rank - 3, g->dims + 1);
}

static bool is_grouping(hone_dims_t* dims, const hone_node_t* reshape, grouping_t* out) {
  return groups_last_axis(dims, reshape, out) || groups_axis_1(dims, reshape, out);
}

/* The grouping that a value is computed from, element by element. */
/* NOLINTNEXTLINE(misc-no-recursion): DEEP at the most */
static bool find_grouping(hone_dims_t* dims, const hone_value_t* value, int depth,
                          grouping_t* out) {
  const hone_node_t* node = value->node;
  if (node->prim == HONE_PRIM_RESHAPE) return is_grouping(dims, node, out);
  if (depth == DEEP || !hone_prim_is_elementwise(node->prim)) return false;
  for (int i = 0; i < node->n_inputs; i++)
    if (find_grouping(dims, node->inputs[i], depth + 1, out)) return true;
  return false;
}

/* ---- what is computed of groups, computed of x ---- */

/* What is repeated for each place: a number for each group, or for each channel of it; the channels
 * of a group are the axis behind groups. */
static hone_value_t* spread(hone_builder_t* b, const grouping_t* g, hone_value_t* source) {
  const hone_type_t *type = &source->type, *x = &g->x->type;
  int at = g->at, inner = at + 1;
  if (type->rank <= at) return NULL;
  hone_dim_t shape[HONE_MAX_RANK] = {type->dims[0], type->dims[at], hone_dim_int(1)};
  for (int i = 1; i < type->rank; i++) {
    bool may_be_more = i == at || (i == inner && hone_dim_is(type->dims[i], g->each));
    if (!may_be_more && !hone_dim_is(type->dims[i], 1)) return NULL;
    if (i == inner) shape[2] = type->dims[i];
  }
  source = hone_reshape(b, source, 3, shape);
  shape[1] = hone_dim_int(g->groups);
  shape[2] = hone_dim_int(g->each);
  source = hone_expand(b, source, 3, shape);
  for (int i = 1; i < x->rank; i++) shape[i] = i == g->channels ? x->dims[i] : hone_dim_int(1);
  return hone_expand(b, hone_reshape(b, source, x->rank, shape), x->rank, x->dims);
}

static hone_value_t* ungroup(hone_rewriter_t* r, grouping_t* g, hone_value_t* value);

static hone_value_t* ungroup_node(hone_rewriter_t* r, grouping_t* g, const hone_node_t* node) {
  hone_value_t* inputs[MOST_OPERANDS];
  if (node->prim == HONE_PRIM_EXPAND) return spread(r->b, g, node->inputs[0]);
  if (node->prim == HONE_PRIM_RESHAPE) {
    bool is_alike = hone_match_same_shape(node->inputs[0], g->x);
    return is_alike ? node->inputs[0] : NULL;
  }
  if (!hone_prim_is_elementwise(node->prim)) return NULL;
  for (int i = 0; i < node->n_inputs; i++) {
    inputs[i] = ungroup(r, g, node->inputs[i]);
    if (!inputs[i]) return NULL;
  }
  return hone_rewrite_copy(r, node, inputs);
}

/* The value, of the grouped shape, in that of x; NULL where it is not computed element by element
 * of that, numbers for groups, and numbers for channels. */
/* NOLINTNEXTLINE(misc-no-recursion): a value is done once */
static hone_value_t* ungroup(hone_rewriter_t* r, grouping_t* g, hone_value_t* value) {
  for (int i = 0; i < g->n_done; i++)
    if (g->done[i] == value) return g->now[i];
  hone_value_t* now = g->n_done < MOST_NODES ? ungroup_node(r, g, value->node) : NULL;
  if (!now || g->n_done == MOST_NODES) return NULL;
  g->done[g->n_done] = value;
  g->now[g->n_done++] = now;
  return now;
}

/* Squares of distances as those of distances the other way round, which are the same: what is
 * computed from the distances elsewhere computes them anew then, instead of reading what was
 * stored for both. */
static hone_value_t* turn_distances(hone_rewriter_t* r, hone_value_t* value) {
  const hone_node_t* square = hone_match_prim(value, HONE_PRIM_MUL);
  const hone_node_t* distance =
      square && square->inputs[0] == square->inputs[1] ? square->inputs[0]->node : NULL;
  if (!distance || distance->prim != HONE_PRIM_SUB) return value;
  return hone_square(r->b, hone_sub(r->b, distance->inputs[1], distance->inputs[0]));
}

/* ---- rules ---- */

/* Whether the sum goes over all places and the channels of each group. */
static bool sums_groups(const hone_node_t* node, const grouping_t* g) {
  const hone_type_t* type = &node->inputs[0]->type;
  if (node->n_axes != type->rank - 2) return false;
  for (int i = 0; i < node->n_axes; i++)
    if (node->axes[i] == 0 || node->axes[i] == g->at) return false;
  return true;
}

static hone_value_t* sum_channels(hone_rewriter_t* r, hone_node_t* node) {
  grouping_t g;
  int64_t axes[HONE_MAX_RANK];
  if (node->combine != HONE_COMBINE_ADD || node->inputs[0]->type.dtype != HONE_F32 ||
      !find_grouping(r->graph->dims, node->inputs[0], 0, &g) || !sums_groups(node, &g))
    return NULL;
  hone_value_t* x = ungroup(r, &g, node->inputs[0]);
  if (!x) return NULL;
  int n = 0;
  for (int i = 1; i < x->type.rank; i++)
    if (i != g.channels) axes[n++] = i;
  hone_value_t* sums = hone_reduce(r->b, HONE_COMBINE_ADD, turn_distances(r, x), n, axes, false);
  const hone_dim_t shape[] = {x->type.dims[0], hone_dim_int(g.groups), hone_dim_int(g.each)};
  sums = hone_reduce_last(r->b, HONE_COMBINE_ADD, hone_reshape(r->b, sums, 3, shape), 1, false);
  if (sums) hone_pass_did(r->context, node, "is summed channel by channel");
  return sums;
}

/* Groups that become pictures again. */
static hone_value_t* stay_pictures(hone_rewriter_t* r, hone_node_t* node) {
  grouping_t g;
  if (!hone_prim_is_elementwise(node->inputs[0]->node->prim) ||
      !find_grouping(r->graph->dims, node->inputs[0], 0, &g) ||
      !hone_match_same_shape(node->outputs[0], g.x))
    return NULL;
  hone_value_t* x = ungroup(r, &g, node->inputs[0]);
  if (x) hone_pass_did(r->context, node, "keeps its channels last");
  return x;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  if (node->prim == HONE_PRIM_REDUCE) return sum_channels(r, node);
  return node->prim == HONE_PRIM_RESHAPE ? stay_pictures(r, node) : NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "%" PRId64 " sums over groups of channels", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_group_sums;
const hone_pass_t hone_pass_group_sums = {
    .name = "group_sums",
    .summary = "sums over groups of channels that lie last go channel by channel (rounds)",
    .phases = {HONE_PHASE_CLEAN + 57},
    .run = run,
};
