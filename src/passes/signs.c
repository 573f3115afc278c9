/* Signs of data: where the device adds up products of bytes without a sign by bytes with one
 * faster than of two that have one (options->mixes_signs), data with a sign that is multiplied by
 * constant weights with a sign loses it, by 128 more than it was:
 *
 *   contract(x, w)   becomes   contract(x + 128, w) - 128 * sums of w
 *
 * The bytes are stored so where they are made, behind what only moves them. They are the same
 * numbers, since sums of integers are exact modulo 2^32. Contractions that have no whole fours to
 * add up, or go in batches as depthwise ones do, are left alone. */
#include <inttypes.h>
#include <string.h>

#include "passes/common/fusion.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

enum { GROUP = 4 };

/* The side of the weights; -1: it is none of those. */
static int find_weights(const hone_node_t* node) {
  if (node->prim != HONE_PRIM_CONTRACT || node->dtype != HONE_I32 || node->n_batch ||
      !hone_operand_has_groups(node, GROUP))
    return -1;
  for (int side = 0; side < 2; side++) {
    const hone_tensor_t* w = hone_match_constant(node->inputs[side]);
    const hone_value_t* data = hone_operand_origin(node->inputs[1 - side]);
    if (w && hone_tensor_dtype(w) == HONE_I8 && hone_tensor_count(w) &&
        data->type.dtype == HONE_I8 && data->node->prim != HONE_PRIM_CONSTANT &&
        hone_fusion_is_member(data->node))
      return side;
  }
  return -1;
}

/* -128 times the sums of the weights along the axes that `is_summed` has, modulo 2^32. */
static void add_up(const hone_tensor_t* weights, uint32_t is_summed, int32_t* out) {
  const int8_t* numbers = hone_tensor_data(weights);
  const int64_t* dims = hone_tensor_dims(weights);
  for (int64_t i = 0; i < hone_tensor_count(weights); i++) {
    int64_t at = 0, step = 1, rest = i;
    for (int axis = hone_tensor_rank(weights) - 1; axis >= 0; axis--) {
      if (!(is_summed >> axis & 1)) at += rest % dims[axis] * step;
      if (!(is_summed >> axis & 1)) step *= dims[axis];
      rest /= dims[axis];
    }
    out[at] = (int32_t)((uint32_t)out[at] + (uint32_t)(INT8_MIN * numbers[i]));
  }
}

/* What the sums are to have added, laid out for the result. */
static hone_value_t* excess(hone_rewriter_t* r, const hone_node_t* node, int side) {
  const hone_tensor_t* weights = hone_match_constant(node->inputs[side]);
  int64_t dims[HONE_MAX_RANK];
  uint32_t is_summed = 0;
  hone_tensor_t* sums;
  for (int i = side; i < node->n_axes; i += 2) is_summed |= 1u << node->axes[i];
  int rank = hone_tensor_rank(weights);
  for (int i = 0; i < rank; i++) dims[i] = is_summed >> i & 1 ? 1 : hone_tensor_dims(weights)[i];
  hone_status_t status = hone_tensor_create(r->graph->allocator, HONE_I32, rank, dims, &sums);
  if (status) return hone_fail_status(r->b, status);
  memset(hone_tensor_data(sums), 0, hone_tensor_bytes(sums));
  add_up(weights, is_summed, hone_tensor_data(sums));
  return hone_operand_lay_out(r->b, node, side, hone_constant(r->b, sums));
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  int side = find_weights(node);
  if (side < 0) return NULL;
  hone_value_t* inputs[2];
  inputs[side] = node->inputs[side];
  inputs[1 - side] = hone_operand_convert(r->self, r, node->inputs[1 - side]);
  if (!inputs[1 - side]) return NULL;
  hone_value_t* sums = hone_rewrite_copy(r, node, inputs);
  hone_value_t* now = hone_add(r->b, sums, excess(r, node, side));
  if (now) hone_pass_did(r->context, node, "data loses its sign");
  return now;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  hone_operand_store_t flipped;
  if (!context->options->mixes_signs) return NULL;
  hone_operand_store_open(&flipped, graph->allocator, HONE_U8);
  flipped.flips_sign = true;
  hone_status_t status = hone_rewrite_everywhere(context, graph, rule, &flipped);
  hone_operand_store_close(&flipped);
  if (!status && context->count)
    hone_pass_note(context, "%" PRId64 " contractions of data without its sign", context->count);
  return status;
}

extern const hone_pass_t hone_pass_signs;
const hone_pass_t hone_pass_signs = {
    .name = "signs",
    .summary = "bytes with a sign lose it where the device multiplies mixed signs faster",
    .phases = {HONE_PHASE_TIDY + 91},
    .run = run,
};
