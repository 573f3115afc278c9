/* Chains of additions and multiplications by constants become one
 * multiplication and one addition: batch normalization, (x - mean) * factor +
 * bias, is x * a + b. Rounding differs from that of the chain; a and b are
 * computed in f64.
 *
 * What was dequantized just before stays as it is, because what comes after is
 * likely to round to integers again. Sums of its products are no such numbers: they are exact, and
 * what rounds is the chain itself, less often when it is shorter. Where b is a whole number
 * of times a, as biases are that were quantized to i32 by the product of the scales, it is added to
 * the integers, which rounds nothing:
 *
 *   round(((sum - c) * factor + bias) / scale)   becomes   round((sum - (c - b / a)) * a)
 *
 * That is what QLinearConv computes. */
#include <inttypes.h>
#include <math.h>

#include "base/tensor_impl.h"
#include "passes/common/evaluate.h"
#include "passes/common/match.h"
#include "passes/common/rewrite.h"
#include "passes/common/sums.h"

enum { MAX_CHAIN = 16, MAX_COUNT = 1 << 16 };

typedef enum step_kind { STEP_ADD, STEP_SUB, STEP_FROM, STEP_MUL, STEP_DIV } step_kind_t;

/* One node of a chain: FROM is constant - x. */
typedef struct step {
  step_kind_t kind;
  hone_value_t* constant; /* without its expand, of the same rank */
} step_t;

typedef struct chain {
  hone_value_t* x;
  int n_steps;
  step_t steps[MAX_CHAIN]; /* last one first */
} chain_t;

static hone_value_t* constant_source(hone_value_t* value) {
  hone_node_t* expand = hone_match_prim(value, HONE_PRIM_EXPAND);
  hone_value_t* source = expand ? expand->inputs[0] : value;
  int64_t count = hone_match_count(&source->type);
  bool small = count >= 0 && count <= MAX_COUNT;
  return small && hone_match_from_constants(source) ? source : NULL;
}

static bool take_step(const hone_node_t* node, step_t* out, hone_value_t** out_x) {
  static const step_kind_t kinds[HONE_PRIM_COUNT][2] = {
      [HONE_PRIM_ADD] = {STEP_ADD, STEP_ADD},
      [HONE_PRIM_SUB] = {STEP_SUB, STEP_FROM},
      [HONE_PRIM_MUL] = {STEP_MUL, STEP_MUL},
      [HONE_PRIM_DIV] = {STEP_DIV, STEP_DIV},
  };
  bool known = node->prim == HONE_PRIM_ADD || node->prim == HONE_PRIM_SUB ||
               node->prim == HONE_PRIM_MUL || node->prim == HONE_PRIM_DIV;
  for (int i = 0; known && i < (node->prim == HONE_PRIM_DIV ? 1 : 2); i++) {
    hone_value_t* constant = constant_source(node->inputs[1 - i]);
    if (!constant || constant_source(node->inputs[i])) continue;
    *out = (step_t){kinds[node->prim][i], constant};
    *out_x = node->inputs[i];
    return true;
  }
  return false;
}

static chain_t take_chain(const hone_node_t* node) {
  chain_t chain = {.x = node->outputs[0]};
  while (chain.n_steps < MAX_CHAIN) {
    const hone_node_t* made = chain.x->node;
    bool inner = chain.n_steps > 0;
    if (inner && !hone_rewrite_used_once(chain.x)) break;
    if (!take_step(made, &chain.steps[chain.n_steps], &chain.x)) break;
    chain.n_steps++;
  }
  return chain;
}

static bool multiplies(step_kind_t kind) { return kind >= STEP_FROM; }
static bool adds(step_kind_t kind) { return kind <= STEP_FROM; }

/* Whether fewer steps, or (next to a contraction, whose weights can take the
 * factor in) the other order, would do. */
static bool worth_it(const chain_t* chain) {
  int factors = 0, terms = 0;
  for (int i = 0; i < chain->n_steps; i++) {
    factors += multiplies(chain->steps[i].kind);
    terms += adds(chain->steps[i].kind);
  }
  if (chain->n_steps > (factors > 0) + (terms > 0)) return true;
  return chain->n_steps == 2 && chain->steps[0].kind == STEP_MUL &&
         hone_match_prim_once(chain->x, HONE_PRIM_CONTRACT) != NULL;
}

