/* Narrow operands: contractions of f32 take their operands as bf16 or f16, and
 * sum in f32 as before. Weights are stored narrow; what was computed is rounded
 * once, where it was made, behind all that only moves it (padding, windows,
 * permutes), so that memory holds the narrow numbers. Everything else stays in
 * f32: softmax, normalization, reductions, and inputs and outputs of the model.
 *
 * Runs only where options->precision asks for it. Weights that an f16 cannot hold
 * keep their contraction in f32. Where the device has no fast products of narrow
 * numbers (options->widens), or has them only in pairs and for weights
 * (options->sums_pairs) and these do not come so, nor with a column of zeros more, or only by
 * matrix instructions (options->sums_blocks), for which these are too few, widening costs more than
 * narrow bytes save, but for weights that are used so few times that reading them is what takes the
 * time, for data of which each number is so, as in depthwise convolutions (where the device has
 * instructions for bf16), and for attention, whose kernel brings its operands into pairs: all other
 * contractions stay in f32 there. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "passes/common/columns.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/picture.h"
#include "passes/common/rewrite.h"

typedef struct narrowing {
  hone_operand_store_t narrow;
  int64_t stayed; /* contractions left in f32, which are faster so */
  int found;      /* that could be narrow */
  bool in_pairs;  /* whose kernel brings operands into pairs */
} narrowing_t;

/* ---- weights ---- */

static bool fits(hone_dtype_t dtype, const hone_loose_f32_t* numbers, int64_t count) {
  const float most = 65504;
  if (dtype != HONE_F16) return true;
  for (int64_t i = 0; i < count; i++)
    if (isfinite(numbers[i]) && fabsf(numbers[i]) > most) return false;
  return true;
}

static bool weights_fit(hone_value_t* value, hone_dtype_t dtype) {
  const hone_tensor_t* weights = hone_match_constant(hone_operand_origin(value));
  return !weights || fits(dtype, hone_tensor_data(weights), hone_tensor_count(weights));
}

/* ---- whether it pays ---- */

/* Whether some sum over weights has whole pairs. */
static bool goes_in_pairs(const hone_node_t* contract) {
  return (hone_match_constant(hone_operand_origin(contract->inputs[0])) ||
          hone_match_constant(hone_operand_origin(contract->inputs[1]))) &&
         hone_operand_has_groups(contract, 2);
}

/* Pairs along an axis that is summed over, or along columns that are filled up. */
static int64_t count_pairs(const hone_node_t* contract, int i) {
  hone_dim_t extent = contract->inputs[0]->type.dims[contract->axes[i]];
  if (!hone_dim_is_int(extent) || (extent.k % 2 && !hone_columns_are(contract, i))) return 0;
  return (extent.k + 1) / 2;
}

enum { LEAST_PAIRS = 4, MOST_PAIRS = 16 }; /* of a matrix instruction */

static bool has_depth(int64_t pairs) {
  for (int depth = LEAST_PAIRS; depth <= MOST_PAIRS; depth++)
    if (pairs > 0 && pairs % depth == 0) return true;
  return false;
}

/* Whether it is a convolution of pictures, of whose windows lines will be read (pass `pictures`).
 */
static bool reads_lines(const hone_node_t* contract) {
  hone_picture_t picture;
  return hone_picture_find(contract, &picture) &&
         hone_picture_pays(&picture, (int64_t)hone_dtype_size(HONE_BF16)) &&
         has_depth(picture.column_count * HONE_PICTURE_CHANNELS / 2);
}

/* Whether some sum over weights has enough pairs for a matrix instruction, which does several rows
 * of them for whole vectors of outputs, the last at least half of one
 * (block2_bf16_bf16_x16 of loop/intrinsic.c). */
static bool goes_in_blocks(const hone_node_t* contract) {
  int side = hone_match_constant(hone_operand_origin(contract->inputs[1])) ? 1 : 0;
  if (!hone_match_constant(hone_operand_origin(contract->inputs[side])) ||
      !hone_operand_fills_part(contract, side, HONE_BLOCK_LANES))
    return false;
  bool is_deep = reads_lines(contract);
  for (int i = 2 * contract->n_batch; i < contract->n_axes; i += 2)
    is_deep |= has_depth(count_pairs(contract, i));
  return is_deep;
}

static bool is_slow(const hone_pass_options_t* options, const hone_node_t* contract) {
  if (options->widens) return true;
  if (options->sums_blocks) return !goes_in_blocks(contract);
  return options->sums_pairs && !goes_in_pairs(contract) && !hone_columns_can_fill(contract);
}

/* Whether numbers that were computed are multiplied by so few weights each that reading them is
 * what takes the time. Those of the model's inputs would have to be rounded in front. */
