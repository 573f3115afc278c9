/* Arithmetic that can be had for less: x * 1, x + -0, double negation, division
 * by powers of two, squares written as powers, casts there and back.
 *
 * Only what gives the same number for every x, NaN, infinities and the sign of
 * zero included, is rewritten; x + 0 is not x where x may be -0. With
 * fast_math (never by default) also what may differ in rounding, or only for
 * those: joining constant factors, multiplying by inverses, small powers as
 * products, x + 0. */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "passes/common/match.h"
#include "passes/common/number.h"
#include "passes/common/rewrite.h"

typedef hone_value_t* (*rule_fn)(hone_rewriter_t* r, hone_node_t* node);

static hone_value_t* left(const hone_node_t* node) { return node->inputs[0]; }
static hone_value_t* right(const hone_node_t* node) { return node->inputs[1]; }

static hone_dtype_t dtype_of(const hone_node_t* node) { return left(node)->type.dtype; }

static bool is_float(const hone_node_t* node) { return hone_dtype_is_float(dtype_of(node)); }

static bool is_integer(const hone_node_t* node) { return hone_dtype_is_int(dtype_of(node)); }

static bool is_bool(const hone_node_t* node) { return dtype_of(node) == HONE_BOOL; }

static bool fast(const hone_rewriter_t* r) { return r->context->options->fast_math; }

/* A number of the shape and type of `like`. */
static hone_value_t* full(hone_rewriter_t* r, const hone_value_t* like, double number) {
  return hone_full(r->b, like->type.dtype, number, like->type.rank, like->type.dims);
}

/* ---- sums ---- */

/* x + -0 is x for every x; x + 0 is where x is never -0. */
static bool adds_nothing(const hone_rewriter_t* r, const hone_node_t* node, const hone_value_t* x,
                         double number) {
  if (number != 0) return false;
  return !is_float(node) || signbit(number) || fast(r) || hone_number_not_negative(x);
}

static hone_value_t* rule_add(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* x;
  double number;
  if (hone_match_with_number(node, &x, &number) && adds_nothing(r, node, x, number) &&
      !is_bool(node))
    return x;
  for (int i = 0; i < 2 && !is_bool(node); i++) {
    hone_node_t* minus = hone_match_prim(node->inputs[i], HONE_PRIM_NEG);
    if (minus) return hone_sub(r->b, node->inputs[1 - i], left(minus));
  }
  return NULL;
}

static hone_value_t* rule_sub(hone_rewriter_t* r, hone_node_t* node) {
  double number;
  if (is_bool(node)) return NULL;
  if (hone_match_number(right(node), &number) &&
      adds_nothing(r, node, left(node), is_float(node) ? -number : number))
    return left(node);
  if (hone_match_number(left(node), &number) && number == 0 &&
      (!is_float(node) || signbit(number) || fast(r)))
    return hone_neg(r->b, right(node));
  hone_node_t* minus = hone_match_prim(right(node), HONE_PRIM_NEG);
  return minus ? hone_add(r->b, left(node), left(minus)) : NULL;
}

/* ---- products ---- */

static hone_value_t* rule_mul(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* x;
  double number;
  if (!hone_match_with_number(node, &x, &number) || is_bool(node)) return NULL;
  if (number == 1) return x;
  if (number == -1) return hone_neg(r->b, x);
  if (number == 0 && (is_integer(node) || fast(r))) return full(r, x, 0);
  return NULL;
}

static hone_value_t* rule_div(hone_rewriter_t* r, hone_node_t* node) {
  double number;
  if (is_bool(node) || !hone_match_number(right(node), &number)) return NULL;
  if (number == 1) return left(node);
  if (number == -1) return hone_neg(r->b, left(node));
  bool exact = hone_number_has_inverse(dtype_of(node), number);
  if (!exact && !(fast(r) && is_float(node) && isfinite(1 / number))) return NULL;
  return hone_mul(r->b, left(node), full(r, left(node), 1 / number));
}

