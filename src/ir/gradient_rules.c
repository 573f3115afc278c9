/* The gradient of each primitive. In every rule `g` is the gradient of the
 * node's (first) output; where a primitive has a kink, the rule says what it
 * takes there. Integer inputs get nothing: they cannot depend on the xs in a
 * way that has a slope. */
#include <math.h>
#include <string.h>

#include "ir/gradient_impl.h"

static hone_value_t* zeros(hone_gradient_t* s, const hone_value_t* like) {
  return hone_full(s->b, hone_dtype_of(like), 0, hone_rank(like), like->type.dims);
}

/* ---- elementwise, two operands ---- */

static void rule_add(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_gradient_add(s, node, 0, g);
  hone_gradient_add(s, node, 1, g);
}

static void rule_sub(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_gradient_add(s, node, 0, g);
  if (hone_gradient_wanted(s, node, 1)) hone_gradient_add(s, node, 1, hone_neg(s->b, g));
}

static void rule_mul(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  for (int i = 0; i < 2; i++)
    if (hone_gradient_wanted(s, node, i))
      hone_gradient_add(s, node, i, hone_mul(s->b, g, node->inputs[1 - i]));
}

static void rule_div(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_value_t *y = node->inputs[1], *quotient = hone_div(s->b, g, y);
  hone_gradient_add(s, node, 0, quotient);
  if (hone_gradient_wanted(s, node, 1))
    hone_gradient_add(s, node, 1, hone_neg(s->b, hone_mul(s->b, quotient, node->outputs[0])));
}

/* x - trunc(x / y) * y, with the quotient held constant */
static void rule_rem(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_builder_t* b = s->b;
  hone_gradient_add(s, node, 0, g);
  if (!hone_gradient_wanted(s, node, 1)) return;
  hone_value_t* whole = hone_trunc(b, hone_div(b, node->inputs[0], node->inputs[1]));
  hone_gradient_add(s, node, 1, hone_neg(b, hone_mul(b, g, whole)));
}

/* The exponent gets nothing where the base is not positive. */
static void rule_pow(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_builder_t* b = s->b;
  hone_value_t *x = node->inputs[0], *y = node->inputs[1];
  if (hone_gradient_wanted(s, node, 0)) {
    hone_value_t* slope = hone_mul(b, y, hone_pow(b, x, hone_add_number(b, y, -1)));
    slope = hone_select(b, hone_eq_number(b, y, 0), zeros(s, y), slope);
    hone_gradient_add(s, node, 0, hone_mul(b, g, slope));
  }
  if (hone_gradient_wanted(s, node, 1)) {
    hone_value_t* slope = hone_mul(b, node->outputs[0], hone_log(b, x));
    slope = hone_select(b, hone_gt_number(b, x, 0), slope, zeros(s, x));
    hone_gradient_add(s, node, 1, hone_mul(b, g, slope));
  }
}

/* Equal operands: the second one gets it all, so that max(x, 0) has slope 0 at 0. */
static void rule_extreme(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_builder_t* b = s->b;
  hone_value_t *x = node->inputs[0], *y = node->inputs[1], *none = zeros(s, g);
  hone_value_t* first = node->prim == HONE_PRIM_MAX ? hone_lt(b, y, x) : hone_lt(b, x, y);
  hone_gradient_add(s, node, 0, hone_select(b, first, g, none));
  hone_gradient_add(s, node, 1, hone_select(b, first, none, g));
}

/* ---- elementwise, one operand ---- */

static void rule_neg(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_gradient_add(s, node, 0, hone_neg(s->b, g));
}

/* Slope 0 at 0. */
static void rule_abs(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_builder_t* b = s->b;
  hone_value_t* x = node->inputs[0];
  hone_value_t* positive = hone_select(b, hone_gt_number(b, x, 0), g, zeros(s, g));
  hone_gradient_add(s, node, 0, hone_select(b, hone_lt_number(b, x, 0), hone_neg(b, g), positive));
}

static void rule_exp(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_gradient_add(s, node, 0, hone_mul(s->b, g, node->outputs[0]));
}

static void rule_log(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_gradient_add(s, node, 0, hone_div(s->b, g, node->inputs[0]));
}

static void rule_sqrt(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_gradient_add(s, node, 0, hone_div(s->b, hone_mul_number(s->b, g, 0.5), node->outputs[0]));
}

