/* Integer arithmetic for quantized models. What is dequantized only to be
 * computed with in floats is computed on the 8-bit integers:
 *
 *   contract(sa (a - za), sb (b - zb))   becomes   sa sb (contract(a, b) in i32
 *       - zb sum(a) - za sum(b) + n za zb)
 *
 * with sums over the contracted axes, the second of which is a constant for
 * weights; so do sums (average pooling), and contractions of i32 in which the
 * zero points had been subtracted before (QLinearConv, MatMulInteger). Weights
 * stay in 8 bits; those with a zero point that fit i8 without it lose it, and others without a
 * sign get one where the device multiplies mixed signs faster (options->mixes_signs, sums_slight).
 * Quantizing what is still exact in the same scale and zero point (movement,
 * relu, max pooling between two quantizations, padded or not) vanishes.
 *
 * Where the device adds up bytes in fours (options->sums_fours), windows over few channels
 * get whole fours: 7 x 7 becomes 7 x 8 with weights of zero, which changes no sum, or, where
 * channels lie side by side, three of them become four.
 *
 * Rounding: integer contractions are exact. A float one was a sum of rounded
 * products, rounded once; now it is the exact sum, rounded once, times the
 * rounded product of the scales. The two differ by a few units in the last place
 * of an f32, so that what is quantized afterwards, by a multiplication and
 * rounding to even, is the same or, where it was next to a half, one step off. */
#include "passes/common/evaluate.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/pattern.h"
#include "passes/common/picture.h"
#include "passes/common/quantity.h"

/* GROUP: bytes that are added up at once. */
enum { GROUP = 4, MOST_SUMMED = 64 };

typedef struct integer {
  hone_arena_t* arena;
  const hone_pattern_t* quantize;
} integer_t;

/* ---- sums over a contraction's axes ---- */

/* Sums of q over the contracted axes, laid out for the result. */
static hone_value_t* sum_of(hone_rewriter_t* r, const hone_node_t* node, int side,
                            hone_value_t* q) {
  hone_operand_axes_t s = hone_operand_sort_axes(node, side);
  hone_value_t* wide = hone_cast(r->b, q, HONE_I32);
  hone_value_t* sums =
      hone_reduce(r->b, HONE_COMBINE_ADD, wide, s.n_summed, s.axes + s.n_batch + s.n_free, true);
  return hone_operand_lay_out(r->b, node, side, sums);
}

/* ---- zero points ---- */

/* The constant that q is, behind movement. */
static const hone_tensor_t* constant_of(const hone_value_t* q) {
  while (q->node->prim == HONE_PRIM_RESHAPE || q->node->prim == HONE_PRIM_PERMUTE)
    q = q->node->inputs[0];
  return hone_match_constant(q);
}

/* Weights are computed at once: repeated zeros are not folded, and they are to be known as such. */

/* Weights whose zero point can be subtracted within i8 get rid of it. */
static void center(hone_rewriter_t* r, hone_quantity_t* w) {
  double zero;
  const hone_tensor_t* constant = constant_of(w->q);
  if (!w->zero || !constant || !hone_quantity_zero_number(w, &zero)) return;
  bool is_signed = hone_tensor_dtype(constant) == HONE_I8;
  const unsigned char* data = hone_tensor_data(constant);
  for (int64_t i = 0; i < hone_tensor_count(constant); i++) {
    double distance = (is_signed ? (double)(signed char)data[i] : (double)data[i]) - zero;
    if (distance < -128 || distance > 127) return;
  }
  hone_value_t* centered = hone_sub(r->b, hone_cast(r->b, w->q, HONE_I32), w->zero);
  w->q = hone_evaluate_constant(r, hone_cast(r->b, centered, HONE_I8));
  w->zero = NULL;
}

/* Weights without a sign get one where the device multiplies bytes without by bytes with one; it
 * costs nothing where they have a zero point as it is. */
static void give_sign(hone_rewriter_t* r, hone_quantity_t* w, const hone_quantity_t* data) {
  const hone_pass_options_t* options = r->context->options;
  if (!(options->mixes_signs || options->sums_slight) || !w->zero || !constant_of(w->q) ||
      hone_dtype_of(w->q) != HONE_U8 || hone_dtype_of(data->q) != HONE_U8)
    return;
  hone_value_t* middle = hone_scalar_i64(r->b, HONE_I32, 128);
  hone_value_t* moved = hone_sub(r->b, hone_cast(r->b, w->q, HONE_I32), middle);
  w->q = hone_evaluate_constant(r, hone_cast(r->b, moved, HONE_I8));
  w->zero = hone_sub(r->b, w->zero, middle);
}

