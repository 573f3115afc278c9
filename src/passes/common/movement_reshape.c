/* Reshapes by groups of axes: each joins or splits some that lie side by side. */
#include "passes/common/movement.h"

static bool is_one(hone_dim_t d) { return hone_dim_is(d, 1); }

/* One group of axes that a reshape joins or splits: [from, to) of both sides. */
typedef struct group {
  int from[2], to[2];
} group_t;

/* Whether a divides b for sure. */
static bool divides(hone_dims_t* dims, hone_dim_t a, hone_dim_t b) {
  if (hone_dim_is(a, 0) || hone_dim_is(b, 0)) return false;
  return hone_dim_same(hone_dim_mul(dims, hone_dim_floordiv(dims, b, a), a), b);
}

/* Whether the product of the left side is the one that must grow: 1, or 0 for the
 * right side's, or -1 when nobody can tell. */
static int smaller_side(hone_dims_t* dims, hone_dim_t left, hone_dim_t right) {
  if (hone_dim_is_int(left) && hone_dim_is_int(right)) return left.k <= right.k;
  if (divides(dims, left, right)) return 1;
  return divides(dims, right, left) ? 0 : -1;
}

/* The next group of equal products; false when there is none that is certain. */
static bool next_group(hone_dims_t* dims, const hone_dim_t* x, int x_rank, const hone_dim_t* y,
                       int y_rank, group_t* g) {
  const hone_dim_t* shapes[2] = {x, y};
  const int ranks[2] = {x_rank, y_rank};
  hone_dim_t products[2] = {hone_dim_int(1), hone_dim_int(1)};
  g->from[0] = g->to[0];
  g->from[1] = g->to[1];
  bool same = g->to[0] < x_rank && g->to[1] < y_rank && hone_dim_same(x[g->to[0]], y[g->to[1]]);
  if (same) {
    g->to[0]++;
    g->to[1]++;
  }
  while (!same) {
    int is_left = smaller_side(dims, products[0], products[1]);
    int side = is_left > 0 && g->to[0] < x_rank ? 0 : 1;
    if (is_left < 0 || g->to[side] == ranks[side]) return false;
    hone_dim_t next = shapes[side][g->to[side]++];
    products[side] = hone_dim_mul(dims, products[side], next);
    if (hone_dim_is(next, 0) || hone_dim_is_bad(products[side])) return false;
    same = hone_dim_same(products[0], products[1]);
  }
  return true;
}

/* The extents `narrow` of what is expanded to `wide`, carried over to `shape`. */
static bool carry_extents(hone_dims_t* dims, const hone_type_t* wide, const hone_dim_t* narrow,
                          int rank, const hone_dim_t* shape, hone_dim_t* out) {
  group_t g = {{0, 0}, {0, 0}};
  while (g.to[0] < wide->rank || g.to[1] < rank) {
    if (!next_group(dims, wide->dims, wide->rank, shape, rank, &g)) return false;
    bool whole = true, ones = true;
    for (int i = g.from[0]; i < g.to[0]; i++) {
      whole = whole && hone_dim_same(narrow[i], wide->dims[i]);
      ones = ones && is_one(narrow[i]);
    }
    if (!whole && !ones) return false;
    for (int i = g.from[1]; i < g.to[1]; i++) out[i] = whole ? shape[i] : hone_dim_int(1);
  }
  return true;
}

hone_value_t* hone_move_unreshape(hone_builder_t* b, hone_value_t* x, int rank,
                                  const hone_dim_t* shape) {
  const hone_node_t* made = x->node;
  if (made->prim == HONE_PRIM_CONSTANT) return hone_reshape(b, x, rank, shape);
  if (made->prim != HONE_PRIM_EXPAND) return NULL;
  hone_value_t* source = made->inputs[0];
  hone_dim_t narrow[HONE_MAX_RANK];
  if (!carry_extents(b->graph->dims, &x->type, source->type.dims, rank, shape, narrow)) return NULL;
  return hone_expand(b, hone_move_reshape(b, source, rank, narrow), rank, shape);
}

/* ---- permutes through reshapes ---- */

