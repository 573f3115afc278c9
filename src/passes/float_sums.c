/* Sums of products of bytes in f32, where no instruction adds them up: multiplying and adding is
 * one instruction for f32, and several for i32. All sums are whole numbers of at most 2^24, so
 * none is rounded, in whatever order they are taken.
 *
 * What makes floats of the sums again, as between quantized layers, takes them as they are: in the
 * end, when no scale can move into the weights any more and make other numbers of them.
 *
 * These are products of activations, as in attention, and those of which each result has weights
 * of its own, as depthwise convolutions have. What weights multiply else is for dot products of
 * bytes. Runs where the device
 * has these (options->sums_fours): others may be faster with integers. */
#include <inttypes.h>

#include "base/tensor_impl.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"
#include "passes/common/sums.h"

static bool is_byte(const hone_value_t* value) {
  return value->type.kind == HONE_TYPE_TENSOR &&
         (value->type.dtype == HONE_U8 || value->type.dtype == HONE_I8);
}

static bool is_exact(const hone_node_t* contract) {
  int64_t reach = hone_sums_reach(contract);
  return reach > 0 && reach <= HONE_SUMS_EXACT;
}

static bool is_weights(hone_value_t* value) {
  return hone_match_constant(hone_operand_origin(value));
}

/* Whether there are dot products of bytes for it: the operand is weights, which, where they come in
 * batches, fill vectors along axes of their own. */
static bool has_dots(const hone_node_t* contract, int side) {
  enum { VECTOR = 8, FOURS = 4 };
  bool named[HONE_MAX_RANK] = {false};
  const hone_type_t* type = &contract->inputs[side]->type;
  int64_t own = 1;
  if (!is_weights(contract->inputs[side])) return false;
  for (int i = side; i < contract->n_axes; i += 2) named[contract->axes[i]] = true;
  for (int i = 0; i < type->rank; i++)
    if (!named[i]) own *= type->dims[i].k;
  return !contract->n_batch || (own >= VECTOR && hone_operand_has_groups(contract, FOURS));
}

/* Whether lanes add up bytes of their own by weights with a sign: of windows with an axis of two
 * to four places, and another one. */
static bool has_dots_apart(const hone_pass_context_t* context, const hone_node_t* contract,
                           int side) {
  enum { VECTOR = 8, LEAST = 2, MOST = 4 };
  const hone_type_t* type = &contract->inputs[side]->type;
  int sums = (contract->n_axes - 2 * contract->n_batch) / 2, few = 0;
  int64_t channels = 1;
  if (!context->options->sums_apart || !is_weights(contract->inputs[side]) ||
      type->dtype != HONE_I8 || contract->inputs[!side]->type.dtype != HONE_U8)
    return false;
  for (int i = side; i < contract->n_axes; i += 2) {
    int64_t extent = type->dims[contract->axes[i]].k;
    if (i < 2 * contract->n_batch)
      channels *= extent;
    else
      few += extent >= LEAST && extent <= MOST;
  }
  return channels >= VECTOR && sums >= 2 && few > 0;
}

/* ---- the sums ---- */

static hone_value_t* sum_in_floats(hone_rewriter_t* r, hone_node_t* node) {
  if (node->prim != HONE_PRIM_CONTRACT || node->dtype != HONE_I32 || !is_byte(node->inputs[0]) ||
      !is_byte(node->inputs[1]) || !is_exact(node) || has_dots(node, 0) || has_dots(node, 1) ||
      has_dots_apart(r->context, node, 0) || has_dots_apart(r->context, node, 1))
    return NULL;
  hone_node_t product = *node;
  hone_value_t* inputs[2];
  for (int i = 0; i < 2; i++)
    inputs[i] =
        is_weights(node->inputs[i]) ? hone_cast(r->b, node->inputs[i], HONE_F32) : node->inputs[i];
  product.dtype = HONE_F32;
  hone_pass_did(r->context, node, "adds up in f32");
  return hone_cast(r->b, hone_rewrite_copy(r, &product, inputs), HONE_I32);
}

/* ---- what becomes of them ---- */

/* The largest size of an element; INT64_MAX: it is no constant. */
static int64_t reach_of_constant(const hone_value_t* value) {
  int64_t most = 0;
  while (value->node->prim == HONE_PRIM_PERMUTE || value->node->prim == HONE_PRIM_RESHAPE)
    value = value->node->inputs[0];
  const hone_tensor_t* constant = hone_match_constant(value);
  if (!constant || hone_tensor_dtype(constant) != HONE_I32) return INT64_MAX;
  const hone_loose_i32_t* numbers = hone_tensor_data(constant);
  for (int64_t i = 0; i < hone_tensor_count(constant); i++) {
    int64_t size = numbers[i] < 0 ? -(int64_t)numbers[i] : numbers[i];
    if (size > most) most = size;
  }
  return most;
}

static hone_value_t* unexpanded(hone_value_t* value) {
  return value->node->prim == HONE_PRIM_EXPAND ? value->node->inputs[0] : value;
}

/* Sums in f32 that were cast to i32, less a constant or as they are. */
static hone_value_t* keep_floats(hone_rewriter_t* r, hone_node_t* node) {
  if (node->prim != HONE_PRIM_CAST || node->dtype != HONE_F32) return NULL;
  const hone_node_t* sub = hone_match_prim(node->inputs[0], HONE_PRIM_SUB);
  const hone_value_t* value = sub ? sub->inputs[0] : node->inputs[0];
  hone_value_t* less = sub ? unexpanded(sub->inputs[1]) : NULL;
  const hone_node_t* cast = hone_match_prim(value, HONE_PRIM_CAST);
  const hone_node_t* sums = cast ? hone_sums_find(value) : NULL;
  if (!sums || sums->dtype != HONE_F32 || !is_exact(sums)) return NULL;
  if (less && reach_of_constant(less) > HONE_SUMS_EXACT - hone_sums_reach(sums)) return NULL;
  hone_pass_did(r->context, node, "takes sums as they are");
  return less ? hone_sub(r->b, cast->inputs[0], hone_cast(r->b, less, HONE_F32)) : cast->inputs[0];
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  if (!context->options->sums_fours) return NULL;
  bool is_first = context->phase < HONE_PHASE_WEIGHTS;
  HONE_TRY(hone_rewrite_once(context, graph, is_first ? sum_in_floats : keep_floats, NULL));
  if (context->count)
    hone_pass_note(context, "%" PRId64 " sums of products of bytes %s", context->count,
                   is_first ? "in f32" : "stay in f32");
  return NULL;
}

extern const hone_pass_t hone_pass_float_sums;
const hone_pass_t hone_pass_float_sums = {
    .name = "float_sums",
    .summary =
        "products of bytes that no instruction adds up are summed in f32, where that is exact",
    .phases = {HONE_PHASE_QUANT + 5, HONE_PHASE_TIDY + 40},
    .run = run,
};
