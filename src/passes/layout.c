/* Layout: in which order the axes of values lie in memory.
 *
 * Contractions without batch axes (convolutions, products) give the axes of the
 * weights last, so what they make lies channels last, and `movement` lets permutes
 * sink until whole regions are in that order. A contraction with batch axes, such
 * as a depthwise or grouped convolution, names its channels first. Here it is
 * followed by two permutes: one that puts the channels last, which stays (see
 * hone_move_is_pinned) and becomes a part of the same kernel; and its inverse,
 * which `movement` takes on towards the readers. Where a product's first operand
 * is the weights, the two change places, with a permute behind.
 *
 * Attention and other products whose batches both operands bring along stay as
 * they are: only constant weights with at most one axis of their own count.
 *
 * What has been recognised is opened here, attention apart, so that permutes pass
 * through. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "ir/outline.h"
#include "passes/common/match.h"
#include "passes/common/movement.h"

enum { FEW_CHANNELS = 4 };

static bool is_channelwise(const hone_node_t* contract) {
  const hone_value_t* weights = contract->inputs[1];
  return hone_match_from_constants(weights) && !hone_match_from_constants(contract->inputs[0]) &&
         weights->type.rank - contract->n_axes / 2 <= 1;
}

/* Whether the channels are too few to fill a vector: rows of pixels do. */
static bool has_few_channels(const hone_node_t* contract) {
  const hone_type_t* type = &contract->outputs[0]->type;
  int own = type->rank - (contract->inputs[0]->type.rank - contract->n_axes / 2);
  int64_t channels = 1;
  for (int i = 0; i < own && channels; i++) {
    hone_dim_t dim = type->dims[i < contract->n_batch ? i : type->rank - own + i];
    if (!hone_dim_is_int(dim) || !hone_i64_mul(channels, dim.k, &channels)) return false;
  }
  return channels <= FEW_CHANNELS;
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  int64_t last[HONE_MAX_RANK], back[HONE_MAX_RANK];
  if (node->prim != HONE_PRIM_CONTRACT || !hone_type_is_known(&node->outputs[0]->type) ||
      !is_channelwise(node) || has_few_channels(node) || !hone_move_channels_last(node, last))
    return NULL;
  hone_match_invert(node->outputs[0]->type.rank, last, back);
  hone_value_t* same = hone_rewrite_copy(r, node, node->inputs);
  hone_pass_did(r->context, node, "channels come last");
  return hone_permute(r->b, hone_permute(r->b, same, last), back);
}

/* ---- weights that come first ---- */

static bool has_weights_first(const hone_node_t* contract) {
  const hone_type_t *weights = &contract->inputs[0]->type, *data = &contract->inputs[1]->type;
  int pairs = contract->n_axes / 2;
  for (int i = 0; i < contract->n_batch; i++)
    if (!hone_dim_is(contract->outputs[0]->type.dims[i], 1)) return false;
  return weights->rank > pairs && data->rank > pairs &&
         hone_match_from_constants(contract->inputs[0]) &&
         !hone_match_from_constants(contract->inputs[1]);
}

/* The same product, weights second. */
static hone_value_t* swap_operands(hone_rewriter_t* r, const hone_node_t* node) {
  int64_t pairs[HONE_MAX_RANK][2];
  for (int i = 0; i < node->n_axes / 2; i++) {
    pairs[i][0] = node->axes[2 * i + 1];
    pairs[i][1] = node->axes[2 * i];
  }
  return hone_contract(r->b, node->inputs[1], node->inputs[0], node->n_axes / 2,
                       (const int64_t(*)[2])pairs, node->n_batch, node->dtype);
}

static hone_value_t* put_weights_last(hone_rewriter_t* r, hone_node_t* node) {
  int64_t back[HONE_MAX_RANK];
  if (node->prim != HONE_PRIM_CONTRACT || !hone_type_is_known(&node->outputs[0]->type) ||
      !has_weights_first(node))
    return NULL;
  int own = node->inputs[0]->type.rank - node->n_axes / 2, rank = node->outputs[0]->type.rank;
  for (int i = 0; i < node->n_batch; i++) back[i] = i;
  for (int i = node->n_batch; i < rank; i++)
    back[i] = i < node->n_batch + own ? rank - own + i - node->n_batch : i - own;
  hone_pass_did(r->context, node, "weights come last");
  return hone_permute(r->b, swap_operands(r, node), back);
}

static hone_status_t open_calls(hone_graph_t* graph) {
  static const char* const labels[] = {"gelu",       "gelu_tanh",  "quick_gelu", "silu",
                                       "hard_swish", "layer_norm", "rms_norm",   "instance_norm",
                                       "softmax",    "log_softmax"};
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
    HONE_TRY(hone_graph_inline(graph, labels[i]));
  return NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(open_calls(graph));
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  HONE_TRY(hone_rewrite_once(context, graph, put_weights_last, NULL));
  if (context->count)
    hone_pass_note(context, "put the channels of %" PRId64 " contractions last", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_layout;
const hone_pass_t hone_pass_layout = {
    .name = "layout",
    .summary =
        "what goes along weights comes last: also with depthwise convolutions, or weights first",
    .phases = {HONE_PHASE_LAYOUT},
    .run = run,
};
