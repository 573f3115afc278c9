/* A contraction names the axes of its operands, so permutes of them vanish in
 * it, and axes that say nothing (extents of 1, repeated batches) can go. */
#include "base/memory.h"
#include "passes/common/match.h"
#include "passes/common/movement.h"

/* A contraction taken apart. */
typedef struct contraction {
  hone_value_t* operands[2];
  int n_pairs, n_batch;
  int64_t axes[2 * HONE_MAX_RANK]; /* pairs */
  hone_dtype_t dtype;
} contraction_t;

static contraction_t take_apart(const hone_node_t* node) {
  contraction_t c = {.operands = {node->inputs[0], node->inputs[1]},
                     .n_pairs = node->n_axes / 2,
                     .n_batch = node->n_batch,
                     .dtype = node->dtype};
  for (int i = 0; i < node->n_axes; i++) c.axes[i] = node->axes[i];
  return c;
}

static hone_value_t* put_together(hone_rewriter_t* r, const contraction_t* c) {
  int64_t pairs[HONE_MAX_RANK][2];
  for (int i = 0; i < c->n_pairs; i++) {
    pairs[i][0] = c->axes[2 * i];
    pairs[i][1] = c->axes[2 * i + 1];
  }
  return hone_contract(r->b, c->operands[0], c->operands[1], c->n_pairs, (const int64_t(*)[2])pairs,
                       c->n_batch, c->dtype);
}

/* Which axes of operand `side` are named in a pair. */
static void named_axes(const contraction_t* c, int side, bool* out) {
  for (int i = 0; i < HONE_MAX_RANK; i++) out[i] = false;
  for (int i = 0; i < c->n_pairs; i++) out[c->axes[2 * i + side]] = true;
}

/* The place in the result of axis `axis` of operand `side`, which is free. */
static int result_axis(const contraction_t* c, int side, int64_t axis) {
  bool named[HONE_MAX_RANK];
  int at = c->n_batch;
  for (int s = 0; s <= side; s++) {
    named_axes(c, s, named);
    int end = s == side ? (int)axis : c->operands[s]->type.rank;
    for (int i = 0; i < end; i++) at += !named[i];
  }
  return at;
}

/* ---- permuted operands ---- */

/* An operand: axis i is axis axes[i] of the plain. */
typedef struct permuted {
  hone_value_t* plain;
  int64_t axes[HONE_MAX_RANK];
} permuted_t;

/* Of a permuted value without some axes of extent 1, of the dims: the plain without them. */
static bool drop_ones_before(hone_builder_t* b, const hone_node_t* permute, int rank,
                             const hone_dim_t* dims, permuted_t* out) {
  const hone_type_t* from = &permute->inputs[0]->type;
  hone_dim_t kept[HONE_MAX_RANK];
  int partners[HONE_MAX_RANK], places[HONE_MAX_RANK], n = 0;
  hone_move_partners_of_all(&permute->outputs[0]->type, rank, dims, partners);
  for (int i = 0; i < from->rank; i++) places[i] = -1;
  for (int i = 0; i < rank; i++) places[permute->axes[partners[i]]] = i;
  for (int i = 0; i < from->rank; i++) {
    if (places[i] < 0) continue;
    kept[n] = from->dims[i];
    out->axes[places[i]] = n++;
  }
  out->plain = hone_move_reshape(b, permute->inputs[0], n, kept);
  return out->plain != NULL;
}

static bool find_permuted(hone_builder_t* b, const hone_value_t* operand, permuted_t* out) {
  const hone_node_t* reshape = hone_match_prim(operand, HONE_PRIM_RESHAPE);
  const hone_node_t* permute = hone_move_permute_of(reshape ? reshape->inputs[0] : operand);
  if (!permute) return false;
  const hone_type_t *to = &permute->outputs[0]->type, *type = &operand->type;
  if (reshape)
    return type->rank < to->rank && hone_move_same_but_ones(to, type->rank, type->dims) &&
           drop_ones_before(b, permute, type->rank, type->dims, out);
  out->plain = permute->inputs[0];
  for (int i = 0; i < permute->n_axes; i++) out->axes[i] = permute->axes[i];
  return true;
}