/* A reshape of what is permuted: axis i of `permuted` is axis axes[i] of the plain.
 * What a group joins goes to where the last of its axes stands in the plain; not so parts of few
 * elements, by which pixels become several, as they go with the pixels. */
typedef struct passage {
  const hone_dim_t *permuted, *shape;
  const int64_t* axes;
  int rank, out_rank;
  int group_at[HONE_MAX_RANK]; /* by plain axis: the group that stands there, or -1 */
  int n_groups;
  group_t groups[2 * HONE_MAX_RANK];
} passage_t;

static int place_of(const passage_t* p, const group_t* g) {
  enum { FEW = 4 };
  int last = -1, last_of_many = -1;
  for (int i = g->from[0]; i < g->to[0]; i++) {
    bool is_few = hone_dim_is_int(p->permuted[i]) && p->permuted[i].k <= FEW;
    if (p->axes[i] > last) last = (int)p->axes[i];
    if (!is_few && p->axes[i] > last_of_many) last_of_many = (int)p->axes[i];
  }
  return last_of_many >= 0 ? last_of_many : last;
}

static bool lies_together(const passage_t* p, const group_t* g) {
  for (int i = g->from[0] + 1; i < g->to[0]; i++)
    if (p->axes[i] != p->axes[i - 1] + 1) return false;
  return true;
}

/* Finds the groups; those that have no axis of the plain to stand at are refused. */
static bool find_groups(hone_dims_t* dims, passage_t* p, bool may_gather) {
  group_t g = {{0, 0}, {0, 0}};
  for (int i = 0; i < p->rank; i++) p->group_at[i] = -1;
  while (g.to[0] < p->rank || g.to[1] < p->out_rank) {
    if (!next_group(dims, p->permuted, p->rank, p->shape, p->out_rank, &g)) return false;
    int at = place_of(p, &g);
    if (at < 0 || (!may_gather && !lies_together(p, &g))) return false;
    p->group_at[at] = p->n_groups;
    p->groups[p->n_groups++] = g;
  }
  return true;
}

/* Of a reshape that puts extents of 1 elsewhere: what is permuted, permuted to that. */
static hone_value_t* move_ones(hone_builder_t* b, const hone_value_t* x, const hone_node_t* permute,
                               int rank, const hone_dim_t* shape) {
  int64_t axes[HONE_MAX_RANK];
  int partners[HONE_MAX_RANK];
  if (rank != x->type.rank) return NULL;
  hone_move_partners_of_all(&x->type, rank, shape, partners);
  for (int i = 0; i < rank; i++) axes[i] = permute->axes[partners[i]];
  return hone_move_permute(b, permute->inputs[0], axes);
}

hone_value_t* hone_move_through_reshape(hone_builder_t* b, hone_value_t* x, int rank,
                                        const hone_dim_t* shape, bool may_gather) {
  const hone_node_t* permute = hone_move_permute_of(x);
  if (!permute) return NULL;
  if (hone_move_same_but_ones(&x->type, rank, shape)) return move_ones(b, x, permute, rank, shape);
  passage_t p = {.permuted = x->type.dims,
                 .shape = shape,
                 .axes = permute->axes,
                 .rank = x->type.rank,
                 .out_rank = rank};
  if (!find_groups(b->graph->dims, &p, may_gather)) return NULL;
  int64_t order[HONE_MAX_RANK], after[HONE_MAX_RANK];
  hone_dim_t dims[HONE_MAX_RANK];
  int n_order = 0, n = 0;
  bool moves = false;
  for (int i = 0; i < p.rank; i++) {
    const group_t* g = p.group_at[i] < 0 ? NULL : &p.groups[p.group_at[i]];
    for (int k = g ? g->from[0] : 0; g && k < g->to[0]; k++) order[n_order++] = p.axes[k];
    for (int k = g ? g->from[1] : 0; g && k < g->to[1]; k++) {
      moves = moves || k != n;
      dims[n] = shape[k];
      after[k] = n++;
    }
  }
  if (!moves) return NULL;
  hone_value_t* joined =
      hone_move_reshape(b, hone_move_permute(b, permute->inputs[0], order), n, dims);
  return hone_permute(b, joined, after);
}