/* ---- powers ---- */

/* `ref` computes in double, where products of two narrower floats are exact. */
static bool square_is_exact(const hone_node_t* node) {
  return is_integer(node) || (is_float(node) && dtype_of(node) != HONE_F64);
}

static hone_value_t* rule_pow(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* x = left(node);
  double power;
  if (is_bool(node) || !hone_match_number(right(node), &power)) return NULL;
  if (power == 1) return x;
  if (power == 2 && (square_is_exact(node) || fast(r))) return hone_square(r->b, x);
  if (!is_float(node)) return NULL;
  if (power == -1 && (square_is_exact(node) || fast(r))) return hone_div(r->b, full(r, x, 1), x);
  if (power == 0.5 && (fast(r) || (hone_number_not_negative(x) && square_is_exact(node))))
    return hone_sqrt(r->b, x);
  if (power == 3 && fast(r)) return hone_mul(r->b, hone_square(r->b, x), x);
  if (power == -0.5 && fast(r)) return hone_div(r->b, full(r, x, 1), hone_sqrt(r->b, x));
  return NULL;
}

/* ---- constants join, with fast_math or where nothing rounds ---- */

/* (x op c1) op c2 of one commutative and associative op. */
static hone_value_t* rule_join(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t *inner_value, *x;
  double outer, inner;
  if (!is_integer(node) && !(fast(r) && is_float(node))) return NULL;
  if (!hone_match_with_number(node, &inner_value, &outer)) return NULL;
  hone_node_t* before = hone_match_prim_once(inner_value, node->prim);
  if (!before || !hone_match_with_number(before, &x, &inner)) return NULL;
  hone_value_t* constants = hone_binary(r->b, node->prim, full(r, x, inner), full(r, x, outer));
  return hone_binary(r->b, node->prim, x, constants);
}

/* ---- one operand ---- */

static hone_value_t* rule_neg(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* inner = hone_match_prim(left(node), HONE_PRIM_NEG);
  return inner ? left(inner) : NULL;
}

static hone_value_t* rule_abs(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* inner = hone_match_prim(left(node), HONE_PRIM_NEG);
  if (is_float(node) && hone_number_not_negative(left(node))) return left(node);
  return inner ? hone_abs(r->b, left(inner)) : NULL;
}

static hone_value_t* rule_whole(hone_rewriter_t* r, hone_node_t* node) {
  bool whole =
      hone_match_prim(left(node), HONE_PRIM_FLOOR) || hone_match_prim(left(node), HONE_PRIM_ROUND);
  return whole || is_integer(node) ? left(node) : NULL;
}

/* ---- truth values, and the same operand twice ---- */

static hone_value_t* rule_same(hone_rewriter_t* r, hone_node_t* node) {
  return left(node) == right(node) ? left(node) : NULL;
}

/* A truth value that decides (`strong`), or that says nothing. */
static hone_value_t* with_truth(hone_rewriter_t* r, hone_node_t* node, double strong) {
  hone_value_t* x;
  double number;
  if (!is_bool(node) || !hone_match_with_number(node, &x, &number)) return NULL;
  return number == strong ? full(r, x, strong) : x;
}

static hone_value_t* rule_and(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* x = rule_same(r, node);
  return x ? x : with_truth(r, node, 0);
}

static hone_value_t* rule_or(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* x = rule_same(r, node);
  return x ? x : with_truth(r, node, 1);
}

/* not(not(x)), written as xor with true. */
static hone_value_t* rule_xor(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t *inner_value, *x;
  double outer, inner;
  if (!is_bool(node) || !hone_match_with_number(node, &inner_value, &outer)) return NULL;
  if (outer == 0) return inner_value;
  hone_node_t* before = hone_match_prim(inner_value, HONE_PRIM_XOR);
  if (!before || !hone_match_with_number(before, &x, &inner) || inner == 0) return NULL;
  return x;
}