static bool waits_for_data(const hone_node_t* contract) {
  enum { FEW_USES = 4 };
  for (int side = 0; side < 2; side++) {
    hone_value_t* data = hone_operand_origin(contract->inputs[side]);
    if (hone_match_constant(hone_operand_origin(contract->inputs[1 - side])) &&
        !hone_match_constant(data) && data->node->prim != HONE_PRIM_INPUT &&
        hone_operand_uses(contract, side) <= FEW_USES)
      return true;
  }
  return false;
}

static bool pays(const hone_pass_options_t* options, const hone_node_t* contract) {
  return !is_slow(options, contract) || hone_operand_waits_for_weights(contract) ||
         (!options->widens && waits_for_data(contract));
}

/* The operands, whose products go in pairs where that is faster; false: r->b has the status. */
static bool find_operands(hone_rewriter_t* r, const hone_node_t* contract, hone_value_t* out[2]) {
  const hone_pass_options_t* options = r->context->options;
  bool becomes_lines = options->sums_blocks && reads_lines(contract);
  if (!options->widens && options->sums_pairs && !becomes_lines && hone_columns_can_fill(contract))
    return hone_columns_fill(r, contract, out);
  for (int i = 0; i < 2; i++) out[i] = contract->inputs[i];
  return true;
}

/* ---- products of attention ---- */

/* Bytes of an operand of which a head's stay near while its rows go by. */
static int64_t near_bytes(const hone_pass_options_t* options) {
  enum { UNKNOWN_NEAR = 1 << 17 };
  return options->near_cache ? (int64_t)options->near_cache / 2 : UNKNOWN_NEAR;
}

/* Heads that threads share well enough. */
static int64_t enough_heads(const hone_pass_options_t* options) {
  enum { MANY = 8 };
  return options->threads > 0 && options->threads < MANY ? options->threads : MANY;
}

/* The most that there may be, where only a run knows; 0: no bound is known, or there are none. */
static int64_t count_most(const hone_type_t* type) {
  int64_t count = 1;
  for (int i = 0; i < type->rank; i++)
    if (!hone_i64_mul(count, hone_dim_max_value(type->dims[i]), &count)) return 0;
  return count > 0 ? count : 0;
}

/* Of the operands that are brought into pairs, the most bytes a head; -1: nobody knows. */
static int64_t bytes_per_head(const hone_node_t* product, int64_t heads) {
  int64_t most = 0;
  for (int side = 0; side < 2; side++) {
    int64_t count = count_most(&product->inputs[side]->type);
    bool is_given = hone_operand_origin(product->inputs[side])->node->prim == HONE_PRIM_INPUT;
    if (count == 0) return -1;
    if (is_given && count > most) most = count;
  }
  return most / heads * (int64_t)hone_dtype_size(HONE_BF16);
}

/* Whether it sums up what softmax weighs, several numbers: attention's kernel adds zeros to what is
 * no whole pair. */
static bool sums_up_exponentials(const hone_node_t* product) {
  enum { SEVERAL = 16 };
  bool is_it = false;
  for (int side = 0; side < 2; side++) {
    hone_dim_t count = product->inputs[side]->type.dims[product->axes[product->n_axes - 2 + side]];
    is_it |= hone_match_prim(product->inputs[side], HONE_PRIM_EXP) && hone_dim_is_int(count) &&
             count.k >= SEVERAL;
  }
  return is_it && product->n_axes == 2 * product->n_batch + 2;
}

/* Whether the product has whole pairs, enough rows for the lanes of a vector, enough heads, and
 * operands that stay near. */
static bool fits_pairs(const hone_pass_options_t* options, const hone_node_t* product) {
  enum { LANES = 16 };
  const hone_type_t* type = &product->outputs[0]->type;
  int64_t heads = 1;
  for (int i = 0; i < product->n_batch; i++)
    heads *= hone_dim_is_int(type->dims[i]) ? type->dims[i].k : 0;
  if (heads < enough_heads(options)) return false;
  int64_t bytes = bytes_per_head(product, heads);
  return type->rank == product->n_batch + 2 && count_most(type) / heads >= (int64_t)LANES * LANES &&
         bytes >= 0 && bytes <= near_bytes(options) &&
         (hone_operand_has_groups(product, 2) || sums_up_exponentials(product));
}

/* ---- which are chosen ---- */

/* In a run; taken for so many of each weight where only a run knows. */
static double count_products(const hone_node_t* contract) {
  enum { USUAL_USES = 64 };
  for (int side = 0; side < 2; side++) {
    int64_t own = hone_match_count(&contract->inputs[side]->type),
            used = hone_operand_uses(contract, side);
    if (own > 0) return (double)own * (double)(used < INT64_MAX ? used : USUAL_USES);
  }
  return USUAL_USES;
}

