/* Bytes as numbers of 16 bits: where the device adds up products of these in pairs, and would make
 * them of bytes for each product anew (options->sums_shorts), what contractions multiply by weights
 * is stored as i16, and so are the weights. It is the same numbers: sums are exact as before.
 *
 * The numbers are widened where they were made, behind all that only moves them (padding,
 * windows); others that read them read the wide ones, so that one of the two is stored. Weights
 * that are used few times stay bytes, since to read them is what takes the time. */
#include <inttypes.h>

#include "base/map.h"
#include "base/memory.h"
#include "passes/common/fusion.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

typedef struct shorts {
  hone_map_t origins; /* the values that are stored wide */
  hone_operand_store_t wide;
} shorts_t;

/* ---- which ---- */

/* Numbers of values change while a graph is rewritten; they stay where they are. */
static uint64_t key_of(const hone_value_t* value) { return (uint64_t)(uintptr_t)value; }

static bool is_narrow(const hone_value_t* value) {
  return value && value->type.kind == HONE_TYPE_TENSOR &&
         (value->type.dtype == HONE_U8 || value->type.dtype == HONE_I8);
}

/* Which operand is weights that are worth it; -1: none. */
static int find_weights(const hone_node_t* node) {
  enum { FEW_USES = 4 };
  if (node->prim != HONE_PRIM_CONTRACT || node->dtype != HONE_I32 || node->n_batch ||
      !is_narrow(node->inputs[0]) || !is_narrow(node->inputs[1]) ||
      !hone_operand_has_groups(node, 2))
    return -1;
  for (int side = 0; side < 2; side++) {
    hone_value_t* data = hone_operand_origin(node->inputs[1 - side]);
    if (hone_match_constant(hone_operand_origin(node->inputs[side])) &&
        !hone_match_constant(data) && hone_fusion_is_member(data->node) &&
        hone_operand_uses(node, side) > FEW_USES)
      return side;
  }
  return -1;
}

static hone_status_t find_origins(shorts_t* self, const hone_graph_t* graph) {
  for (int i = 0; i < graph->n_nodes; i++) {
    int weights = find_weights(graph->nodes[i]);
    if (weights < 0) continue;
    hone_value_t* data = hone_operand_origin(graph->nodes[i]->inputs[1 - weights]);
    HONE_TRY(hone_map_put_u64(&self->origins, key_of(data), data));
  }
  return NULL;
}

static bool is_stored_wide(const shorts_t* self, hone_value_t* value) {
  return is_narrow(value) && hone_map_get_u64(&self->origins, key_of(hone_operand_origin(value)));
}

/* ---- widening ---- */

static hone_value_t* multiply(hone_rewriter_t* r, hone_node_t* node) {
  shorts_t* self = r->self;
  int weights = find_weights(node);
  hone_value_t* inputs[2];
  for (int i = 0; i < 2; i++) {
    bool is_wide = i == weights || is_stored_wide(self, node->inputs[i]);
    inputs[i] = is_wide ? hone_operand_convert(&self->wide, r, node->inputs[i]) : node->inputs[i];
    if (!inputs[i]) return NULL;
  }
  if (inputs[0] == node->inputs[0] && inputs[1] == node->inputs[1]) return NULL;
  if (weights >= 0) hone_pass_did(r->context, node, "multiplies numbers of 16 bits");
  return hone_rewrite_copy(r, node, inputs);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  shorts_t* self = r->self;
  if (node->prim == HONE_PRIM_CONTRACT && node->dtype == HONE_I32) return multiply(r, node);
  if (node->prim != HONE_PRIM_CAST || !is_stored_wide(self, node->inputs[0]) ||
      hone_dtype_bits(node->dtype) <= 8)
    return NULL;
  hone_value_t* wide = hone_operand_convert(&self->wide, r, node->inputs[0]);
  return wide ? hone_cast(r->b, wide, node->dtype) : NULL;
}

/* ---- the pass ---- */

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  if (!context->options->sums_shorts) return NULL;
  shorts_t self;
  hone_map_init(&self.origins, graph->allocator);
  hone_operand_store_open(&self.wide, graph->allocator, HONE_I16);
  hone_rewriter_t rewriter = {
      .context = context, .self = &self, .rule = rule, .skip_regions = true};
  hone_status_t status = find_origins(&self, graph);
  if (!status && hone_map_count(&self.origins)) status = hone_rewrite_sweep(&rewriter, graph);
  hone_map_free(&self.origins);
  hone_operand_store_close(&self.wide);
  if (!status && context->count)
    hone_pass_note(context, "%" PRId64 " contractions of 16 bits, weights %.1f kB", context->count,
                   (double)self.wide.bytes / 1e3);
  return status;
}

extern const hone_pass_t hone_pass_shorts;
const hone_pass_t hone_pass_shorts = {
    .name = "shorts",
    .summary =
        "bytes that are multiplied by weights are stored in 16 bits, where products of "
        "these are added up in pairs faster",
    .phases = {HONE_PHASE_TIDY + 92},
    .run = run,
};
