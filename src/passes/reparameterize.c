/* Branches of the same data that are added up, as networks have them that are trained with several
 * convolutions side by side (RepVGG, MobileOne), become one: x * v + x * w = x * (v + w), where the
 * weights of a 1 x 1 convolution belong to the element of a window that it reads. Rounding differs.
 * Factors of batch normalization are in the weights already (pass bn_fold). */
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

/* ---- the same data ---- */

/* What the weights of `other` are within those of `whole`: of equal axes, or without those of a
 * window, of which they belong to one element. */
typedef struct part {
  const hone_node_t *whole, *other;
  int side;                  /* of the weights */
  int64_t at[HONE_MAX_RANK]; /* by axis of whole's weights: the element, or -1: all of them */
} part_t;

static hone_value_t* data_of(const hone_node_t* contract) {
  return contract->inputs[1 - weights_of(contract)];
}

/* Whether both see the same elements: `plain` is what was padded for the windows, or every so many
 * of its rows and columns as these are apart. */
static bool steps_alike(const hone_node_t* window, const hone_value_t* padded,
                        const hone_value_t* plain) {
  const hone_node_t* slice = plain == padded ? NULL : hone_match_prim(plain, HONE_PRIM_SLICE);
  int64_t steps[HONE_MAX_RANK];
  if (plain != padded && (!slice || slice->inputs[0] != padded)) return false;
  for (int i = 0; i < padded->type.rank; i++) steps[i] = 1;
  for (int i = 0; i < window->n_axes; i++) {
    if (!hone_dim_is_int(window->step[i])) return false;
    steps[window->axes[i]] = window->step[i].k;
  }
  for (int i = 0; i < padded->type.rank; i++) {
    if (slice ? !hone_dim_is(slice->lo[i], 0) || !hone_dim_is(slice->step[i], steps[i])
              : steps[i] != 1)
      return false;
    if (!hone_dim_same(plain->type.dims[i], window->outputs[0]->type.dims[i])) return false;
  }
  return true;
}

/* The element of a window along its axis number i that a convolution without windows reads: the
 * one that is as far from the first as what is padded in front; -1: there is none. */
static int64_t element_of(const hone_node_t* window, const hone_node_t* pad, int i) {
  const hone_type_t* out = &window->outputs[0]->type;
  hone_dim_t lo = pad ? pad->lo[window->axes[i]] : hone_dim_int(0), gap = window->hi[i];
  hone_dim_t extent = out->dims[out->rank - window->n_axes + i];
  if (!hone_dim_is_int(lo) || !hone_dim_is_int(gap) || !hone_dim_is_int(extent)) return -1;
  bool is_inside = lo.k >= 0 && lo.k % gap.k == 0 && lo.k / gap.k < extent.k;
  return is_inside ? lo.k / gap.k : -1;
}

/* Whether the weights of p->other are the same as those of p->whole, but for what `at` fixes. */
static bool fits(const part_t* p) {
  const hone_node_t *a = p->whole, *b = p->other;
  const hone_type_t *v = &a->inputs[p->side]->type, *w = &b->inputs[p->side]->type;
  int place[HONE_MAX_RANK], n = 0, pairs = 0;
  for (int i = 0; i < v->rank; i++) {
    place[i] = n;
    if (p->at[i] >= 0) continue;
    if (n == w->rank || !hone_dim_same(v->dims[i], w->dims[n])) return false;
    n++;
  }
  for (int i = 0; i < a->n_axes; i += 2) {
    int64_t axis = a->axes[i + p->side];
    if (p->at[axis] >= 0) continue;
    if (pairs + 2 > b->n_axes || b->axes[pairs + p->side] != place[axis] ||
        b->axes[pairs + 1 - p->side] != a->axes[i + 1 - p->side])
      return false;
    pairs += 2;
  }
  return n == w->rank && pairs == b->n_axes && a->n_batch == b->n_batch;
}