static void rule_sin(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_value_t* slope = hone_unary(s->b, HONE_PRIM_COS, node->inputs[0]);
  hone_gradient_add(s, node, 0, hone_mul(s->b, g, slope));
}

static void rule_cos(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_value_t* slope = hone_neg(s->b, hone_unary(s->b, HONE_PRIM_SIN, node->inputs[0]));
  hone_gradient_add(s, node, 0, hone_mul(s->b, g, slope));
}

static void rule_atan(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_value_t* square = hone_square(s->b, node->inputs[0]);
  hone_gradient_add(s, node, 0, hone_div(s->b, g, hone_add_number(s->b, square, 1)));
}

/* 1 - tanh^2 as a product, which keeps its digits where tanh is near 1 */
static void rule_tanh(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_builder_t* b = s->b;
  hone_value_t* out = node->outputs[0];
  hone_value_t* below = hone_add_number(b, hone_neg(b, out), 1);
  hone_value_t* slope = hone_mul(b, below, hone_add_number(b, out, 1));
  hone_gradient_add(s, node, 0, hone_mul(b, g, slope));
}

/* 2 / sqrt(pi) * exp(-x^2) */
static void rule_erf(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  const double two_over_sqrt_pi = 1.1283791670955126;
  hone_value_t* falls = hone_exp(s->b, hone_neg(s->b, hone_square(s->b, node->inputs[0])));
  hone_value_t* slope = hone_mul_number(s->b, falls, two_over_sqrt_pi);
  hone_gradient_add(s, node, 0, hone_mul(s->b, g, slope));
}

/* floor, round: slope 0 wherever there is one */
static void rule_flat(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  (void)s, (void)node, (void)g;
}

static void rule_select(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_value_t *condition = node->inputs[0], *none = zeros(s, g);
  if (hone_gradient_wanted(s, node, 1))
    hone_gradient_add(s, node, 1, hone_select(s->b, condition, g, none));
  if (hone_gradient_wanted(s, node, 2))
    hone_gradient_add(s, node, 2, hone_select(s->b, condition, none, g));
}

static void rule_cast(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_dtype_t from = hone_dtype_of(node->inputs[0]);
  if (hone_dtype_is_float(from) && hone_dtype_is_float(hone_dtype_of(g)))
    hone_gradient_add(s, node, 0, hone_cast(s->b, g, from));
}

/* ---- movement ---- */

static void rule_reshape(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_gradient_add(s, node, 0, hone_reshape_like(s->b, g, node->inputs[0]));
}

static void rule_permute(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  int64_t inverse[HONE_MAX_RANK];
  for (int i = 0; i < node->n_axes; i++) inverse[node->axes[i]] = i;
  hone_gradient_add(s, node, 0, hone_permute(s->b, g, inverse));
}

static void rule_expand(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  const hone_value_t* x = node->inputs[0];
  int64_t axes[HONE_MAX_RANK];
  int n = 0;
  for (int i = 0; i < hone_rank(x); i++)
    if (hone_dim_is(hone_dim(x, i), 1) && !hone_dim_is(hone_dim(g, i), 1)) axes[n++] = i;
  if (n) g = hone_reduce(s->b, HONE_COMBINE_ADD, g, n, axes, true);
  hone_gradient_add(s, node, 0, g);
}

/* Any movement that may leave elements out or use them twice (slice, window):
 * done to the numbers of the elements it says where each gradient belongs. */
static void rule_by_number(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_builder_t* b = s->b;
  const hone_value_t* x = node->inputs[0];
  hone_dim_t count = hone_elements(b, x);
  hone_value_t* flat = hone_iota(b, HONE_I64, 1, &count, 0);
  hone_value_t* numbers = hone_reshape_like(b, flat, x);
  if (!numbers) return;
  hone_node_t copy = *node;
  copy.inputs = &numbers;
  hone_value_t* places = hone_ravel(b, hone_emit(b, &copy));
  hone_value_t* none = hone_full(b, hone_dtype_of(g), 0, 1, &count);
  hone_value_t* sums = hone_scatter(b, HONE_COMBINE_ADD, none, places, hone_ravel(b, g));
  hone_gradient_add(s, node, 0, hone_reshape_like(b, sums, x));
}

static void rule_slice(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_dim_t after[HONE_MAX_RANK];
  for (int i = 0; i < node->n_dims; i++) {
    if (!hone_dim_is(node->step[i], 1)) {
      rule_by_number(s, node, g);
      return;
    }
    after[i] = hone_d_sub(s->b, hone_dim(node->inputs[0], i), node->hi[i]);
  }
  hone_gradient_add(s, node, 0, hone_pad(s->b, g, node->lo, after, NULL));
}

