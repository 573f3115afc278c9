/* Bytes as numbers of 16 bits: where the device adds up products of these in pairs, and would make
 * them of bytes for each product anew (options->sums_shorts), what contractions multiply by weights
 * is stored as i16, and so are the weights. It is the same numbers: sums are exact as before.
 *
 * The numbers are widened where they were made, behind all that only moves them (padding,
 * windows); others that read them read the wide ones, so that one of the two is stored. Weights
 * that are used few times stay bytes, since to read them is what takes the time, and so do slight
 * ones (ir/slight.h) with what they are multiplied by, where the device is faster at that.
 *
 * Pairs lie side by side in both operands. Where the channels of an image come last and are odd in
 * number, as in a picture, pairs go on from one column of a window to the next: columns and
 * channels are one run, and the weights are laid out as the image is. */
#include <inttypes.h>

#include "base/map.h"
#include "base/memory.h"
#include "passes/common/evaluate.h"
#include "passes/common/fusion.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"
#include "passes/common/slight.h"

typedef struct shorts {
  const hone_pass_options_t* options;
  hone_map_t origins; /* the values that are stored wide */
  hone_map_t bytes;   /* contractions that are faster as they are, by their addresses */
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
    hone_node_t* node = graph->nodes[i];
    int weights = find_weights(node);
    if (hone_slight_fits(self->options, node)) {
      HONE_TRY(hone_map_put_u64(&self->bytes, (uint64_t)(uintptr_t)node, node));
      continue;
    }
    if (weights < 0) continue;
    hone_value_t* data = hone_operand_origin(node->inputs[1 - weights]);
    HONE_TRY(hone_map_put_u64(&self->origins, key_of(data), data));
  }
  return NULL;
}

static bool is_stored_wide(const shorts_t* self, hone_value_t* value) {
  return is_narrow(value) && hone_map_get_u64(&self->origins, key_of(hone_operand_origin(value)));
}

/* ---- pairs across columns ---- */

/* The pair of the contraction that names this axis of the data; -1: none. */
static int pair_of(const hone_node_t* node, int data, int64_t axis) {
  for (int i = 0; 2 * i < node->n_axes; i++)
    if (node->axes[2 * i + data] == axis) return i;
  return -1;
}

/* Whether an odd number of channels lies innermost in an image, and an even number of columns of
 * a window directly around it; gives their pairs. */
static bool find_run(const hone_node_t* node, int data, int* out_columns, int* out_channels) {
  const hone_node_t* window = hone_match_prim(node->inputs[data], HONE_PRIM_WINDOW);
  if (!window) return false;
  int rank = window->inputs[0]->type.rank, last = window->n_axes - 1;
  const hone_dim_t* dims = node->inputs[data]->type.dims;
  *out_columns = pair_of(node, data, rank + last);
  *out_channels = pair_of(node, data, rank - 1);
  return *out_columns >= 0 && *out_channels >= 0 && window->axes[last] == rank - 2 &&
         hone_dim_is(window->hi[last], 1) && hone_dim_is_int(dims[rank - 1]) &&
         dims[rank - 1].k % 2 == 1 && hone_dim_is_int(dims[rank + last]) &&
         dims[rank + last].k % 2 == 0;
}

/* `x` with its axes in this order, computed at once, as a view of the last two as one. */
static hone_value_t* laid_out(hone_rewriter_t* r, hone_value_t* x, const int64_t* order) {
  hone_dim_t shape[HONE_MAX_RANK];
  hone_value_t* permuted = hone_permute(r->b, x, order);
  if (!permuted) return NULL;
  int last = permuted->type.rank - 2;
  for (int i = 0; i < last; i++) shape[i] = permuted->type.dims[i];
  shape[last] = hone_d_mul(r->b, permuted->type.dims[last], permuted->type.dims[last + 1]);
  hone_value_t* joined = hone_evaluate_constant(r, hone_reshape(r->b, permuted, last + 1, shape));
  return joined ? hone_reshape(r->b, joined, last + 2, permuted->type.dims) : NULL;
}

/* The contraction of `inputs`, with such a run summed up last: axes of the weights that are not
 * summed over come first, then the others in the order of the sums. NULL: there is no run. */
static hone_value_t* multiply_runs(hone_rewriter_t* r, const hone_node_t* node, int weights,
                                   hone_value_t* const* inputs) {
  int64_t pairs[HONE_MAX_RANK][2], order[HONE_MAX_RANK];
  int columns, channels, n = 0, n_pairs = node->n_axes / 2, rank = inputs[weights]->type.rank;
  hone_value_t* operands[2] = {inputs[0], inputs[1]};
  if (!find_run(node, 1 - weights, &columns, &channels)) return NULL;
  for (int i = 0; i < rank; i++)
    if (pair_of(node, weights, i) < 0) order[n++] = i;
  for (int pass = 0, at = 0; pass < 3; pass++)
    for (int i = 0; i < n_pairs; i++) {
      if (pass != (i == channels ? 2 : i == columns ? 1 : 0)) continue;
      pairs[at][1 - weights] = node->axes[2 * i + 1 - weights];
      pairs[at++][weights] = n;
      order[n++] = node->axes[2 * i + weights];
    }
  operands[weights] = laid_out(r, inputs[weights], order);
  return hone_contract(r->b, operands[0], operands[1], n_pairs, (const int64_t(*)[2])pairs, 0,
                       HONE_I32);
}

/* ---- widening ---- */

static hone_value_t* multiply(hone_rewriter_t* r, hone_node_t* node) {
  shorts_t* self = r->self;
  if (hone_map_get_u64(&self->bytes, (uint64_t)(uintptr_t)node)) return NULL;
  int weights = find_weights(node);
  hone_value_t* inputs[2];
  for (int i = 0; i < 2; i++) {
    bool is_wide = i == weights || is_stored_wide(self, node->inputs[i]);
    inputs[i] = is_wide ? hone_operand_convert(&self->wide, r, node->inputs[i]) : node->inputs[i];
    if (!inputs[i]) return NULL;
  }
  if (inputs[0] == node->inputs[0] && inputs[1] == node->inputs[1]) return NULL;
  if (weights >= 0) hone_pass_did(r->context, node, "multiplies numbers of 16 bits");
  hone_value_t* now = weights >= 0 ? multiply_runs(r, node, weights, inputs) : NULL;
  return now ? now : hone_rewrite_copy(r, node, inputs);
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
  shorts_t self = {.options = context->options};
  hone_map_init(&self.origins, graph->allocator);
  hone_map_init(&self.bytes, graph->allocator);
  hone_operand_store_open(&self.wide, graph->allocator, HONE_I16);
  hone_rewriter_t rewriter = {
      .context = context, .self = &self, .rule = rule, .skip_regions = true};
  hone_status_t status = find_origins(&self, graph);
  if (!status && hone_map_count(&self.origins)) status = hone_rewrite_sweep(&rewriter, graph);
  hone_map_free(&self.origins);
  hone_map_free(&self.bytes);
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
