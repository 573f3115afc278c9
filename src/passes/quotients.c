/* Quotients behind sums: what each row of softmax is divided by divides the row of results
 * instead, that of attention, where the rows are longer than the results' or as long. The exponents
 * of what is at most 0 are at most 1, so that sums of their products overflow no sooner.
 *
 *   contract(div(e, s), v)  =>  div(contract(e, v), s)     with s = reduce(e) along what is summed
 *
 * Some exporters write rows of zeros where softmax has no numbers, as behind a mask that lets
 * nothing through: select(q == q, q, 0) of the quotients q. None of such a row's exponentials is a
 * number but for those of least ones, which are 0, and the sums of others are 1 at least:
 *
 *   contract(select(q == q, q, 0), v)  =>  div(contract(e', v), max(reduce(e'), 1/2))
 *
 * with e' = exp(select(d == d, d, -inf)) for e = exp(d).
 */
#include <math.h>

#include "passes/common/match.h"
#include "passes/common/rewrite.h"

/* What `value` repeats along an axis of extent 1, or is. */
static hone_value_t* repeated(hone_value_t* value) {
  while (value->node->prim == HONE_PRIM_EXPAND || value->node->prim == HONE_PRIM_RESHAPE)
    value = value->node->inputs[0];
  return value;
}

static const hone_node_t* find_reduce(hone_value_t* value, hone_combine_t combine) {
  const hone_node_t* reduce = hone_match_prim(repeated(value), HONE_PRIM_REDUCE);
  return reduce && reduce->combine == combine && reduce->n_axes == 1 ? reduce : NULL;
}

/* exp(x - the most of x): at most 1. */
static bool is_at_most_1(const hone_value_t* e) {
  const hone_node_t* exp = hone_match_prim(e, HONE_PRIM_EXP);
  const hone_node_t* sub = exp ? hone_match_prim(exp->inputs[0], HONE_PRIM_SUB) : NULL;
  const hone_node_t* top = sub ? find_reduce(sub->inputs[1], HONE_COMBINE_MAX) : NULL;
  return top && top->inputs[0] == sub->inputs[0];
}

/* Whether operand `side` lies as batch and then, in any order, rows and what is summed over,
 * along which `axis` goes; nothing else is summed. */
static bool goes_along(const hone_node_t* contract, int side, int64_t axis) {
  int n = contract->n_batch, rank = contract->inputs[side]->type.rank;
  bool ok = rank == n + 2 && contract->n_axes == 2 * n + 2 && contract->axes[2 * n + side] == axis;
  for (int i = 0; ok && i < n; i++) ok = contract->axes[2 * i + side] == i;
  return ok;
}

/* Where so many are divided, no more afterwards. */
static bool pays(const hone_node_t* contract, const hone_value_t* quotients) {
  int64_t before = hone_match_count(&quotients->type),
          after = hone_match_count(&contract->outputs[0]->type);
  return before < 0 || after < 0 || before >= after;
}

/* The sums of each row, for all of its results. */
static hone_value_t* spread(hone_rewriter_t* r, const hone_node_t* contract, int side,
                            hone_value_t* sums) {
  const hone_type_t* out = &contract->outputs[0]->type;
  /* Results have the batch, then the free axes of the first operand and of the second. */
  int rows = side == 0 ? contract->n_batch : out->rank - 1;
  for (int i = contract->n_batch; i < out->rank; i++)
    if (i != rows) sums = hone_unsqueeze(r->b, sums, i);
  return hone_expand(r->b, sums, out->rank, out->dims);
}

/* What softmax gives. */
typedef struct softmax {
  const hone_node_t *div, *sum;
  bool has_zeros; /* where it is not a number */
} softmax_t;

/* q of select(q == q, q, 0); NULL: it is something else. */
static const hone_value_t* find_numbers(const hone_value_t* value) {
  const hone_node_t* select = hone_match_prim_once(value, HONE_PRIM_SELECT);
  const hone_node_t* eq = select ? hone_match_prim_once(select->inputs[0], HONE_PRIM_EQ) : NULL;
  return eq && eq->inputs[0] == eq->inputs[1] && select->inputs[1] == eq->inputs[0] &&
                 hone_match_is_number(select->inputs[2], 0)
             ? eq->inputs[0]
             : NULL;
}

static bool find_softmax(const hone_value_t* value, softmax_t* out) {
  enum { USES_OF_NUMBERS = 3 };
  const hone_value_t *numbers = find_numbers(value), *quotients = numbers ? numbers : value;
  *out = (softmax_t){.div = hone_match_prim(quotients, HONE_PRIM_DIV), .has_zeros = numbers};
  if (!out->div || quotients->uses > (numbers ? USES_OF_NUMBERS : 1)) return false;
  out->sum = find_reduce(out->div->inputs[1], HONE_COMBINE_ADD);
  return out->sum && out->sum->inputs[0] == out->div->inputs[0] &&
         is_at_most_1(out->div->inputs[0]);
}

/* The exponentials, 0 where they are not numbers, and in out_sums what divides their rows. */
static hone_value_t* clear(hone_rewriter_t* r, const softmax_t* s, hone_value_t** out_sums) {
  static const double below_sums = 0.5;
  hone_value_t* d = s->div->inputs[0]->node->inputs[0];
  d = hone_select(r->b, hone_eq(r->b, d, d), d, hone_scalar(r->b, HONE_F32, -INFINITY));
  hone_value_t* e = hone_exp(r->b, d);
  *out_sums = hone_reduce(r->b, HONE_COMBINE_ADD, e, 1, s->sum->axes, false);
  *out_sums = hone_max_number(r->b, *out_sums, below_sums);
  return e;
}

static hone_value_t* divide_behind(hone_rewriter_t* r, hone_node_t* node, int side) {
  softmax_t s;
  if (!find_softmax(node->inputs[side], &s) || !goes_along(node, side, s.sum->axes[0]) ||
      !pays(node, s.div->outputs[0]))
    return NULL;
  hone_value_t* inputs[2] = {node->inputs[0], node->inputs[1]};
  hone_value_t* sums = s.sum->outputs[0];
  inputs[side] = s.has_zeros ? clear(r, &s, &sums) : s.div->inputs[0];
  if (!inputs[side]) return NULL;
  hone_value_t* results = hone_rewrite_copy(r, node, inputs);
  hone_pass_did(r->context, node, "is divided by the sums of softmax");
  return hone_div(r->b, results, spread(r, node, side, sums));
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  if (node->prim != HONE_PRIM_CONTRACT || node->dtype != HONE_F32 ||
      node->inputs[0]->type.dtype != HONE_F32 || node->inputs[1]->type.dtype != HONE_F32)
    return NULL;
  hone_value_t* result = divide_behind(r, node, 0);
  return result ? result : divide_behind(r, node, 1);
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  if (context->options->exact) return NULL;
  return hone_rewrite_everywhere(context, graph, rule, NULL);
}

extern const hone_pass_t hone_pass_quotients;
const hone_pass_t hone_pass_quotients = {
    .name = "quotients",
    .summary =
        "results of attention are divided, in place of the weights they are made with (rounds)",
    .phases = {HONE_PHASE_TIDY - 22},
    .run = run,
};