static hone_value_t* sum_all(hone_builder_t* b, hone_value_t* x) {
  return x ? hone_reduce_last(b, HONE_COMBINE_ADD, x, hone_rank(x), false) : NULL;
}

static void rule_pad(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_builder_t* b = s->b;
  hone_dim_t end[HONE_MAX_RANK];
  for (int i = 0; i < node->n_dims; i++)
    end[i] = hone_d_add(b, node->lo[i], hone_dim(node->inputs[0], i));
  hone_value_t* inside = hone_slice(b, g, node->lo, end, NULL);
  hone_gradient_add(s, node, 0, inside);
  if (hone_gradient_wanted(s, node, 1))
    hone_gradient_add(s, node, 1, hone_sub(b, sum_all(b, g), sum_all(b, inside)));
}

static void rule_flip(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  for (int i = 0; i < node->n_axes; i++) g = hone_flip(s->b, g, (int)node->axes[i]);
  hone_gradient_add(s, node, 0, g);
}

static void rule_concat(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  int axis = (int)node->axes[0];
  hone_dim_t at = hone_d(0);
  for (int i = 0; i < node->n_inputs; i++) {
    hone_dim_t end = hone_d_add(s->b, at, hone_dim(node->inputs[i], axis));
    if (hone_gradient_wanted(s, node, i))
      hone_gradient_add(s, node, i, hone_slice_axis(s->b, g, axis, at, end));
    at = end;
  }
}

/* ---- reductions ---- */

/* A reduced value in the shape of what was reduced. */
static hone_value_t* spread(hone_gradient_t* s, const hone_node_t* node, hone_value_t* reduced) {
  const hone_value_t* x = node->inputs[0];
  hone_dim_t kept[HONE_MAX_RANK];
  for (int i = 0; i < hone_rank(x); i++) kept[i] = hone_dim(x, i);
  for (int i = 0; i < node->n_axes; i++) kept[node->axes[i]] = hone_d(1);
  return hone_expand(s->b, hone_reshape(s->b, reduced, hone_rank(x), kept), hone_rank(x),
                     x->type.dims);
}

/* The largest (smallest) elements share evenly. */
static hone_value_t* share_extreme(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_builder_t* b = s->b;
  hone_value_t *x = node->inputs[0], *out = spread(s, node, node->outputs[0]);
  hone_value_t* mask = hone_cast(b, hone_eq(b, x, out), hone_dtype_of(g));
  hone_value_t* count = hone_reduce(b, HONE_COMBINE_ADD, mask, node->n_axes, node->axes, false);
  return hone_mul(b, spread(s, node, hone_div(b, g, count)), mask);
}

/* Product of all the others: those before times those behind, along one axis
 * that the reduced ones are gathered into. Right where elements are zero too. */
static hone_value_t* others_product(hone_gradient_t* s, const hone_node_t* node) {
  hone_builder_t* b = s->b;
  hone_value_t* x = node->inputs[0];
  int rank = hone_rank(x), n = 0;
  int64_t order[HONE_MAX_RANK], inverse[HONE_MAX_RANK];
  uint32_t gone = 0;
  for (int i = 0; i < node->n_axes; i++) gone |= 1u << node->axes[i];
  for (int i = 0; i < rank; i++)
    if (!(gone & (1u << i))) order[n++] = i;
  int n_kept = n;
  for (int i = 0; i < rank; i++)
    if (gone & (1u << i)) order[n++] = i;
  for (int i = 0; i < rank; i++) inverse[order[i]] = i;
  hone_value_t* moved = hone_permute(b, x, order);
  hone_value_t* rows = moved ? hone_flatten(b, moved, n_kept) : NULL;
  hone_value_t* before = hone_scan(b, HONE_COMBINE_MUL, rows, 1, true);
  hone_value_t* behind =
      hone_flip(b, hone_scan(b, HONE_COMBINE_MUL, hone_flip(b, rows, 1), 1, true), 1);
  hone_value_t* others = hone_mul(b, before, behind);
  return moved ? hone_permute(b, hone_reshape_like(b, others, moved), inverse) : NULL;
}

