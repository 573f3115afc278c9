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

enum { MAX_MOVES = 24 };

typedef struct shorts {
  hone_map_t origins; /* the values that are stored wide */
  hone_map_t made;    /* wide values by the narrow ones */
  int64_t bytes;      /* of weights, as they are now */
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
      !is_narrow(node->inputs[0]) || !is_narrow(node->inputs[1]) || !hone_operand_has_pairs(node))
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

static void convert(const hone_tensor_t* from, int16_t* to) {
  const unsigned char* bytes = hone_tensor_data(from);
  bool is_signed = hone_tensor_dtype(from) == HONE_I8;
  for (int64_t i = 0; i < hone_tensor_count(from); i++)
    to[i] = is_signed ? (int16_t)(signed char)bytes[i] : (int16_t)bytes[i];
}

static hone_value_t* widen_constant(hone_rewriter_t* r, const hone_tensor_t* constant) {
  shorts_t* self = r->self;
  hone_tensor_t* now;
  hone_status_t status = hone_tensor_create(
      r->graph->allocator, HONE_I16, hone_tensor_rank(constant), hone_tensor_dims(constant), &now);
  if (status) return hone_fail_status(r->b, status);
  convert(constant, hone_tensor_data(now));
  self->bytes += (int64_t)hone_tensor_bytes(now);
  return hone_constant(r->b, now);
}

static hone_value_t* widen(hone_rewriter_t* r, hone_value_t* value, int depth);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as MAX_MOVES */
static hone_value_t* make_wide(hone_rewriter_t* r, hone_value_t* value, int depth) {
  const hone_node_t* node = value->node;
  const hone_tensor_t* constant = hone_match_constant(value);
  if (constant) return widen_constant(r, constant);
  if (!hone_operand_only_moves(node) || value->binds || depth == MAX_MOVES)
    return hone_cast(r->b, value, HONE_I16);
  hone_value_t* inputs[2];
  for (int i = 0; i < node->n_inputs; i++) {
    inputs[i] = widen(r, node->inputs[i], depth + 1);
    if (!inputs[i]) return NULL;
  }
  return hone_rewrite_copy(r, node, inputs);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as MAX_MOVES */
static hone_value_t* widen(hone_rewriter_t* r, hone_value_t* value, int depth) {
  shorts_t* self = r->self;
  hone_value_t* known = hone_map_get_u64(&self->made, key_of(value));
  if (known) return known;
  hone_value_t* now = make_wide(r, value, depth);
  if (!now) return NULL;
  hone_status_t status = hone_map_put_u64(&self->made, key_of(value), now);
  return status ? hone_fail_status(r->b, status) : now;
}

static hone_value_t* multiply(hone_rewriter_t* r, hone_node_t* node) {
  int weights = find_weights(node);
  hone_value_t* inputs[2];
  for (int i = 0; i < 2; i++) {
    bool is_wide = i == weights || is_stored_wide(r->self, node->inputs[i]);
    inputs[i] = is_wide ? widen(r, node->inputs[i], 0) : node->inputs[i];
    if (!inputs[i]) return NULL;
  }
  if (inputs[0] == node->inputs[0] && inputs[1] == node->inputs[1]) return NULL;
  if (weights >= 0) hone_pass_did(r->context, node, "multiplies numbers of 16 bits");
  return hone_rewrite_copy(r, node, inputs);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  if (node->prim == HONE_PRIM_CONTRACT && node->dtype == HONE_I32) return multiply(r, node);
  if (node->prim != HONE_PRIM_CAST || !is_stored_wide(r->self, node->inputs[0]) ||
      hone_dtype_bits(node->dtype) <= 8)
    return NULL;
  hone_value_t* wide = widen(r, node->inputs[0], 0);
  return wide ? hone_cast(r->b, wide, node->dtype) : NULL;
}

/* ---- the pass ---- */

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  shorts_t self = {.bytes = 0};
  if (!context->options->sums_shorts) return NULL;
  hone_map_init(&self.origins, graph->allocator);
  hone_map_init(&self.made, graph->allocator);
  hone_rewriter_t rewriter = {
      .context = context, .self = &self, .rule = rule, .skip_regions = true};
  hone_status_t status = find_origins(&self, graph);
  if (!status && hone_map_count(&self.origins)) status = hone_rewrite_sweep(&rewriter, graph);
  hone_map_free(&self.origins);
  hone_map_free(&self.made);
  if (!status && context->count)
    hone_pass_note(context, "%" PRId64 " contractions of 16 bits, weights %.1f kB", context->count,
                   (double)self.bytes / 1e3);
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
