/* Groups of few channels: several of them are computed as one.
 *
 * A vector of sums is of one group where each has weights of its own, and most of it stays empty
 * where a group has few channels; what a group reads of a pixel is a small part of a cache line,
 * which comes once for each group. Groups that fill a vector together become one, whose weights are
 * zero where one group would meet the data of another: as many products of vectors as before.
 *
 *   contract(x, w)   x: [n, groups, c, …], w: [groups, m, c, …]
 *   becomes contract(reshape(x), w')   of [n, groups / k, k c, …] by [groups / k, k m, k c, …]
 *
 * Numbers that are not finite reach the other groups by that, so that `--exact` leaves floats as
 * they are. Runs while axes have the order that lowering gives them; `movement` takes the reshapes
 * on. */
#include <inttypes.h>
#include <string.h>

#include "passes/common/evaluate.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

typedef struct groups {
  const hone_node_t* contract;
  int axis, pair;   /* of the data: the groups, behind which channels lie; the pair of these */
  int64_t together; /* groups that become one */
  int64_t left;     /* groups then */
  int64_t in, out;  /* channels of one that are summed up, and results */
} groups_t;

/* ---- looking ---- */

static bool is_static(hone_dim_t dim, int64_t* out) {
  *out = dim.k;
  return hone_dim_is_int(dim) && dim.k > 0;
}

/* Which pair sums up the axis behind the groups; -1: none does. */
static int find_channels(const hone_node_t* contract) {
  for (int i = contract->n_batch; 2 * i < contract->n_axes; i++)
    if (contract->axes[2 * i] == contract->axes[0] + 1) return i;
  return -1;
}

/* The most groups that fill no more than a vector. */
static int64_t choose_together(int64_t groups, int64_t results, int64_t lanes) {
  for (int64_t k = lanes / results; k > 1; k--)
    if (groups % k == 0) return k;
  return 1;
}

static bool find(const hone_node_t* contract, int64_t lanes, groups_t* g) {
  if (contract->prim != HONE_PRIM_CONTRACT || contract->n_batch != 1 ||
      !hone_match_from_constants(contract->inputs[1]) ||
      hone_match_from_constants(contract->inputs[0]))
    return false;
  hone_operand_axes_t weights = hone_operand_sort_axes(contract, 1);
  const hone_type_t *x = &contract->inputs[0]->type, *w = &contract->inputs[1]->type;
  *g = (groups_t){.contract = contract, .axis = (int)contract->axes[0]};
  g->pair = find_channels(contract);
  int64_t count;
  if (weights.n_free != 1 || g->pair < 0 || hone_match_count(w) < 0 ||
      w->rank + 2 > HONE_MAX_RANK || contract->outputs[0]->type.rank + 1 > HONE_MAX_RANK ||
      !is_static(x->dims[g->axis], &count) || !is_static(x->dims[g->axis + 1], &g->in) ||
      !is_static(w->dims[weights.axes[1]], &g->out) || g->in < 2)
    return false;
  g->together = choose_together(count, g->out, lanes);
  g->left = count / g->together;
  return g->together > 1;
}

/* ---- rewriting ---- */

/* True where row and column of the blocks, axes 1 and 3 of `rank`, are the same. */
static hone_value_t* on_diagonal(hone_builder_t* b, const groups_t* g, int rank) {
  hone_dim_t shape[HONE_MAX_RANK];
  for (int i = 0; i < rank; i++) shape[i] = hone_d(i == 1 || i == 3 ? g->together : 1);
  return hone_eq(b, hone_iota(b, HONE_I64, rank, shape, 1), hone_iota(b, HONE_I64, rank, shape, 3));
}

/* [groups, m, c, …] as [groups / k, k m, k c, …], without the first axis where that is 1. */
static hone_value_t* join_weights(hone_rewriter_t* r, const groups_t* g) {
  enum { FIRST = 5 /* groups / k, k, m, k, c */ };
  hone_operand_axes_t sorted = hone_operand_sort_axes(g->contract, 1);
  hone_value_t* w = hone_permute(r->b, g->contract->inputs[1], sorted.axes);
  int channels = 2 + g->pair - 1, rank = w ? w->type.rank : 0;
  w = hone_move_axis(r->b, w, channels, 2);
  if (!w) return NULL;
  hone_dim_t shape[HONE_MAX_RANK] = {hone_d(g->left), hone_d(g->together), hone_d(g->out),
                                     hone_d(1), hone_d(g->in)};
  memcpy(shape + FIRST, w->type.dims + 3, (size_t)(rank - 3) * sizeof *shape);
  w = hone_reshape(r->b, w, rank + 2, shape);
  w = hone_select(r->b, on_diagonal(r->b, g, rank + 2), w, hone_scalar(r->b, w->type.dtype, 0));
  int at = 0;
  if (g->left > 1) shape[at++] = hone_d(g->left);
  shape[at++] = hone_d(g->together * g->out);
  shape[at++] = hone_d(g->together * g->in);
  for (int i = FIRST; i < rank + 2; i++) shape[at++] = w ? w->type.dims[i] : hone_d(1);
  return hone_evaluate_constant(r, hone_reshape(r->b, w, at, shape));
}