static void rule_reduce(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_value_t* result;
  if (node->combine == HONE_COMBINE_ADD)
    result = spread(s, node, g);
  else if (node->combine == HONE_COMBINE_MUL)
    result = hone_mul(s->b, spread(s, node, g), others_product(s, node));
  else
    result = share_extreme(s, node, g);
  hone_gradient_add(s, node, 0, result);
}

/* ---- contraction ---- */

/* Free axes of operand `side`, ascending. */
static int free_axes(const hone_node_t* node, int side, int64_t* out) {
  int n = 0;
  for (int i = 0; i < hone_rank(node->inputs[side]); i++) {
    bool used = false;
    for (int k = side; k < node->n_axes; k += 2) used = used || node->axes[k] == i;
    if (!used) out[n++] = i;
  }
  return n;
}

/* The operand's axis that pairs with axis `axis` of the other operand. */
static int64_t partner(const hone_node_t* node, int side, int64_t axis) {
  for (int k = 0; k < node->n_axes; k += 2)
    if (node->axes[k + 1 - side] == axis) return node->axes[k + side];
  return 0;
}

static bool is_batch(const hone_node_t* node, int side, int64_t axis) {
  for (int k = 0; k < node->n_batch; k++)
    if (node->axes[2 * k + side] == axis) return true;
  return false;
}

/* The gradient of one operand: g contracted with the other one over the
 * latter's free axes. Its axes come out as batch, own free ones, and the axes
 * that were summed over in the order of the other operand; `from` puts them
 * back into place. */
static void contract_operand(hone_gradient_t* s, const hone_node_t* node, int side,
                             hone_value_t* g) {
  hone_value_t *own = node->inputs[side], *other = node->inputs[1 - side];
  int64_t own_free[HONE_MAX_RANK], other_free[HONE_MAX_RANK];
  int64_t pairs[HONE_MAX_RANK][2], from[HONE_MAX_RANK];
  int n_own = free_axes(node, side, own_free), n_other = free_axes(node, 1 - side, other_free);
  int first_other = node->n_batch + (side == 0 ? n_own : 0), n = 0, at = 0;
  for (; n < node->n_batch; n++) {
    pairs[n][0] = n;
    pairs[n][1] = node->axes[2 * n + 1 - side];
    from[node->axes[2 * n + side]] = at++;
  }
  for (int i = 0; i < n_other; i++, n++) {
    pairs[n][0] = first_other + i;
    pairs[n][1] = other_free[i];
  }
  for (int i = 0; i < n_own; i++) from[own_free[i]] = at++;
  for (int64_t i = 0; i < hone_rank(other); i++) {
    bool is_free = false;
    for (int k = 0; k < n_other; k++) is_free = is_free || other_free[k] == i;
    if (!is_free && !is_batch(node, 1 - side, i)) from[partner(node, side, i)] = at++;
  }
  hone_value_t* result =
      hone_contract(s->b, g, other, n, (const int64_t(*)[2])pairs, node->n_batch, node->dtype);
  if (result) result = hone_permute(s->b, result, from);
  hone_gradient_add(s, node, side, hone_cast(s->b, result, hone_dtype_of(own)));
}

static void rule_contract(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  for (int side = 0; side < 2; side++)
    if (hone_gradient_wanted(s, node, side)) contract_operand(s, node, side, g);
}

/* ---- indexing, scans, sorting ---- */

static void rule_gather(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_value_t* none = zeros(s, node->inputs[0]);
  hone_gradient_add(s, node, 0, hone_scatter(s->b, HONE_COMBINE_ADD, none, node->inputs[1], g));
}

/* 1 for each update that is still there at the end, 0 for one that a later
 * update of the same place has replaced. */
static hone_value_t* last_updates(hone_gradient_t* s, const hone_node_t* node, hone_value_t* u) {
  hone_builder_t* b = s->b;
  hone_value_t *x = node->inputs[0], *index = hone_ravel(b, node->inputs[1]);
  if (!index) return NULL;
  hone_dim_t places = hone_dim(x, 0), count = hone_elements(b, index);
  hone_value_t* numbers = hone_iota(b, HONE_I64, 1, &count, 0);
  hone_value_t* last =
      hone_scatter(b, HONE_COMBINE_SET, hone_full(b, HONE_I64, -1, 1, &places), index, numbers);
  hone_value_t* stays = hone_eq(b, hone_gather(b, last, index), numbers);
  hone_dim_t shape[HONE_MAX_RANK];
  int n = hone_rank(node->inputs[1]);
  for (int i = 0; i < hone_rank(u); i++) shape[i] = i < n ? hone_dim(u, i) : hone_d(1);
  return hone_cast(b, hone_reshape(b, stays, hone_rank(u), shape), hone_dtype_of(u));
}

