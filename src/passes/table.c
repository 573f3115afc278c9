/* Tables of 256 numbers: what is computed element by element from one 8-bit number, and is
 * quantized to 8 bits in the end, is looked up. Activations between two quantizations (gelu,
 * sigmoid, swish, tanh in QDQ form) become one gather, whatever they consist of.
 *
 *   q -> dequantize -> erf -> quantize -> dequantize -> … -> quantize
 *     becomes   gather(table, q), the table being what that makes of all q there are
 *
 * `ref` computes the table, so that results are its own to the bit. Only what has an
 * operation that costs much more than looking up is replaced. */
#include "passes/common/evaluate.h"
#include "passes/common/match.h"
#include "passes/common/rewrite.h"

enum { NUMBERS = 256, MOST_STEPS = 256, MOST_NODES = 64 };

static bool is_8bit(const hone_value_t* value) {
  return hone_type_is_known(&value->type) &&
         (value->type.dtype == HONE_I8 || value->type.dtype == HONE_U8);
}

/* ---- what a value is computed from ---- */

/* The operands that matter, of a node that works element by element; 0: it does not. */
static int first_operand(const hone_node_t* node) { return hone_match_is_table(node) ? 1 : 0; }

static bool is_elementwise(const hone_node_t* node) {
  switch (hone_prim_info(node->prim)->family) {
    case HONE_FAMILY_UNARY:
    case HONE_FAMILY_BINARY:
    case HONE_FAMILY_SELECT:
    case HONE_FAMILY_CAST:
      return true;
    default:
      return hone_match_is_table(node);
  }
}

/* Finds the 8-bit tensor that the value is computed from element by element, all else being
 * single numbers; *out is NULL where it is a number itself. False: there is none. */
/* NOLINTNEXTLINE(misc-no-recursion): counted by steps */
static bool find_source(hone_value_t* value, int* steps, hone_value_t** out) {
  double number;
  hone_value_t* found = NULL;
  const hone_node_t* node = value->node;
  *out = NULL;
  if (hone_match_number(value, &number)) return true;
  bool ok = ++*steps <= MOST_STEPS && node->n_outputs == 1 && is_elementwise(node);
  for (int i = ok ? first_operand(node) : 0; ok && i < node->n_inputs; i++) {
    hone_value_t* source;
    ok = find_source(node->inputs[i], steps, &source) && (!source || !found || source == found);
    if (source) found = source;
  }
  *out = ok && found && hone_match_same_shape(found, value) ? found : value;
  return *out != value || is_8bit(value);
}

/* ---- the table ---- */

typedef struct replay {
  hone_rewriter_t* r;
  hone_value_t *source, *numbers; /* all numbers that the source can have */
  int n;
  hone_value_t *of[MOST_NODES], *now[MOST_NODES];
  bool is_costly;
} replay_t;

static hone_value_t* all_numbers(hone_rewriter_t* r, hone_dtype_t dtype) {
  unsigned char bytes[NUMBERS];
  const int64_t dims[] = {NUMBERS};
  for (int i = 0; i < NUMBERS; i++) bytes[i] = (unsigned char)(dtype == HONE_I8 ? i - 128 : i);
  return hone_constant_data(r->b, dtype, 1, dims, bytes);
}

/* `value` for each of the numbers; NULL: it is too long. */
/* NOLINTNEXTLINE(misc-no-recursion): as far as find_source went */
static hone_value_t* replay(replay_t* p, hone_value_t* value) {
  double number;
  const hone_node_t* node = value->node;
  hone_value_t* inputs[3];
  const hone_dim_t shape[] = {hone_d(NUMBERS)};
  if (value == p->source) return p->numbers;
  if (hone_match_number(value, &number))
    return hone_full(p->r->b, hone_dtype_of(value), number, 1, shape);
  for (int i = 0; i < p->n; i++)
    if (p->of[i] == value) return p->now[i];
  if (p->n == MOST_NODES || node->n_inputs > 3) return NULL;
  p->is_costly |= hone_prim_is_transcendental(node->prim) || hone_match_is_table(node);
  for (int i = 0; i < node->n_inputs; i++) {
    inputs[i] = i < first_operand(node) ? node->inputs[i] : replay(p, node->inputs[i]);
    if (!inputs[i] || p->n == MOST_NODES) return NULL;
  }
  p->of[p->n] = value;
  p->now[p->n] = hone_rewrite_copy(p->r, node, inputs);
  return p->now[p->n++];
}

/* Places in the table, as u8: none is outside of it. */
static hone_value_t* index_of(hone_rewriter_t* r, hone_value_t* source) {
  if (hone_dtype_of(source) == HONE_U8) return source;
  hone_value_t* wide = hone_cast(r->b, source, HONE_I32);
  return hone_cast(r->b, hone_add(r->b, wide, hone_scalar(r->b, HONE_I32, 128)), HONE_U8);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* source;
  hone_tensor_t* table;
  int steps = 0;
  if (node->prim != HONE_PRIM_CAST || !is_8bit(node->outputs[0]) ||
      !find_source(node->outputs[0], &steps, &source) || !source || source == node->outputs[0])
    return NULL;
  int64_t count = hone_match_count(&source->type);
  if (hone_match_constant(source) || (count >= 0 && count <= NUMBERS)) return NULL;
  replay_t p = {.r = r, .source = source, .numbers = all_numbers(r, hone_dtype_of(source))};
  hone_value_t* made = p.numbers ? replay(&p, node->outputs[0]) : NULL;
  if (!made || !p.is_costly || !hone_builder_ok(r->b)) return NULL;
  hone_status_t status = hone_evaluate(r->context, made, &table);
  if (status) return hone_fail_status(r->b, status);
  hone_pass_did(r->context, node, "is looked up, with all before it back to 8 bits");
  return hone_gather(r->b, hone_constant(r->b, table), index_of(r, source));
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count) hone_pass_note(context, "made %lld tables", (long long)context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_table;
const hone_pass_t hone_pass_table = {
    .name = "table",
    .summary = "functions of one 8-bit number to another are looked up",
    .phases = {HONE_PHASE_QUANT + 10},
    .run = run,
};