/* Where an axis of the data is then. */
static int64_t axis_now(const groups_t* g, int64_t axis) {
  return axis - (g->left == 1 && axis > g->axis);
}

/* [n, groups, c, …] as [n, groups / k, k c, …], without the axis of groups where that is 1. */
static hone_value_t* join_axes(hone_builder_t* b, const groups_t* g, hone_value_t* x) {
  hone_dim_t shape[HONE_MAX_RANK];
  int rank = x->type.rank;
  for (int i = 0; i < rank; i++) shape[axis_now(g, i)] = x->type.dims[i];
  if (g->left > 1) shape[g->axis] = hone_d(g->left);
  shape[axis_now(g, g->axis + 1)] = hone_d(g->together * g->in);
  return hone_reshape(b, x, rank - (g->left == 1), shape);
}

/* Whether the node leaves groups and channels where they are. */
static bool is_beside(const groups_t* g, const hone_node_t* node) {
  for (int i = g->axis; i <= g->axis + 1; i++) {
    if (node->prim == HONE_PRIM_PAD &&
        !(hone_dim_is(node->lo[i], 0) && hone_dim_is(node->hi[i], 0)))
      return false;
    for (int k = 0; node->prim == HONE_PRIM_WINDOW && k < node->n_axes; k++)
      if (node->axes[k] == i) return false;
  }
  return true;
}

static hone_value_t* pad(hone_builder_t* b, const groups_t* g, const hone_node_t* node,
                         hone_value_t* x) {
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  for (int i = 0; i < node->inputs[0]->type.rank; i++) {
    lo[axis_now(g, i)] = node->lo[i];
    hi[axis_now(g, i)] = node->hi[i];
  }
  return hone_pad(b, x, lo, hi, node->inputs[1]);
}

static hone_value_t* slide(hone_builder_t* b, const groups_t* g, const hone_node_t* node,
                           hone_value_t* x) {
  int64_t axes[HONE_MAX_RANK];
  for (int i = 0; i < node->n_axes; i++) axes[i] = axis_now(g, node->axes[i]);
  return hone_window(b, x, node->n_axes, axes, node->shape, node->step, node->hi);
}

/* The data with joined groups; below windows and pads, which `movement` does not take reshapes
 * through. */
/* NOLINTNEXTLINE(misc-no-recursion): a window and a pad */
static hone_value_t* join_data(hone_builder_t* b, const groups_t* g, hone_value_t* x) {
  const hone_node_t *window = hone_match_prim(x, HONE_PRIM_WINDOW),
                    *padded = hone_match_prim(x, HONE_PRIM_PAD), *node = window ? window : padded;
  if (!node || !is_beside(g, node)) return join_axes(b, g, x);
  x = join_data(b, g, node->inputs[0]);
  if (!x) return NULL;
  return window ? slide(b, g, window, x) : pad(b, g, padded, x);
}

/* What the joined groups give, [groups / k, …, k m], as [groups, …, m]. */
static hone_value_t* part(hone_builder_t* b, const groups_t* g, hone_value_t* y) {
  const hone_type_t* type = &g->contract->outputs[0]->type;
  int rank = type->rank;
  hone_dim_t shape[HONE_MAX_RANK];
  memcpy(shape, type->dims, (size_t)rank * sizeof *shape);
  shape[0] = hone_d(g->left);
  shape[rank - 1] = hone_d(g->together);
  shape[rank] = hone_d(g->out);
  y = hone_move_axis(b, hone_reshape(b, y, rank + 1, shape), rank - 1, 1);
  return hone_reshape(b, y, rank, type->dims);
}

static hone_value_t* join(hone_rewriter_t* r, const groups_t* g) {
  int64_t pairs[HONE_MAX_RANK][2];
  int n = 0, gone = g->left == 1, summed = 3 - gone;
  if (!gone) {
    pairs[n][0] = g->axis;
    pairs[n++][1] = 0;
  }
  for (int i = 1; 2 * i < g->contract->n_axes; i++, n++) {
    int64_t axis = g->contract->axes[2 * i];
    pairs[n][0] = axis_now(g, axis);
    pairs[n][1] = i == g->pair ? 2 - gone : summed++;
  }
  hone_value_t* y =
      hone_contract(r->b, join_data(r->b, g, g->contract->inputs[0]), join_weights(r, g), n,
                    (const int64_t(*)[2])pairs, 1 - gone, g->contract->dtype);
  return y ? part(r->b, g, y) : NULL;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  const hone_pass_options_t* options = r->context->options;
  groups_t g;
  if (!find(node, options->lanes, &g) ||
      (options->exact && hone_dtype_is_float(node->inputs[0]->type.dtype)))
    return NULL;
  hone_value_t* now = join(r, &g);
  if (now) hone_pass_did(r->context, node, "%" PRId64 " groups at once", g.together);
  return now;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  if (context->options->lanes < 2) return NULL;
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "joined groups of %" PRId64 " contractions", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_groups;
const hone_pass_t hone_pass_groups = {
    .name = "groups",
    .summary = "groups of few channels are computed together, as many as fill a vector",
    .phases = {HONE_PHASE_WEIGHTS + 40},
    .run = run,
};