static void choose_zero_points(hone_rewriter_t* r, hone_quantity_t* a, hone_quantity_t* b) {
  center(r, a);
  center(r, b);
  give_sign(r, a, b);
  give_sign(r, b, a);
}

/* How many products each sum has. */
static hone_dim_t summed_count(hone_rewriter_t* r, const hone_node_t* node) {
  hone_dim_t count = hone_d(1);
  for (int i = node->n_batch; 2 * i < node->n_axes; i++)
    count = hone_d_mul(r->b, count, hone_dim(node->inputs[0], (int)node->axes[2 * i]));
  return count;
}

/* ---- whole fours ---- */

/* Which of the pairs of axes that are summed over is the innermost of a window, where none
 * has whole fours and there are few channels, as in a picture; -1: it is not so. */
static int find_window_pair(const hone_node_t* node, const hone_value_t* a) {
  int found = -1, last = hone_rank(a) - 1, own = last - a->node->n_axes;
  int64_t channels = 1;
  if (a->node->prim != HONE_PRIM_WINDOW || node->n_batch) return -1;
  for (int i = 0; 2 * i < node->n_axes; i++) {
    int64_t axis = node->axes[2 * i];
    hone_dim_t extent = hone_dim(a, (int)axis);
    if (!hone_dim_is_int(extent) || extent.k % GROUP == 0 || extent.k > MOST_SUMMED) return -1;
    if (axis <= own) channels *= extent.k;
    if (axis == last) found = i;
  }
  return channels <= GROUP ? found : -1;
}

/* `x` with more elements, zeros, at the end of an axis. */
static hone_value_t* lengthen(hone_rewriter_t* r, hone_value_t* x, int64_t axis, int64_t more) {
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  if (more <= 0) return x;
  for (int i = 0; i < hone_rank(x); i++) lo[i] = hi[i] = hone_d(0);
  hi[axis] = hone_d(more);
  return hone_pad(r->b, x, lo, hi, hone_scalar(r->b, hone_dtype_of(x), 0));
}

/* The pair of axes of the only channels there are, several of them, where these lie last in memory,
 * also where the value's axes were permuted from there; -1: there is none. */
static int find_channel_pair(const hone_node_t* node, const hone_value_t* a) {
  int found = -1, own = hone_rank(a) - 1 - a->node->n_axes;
  for (int i = 0; 2 * i < node->n_axes; i++) {
    if (node->axes[2 * i] > own || hone_dim_is(hone_dim(a, (int)node->axes[2 * i]), 1)) continue;
    if (found >= 0) return -1;
    found = i;
  }
  if (found < 0) return -1;
  const hone_node_t* n = a->node->inputs[0]->node;
  int axis = (int)node->axes[2 * found];
  for (; n->n_inputs && axis >= 0; n = n->inputs[0]->node) {
    axis = hone_match_axis_before(n, axis);
    if (n->prim == HONE_PRIM_PERMUTE) return axis == hone_rank(n->inputs[0]) - 1 ? found : -1;
  }
  return axis >= 0 && axis == hone_rank(n->outputs[0]) - 1 ? found : -1;
}

/* More channels, of zeros. */
static void fill_channels(hone_rewriter_t* r, const hone_node_t* node, int pair,
                          hone_value_t* inputs[2]) {
  const hone_node_t* window = inputs[0]->node;
  int64_t axis = node->axes[2 * pair], of_weights = node->axes[2 * pair + 1];
  int64_t more = GROUP - hone_dim(inputs[0], (int)axis).k;
  hone_value_t* wider = lengthen(r, window->inputs[0], axis, more);
  inputs[0] = hone_window(r->b, wider, window->n_axes, window->axes, window->shape, window->step,
                          window->hi);
  inputs[1] = hone_evaluate_constant(r, lengthen(r, inputs[1], of_weights, more));
}

/* More columns of a window, which meet weights of zero. */
static void fill_columns(hone_rewriter_t* r, const hone_node_t* node, int pair,
                         hone_value_t* inputs[2]) {
  hone_dim_t sizes[HONE_MAX_RANK];
  const hone_node_t* window = inputs[0]->node;
  int w = window->n_axes - 1, axis = (int)window->axes[w];
  hone_dim_t had = hone_dim(window->inputs[0], axis), places = hone_dim(inputs[0], axis);
  int64_t size = window->shape[w].k, whole = (size + GROUP - 1) / GROUP * GROUP;
  if (!hone_dim_is_int(had) || !hone_dim_is_int(places) || !hone_dim_is_int(window->step[w]) ||
      !hone_dim_is(window->hi[w], 1) || 2 * whole > 3 * size || places.k < 1)
    return;
  for (int i = 0; i < window->n_axes; i++) sizes[i] = window->shape[i];
  sizes[w] = hone_d(whole);
  int64_t needed = (places.k - 1) * window->step[w].k + whole;
  hone_value_t* longer = lengthen(r, window->inputs[0], axis, needed - had.k);
  inputs[0] =
      hone_window(r->b, longer, window->n_axes, window->axes, sizes, window->step, window->hi);
  inputs[1] =
      hone_evaluate_constant(r, lengthen(r, inputs[1], node->axes[2 * pair + 1], whole - size));
}