static void rule_scatter(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_builder_t* b = s->b;
  hone_value_t *index = node->inputs[1], *updates = node->inputs[2];
  bool sets = node->combine == HONE_COMBINE_SET;
  if (!sets && node->combine != HONE_COMBINE_ADD) {
    hone_fail(b, HONE_UNSUPPORTED, "the primitive scatter by %s has no gradient",
              hone_combine_name(node->combine));
    return;
  }
  if (hone_gradient_wanted(s, node, 0))
    hone_gradient_add(s, node, 0,
                      sets ? hone_scatter(b, HONE_COMBINE_SET, g, index, zeros(s, updates)) : g);
  if (!hone_gradient_wanted(s, node, 2)) return;
  hone_value_t* picked = hone_gather(b, g, index);
  if (sets) picked = hone_mul(b, picked, last_updates(s, node, updates));
  hone_gradient_add(s, node, 2, picked);
}

static void rule_scan(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_builder_t* b = s->b;
  int axis = (int)node->axes[0];
  if (node->combine != HONE_COMBINE_ADD) {
    hone_fail(b, HONE_UNSUPPORTED, "the primitive scan by %s has no gradient",
              hone_combine_name(node->combine));
    return;
  }
  bool exclusive = node->flags & HONE_FLAG_EXCLUSIVE;
  hone_value_t* sums = hone_scan(b, HONE_COMBINE_ADD, hone_flip(b, g, axis), axis, exclusive);
  hone_gradient_add(s, node, 0, hone_flip(b, sums, axis));
}

/* Sorting the indices gives the way back. */
static void rule_sort(hone_gradient_t* s, const hone_node_t* node, hone_value_t* g) {
  hone_value_t *none = zeros(s, node->inputs[0]), *index = node->outputs[1];
  if (!g) return;
  g = hone_scatter_along(s->b, HONE_COMBINE_SET, none, index, g, (int)node->axes[0]);
  hone_gradient_add(s, node, 0, g);
}

const hone_gradient_rule_t hone_gradient_rules[HONE_PRIM_COUNT] = {
    [HONE_PRIM_ADD] = rule_add,         [HONE_PRIM_SUB] = rule_sub,
    [HONE_PRIM_MUL] = rule_mul,         [HONE_PRIM_DIV] = rule_div,
    [HONE_PRIM_REM] = rule_rem,         [HONE_PRIM_POW] = rule_pow,
    [HONE_PRIM_MIN] = rule_extreme,     [HONE_PRIM_MAX] = rule_extreme,
    [HONE_PRIM_NEG] = rule_neg,         [HONE_PRIM_ABS] = rule_abs,
    [HONE_PRIM_EXP] = rule_exp,         [HONE_PRIM_LOG] = rule_log,
    [HONE_PRIM_SQRT] = rule_sqrt,       [HONE_PRIM_SIN] = rule_sin,
    [HONE_PRIM_COS] = rule_cos,         [HONE_PRIM_ATAN] = rule_atan,
    [HONE_PRIM_TANH] = rule_tanh,       [HONE_PRIM_ERF] = rule_erf,
    [HONE_PRIM_FLOOR] = rule_flat,      [HONE_PRIM_ROUND] = rule_flat,
    [HONE_PRIM_SELECT] = rule_select,   [HONE_PRIM_CAST] = rule_cast,
    [HONE_PRIM_RESHAPE] = rule_reshape, [HONE_PRIM_PERMUTE] = rule_permute,
    [HONE_PRIM_EXPAND] = rule_expand,   [HONE_PRIM_SLICE] = rule_slice,
    [HONE_PRIM_PAD] = rule_pad,         [HONE_PRIM_FLIP] = rule_flip,
    [HONE_PRIM_CONCAT] = rule_concat,   [HONE_PRIM_WINDOW] = rule_by_number,
    [HONE_PRIM_REDUCE] = rule_reduce,   [HONE_PRIM_CONTRACT] = rule_contract,
    [HONE_PRIM_GATHER] = rule_gather,   [HONE_PRIM_SCATTER] = rule_scatter,
    [HONE_PRIM_SCAN] = rule_scan,       [HONE_PRIM_SORT] = rule_sort,
};
