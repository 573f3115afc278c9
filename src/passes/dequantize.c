/* Quantized weights of products in floats, as language models have them, stay integers: a sum
 * over few rows takes as long as its weights take to come, and these are a quarter of the bytes.
 * A scale for each result is multiplied with the sum; where blocks of a sum have their own, kernels
 * multiply it with the integers as they read them:
 *
 *   contract(x, (q - z) s)   becomes   s contract(x, q - z), or
 *   contract(x as [blocks, …], (q - z as [blocks, …]) s)
 *
 * Differences q - z are computed here, and kept in 8 bits where they fit, else in 16. Weights of
 * convolutions become floats (pass fold), for which there are faster ways (pass winograd). */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "passes/common/evaluate.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/rewrite.h"

enum { LEAST_BLOCK = 8, MAX_STEPS = 24 };

typedef struct dequantize {
  int64_t bytes; /* of weights, as they are now */
} dequantize_t;

/* Weights as integers times numbers that are the same in blocks. */
typedef struct weights {
  hone_tensor_t *counts, *scales; /* f32, of the operand's shape, owned */
  int64_t block[HONE_MAX_RANK];   /* of the scale, along each axis; 1 where none is summed over */
  int64_t block_count[HONE_MAX_RANK];
  int pair; /* of the contraction's axes, that falls into blocks; -1: none does */
} weights_t;

static void drop(weights_t* w) {
  hone_tensor_release(w->counts);
  hone_tensor_release(w->scales);
}

/* ---- which ---- */

static bool has_window(const hone_value_t* value) {
  while (hone_operand_only_moves(value->node)) {
    if (value->node->prim == HONE_PRIM_WINDOW) return true;
    value = value->node->inputs[0];
  }
  return false;
}

/* Whether the operand may be weights that take long to read, of a product without windows. */
static bool could_be_weights(const hone_rewriter_t* r, const hone_node_t* node, int side) {
  enum { PART = 8 }; /* of the cache: what is less stays there */
  int64_t bytes = hone_match_bytes(&node->inputs[side]->type);
  return bytes > (int64_t)(r->context->options->near_cache / PART) &&
         !hone_match_from_constants(node->inputs[1 - side]) && !has_window(node->inputs[1 - side]);
}

/* Whether the value is made of integers by subtraction and movement. */
static bool is_whole(const hone_value_t* value) {
  for (int i = 0; i < MAX_STEPS && !hone_dtype_is_int(value->type.dtype); i++) {
    const hone_node_t* node = value->node;
    if (node->prim != HONE_PRIM_SUB && node->prim != HONE_PRIM_CAST &&
        !hone_operand_only_moves(node))
      return false;
    value = node->inputs[0];
  }
  return hone_dtype_is_int(value->type.dtype);
}

/* The product of integers and scales that is moved to where the operand is; NULL: it is none. */
static const hone_node_t* find_product(hone_value_t* operand, int* out_whole) {
  const hone_node_t* node = hone_operand_origin(operand)->node;
  if (node->prim != HONE_PRIM_MUL || operand->type.dtype != HONE_F32) return NULL;
  for (int i = 0; i < 2; i++) {
    *out_whole = i;
    if (is_whole(node->inputs[i]) && hone_match_from_constants(node->inputs[i]) &&
        hone_match_from_constants(node->inputs[1 - i]))
      return node;
  }
  return NULL;
}

/* ---- what they are ---- */

/* `now`, moved as `value` was from what its origin made. NULL: something else than places changes.
 */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as the operand's movement */
static hone_value_t* move_like(hone_rewriter_t* r, hone_value_t* value, hone_value_t* now) {
  const hone_node_t* node = value->node;
  if (!hone_operand_only_moves(node)) return now;
  if (node->n_inputs != 1 || value->binds) return NULL;
  hone_value_t* input = move_like(r, node->inputs[0], now);
  return input ? hone_rewrite_copy(r, node, &input) : NULL;
}

/* The smallest dtype that holds all the numbers, which are to be whole; UNKNOWN: none does. */
static hone_dtype_t find_dtype(const hone_tensor_t* counts) {
  const hone_loose_f32_t* numbers = hone_tensor_data(counts);
  float least = 0, most = 0;
  for (int64_t i = 0; i < hone_tensor_count(counts); i++) {
    if (numbers[i] != truncf(numbers[i])) return HONE_UNKNOWN;
    least = fminf(least, numbers[i]);
    most = fmaxf(most, numbers[i]);
  }
  if (least >= INT8_MIN && most <= INT8_MAX) return HONE_I8;
  return least >= INT16_MIN && most <= INT16_MAX ? HONE_I16 : HONE_UNKNOWN;
}

/* The length of the parts of an axis along which the tensor's elements stay the same. */
static int64_t find_block(const hone_tensor_t* tensor, int axis) {
  const hone_loose_f32_t* numbers = hone_tensor_data(tensor);
  const int64_t* dims = hone_tensor_dims(tensor);
  int64_t step = 1, block = dims[axis] > 1 ? dims[axis] : 1;
  for (int i = axis + 1; i < hone_tensor_rank(tensor); i++) step *= dims[i];
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++) {
    int64_t at = i / step % dims[axis];
    if (at % block && numbers[i] != numbers[i - step])
      block = (int64_t)hone_u64_gcd((uint64_t)block, (uint64_t)at);
  }
  return block;
}

