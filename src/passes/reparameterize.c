/* Branches of the same data that are added up, as networks have them that are trained with several
 * convolutions side by side (RepVGG, MobileOne), become one: x * v + x * w = x * (v + w). Rounding
 * differs. Factors of batch normalization are in the weights already (pass bn_fold). */
#include "base/tensor_impl.h"
#include "passes/common/match.h"
#include "passes/common/rewrite.h"

enum { MOST_TERMS = 16 };

/* What is added up, from the first to the last. */
typedef struct terms {
  int n;
  hone_value_t* at[MOST_TERMS];
} terms_t;

/* Lists what an addition adds up, through additions of which nobody else needs the sum. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as MOST_TERMS */
static bool list_terms(const hone_node_t* add, terms_t* out) {
  for (int i = 0; i < 2; i++) {
    const hone_node_t* inner = hone_match_prim_once(add->inputs[i], HONE_PRIM_ADD);
    if (inner && list_terms(inner, out)) continue;
    if (inner || out->n == MOST_TERMS) return false;
    out->at[out->n++] = add->inputs[i];
  }
  return true;
}

/* The operand that is constant, of the contraction's own type; -1: none, or both. */
static int weights_of(const hone_node_t* contract) {
  int found = -1;
  for (int side = 0; side < 2; side++) {
    if (contract->inputs[side]->type.dtype != HONE_F32) return -1;
    if (!hone_match_constant(contract->inputs[side])) continue;
    if (found >= 0) return -1;
    found = side;
  }
  return found;
}

/* The product by constant weights that a term is, of which nobody else needs the result. */
static hone_node_t* product_of(const hone_value_t* term) {
  hone_node_t* contract = hone_match_prim_once(term, HONE_PRIM_CONTRACT);
  return contract && contract->dtype == HONE_F32 && weights_of(contract) >= 0 ? contract : NULL;
}

/* Whether they multiply the same data, in the same way, by weights of one shape. */
static bool are_alike(const hone_node_t* a, const hone_node_t* b) {
  int side = weights_of(a);
  bool alike = side == weights_of(b) && a->inputs[1 - side] == b->inputs[1 - side] &&
               a->n_batch == b->n_batch && a->n_axes == b->n_axes &&
               hone_match_same_shape(a->inputs[side], b->inputs[side]);
  for (int i = 0; i < a->n_axes && alike; i++) alike = a->axes[i] == b->axes[i];
  return alike;
}

static hone_value_t* sum_of_weights(hone_rewriter_t* r, const hone_value_t* a,
                                    const hone_value_t* b) {
  const hone_tensor_t *v = hone_match_constant(a), *w = hone_match_constant(b);
  hone_tensor_t* out;
  hone_status_t status = hone_tensor_create_raw(r->graph->allocator, HONE_F32, hone_tensor_rank(v),
                                                hone_tensor_dims(v), &out);
  if (status) return hone_fail_status(r->b, status);
  const hone_loose_f32_t *x = hone_tensor_data(v), *y = hone_tensor_data(w);
  float* sums = hone_tensor_data(out);
  for (int64_t i = 0; i < hone_tensor_count(v); i++) sums[i] = x[i] + y[i];
  return hone_constant(r->b, out);
}

/* Both products as one. */
static hone_value_t* join(hone_rewriter_t* r, hone_node_t* node, const hone_node_t* a,
                          const hone_node_t* b) {
  int side = weights_of(a);
  hone_value_t* inputs[2] = {a->inputs[0], a->inputs[1]};
  inputs[side] = sum_of_weights(r, a->inputs[side], b->inputs[side]);
  hone_rewrite_blend(r, a);
  hone_rewrite_blend(r, b);
  hone_pass_did(r->context, node, "products of the same data became one");
  return hone_rewrite_copy(r, a, inputs);
}

/* Constants first, which become one, then the rest. */
static hone_value_t* add_up(hone_rewriter_t* r, const terms_t* terms) {
  hone_value_t* sum = NULL;
  for (int constants = 1; constants >= 0; constants--)
    for (int i = 0; i < terms->n; i++) {
      hone_value_t* term = terms->at[i];
      if (!term || hone_match_from_constants(term) != constants) continue;
      sum = sum ? hone_add(r->b, sum, term) : term;
    }
  return sum;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  terms_t terms = {0};
  bool joined = false;
  if (node->prim != HONE_PRIM_ADD || node->outputs[0]->type.dtype != HONE_F32 ||
      !list_terms(node, &terms))
    return NULL;
  for (int i = 0; i < terms.n; i++)
    for (int k = i + 1; k < terms.n; k++) {
      const hone_node_t* a = terms.at[i] ? product_of(terms.at[i]) : NULL;
      const hone_node_t* b = terms.at[k] ? product_of(terms.at[k]) : NULL;
      if (!a || !b || !are_alike(a, b)) continue;
      terms.at[i] = join(r, node, a, b);
      terms.at[k] = NULL;
      joined = true;
      break;
    }
  return joined ? add_up(r, &terms) : NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  return hone_rewrite(context, graph, rule, NULL);
}

extern const hone_pass_t hone_pass_reparameterize;
const hone_pass_t hone_pass_reparameterize = {
    .name = "reparameterize",
    .summary = "products of the same data by several weights, added up, become one (rounds)",
    .phases = {HONE_PHASE_WEIGHTS + 30},
    .run = run,
};