static hone_value_t* absorb_permute(hone_rewriter_t* r, hone_node_t* node, int side) {
  permuted_t permuted;
  if (!find_permuted(r->b, node->inputs[side], &permuted)) return NULL;
  contraction_t old = take_apart(node), now = old;
  now.operands[side] = permuted.plain;
  for (int i = 0; i < now.n_pairs; i++) {
    int64_t* axis = &now.axes[2 * i + side];
    *axis = permuted.axes[*axis];
  }
  int64_t order[HONE_MAX_RANK];
  bool named[HONE_MAX_RANK];
  for (int i = 0; i < node->outputs[0]->type.rank; i++) order[i] = i;
  named_axes(&old, side, named);
  for (int i = 0; i < node->inputs[side]->type.rank; i++)
    if (!named[i]) order[result_axis(&old, side, i)] = result_axis(&now, side, permuted.axes[i]);
  return hone_permute(r->b, put_together(r, &now), order);
}

/* ---- batches that repeat ---- */

static hone_value_t* without_axis(hone_rewriter_t* r, hone_value_t* x, int64_t axis) {
  return hone_squeeze(r->b, x, (int)axis);
}

/* Forgets pair `pair`; axes of `side` behind its axis move up by one. */
static void drop_pair(contraction_t* c, int pair, int side, int64_t axis) {
  for (int i = pair; i + 1 < c->n_pairs; i++) {
    c->axes[2 * i] = c->axes[2 * i + 2];
    c->axes[2 * i + 1] = c->axes[2 * i + 3];
  }
  c->n_pairs--;
  for (int i = 0; i < c->n_pairs; i++)
    if (c->axes[2 * i + side] > axis) c->axes[2 * i + side]--;
}

/* Batch axis `pair` of operand `side` is a repetition: the operand without that
 * axis serves all of the batch, which becomes a free axis of the other one. */
static hone_value_t* unbatch_pair(hone_rewriter_t* r, hone_node_t* node, int side, int pair) {
  hone_node_t* expand = hone_match_prim(node->inputs[side], HONE_PRIM_EXPAND);
  contraction_t old = take_apart(node), now = old;
  int64_t axis = old.axes[2 * pair + side], other = old.axes[2 * pair + 1 - side];
  hone_value_t* narrow = expand->inputs[0];
  if (!hone_dim_is(narrow->type.dims[axis], 1) || node->outputs[0]->type.rank < 1) return NULL;
  hone_dim_t shape[HONE_MAX_RANK];
  int rank = narrow->type.rank, n = 0;
  for (int i = 0; i < rank; i++)
    if (i != axis) shape[n++] = expand->shape[i];
  now.operands[side] = hone_expand(r->b, without_axis(r, narrow, axis), n, shape);
  if (!now.operands[side]) return NULL;
  drop_pair(&now, pair, side, axis);
  now.n_batch--;
  int64_t order[HONE_MAX_RANK];
  bool named[HONE_MAX_RANK];
  for (int i = 0; i < old.n_batch; i++) order[i] = i < pair ? i : i - 1;
  order[pair] = result_axis(&now, 1 - side, other);
  for (int s = 0; s < 2; s++) {
    named_axes(&old, s, named);
    for (int i = 0; i < old.operands[s]->type.rank; i++) {
      int moved = s == side && i > axis ? i - 1 : i;
      if (!named[i]) order[result_axis(&old, s, i)] = result_axis(&now, s, moved);
    }
  }
  return hone_permute(r->b, put_together(r, &now), order);
}

static hone_value_t* unbatch(hone_rewriter_t* r, hone_node_t* node, int side) {
  if (!hone_match_prim(node->inputs[side], HONE_PRIM_EXPAND)) return NULL;
  for (int i = 0; i < node->n_batch; i++) {
    hone_value_t* now = unbatch_pair(r, node, side, i);
    if (now) return now;
  }
  return NULL;
}

/* ---- pairs of extent 1 ---- */

static bool is_one(const contraction_t* c, int side, int pair) {
  return hone_dim_is(c->operands[side]->type.dims[c->axes[2 * pair + side]], 1);
}