/* Axes of operand `side` that are summed over, one after the other; -1: the last has been. */
static int summed_axis(const hone_node_t* node, int side, int i) {
  int pair = node->n_batch + i;
  return 2 * pair < node->n_axes ? (int)node->axes[2 * pair + side] : -1;
}

static bool are_finite(const hone_tensor_t* tensor) {
  const hone_loose_f32_t* numbers = hone_tensor_data(tensor);
  for (int64_t i = 0; i < hone_tensor_count(tensor); i++)
    if (!isfinite(numbers[i])) return false;
  return true;
}

/* Whether no more than one of the axes summed over falls into blocks, and these are long. */
static bool find_blocks(const hone_node_t* node, int side, weights_t* w) {
  const int64_t* dims = hone_tensor_dims(w->scales);
  int axis;
  w->pair = -1;
  for (int i = 0; i < hone_tensor_rank(w->scales); i++) {
    w->block[i] = 1;
    w->block_count[i] = dims[i];
  }
  for (int i = 0; (axis = summed_axis(node, side, i)) >= 0; i++) {
    w->block[axis] = find_block(w->scales, axis);
    w->block_count[axis] = dims[axis] / w->block[axis];
    if (w->block_count[axis] == 1) continue;
    if (w->pair >= 0 || w->block[axis] < LEAST_BLOCK) return false;
    w->pair = node->n_batch + i;
  }
  return true;
}

static bool read_weights(hone_rewriter_t* r, const hone_node_t* node, int side, weights_t* out) {
  int whole;
  hone_value_t* operand = node->inputs[side];
  const hone_node_t* product = find_product(operand, &whole);
  *out = (weights_t){0};
  if (!product || hone_match_count(&operand->type) <= 0) return false;
  const hone_value_t* values[2] = {move_like(r, operand, product->inputs[whole]),
                                   move_like(r, operand, product->inputs[1 - whole])};
  hone_tensor_t* tensors[2];
  if (!values[0] || !values[1]) return false;
  hone_status_t status = hone_evaluate_all(r->context, 2, values, tensors);
  if (status) { /* fold leaves them to the run, which says why */
    hone_status_free(status);
    return false;
  }
  *out = (weights_t){.counts = tensors[0], .scales = tensors[1]};
  return true;
}

/* ---- as constants ---- */

static hone_value_t* make_counts(hone_rewriter_t* r, const weights_t* w, hone_dtype_t dtype) {
  dequantize_t* self = r->self;
  hone_tensor_t* tensor;
  hone_status_t status =
      hone_operand_convert_tensor(r->graph->allocator, w->counts, dtype, &tensor);
  if (status) return hone_fail_status(r->b, status);
  self->bytes += (int64_t)hone_tensor_bytes(tensor);
  return hone_constant(r->b, tensor);
}

/* One scale of each block. */
static hone_value_t* make_scales(hone_rewriter_t* r, const weights_t* w) {
  const int64_t* dims = hone_tensor_dims(w->scales);
  const hone_loose_f32_t* from = hone_tensor_data(w->scales);
  int rank = hone_tensor_rank(w->scales);
  int64_t at[HONE_MAX_RANK] = {0};
  hone_tensor_t* tensor;
  hone_status_t status =
      hone_tensor_create(r->graph->allocator, HONE_F32, rank, w->block_count, &tensor);
  if (status) return hone_fail_status(r->b, status);
  float* to = hone_tensor_data(tensor);
  for (int64_t n = 0; n < hone_tensor_count(tensor); n++) {
    int64_t place = 0;
    for (int i = 0; i < rank; i++) place = place * dims[i] + at[i] * w->block[i];
    to[n] = from[place];
    for (int i = rank - 1; i >= 0 && ++at[i] == w->block_count[i]; i--) at[i] = 0;
  }
  return hone_constant(r->b, tensor);
}

/* ---- products ---- */

static hone_value_t* multiply_whole(hone_rewriter_t* r, const hone_node_t* node, int side,
                                    hone_value_t* counts, hone_value_t* scales) {
  hone_value_t* inputs[2] = {node->inputs[0], node->inputs[1]};
  inputs[side] = counts;
  hone_value_t* sums = hone_rewrite_copy(r, node, inputs);
  return hone_mul(r->b, sums, hone_operand_lay_out(r->b, node, side, scales));
}

/* `x` with its axis as blocks and what is in them. */
static hone_value_t* cut_axis(hone_builder_t* b, hone_value_t* x, int axis, int64_t count,
                              int64_t block) {
  hone_dim_t shape[HONE_MAX_RANK];
  int rank = hone_rank(x);
  for (int i = 0; i < axis; i++) shape[i] = hone_dim(x, i);
  for (int i = axis + 1; i < rank; i++) shape[i + 1] = hone_dim(x, i);
  shape[axis] = hone_d(count);
  shape[axis + 1] = hone_d(block);
  return hone_reshape(b, x, rank + 1, shape);
}