/* Whether pass `pictures` will turn the channels. */
static bool becomes_lines(const hone_pass_options_t* options, const hone_node_t* node,
                          hone_value_t* inputs[2]) {
  hone_picture_t picture;
  hone_node_t product = *node;
  product.inputs = inputs;
  return options->blocks_bytes && hone_picture_find(&product, &picture) &&
         hone_picture_pays(&picture, 1);
}

/* Devices that add up bytes in fours get whole ones of what lies side by side: channels, or columns
 * of a window. */
static void fill_fours(hone_rewriter_t* r, const hone_node_t* node, hone_value_t* inputs[2]) {
  const hone_pass_options_t* options = r->context->options;
  int pair = options->sums_fours ? find_window_pair(node, inputs[0]) : -1;
  if (pair < 0 || !constant_of(inputs[1]) || becomes_lines(options, node, inputs)) return;
  int channels = find_channel_pair(node, inputs[0]);
  if (channels >= 0)
    fill_channels(r, node, channels, inputs);
  else
    fill_columns(r, node, pair, inputs);
}

/* The exact sums of (a - za) (b - zb) as i32. */
static hone_value_t* integer_sums(hone_rewriter_t* r, const hone_node_t* node,
                                  const hone_quantity_t* a, const hone_quantity_t* b) {
  hone_node_t product = *node;
  hone_value_t* inputs[2] = {a->q, b->q};
  product.dtype = HONE_I32;
  fill_fours(r, node, inputs);
  hone_value_t* sums = hone_rewrite_copy(r, &product, inputs);
  if (b->zero) sums = hone_sub(r->b, sums, hone_mul(r->b, sum_of(r, node, 0, a->q), b->zero));
  if (a->zero) sums = hone_sub(r->b, sums, hone_mul(r->b, sum_of(r, node, 1, b->q), a->zero));
  if (!a->zero || !b->zero) return sums;
  hone_value_t* count = hone_dim_scalar(r->b, HONE_I32, summed_count(r, node));
  return hone_add(r->b, sums, hone_mul(r->b, count, hone_mul(r->b, a->zero, b->zero)));
}

/* ---- contractions ---- */

/* Whether no sum of n products can leave i32. */
static bool fits(hone_dim_t n, const hone_quantity_t* a, const hone_quantity_t* b) {
  int64_t product = hone_quantity_reach(a) * (b ? hone_quantity_reach(b) : 1);
  return hone_dim_max_value(n) <= INT32_MAX / product;
}

/* The scale does not vary along what is summed over. */
static bool scale_is_free(const hone_node_t* node, int side, const hone_value_t* scale) {
  for (int i = 2 * node->n_batch + side; i < node->n_axes; i += 2)
    if (!hone_dim_is(hone_dim(scale, (int)node->axes[i]), 1)) return false;
  return true;
}

static hone_value_t* contract_ints(hone_rewriter_t* r, const hone_node_t* node) {
  hone_quantity_t a, b;
  if (!hone_quantity_read(r, node->inputs[0], &a) || !hone_quantity_read(r, node->inputs[1], &b))
    return NULL;
  if (a.scale || b.scale || (a.q == node->inputs[0] && b.q == node->inputs[1])) return NULL;
  choose_zero_points(r, &a, &b);
  return integer_sums(r, node, &a, &b);
}

static hone_value_t* contract_floats(hone_rewriter_t* r, const hone_node_t* node) {
  hone_quantity_t a, b;
  if (!hone_quantity_read(r, node->inputs[0], &a) || !hone_quantity_read(r, node->inputs[1], &b))
    return NULL;
  if (!a.scale || !b.scale || !scale_is_free(node, 0, a.scale) || !scale_is_free(node, 1, b.scale))
    return NULL;
  choose_zero_points(r, &a, &b);
  if (!fits(summed_count(r, node), &a, &b)) return NULL;
  hone_dtype_t dtype = node->dtype;
  hone_value_t* scale =
      hone_mul(r->b, hone_cast(r->b, hone_operand_lay_out(r->b, node, 0, a.scale), dtype),
               hone_cast(r->b, hone_operand_lay_out(r->b, node, 1, b.scale), dtype));
  return hone_mul(r->b, hone_cast(r->b, integer_sums(r, node, &a, &b), dtype), scale);
}