/* Whether one multiplies what windows of the other do, without these. */
static bool find_elements(part_t* p) {
  const hone_node_t* a = p->whole;
  const hone_node_t* window = hone_match_prim(data_of(a), HONE_PRIM_WINDOW);
  if (!window) return false;
  const hone_node_t* pad = hone_match_prim(window->inputs[0], HONE_PRIM_PAD);
  const hone_value_t* padded = pad ? pad->inputs[0] : window->inputs[0];
  int rank = padded->type.rank;
  if (!steps_alike(window, padded, data_of(p->other))) return false;
  for (int i = 0; i < window->n_axes; i++) {
    int64_t element = element_of(window, pad, i);
    int pair = 0;
    while (pair < a->n_axes && a->axes[pair + 1 - p->side] != rank + i) pair += 2;
    if (element < 0 || pair >= a->n_axes) return false;
    p->at[a->axes[pair + p->side]] = element;
  }
  return true;
}

/* Whether the weights of b can be added to those of a. */
static bool find_part(const hone_node_t* a, const hone_node_t* b, part_t* out) {
  *out = (part_t){.whole = a, .other = b, .side = weights_of(a)};
  for (int i = 0; i < HONE_MAX_RANK; i++) out->at[i] = -1;
  return out->side == weights_of(b) && (data_of(a) == data_of(b) || find_elements(out)) &&
         fits(out);
}

/* ---- the sum ---- */

static hone_value_t* sum_of_weights(hone_rewriter_t* r, const part_t* p) {
  const hone_tensor_t* v = hone_match_constant(p->whole->inputs[p->side]);
  const hone_tensor_t* w = hone_match_constant(p->other->inputs[p->side]);
  hone_tensor_t* out;
  int rank = hone_tensor_rank(v);
  const int64_t* dims = hone_tensor_dims(v);
  hone_status_t status = hone_tensor_create_raw(r->graph->allocator, HONE_F32, rank, dims, &out);
  if (status) return hone_fail_status(r->b, status);
  const hone_loose_f32_t *x = hone_tensor_data(v), *y = hone_tensor_data(w);
  float* sums = hone_tensor_data(out);
  for (int64_t i = 0; i < hone_tensor_count(v); i++) {
    bool is_part = true; /* of a window, the element that the other one reads */
    int64_t rest = i;
    for (int axis = rank - 1; axis >= 0 && is_part; axis--) {
      is_part = p->at[axis] < 0 || p->at[axis] == rest % dims[axis];
      rest /= dims[axis];
    }
    sums[i] = is_part ? x[i] + *y++ : x[i];
  }
  return hone_constant(r->b, out);
}

/* Both products as one. */
static hone_value_t* join(hone_rewriter_t* r, hone_node_t* node, const part_t* p) {
  hone_value_t* inputs[2] = {p->whole->inputs[0], p->whole->inputs[1]};
  inputs[p->side] = sum_of_weights(r, p);
  hone_rewrite_blend(r, p->whole);
  hone_rewrite_blend(r, p->other);
  hone_pass_did(r->context, node, "products of the same data became one");
  return hone_rewrite_copy(r, p->whole, inputs);
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

/* Joins the products at two places of the list where it can. */
static bool join_at(hone_rewriter_t* r, hone_node_t* node, terms_t* terms, int to, int from) {
  part_t part;
  if (to == from || !terms->at[to] || !terms->at[from]) return false;
  const hone_node_t *a = product_of(terms->at[to]), *b = product_of(terms->at[from]);
  if (!a || !b || !find_part(a, b, &part)) return false;
  terms->at[to] = join(r, node, &part);
  terms->at[from] = NULL;
  return true;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  terms_t terms = {0};
  bool joined = false;
  if (node->prim != HONE_PRIM_ADD || node->outputs[0]->type.dtype != HONE_F32 ||
      !list_terms(node, &terms))
    return NULL;
  for (int i = 0; i < terms.n && !joined; i++)
    for (int k = 0; k < terms.n && !joined; k++) joined = join_at(r, node, &terms, i, k);
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