/* A sum over one product needs no axis. */
static hone_value_t* drop_ones(hone_rewriter_t* r, hone_node_t* node) {
  contraction_t c = take_apart(node);
  for (int i = c.n_batch; i < c.n_pairs; i++) {
    if (!is_one(&c, 0, i) || !is_one(&c, 1, i)) continue;
    int64_t a = c.axes[2 * i], b = c.axes[2 * i + 1];
    c.operands[0] = without_axis(r, c.operands[0], a);
    c.operands[1] = without_axis(r, c.operands[1], b);
    if (!c.operands[0] || !c.operands[1]) return NULL;
    drop_pair(&c, i, 0, a);
    for (int k = 0; k < c.n_pairs; k++)
      if (c.axes[2 * k + 1] > b) c.axes[2 * k + 1]--;
    return put_together(r, &c);
  }
  return NULL;
}

/* ---- operands with new extents of 1 that no pair names ---- */

static hone_value_t* absorb_ones(hone_rewriter_t* r, hone_node_t* node, int side) {
  hone_node_t* reshape = hone_match_prim(node->inputs[side], HONE_PRIM_RESHAPE);
  if (!reshape) return NULL;
  hone_value_t* plain = reshape->inputs[0];
  const hone_type_t* type = &node->inputs[side]->type;
  if (plain->type.rank > type->rank ||
      !hone_move_same_but_ones(&plain->type, type->rank, type->dims))
    return NULL;
  contraction_t c = take_apart(node);
  int partner[HONE_MAX_RANK];
  hone_move_partners(&plain->type, type, partner);
  for (int i = 0; i < c.n_pairs; i++) {
    int64_t* axis = &c.axes[2 * i + side];
    if (partner[*axis] < 0) return NULL;
    *axis = partner[*axis];
  }
  c.operands[side] = plain;
  const hone_type_t* out = &node->outputs[0]->type;
  return hone_reshape(r->b, put_together(r, &c), out->rank, out->dims);
}

/* ---- permuted axes that became one ---- */

/* For each axis of a reshape's result the first of those of its operand that it is made of, and
 * the end behind the last one. False where some are cut up. */
static bool find_parts(const hone_node_t* reshape, int first[HONE_MAX_RANK + 1]) {
  const hone_type_t *from = &reshape->inputs[0]->type, *to = &reshape->outputs[0]->type;
  int at = 0;
  for (int i = 0; i < to->rank; i++) {
    first[i] = at;
    if (at == from->rank) return false;
    bool is_same = hone_dim_same(from->dims[at], to->dims[i]);
    int64_t product = 1;
    if (!is_same && !hone_dim_is_int(to->dims[i])) return false;
    for (; !is_same && at < from->rank && product < to->dims[i].k; at++)
      if (!hone_dim_is_int(from->dims[at]) || !hone_i64_mul(product, from->dims[at].k, &product))
        return false;
    if (!is_same && product != to->dims[i].k) return false;
    at += is_same;
  }
  first[to->rank] = at;
  return at == from->rank;
}

/* The only axis that is made of several, which is summed over: its pair; -1: there are others. */
static int find_split_pair(const hone_node_t* node, int side, const int* first) {
  int found = -1;
  for (int i = 0; i < node->inputs[side]->type.rank; i++) {
    if (first[i + 1] - first[i] == 1) continue;
    int pair = -1;
    for (int k = node->n_batch; 2 * k < node->n_axes; k++)
      if (node->axes[2 * k + side] == i) pair = k;
    if (pair < 0 || found >= 0) return -1;
    found = pair;
  }
  return found;
}

/* The other operand with axis `axis` cut up as `dims` say. */
static hone_value_t* cut_axis(hone_rewriter_t* r, hone_value_t* x, int64_t axis, int count,
                              const hone_dim_t* dims) {
  hone_dim_t shape[2 * HONE_MAX_RANK];
  int n = 0;
  for (int i = 0; i < x->type.rank; i++) {
    if (i != axis) shape[n++] = x->type.dims[i];
    for (int k = 0; i == axis && k < count; k++) shape[n++] = dims[k];
  }
  return hone_reshape(r->b, x, n, shape);
}

/* A sum over heads and what each of them has, which bytes of attention were put together for: a
 * pair of axes for each, so that the permute that brought them together can go. Sums of floats
 * keep their one loop, and so do sums that may be by slight weights. */