static double count_saved(const hone_node_t* contract) {
  double bytes = 0;
  for (int side = 0; side < 2; side++) {
    const hone_tensor_t* weights = hone_match_constant(hone_operand_origin(contract->inputs[side]));
    if (weights) bytes += (double)hone_tensor_bytes(weights) / 2;
  }
  return bytes;
}

static bool is_chosen(const hone_pass_options_t* options, narrowing_t* self,
                      const hone_node_t* contract) {
  const hone_mixture_t* mixture = options->mixture;
  int index = self->found++;
  if (!mixture) return true;
  if (mixture->found)
    mixture->found(mixture->self, contract->origin ? contract->origin : "",
                   is_slow(options, contract) ? 0 : count_products(contract),
                   count_saved(contract));
  return !mixture->narrow || (index < mixture->count && mixture->narrow[index]);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  narrowing_t* self = r->self;
  if (node->prim != HONE_PRIM_CONTRACT || node->dtype != HONE_F32) return NULL;
  if (!hone_match_is_f32(node->inputs[0]) || !hone_match_is_f32(node->inputs[1])) return NULL;
  if (self->in_pairs && !fits_pairs(r->context->options, node)) return NULL;
  if (!self->in_pairs && !pays(r->context->options, node)) {
    self->stayed++;
    return NULL;
  }
  hone_dtype_t dtype = self->narrow.dtype;
  if (!weights_fit(node->inputs[0], dtype) || !weights_fit(node->inputs[1], dtype)) return NULL;
  if (!is_chosen(r->context->options, self, node)) return NULL;
  hone_value_t* inputs[2];
  if (!find_operands(r, node, inputs)) return NULL;
  for (int i = 0; i < 2; i++) {
    inputs[i] = hone_operand_convert(&self->narrow, r, inputs[i]);
    if (!inputs[i]) return NULL;
  }
  hone_value_t* now = hone_rewrite_copy(r, node, inputs);
  if (now) hone_pass_did(r->context, node, "operands in %s", hone_dtype_name(dtype));
  return now;
}

/* ---- attention ---- */

/* Its two products, of which at least the first, the scores, fits: the second one sums over keys,
 * of which there may be an odd number. */
static bool has_pairs(const hone_pass_options_t* options, const hone_node_t* call) {
  const hone_graph_t* region = call->regions[0];
  int products = 0;
  bool fits = false;
  for (int n = 0; n < region->n_nodes; n++) {
    if (region->nodes[n]->prim != HONE_PRIM_CONTRACT) continue;
    if (products++ == 0) fits = fits_pairs(options, region->nodes[n]);
  }
  return products == 2 && fits;
}

/* Calls of attention that a kernel can do in pairs. */
static hone_status_t narrow_attention(hone_pass_context_t* context, hone_graph_t* graph,
                                      narrowing_t* self) {
  const hone_pass_options_t* options = context->options;
  if (!options->sums_pairs || options->widens || options->mixture) return NULL;
  hone_rewriter_t r = {.context = context, .self = self, .rule = rule, .skip_regions = true};
  self->in_pairs = true;
  for (int n = 0; n < graph->n_nodes; n++) {
    const hone_node_t* node = graph->nodes[n];
    if (node->prim == HONE_PRIM_CALL && strcmp(node->label, "attention") == 0 &&
        has_pairs(options, node))
      HONE_TRY(hone_rewrite_sweep(&r, node->regions[0]));
  }
  self->in_pairs = false;
  return NULL;
}

/* ---- the whole ---- */

/* Calls too: what was recognised as attention has contractions inside. */
static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  narrowing_t self = {.found = 0};
  hone_dtype_t dtype = context->options->precision;
  if (dtype == HONE_UNKNOWN) return NULL;
  hone_operand_store_open_rounding(&self.narrow, graph->allocator, dtype);
  /* Where products take hardly any time, what is stored in front of them counts. */
  self.narrow.above_most = context->options->sums_blocks;
  hone_status_t status = narrow_attention(context, graph, &self);
  if (!status) status = hone_rewrite_everywhere(context, graph, rule, &self);
  hone_operand_store_close(&self.narrow);
  HONE_TRY(status);
  if (context->count)
    hone_pass_note(context, "%" PRId64 " contractions in %s, weights %.1f kB", context->count,
                   hone_dtype_name(dtype), (double)self.narrow.bytes / 1e3);
  if (self.stayed)
    hone_pass_note(context, "%" PRId64 " contractions stay in f32, which is faster on this device",
                   self.stayed);
  return NULL;
}

extern const hone_pass_t hone_pass_precision;
const hone_pass_t hone_pass_precision = {
    .name = "precision",
    .summary = "contractions take operands in bf16 or f16, where --precision asks for it (rounds)",
    .phases = {HONE_PHASE_TIDY - 20},
    .run = run,
};