/* a and b of x * a + b; NULL is 1 and 0. */
typedef struct affine {
  hone_value_t *a, *b;
} affine_t;

static void apply(hone_builder_t* b, affine_t* f, const step_t* step) {
  hone_value_t* c = hone_cast(b, step->constant, HONE_F64);
  switch (step->kind) {
    case STEP_ADD:
      f->b = f->b ? hone_add(b, f->b, c) : c;
      break;
    case STEP_SUB:
      f->b = f->b ? hone_sub(b, f->b, c) : hone_neg(b, c);
      break;
    case STEP_FROM:
      f->a = f->a ? hone_neg(b, f->a) : hone_scalar(b, HONE_F64, -1);
      f->b = f->b ? hone_sub(b, c, f->b) : c;
      break;
    case STEP_MUL:
      f->a = f->a ? hone_mul(b, f->a, c) : c;
      if (f->b) f->b = hone_mul(b, f->b, c);
      break;
    case STEP_DIV:
      f->a = f->a ? hone_div(b, f->a, c) : hone_reciprocal(b, c);
      if (f->b) f->b = hone_div(b, f->b, c);
      break;
  }
}

static bool is_dequantized(const hone_value_t* x) {
  hone_node_t* cast = hone_match_prim(x, HONE_PRIM_CAST);
  return cast && !hone_dtype_is_float(cast->inputs[0]->type.dtype);
}

/* ---- sums of integers ---- */

/* What is a float where affine arithmetic begins: cast(integers), or cast(integers - less). */
typedef struct exact {
  hone_value_t *integers, *less;
} exact_t;

/* Whether it is a sum of products of bytes, or computed from such and from zero points. */
static bool is_of_sums(const hone_value_t* value) {
  enum { MOST_DEEP = 4 };
  for (int i = 0; i < MOST_DEEP && !hone_sums_find(value); i++) {
    bool adds = value->node->prim == HONE_PRIM_ADD || value->node->prim == HONE_PRIM_SUB;
    if (!adds) return false;
    value = value->node->inputs[0];
  }
  return hone_sums_find(value) != NULL;
}

static bool find_exact(const hone_value_t* x, exact_t* out) {
  const hone_node_t* cast = hone_match_prim(x, HONE_PRIM_CAST);
  if (!cast || cast->dtype != HONE_F32 || cast->inputs[0]->type.dtype != HONE_I32) return false;
  *out = (exact_t){.integers = cast->inputs[0]};
  const hone_node_t* sub = hone_match_prim(out->integers, HONE_PRIM_SUB);
  hone_value_t* less = sub ? constant_source(sub->inputs[1]) : NULL;
  if (less) *out = (exact_t){.integers = sub->inputs[0], .less = less};
  return is_of_sums(out->integers);
}

/* Whether all elements of a constant of f64 are within the bounds. */
static bool are_between(const hone_tensor_t* constant, double least, double greatest) {
  const hone_loose_f64_t* numbers = hone_tensor_data(constant);
  for (int64_t i = 0; i < hone_tensor_count(constant); i++)
    if (!(fabs(numbers[i]) >= least && fabs(numbers[i]) <= greatest)) return false;
  return true;
}

/* The same of several that are to be computed, of which none is greater than its bound. */
static bool are_at_most(hone_rewriter_t* r, int count, const hone_value_t* const* values,
                        const double (*bounds)[2]) {
  enum { MOST = 3 };
  hone_tensor_t* tensors[MOST];
  if (!hone_builder_ok(r->b)) return false;
  hone_status_t status = hone_evaluate_all(r->context, count, values, tensors);
  bool are = !status;
  hone_status_free(status);
  if (!are) return false;
  for (int i = 0; i < count; i++) {
    are = are && are_between(tensors[i], bounds[i][0], bounds[i][1]);
    hone_tensor_release(tensors[i]);
  }
  return are;
}

/* Whether a vector by another one has become a matrix that is no short list any more. */
static bool is_large(const hone_value_t* constant) {
  return constant && hone_match_count(&constant->type) > MAX_COUNT;
}