static hone_value_t* rule_eq(hone_rewriter_t* r, hone_node_t* node) {
  bool sure = left(node) == right(node) && (is_integer(node) || is_bool(node));
  return sure ? full(r, node->outputs[0], 1) : NULL;
}

/* select(not(c), x, y) is select(c, y, x). */
static hone_value_t* rule_select(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t *condition = node->inputs[0], *x = node->inputs[1], *y = node->inputs[2], *c;
  double number;
  if (x == y) return x;
  if (hone_match_number(condition, &number)) return number != 0 ? x : y;
  hone_node_t* negation = hone_match_prim(condition, HONE_PRIM_XOR);
  if (!negation || !hone_match_with_number(negation, &c, &number) || number == 0) return NULL;
  return hone_select(r->b, c, y, x);
}

/* ---- casts ---- */

/* Through a type that holds every number of the first, straight on. */
static hone_value_t* rule_cast(hone_rewriter_t* r, hone_node_t* node) {
  if (left(node)->type.dtype == node->dtype) return left(node);
  hone_node_t* inner = hone_match_prim(left(node), HONE_PRIM_CAST);
  if (!inner || !hone_number_fits(left(inner)->type.dtype, inner->dtype)) return NULL;
  return hone_cast_flags(r->b, left(inner), node->dtype, node->flags);
}

static hone_value_t* rule_bitcast(hone_rewriter_t* r, hone_node_t* node) {
  hone_node_t* inner = hone_match_prim(left(node), HONE_PRIM_BITCAST);
  if (left(node)->type.dtype == node->dtype) return left(node);
  return inner ? hone_bitcast(r->b, left(inner), node->dtype) : NULL;
}

/* Tried in order. */
static const rule_fn rules[HONE_PRIM_COUNT][2] = {
    [HONE_PRIM_ADD] = {rule_add, rule_join},
    [HONE_PRIM_SUB] = {rule_sub},
    [HONE_PRIM_MUL] = {rule_mul, rule_join},
    [HONE_PRIM_DIV] = {rule_div},
    [HONE_PRIM_POW] = {rule_pow},
    [HONE_PRIM_MIN] = {rule_same},
    [HONE_PRIM_MAX] = {rule_same},
    [HONE_PRIM_AND] = {rule_and},
    [HONE_PRIM_OR] = {rule_or},
    [HONE_PRIM_XOR] = {rule_xor},
    [HONE_PRIM_EQ] = {rule_eq},
    [HONE_PRIM_NEG] = {rule_neg},
    [HONE_PRIM_ABS] = {rule_abs},
    [HONE_PRIM_FLOOR] = {rule_whole},
    [HONE_PRIM_ROUND] = {rule_whole},
    [HONE_PRIM_SELECT] = {rule_select},
    [HONE_PRIM_CAST] = {rule_cast},
    [HONE_PRIM_BITCAST] = {rule_bitcast},
};

static bool is_known(const hone_node_t* node) {
  for (int i = 0; i < node->n_inputs; i++)
    if (!node->inputs[i] || !hone_type_is_known(&node->inputs[i]->type)) return false;
  return node->n_outputs == 1;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  if (!rules[node->prim][0] || !is_known(node)) return NULL;
  for (int i = 0; i < 2 && rules[node->prim][i]; i++) {
    hone_value_t* now = rules[node->prim][i](r, node);
    if (!now) continue;
    hone_pass_did(r->context, node, "%s became %s", hone_prim_info(node->prim)->name,
                  hone_prim_info(now->node->prim)->name);
    return now;
  }
  return NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(hone_rewrite(context, graph, rule, NULL));
  if (context->count) hone_pass_note(context, "simplified %" PRId64 " operations", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_arithmetic;
const hone_pass_t hone_pass_arithmetic = {
    .name = "arithmetic",
    .summary = "arithmetic that can be had for less, with the same result to the bit",
    .phases = {HONE_PHASE_CLEAN + 30, HONE_PHASE_CLEAN + 45, HONE_PHASE_TIDY + 30},
    .run = run,
};