static hone_value_t* split_sum(hone_rewriter_t* r, hone_node_t* node, int side) {
  hone_node_t* reshape = hone_match_prim(node->inputs[side], HONE_PRIM_RESHAPE);
  int first[HONE_MAX_RANK + 1], pair;
  if (node->dtype != HONE_I32 || r->context->options->sums_slight || !reshape ||
      !hone_move_permute_of(reshape->inputs[0]) || !hone_match_constant(node->inputs[1 - side]) ||
      !find_parts(reshape, first) || (pair = find_split_pair(node, side, first)) < 0)
    return NULL;
  contraction_t old = take_apart(node), now = old;
  int64_t axis = old.axes[2 * pair + side], other = old.axes[2 * pair + 1 - side];
  int more = first[axis + 1] - first[axis] - 1;
  const hone_type_t* type = &reshape->inputs[0]->type;
  if (old.operands[1 - side]->type.rank + more > HONE_MAX_RANK) return NULL;
  now.operands[side] = reshape->inputs[0];
  now.operands[1 - side] =
      cut_axis(r, old.operands[1 - side], other, more + 1, type->dims + first[axis]);
  now.n_pairs = 0;
  for (int i = 0; i < old.n_pairs; i++)
    for (int part = 0; part <= (i == pair ? more : 0); part++) {
      int64_t theirs = old.axes[2 * i + 1 - side];
      now.axes[2 * now.n_pairs + side] = first[old.axes[2 * i + side]] + part;
      now.axes[2 * now.n_pairs++ + 1 - side] = theirs + (theirs > other ? more : part);
    }
  return put_together(r, &now);
}

/* The other operand with the parts of axis `axis`, as the permute has them, in the order that they
 * had before; the first of them is axis `first` of the permute. */
static hone_value_t* turn_back(hone_rewriter_t* r, hone_value_t* x, int64_t axis,
                               const hone_node_t* permute, int first, int count) {
  int64_t order[2 * HONE_MAX_RANK];
  const hone_dim_t* parts = permute->outputs[0]->type.dims + first;
  hone_value_t* cut = cut_axis(r, x, axis, count, parts);
  if (!cut) return NULL;
  for (int i = 0; i < cut->type.rank; i++) order[i] = i;
  for (int i = 0; i < count; i++) order[axis + permute->axes[first + i] - first] = axis + i;
  return hone_reshape_like(r->b, hone_permute(r->b, cut, order), x);
}

static bool moves_nothing_but(const hone_node_t* permute, int begin, int end) {
  for (int i = 0; i < permute->n_axes; i++)
    if ((i < begin || i >= end) && permute->axes[i] != i) return false;
  return true;
}

/* A sum over channels that were shuffled, parts of one axis among each other: the weights are
 * shuffled back instead. */
static hone_value_t* unshuffle_sum(hone_rewriter_t* r, hone_node_t* node, int side) {
  hone_node_t* reshape = hone_match_prim(node->inputs[side], HONE_PRIM_RESHAPE);
  hone_node_t* permute = reshape ? hone_move_permute_of(reshape->inputs[0]) : NULL;
  int first[HONE_MAX_RANK + 1], pair;
  if (!permute || !hone_match_constant(node->inputs[1 - side]) || !find_parts(reshape, first) ||
      (pair = find_split_pair(node, side, first)) < 0)
    return NULL;
  contraction_t c = take_apart(node);
  int64_t axis = c.axes[2 * pair + side], other = c.axes[2 * pair + 1 - side];
  int count = first[axis + 1] - first[axis];
  if (!moves_nothing_but(permute, first[axis], first[axis + 1]) ||
      c.operands[1 - side]->type.rank + count > HONE_MAX_RANK)
    return NULL;
  c.operands[side] = hone_reshape_like(r->b, permute->inputs[0], node->inputs[side]);
  c.operands[1 - side] = turn_back(r, c.operands[1 - side], other, permute, first[axis], count);
  return put_together(r, &c);
}

hone_value_t* hone_movement_contract(hone_rewriter_t* r, hone_node_t* node) {
  if (node->prim != HONE_PRIM_CONTRACT) return NULL;
  hone_value_t* x = NULL;
  for (int side = 0; side < 2 && !x; side++) {
    x = absorb_permute(r, node, side);
    if (!x) x = absorb_ones(r, node, side);
    if (!x) x = unbatch(r, node, side);
    if (!x) x = unshuffle_sum(r, node, side);
    if (!x) x = split_sum(r, node, side);
  }
  return x ? x : drop_ones(r, node);
}