static hone_value_t* contract(hone_rewriter_t* r, hone_node_t* node) {
  hone_value_t* now = NULL;
  if (node->dtype == HONE_I32) now = contract_ints(r, node);
  if (node->dtype == HONE_F32) now = contract_floats(r, node);
  if (now) hone_pass_did(r->context, node, "multiplies 8-bit integers");
  return now;
}

/* ---- sums ---- */

static hone_value_t* sum(hone_rewriter_t* r, hone_node_t* node) {
  hone_quantity_t x;
  double scale;
  if (node->combine != HONE_COMBINE_ADD || hone_dtype_of(node->outputs[0]) != HONE_F32) return NULL;
  /* What is needed in floats anyway, as in a normalization, is summed in them too. */
  if (!hone_rewrite_used_once(node->inputs[0])) return NULL;
  if (!hone_quantity_read(r, node->inputs[0], &x) || !hone_quantity_one_scale(&x, &scale))
    return NULL;
  hone_dim_t count = hone_d(1);
  for (int i = 0; i < node->n_axes; i++)
    count = hone_d_mul(r->b, count, hone_dim(node->inputs[0], (int)node->axes[i]));
  if (!fits(count, &x, NULL)) return NULL;
  hone_value_t* sums = hone_reduce(r->b, HONE_COMBINE_ADD, hone_cast(r->b, x.q, HONE_I32),
                                   node->n_axes, node->axes, false);
  if (x.zero)
    sums = hone_sub(r->b, sums, hone_mul(r->b, hone_dim_scalar(r->b, HONE_I32, count), x.zero));
  hone_value_t* now =
      hone_mul(r->b, hone_cast(r->b, sums, HONE_F32), hone_scalar(r->b, HONE_F32, scale));
  if (now) hone_pass_did(r->context, node, "adds 8-bit integers");
  return now;
}

/* ---- quantizing what is quantized ---- */

static bool is_name(const hone_pattern_match_t* match, const char* name, double number) {
  const hone_value_t* value = hone_pattern_value(match, name);
  double found = 0;
  if (value && !hone_quantity_number(value, &found)) return false;
  return found == number;
}

/* (s (q - z) / s) is q - z after rounding: the two roundings before it move an
 * integer below 256 by far less than a half. */
static hone_value_t* requantize(hone_rewriter_t* r, hone_node_t* node) {
  const integer_t* self = r->self;
  hone_pattern_match_t match;
  hone_quantity_t x;
  double scale, zero;
  bool is_signed = node->dtype == HONE_I8;
  if ((!is_signed && node->dtype != HONE_U8) || !hone_pattern_match(self->quantize, node, &match))
    return NULL;
  hone_value_t* value = hone_pattern_value(&match, "x");
  if (!hone_quantity_read(r, value, &x) || hone_dtype_of(x.q) != node->dtype) return NULL;
  if (!hone_quantity_one_scale(&x, &scale) || !hone_quantity_zero_number(&x, &zero)) return NULL;
  if (!is_name(&match, "scale", scale) || !is_name(&match, "zero", zero) ||
      !is_name(&match, "low", is_signed ? -128 : 0) ||
      !is_name(&match, "high", is_signed ? 127 : 255))
    return NULL;
  hone_pass_did(r->context, node, "is quantized already");
  return x.q;
}

/* ---- the pass ---- */

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  if (node->prim == HONE_PRIM_CONTRACT) return contract(r, node);
  if (node->prim == HONE_PRIM_REDUCE) return sum(r, node);
  return node->prim == HONE_PRIM_CAST ? requantize(r, node) : NULL;
}

static hone_status_t rewrite(hone_pass_context_t* context, hone_graph_t* graph, integer_t* self) {
  HONE_TRY(hone_pattern_parse(
      self->arena,
      "scaled := round(div(x, #scale));"
      "cast((clamp(add(scaled, #zero), #low, #high) | clamp(scaled, #low, #high)))",
      &self->quantize));
  return hone_rewrite_once(context, graph, rule, self);
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  integer_t self = {0};
  HONE_TRY(hone_arena_create(graph->allocator, &self.arena));
  hone_status_t status = rewrite(context, graph, &self);
  hone_arena_destroy(self.arena);
  if (!status && context->count)
    hone_pass_note(context, "made %lld steps of float arithmetic 8-bit", (long long)context->count);
  return status;
}

extern const hone_pass_t hone_pass_integer;
const hone_pass_t hone_pass_integer = {
    .name = "integer",
    .summary = "arithmetic on dequantized numbers becomes arithmetic on 8-bit integers",
    .phases = {HONE_PHASE_QUANT},
    .run = run,
};