/* `x`, of the axes that the operand has, with those that are summed over in front of the free ones,
 * so that products whose lanes are free axes read consecutive numbers. */
static hone_value_t* put_free_axes_last(hone_rewriter_t* r, hone_value_t* x,
                                        const hone_operand_axes_t* s) {
  int64_t order[HONE_MAX_RANK];
  int n = 0, summed = s->n_batch + s->n_free;
  for (int i = 0; i < s->n_batch; i++) order[n++] = s->axes[i];
  for (int i = 0; i < s->n_summed; i++) order[n++] = s->axes[summed + i];
  for (int i = 0; i < s->n_free; i++) order[n++] = s->axes[s->n_batch + i];
  return hone_permute(r->b, x, order);
}

/* The weights as a kernel scales them: integers, and a scale for each block of them. */
static hone_value_t* scale_blocks(hone_rewriter_t* r, hone_value_t* counts, hone_value_t* scales) {
  if (!counts || !scales) return NULL;
  hone_value_t* wide = hone_cast_flags(r->b, counts, HONE_F32, HONE_FLAG_STAYS);
  return hone_mul(r->b, wide, hone_expand(r->b, scales, hone_rank(counts), counts->type.dims));
}

/* The pair of axes that is cut becomes two: the blocks, and what is in them. */
static hone_value_t* multiply_blocks(hone_rewriter_t* r, const hone_node_t* node, int side,
                                     const weights_t* w, hone_value_t* counts,
                                     hone_value_t* scales) {
  hone_operand_axes_t axes = hone_operand_sort_axes(node, side);
  const int64_t* old = node->axes + (ptrdiff_t)2 * w->pair;
  const int cut = (int)old[side], other = (int)old[1 - side], at = w->pair;
  int64_t pairs[HONE_MAX_RANK + 1][2], count = w->block_count[cut], block = w->block[cut];
  int n = 0;
  hone_value_t* inputs[2];
  inputs[1 - side] = cut_axis(r->b, node->inputs[1 - side], other, count, block);
  counts = cut_axis(r->b, put_free_axes_last(r, counts, &axes), at, count, block);
  scales = cut_axis(r->b, put_free_axes_last(r, scales, &axes), at, count, 1);
  inputs[side] = scale_blocks(r, counts, scales);
  for (int p = 0; 2 * p < node->n_axes; p++) {
    int64_t its = node->axes[2 * p + 1 - side];
    if (p == at) pairs[n][side] = at, pairs[n++][1 - side] = other;
    pairs[n][side] = n;
    pairs[n++][1 - side] = its + (its >= other);
  }
  if (!inputs[0] || !inputs[1]) return NULL;
  return hone_contract(r->b, inputs[0], inputs[1], n, pairs, node->n_batch, node->dtype);
}

static hone_value_t* multiply(hone_rewriter_t* r, const hone_node_t* node, int side, weights_t* w) {
  hone_dtype_t dtype = find_dtype(w->counts);
  if (dtype == HONE_UNKNOWN || !are_finite(w->scales) || !find_blocks(node, side, w)) return NULL;
  bool has_room = hone_rank(node->inputs[0]) < HONE_MAX_RANK &&
                  hone_rank(node->inputs[1]) < HONE_MAX_RANK &&
                  hone_rank(node->outputs[0]) < HONE_MAX_RANK;
  if (w->pair >= 0 && !has_room) return NULL;
  hone_value_t* counts = make_counts(r, w, dtype);
  hone_value_t* scales = make_scales(r, w);
  return w->pair < 0 ? multiply_whole(r, node, side, counts, scales)
                     : multiply_blocks(r, node, side, w, counts, scales);
}

/* ---- the pass ---- */

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  if (node->prim != HONE_PRIM_CONTRACT || node->dtype != HONE_F32) return NULL;
  for (int side = 0; side < 2; side++) {
    weights_t weights;
    if (!could_be_weights(r, node, side) || !read_weights(r, node, side, &weights)) continue;
    hone_value_t* now = multiply(r, node, side, &weights);
    drop(&weights);
    if (now) hone_pass_did(r->context, node, "multiplies weights of integers");
    return now;
  }
  return NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  dequantize_t self = {0};
  if (context->options->precision != HONE_UNKNOWN) return NULL; /* which stores them narrow */
  HONE_TRY(hone_rewrite_once(context, graph, rule, &self));
  if (context->count)
    hone_pass_note(context, "%" PRId64 " products with weights of integers, %.1f kB",
                   context->count, (double)self.bytes / 1e3);
  return NULL;
}

extern const hone_pass_t hone_pass_dequantize;
const hone_pass_t hone_pass_dequantize = {
    .name = "dequantize",
    .summary = "quantized weights of products in floats stay integers, which kernels scale",
    .phases = {HONE_PHASE_QUANT + 20},
    .run = run,
};
