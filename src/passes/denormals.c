/* Denormals: numbers of constants that are next to nothing become zero.
 *
 * Channels that training has given up keep weights of 1e-39 and the like, of which some models have
 * hundred thousands. Some processors take a hundred times as long for a product or a sum with such
 * a number. It can be told from zero in no result that has any other part:
 *
 *   add(contract(x, w), b)   becomes   add(contract(x, w'), b')   w', b': 0 where |w|, |b| < 2^-100
 *
 * That is done to constants that have numbers of usual size as well, in sums and products of f32,
 * also where they are moved first. It runs before what makes other weights of them. */
#include <inttypes.h>
#include <stdatomic.h>

#include "base/tensor_impl.h"
#include "base/thread_pool.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

/* The bits of |x|, in whose order numbers are: of 2^exponent. */
#define BITS_OF_POWER(exponent) ((127 + (exponent)) << 23)

enum {
  NEXT_TO_NOTHING = -100,
  USUAL = -60,
  GRAIN = 1 << 16 /* elements */,
  LANES = 16 /* looked at at once: compilers make vectors of them */
};

/* ---- numbers ---- */

typedef struct look {
  const hone_loose_i32_t* numbers;
  atomic_int has_usual, has_little; /* little: next to nothing, but not zero */
} look_t;

static inline int32_t magnitude(int32_t bits) { return bits & 0x7fffffff; }

static inline bool is_next_to_nothing(int32_t size) {
  return (size > 0) & (size < BITS_OF_POWER(NEXT_TO_NOTHING));
}

static inline void look_at_one(int32_t bits, int32_t* usual, int32_t* little) {
  int32_t size = magnitude(bits);
  *usual |= size >= BITS_OF_POWER(USUAL);
  *little |= is_next_to_nothing(size);
}

static void look_at(void* context, int64_t begin, int64_t end) {
  look_t* look = context;
  const hone_loose_i32_t *numbers = look->numbers + begin, *stop = look->numbers + end;
  int32_t usual[LANES] = {0}, little[LANES] = {0};
  for (; stop - numbers >= LANES; numbers += LANES)
    for (int i = 0; i < LANES; i++) look_at_one(numbers[i], &usual[i], &little[i]);
  for (; numbers < stop; numbers++) look_at_one(*numbers, &usual[0], &little[0]);
  for (int i = 1; i < LANES; i++) {
    usual[0] |= usual[i];
    little[0] |= little[i];
  }
  if (usual[0]) atomic_store(&look->has_usual, 1);
  if (little[0]) atomic_store(&look->has_little, 1);
}

/* Whether some of the numbers are to be zero. */
static bool has_any(const hone_tensor_t* tensor) {
  look_t look = {.numbers = hone_tensor_data(tensor)};
  hone_parallel_for(hone_thread_pool_shared(), hone_tensor_count(tensor), GRAIN, look_at, &look);
  return atomic_load(&look.has_little) && atomic_load(&look.has_usual);
}

static hone_value_t* without(hone_rewriter_t* r, const hone_tensor_t* tensor) {
  hone_tensor_t* out;
  hone_status_t status = hone_tensor_create_raw(
      r->graph->allocator, HONE_F32, hone_tensor_rank(tensor), hone_tensor_dims(tensor), &out);
  if (status) return hone_fail_status(r->b, status);
  const hone_loose_i32_t* from = hone_tensor_data(tensor);
  int32_t* to = hone_tensor_data(out);
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++)
    to[i] = is_next_to_nothing(magnitude(from[i])) ? 0 : from[i];
  return hone_constant(r->b, out);
}

/* ---- operands ---- */

static bool moves_one(const hone_node_t* node) {
  return node->n_inputs == 1 && hone_operand_only_moves(node);
}

/* The operand without such numbers; itself where it has none. */
/* NOLINTNEXTLINE(misc-no-recursion): along a chain of moves */
static hone_value_t* clear(hone_rewriter_t* r, hone_value_t* value) {
  const hone_tensor_t* tensor = hone_match_constant(value);
  if (tensor && hone_tensor_dtype(tensor) == HONE_F32)
    return has_any(tensor) ? without(r, tensor) : value;
  if (!moves_one(value->node)) return value;
  hone_value_t* from = clear(r, value->node->inputs[0]);
  return !from || from == value->node->inputs[0] ? value : hone_rewrite_copy(r, value->node, &from);
}

static bool adds_or_multiplies(const hone_node_t* node) {
  static const hone_prim_t prims[] = {HONE_PRIM_CONTRACT, HONE_PRIM_ADD, HONE_PRIM_SUB,
                                      HONE_PRIM_MUL};
  for (size_t i = 0; i < sizeof prims / sizeof *prims; i++)
    if (node->prim == prims[i]) return node->outputs[0]->type.dtype == HONE_F32;
  return false;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  enum { OPERANDS = 2 };
  hone_value_t* inputs[OPERANDS];
  bool changed = false;
  if (!adds_or_multiplies(node) || node->n_inputs != OPERANDS) return NULL;
  for (int i = 0; i < OPERANDS; i++) {
    inputs[i] = clear(r, node->inputs[i]);
    if (!inputs[i]) return NULL;
    changed |= inputs[i] != node->inputs[i];
  }
  hone_value_t* now = changed ? hone_rewrite_copy(r, node, inputs) : NULL;
  if (now) hone_pass_did(r->context, node, "numbers below 2^%d are zero", NEXT_TO_NOTHING);
  return now;
}

/* ---- the pass ---- */

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  if (context->options->exact) return NULL;
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "%" PRId64 " constants with numbers next to nothing", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_denormals;
const hone_pass_t hone_pass_denormals = {
    .name = "denormals",
    .summary = "numbers of constants below 2^-100 beside usual ones become zero (changes them)",
    .phases = {HONE_PHASE_TIDY - 30},
    .run = run,
};
