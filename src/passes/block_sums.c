/* Block sums: products of floats by weights whose blocks have a scale each (pass `dequantize`) are
 * made of integers, where the device adds up those of 16 bits in pairs in half the time of floats:
 *
 *   sum over blocks b and k of x[i, b, k] (w[b, k, j] s[b, j])     becomes
 *   sum over b of (sum over k of q[i, b, k] w[b, k, j]) t[i, b] s[b, j]
 *
 * with x[i, b, k] ~ q[i, b, k] t[i, b], where q has 16 bits and t is the largest of the block by
 * 2^15 - 1. Inner sums are exact. What that rounds is 2^-16 of a block's largest number at most,
 * which leaves results within 1e-4 of the largest where blocks are not too long; options->exact
 * leaves products as they are.
 *
 * Inner sums are a kernel of their own, and what they write has to be read again: that must take
 * less than what the products gain. */
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/tensor_impl.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

enum { DATA, WEIGHTS, MOST = INT16_MAX };

typedef struct product {
  hone_value_t *counts, *scales; /* [blocks, block, columns], [blocks, 1, columns] */
  int64_t rows, blocks, block, columns;
} product_t;

/* ---- which ---- */

/* Whether sums of a block, times the data's 16 bits, stay in 32 bits. */
static bool has_room(hone_value_t* counts, int64_t block) {
  const int most = (int)(INT32_MAX / (MOST * block));
  if (hone_dtype_of(counts) == HONE_I8) return most >= -INT8_MIN;
  const hone_tensor_t* tensor = hone_match_constant(hone_operand_origin(counts));
  if (hone_dtype_of(counts) != HONE_I16 || !tensor) return false;
  const hone_loose_i16_t* numbers = hone_tensor_data(tensor);
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++)
    if (abs(numbers[i]) > most) return false;
  return true;
}

static bool find_weights(const hone_value_t* operand, product_t* p) {
  const hone_node_t* product = operand->node;
  if (product->prim != HONE_PRIM_MUL || operand->type.rank != 3) return false;
  const hone_node_t *wide = product->inputs[0]->node, *scales = product->inputs[1]->node;
  if (wide->prim != HONE_PRIM_CAST || !(wide->flags & HONE_FLAG_STAYS) ||
      scales->prim != HONE_PRIM_EXPAND)
    return false;
  p->counts = wide->inputs[0];
  p->scales = scales->inputs[0];
  return hone_rank(p->scales) == 3 && hone_match_count(&p->counts->type) > 0 &&
         hone_dim_is(hone_dim(p->scales, 1), 1);
}

/* [rows…, blocks, block] by [blocks, block, columns], whose sizes are known. */
static bool recognise(const hone_node_t* node, product_t* p) {
  if (node->prim != HONE_PRIM_CONTRACT || node->dtype != HONE_F32 || node->n_batch ||
      node->n_axes != 4 || node->inputs[DATA]->type.dtype != HONE_F32)
    return false;
  const hone_type_t* x = &node->inputs[DATA]->type;
  int64_t numbers = hone_match_count(x);
  *p = (product_t){0};
  if (numbers <= 0 || !find_weights(node->inputs[WEIGHTS], p)) return false;
  for (int i = 0; i < 2; i++)
    if (node->axes[2 * i + WEIGHTS] != i || node->axes[2 * i + DATA] != x->rank - 2 + i)
      return false;
  const hone_dim_t* dims = p->counts->type.dims;
  p->blocks = dims[0].k;
  p->block = dims[1].k;
  p->columns = dims[2].k;
  p->rows = numbers / (p->blocks * p->block);
  return true;
}

/* What each sum of a block costs that is written and read, in multiply-adds. Of the last cache an
 * eighth is what others surely leave. */
static double sum_cost(double bytes, const hone_pass_options_t* options) {
  static const double near = 6, far = 12, memory = 24, part = 8;
  if (bytes <= (double)options->near_cache) return near;
  return bytes * part <= (double)options->far_cache ? far : memory;
}

