/* Products of numbers of 16 bits in f32, on devices where these are faster (options->widens_f16,
 * options->widens_bf16): else each number would be widened for each of its products. Sums were made
 * in f32 before, so that results are the same.
 *
 * Weights become f32, and so is stored what layers hand one another for products (passes/fuse.c);
 * convolutions so widened may be computed by `winograd` then. Weights that are used few times stay
 * narrow, since to read them is what takes the time. */
#include <inttypes.h>

#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

static bool is_slow(const hone_pass_options_t* options, const hone_value_t* value) {
  if (value->type.kind != HONE_TYPE_TENSOR) return false;
  return (value->type.dtype == HONE_F16 && options->widens_f16) ||
         (value->type.dtype == HONE_BF16 && options->widens_bf16);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  const hone_pass_options_t* options = r->context->options;
  if (node->prim != HONE_PRIM_CONTRACT || !is_slow(options, node->inputs[0]) ||
      !is_slow(options, node->inputs[1]) || hone_operand_waits_for_weights(node))
    return NULL;
  hone_node_t product = *node;
  hone_value_t* inputs[2];
  for (int i = 0; i < 2; i++) {
    inputs[i] = hone_operand_convert(r->self, r, node->inputs[i]);
    if (!inputs[i]) return NULL;
  }
  product.dtype = HONE_F32;
  hone_pass_did(r->context, node, "multiplies in f32");
  return hone_cast(r->b, hone_rewrite_copy(r, &product, inputs), node->dtype);
}

/* Calls too: what was recognised as attention has contractions inside. */
static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  if (!context->options->widens_f16 && !context->options->widens_bf16) return NULL;
  hone_operand_store_t wide;
  hone_operand_store_open(&wide, graph->allocator, HONE_F32);
  hone_status_t status = hone_rewrite_everywhere(context, graph, rule, &wide);
  hone_operand_store_close(&wide);
  HONE_TRY(status);
  if (context->count)
    hone_pass_note(context, "%" PRId64 " contractions in f32, weights %.1f kB", context->count,
                   (double)wide.bytes / 1e3);
  return NULL;
}

extern const hone_pass_t hone_pass_halves;
const hone_pass_t hone_pass_halves = {
    .name = "halves",
    .summary = "products of 16-bit floats are computed in f32 where that is faster",
    .phases = {HONE_PHASE_TIDY - 10},
    .run = run,
};
