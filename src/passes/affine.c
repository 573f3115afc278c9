/* Chains of additions and multiplications by constants become one
 * multiplication and one addition: batch normalization, (x - mean) * factor +
 * bias, is x * a + b. Rounding differs from that of the chain; a and b are
 * computed in f64.
 *
 * What was dequantized just before stays as it is, because what comes after is
 * likely to round to integers again. */
#include <inttypes.h>

#include "passes/common/match.h"
#include "passes/common/rewrite.h"

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

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  if (node->n_outputs != 1 || !hone_type_is_known(&node->outputs[0]->type)) return NULL;
  hone_dtype_t dtype = node->outputs[0]->type.dtype;
  if (!hone_dtype_is_float(dtype)) return NULL;
  chain_t chain = take_chain(node);
  if (chain.n_steps < 2 || !worth_it(&chain) || is_dequantized(chain.x)) return NULL;
  affine_t f = {NULL, NULL};
  for (int i = chain.n_steps - 1; i >= 0; i--) apply(r->b, &f, &chain.steps[i]);
  hone_value_t* y = chain.x;
  if (f.a) y = hone_mul(r->b, y, hone_cast(r->b, f.a, dtype));
  if (f.b) y = hone_add(r->b, y, hone_cast(r->b, f.b, dtype));
  hone_pass_did(r->context, node, "%d steps became x * a + b", chain.n_steps);
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