/* Whether what is gained, half a multiply-add of floats by each product, is more than what is
 * moved: the sums of the blocks, and the data, which is quantized. Few rows wait for their weights,
 * which take two bytes each. Fitted on x86 with AVX-512. */
static bool pays(const product_t* p, const hone_pass_options_t* options) {
  enum { LEAST_ROWS = 8, PAIR = 2, LONGEST = 64, LEAST_COLUMNS = 32, QUANTIZING = 8 };
  static const double gain = 0.5, least_gain = 1.2;
  double m = (double)p->rows, b = (double)p->blocks, k = b * (double)p->block;
  double sums = m * b * (double)p->columns, products = sums * (double)p->block;
  if (p->rows < LEAST_ROWS || p->columns < LEAST_COLUMNS || p->block % PAIR || p->block > LONGEST ||
      !has_room(p->counts, p->block))
    return false;
  double moved = sum_cost(sums * sizeof(int32_t), options) * sums + QUANTIZING * m * k;
  return products * gain > least_gain * moved;
}

/* ---- as integers ---- */

/* The data, block by block: [blocks, rows, block]. */
static hone_value_t* cut_data(hone_builder_t* b, const hone_node_t* node, const product_t* p) {
  static const int64_t turned[] = {1, 0, 2};
  const hone_dim_t shape[] = {hone_d(p->rows), hone_d(p->blocks), hone_d(p->block)};
  return hone_permute(b, hone_reshape(b, node->inputs[DATA], 3, shape), turned);
}

/* The largest of each block and row: [blocks, rows, 1]. As integers absolute values have the same
 * order, NaN being the largest, and lanes are compared at once. */
static hone_value_t* find_largest(hone_builder_t* b, hone_value_t* x) {
  hone_value_t* bits = hone_bitcast(b, hone_abs(b, x), HONE_I32);
  hone_value_t* largest = hone_reduce_last(b, HONE_COMBINE_MAX, bits, 1, true);
  return hone_max_number(b, hone_bitcast(b, largest, HONE_F32), FLT_MIN * MOST);
}

static hone_value_t* quantize(hone_builder_t* b, hone_value_t* x, hone_value_t* largest) {
  hone_value_t* factor = hone_div(b, hone_scalar(b, HONE_F32, MOST), largest);
  return hone_cast(b, hone_round(b, hone_mul(b, x, factor)), HONE_I16);
}

static hone_value_t* multiply(hone_builder_t* b, const hone_node_t* node, const product_t* p) {
  static const int64_t pairs[][2] = {{0, 0}, {2, 1}}, blocks[] = {0};
  hone_value_t* x = cut_data(b, node, p);
  hone_value_t* largest = find_largest(b, x);
  hone_value_t* weights = hone_cast(b, p->counts, HONE_I16);
  hone_value_t* sums = hone_contract(b, quantize(b, x, largest), weights, 2, pairs, 1, HONE_I32);
  hone_value_t* by_row =
      hone_mul(b, hone_cast(b, sums, HONE_F32), hone_mul_number(b, largest, 1.0 / MOST));
  hone_value_t* scaled = hone_mul(b, by_row, p->scales);
  return hone_reshape_like(b, hone_reduce(b, HONE_COMBINE_ADD, scaled, 1, blocks, false),
                           node->outputs[0]);
}

/* ---- the pass ---- */

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  product_t p;
  if (!recognise(node, &p) || !pays(&p, r->context->options)) return NULL;
  hone_value_t* now = multiply(r->b, node, &p);
  if (now) hone_pass_did(r->context, node, "blocks summed up as integers");
  return now;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  if (context->options->exact || !context->options->halves_shorts) return NULL;
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "%" PRId64 " products with blocks summed up as integers",
                   context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_block_sums;
const hone_pass_t hone_pass_block_sums = {
    .name = "block_sums",
    .summary = "blocks of quantized weights are multiplied by data of 16 bits (rounds differently)",
    .phases = {HONE_PHASE_QUANT + 21},
    .run = run,
};
