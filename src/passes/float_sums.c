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
#include <math.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

/* The largest size of whole numbers that are bytes; 0: not all of them are. */
static int64_t reach_of_floats(const hone_tensor_t* weights) {
  float most = 0;
  const float* numbers = hone_tensor_data(weights);
  for (int64_t i = 0; i < hone_tensor_count(weights); i++) {
    float size = fabsf(numbers[i]);
    if (!(size <= UINT8_MAX && rintf(size) == size)) return 0;
    most = fmaxf(most, size);
  }
  return (int64_t)most;
}

/* The largest size that one of its numbers can have; 0: they are no bytes. */
static int64_t reach(const hone_value_t* value) {
  if (value->type.kind != HONE_TYPE_TENSOR) return 0;
  return value->type.dtype == HONE_U8 ? UINT8_MAX : value->type.dtype == HONE_I8 ? -INT8_MIN : 0;
}

static const hone_value_t* unmoved(const hone_value_t* value) {
  while (value->node->prim == HONE_PRIM_PERMUTE || value->node->prim == HONE_PRIM_RESHAPE)
    value = value->node->inputs[0];
  return value;
}

/* The same of an operand that may be of f32 by now. */
static int64_t reach_of_operand(const hone_value_t* value) {
  if (reach(value)) return reach(value);
  value = unmoved(value);
  const hone_tensor_t* weights = hone_match_constant(value);
  if (weights) return hone_tensor_dtype(weights) == HONE_F32 ? reach_of_floats(weights) : 0;
  const hone_node_t* cast = hone_match_prim(value, HONE_PRIM_CAST);
  return cast ? reach(cast->inputs[0]) : 0;
}

/* Products in each sum; INT64_MAX: nobody knows. */
static int64_t count_products(const hone_node_t* contract) {
  int64_t count = 1;
  for (int i = 2 * contract->n_batch; i < contract->n_axes; i += 2) {
    hone_dim_t extent = contract->inputs[0]->type.dims[contract->axes[i]];
    if (!hone_i64_mul(count, hone_dim_max_value(extent), &count)) return INT64_MAX;
  }
  return count;
}

static bool is_exact(const hone_node_t* contract) {
  const int64_t most = INT64_C(1) << 24;
  int64_t each = reach_of_operand(contract->inputs[0]) * reach_of_operand(contract->inputs[1]);
  return each > 0 && count_products(contract) <= most / each;
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

/* ---- the sums ---- */

static hone_value_t* sum_in_floats(hone_rewriter_t* r, hone_node_t* node) {
  if (node->prim != HONE_PRIM_CONTRACT || node->dtype != HONE_I32 || !reach(node->inputs[0]) ||
      !reach(node->inputs[1]) || !is_exact(node) || has_dots(node, 0) || has_dots(node, 1))
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

static hone_value_t* keep_floats(hone_rewriter_t* r, hone_node_t* node) {
  if (node->prim != HONE_PRIM_CAST || node->dtype != HONE_F32) return NULL;
  const hone_node_t* cast = hone_match_prim(node->inputs[0], HONE_PRIM_CAST);
  if (!cast || cast->dtype != HONE_I32) return NULL;
  const hone_node_t* sums = hone_match_prim(unmoved(cast->inputs[0]), HONE_PRIM_CONTRACT);
  if (!sums || sums->dtype != HONE_F32 || !is_exact(sums)) return NULL;
  hone_pass_did(r->context, node, "takes sums as they are");
  return cast->inputs[0];
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