/* Nothing under- or overflows. */
static bool is_tame(hone_rewriter_t* r, const affine_t* f) {
  static const double bounds[][2] = {{0x1p-60, 0x1p60}, {0, 0x1p60}};
  const hone_value_t* values[] = {f->a, f->b};
  return f->a && are_at_most(r, f->b ? 2 : 1, values, bounds);
}

/* cast(integers - (less - b / a)), of which a times is x * a + b; NULL: b is no whole number of
 * a's, within what rounding takes from b. */
static hone_value_t* add_to_integers(hone_rewriter_t* r, const exact_t* x, const affine_t* f) {
  static const double few_units = 0x1p-22;
  hone_builder_t* b = r->b;
  const hone_node_t* sums = hone_sums_find(x->integers);
  int64_t reach = sums ? hone_sums_reach(sums) : 0;
  if (!reach) return NULL;
  double room = sums->dtype == HONE_I32 ? 0x1p30 : HONE_SUMS_EXACT;
  hone_value_t* whole = hone_round(b, hone_div(b, f->b, f->a));
  hone_value_t* off = hone_abs(b, hone_sub(b, hone_mul(b, whole, f->a), f->b));
  off = hone_max(
      b, hone_sub(b, off, hone_mul(b, hone_abs(b, f->b), hone_scalar(b, HONE_F64, few_units))),
      hone_scalar(b, HONE_F64, 0));
  hone_value_t* less =
      x->less ? hone_sub(b, hone_cast(b, x->less, HONE_F64), whole) : hone_neg(b, whole);
  const hone_value_t* values[] = {off, less};
  const double bounds[][2] = {{0, 0}, {0, room - (double)reach}};
  if (!are_at_most(r, 2, values, bounds)) return NULL;
  return hone_cast(b, hone_sub(b, x->integers, hone_cast(b, less, HONE_I32)), HONE_F32);
}

/* Integers, which wrap, less one constant, whatever was added to and subtracted from them. */
static hone_value_t* join_integers(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* less = NULL;
  chain_t chain = take_chain(node);
  for (int i = 0; i < chain.n_steps; i++) {
    const step_t* step = &chain.steps[i];
    if (step->kind != STEP_ADD && step->kind != STEP_SUB) return NULL;
    hone_value_t* c = step->kind == STEP_SUB ? step->constant : hone_neg(r->b, step->constant);
    less = less ? hone_add(r->b, less, c) : c;
  }
  if (chain.n_steps < 2 || !less || is_large(less)) return NULL;
  hone_pass_did(r->context, node, "%d steps became x - b", chain.n_steps);
  return hone_sub(r->b, chain.x, less);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  exact_t exact = {0};
  if (node->n_outputs != 1 || !hone_type_is_known(&node->outputs[0]->type)) return NULL;
  hone_dtype_t dtype = node->outputs[0]->type.dtype;
  if (dtype == HONE_I32) return join_integers(r, node);
  if (!hone_dtype_is_float(dtype)) return NULL;
  chain_t chain = take_chain(node);
  if (chain.n_steps < 2 || !worth_it(&chain)) return NULL;
  bool is_exact = find_exact(chain.x, &exact);
  if (!is_exact && is_dequantized(chain.x)) return NULL;
  affine_t f = {NULL, NULL};
  for (int i = chain.n_steps - 1; i >= 0; i--) apply(r->b, &f, &chain.steps[i]);
  if (is_exact && (is_large(f.a) || is_large(f.b) || !is_tame(r, &f))) return NULL;
  hone_value_t* sum = is_exact && f.b ? add_to_integers(r, &exact, &f) : NULL;
  hone_value_t* y = sum ? sum : chain.x;
  if (f.a) y = hone_mul(r->b, y, hone_cast(r->b, f.a, dtype));
  if (f.b && !sum) y = hone_add(r->b, y, hone_cast(r->b, f.b, dtype));
  hone_pass_did(r->context, node, "%d steps became %s", chain.n_steps,
                sum ? "(x + b) * a" : "x * a + b");
  return y;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "shortened %" PRId64 " chains to x * a + b", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_affine;
const hone_pass_t hone_pass_affine = {
    .name = "affine",
    .summary = "batch normalization and other chains become x * a + b (rounding differs)",
    .phases = {HONE_PHASE_WEIGHTS + 10},
    .run = run,
};
