/* BF16x3: products of f32 by matrix instructions for bf16.
 *
 * A number of f32 is a bf16 and a rest, which another bf16 holds to 2^-17 of the number: x = x1 +
 * x2, w = w1 + w2. Of the four products x1 w1, x2 w1 and x1 w2 are added up, in f32, as one sum of
 * three times as many products:
 *
 *   contract(window(pad(x)), w)   x: [n, h, w, c]
 *   becomes contract([y1, y2, y1], [w1, w1, w2])   [y1, y2] = window(pad([x1, x2])): [n, h, w, 2 c]
 *
 * as G. Henry, P. T. P. Tang and A. Heinecke, "Leveraging the bfloat16 Artificial Intelligence
 * Datatype For Higher-Precision Computations" (2019), have it. Who makes x stores both parts side
 * by side, in as many bytes as x has (pass `fuse`); what adds x to something adds them instead, so
 * that nobody stores x. Of pictures of few channels both parts are pictures, one behind the other,
 * as pass `pictures` makes them.
 *
 * Results differ by about 2^-17 of what is added up, which options->exact forbids; what is not
 * finite may become a NaN. Runs where such instructions do so much at once that three of them are
 * faster than a product of f32 (options->splits). */
#include <inttypes.h>

#include "base/map.h"
#include "base/memory.h"
#include "passes/common/evaluate.h"
#include "passes/common/match.h"
#include "passes/common/operand.h"
#include "passes/common/picture.h"
#include "passes/common/rewrite.h"

enum { HALVES = 2, PRODUCTS = 3 };

/* Of an operand that is split. */
typedef struct data {
  int side;                                /* of the contraction */
  const hone_node_t *window, *slice, *pad; /* NULL where there is none */
  hone_value_t* x;                         /* below them */
  int pair, axis;                          /* of the contraction's axes and of x: the channels */
} data_t;

/* What a value has become, by the value, in the map that the rewriter has as `self`. */
typedef struct halves {
  hone_value_t* joined; /* both, along the channels, `axis` */
  int axis;
} halves_t;

/* ---- which ---- */

/* Whether three products by instructions and what splitting takes are less than one of f32: enough
 * of them for each number that is split, and for each weight that is read, in whole steps of
 * instructions. */
static bool pays(const hone_node_t* contract, const data_t* d) {
  enum { STEP = 32, LEAST_USES = 64, LEAST_ROWS = 16, LEAST_CHANNELS = 64 };
  hone_dim_t channels = contract->inputs[d->side]->type.dims[d->axis];
  return hone_dim_is_int(channels) && channels.k >= LEAST_CHANNELS && channels.k % STEP == 0 &&
         hone_operand_uses(contract, d->side) >= LEAST_USES &&
         hone_operand_uses(contract, 1 - d->side) >= LEAST_ROWS &&
         hone_operand_fills_part(contract, 1 - d->side, HONE_BLOCK_LANES);
}

static bool pads_with_zeros(const data_t* d) {
  return hone_dim_is(d->pad->lo[d->axis], 0) && hone_dim_is(d->pad->hi[d->axis], 0) &&
         hone_match_is_number(d->pad->inputs[1], 0);
}

/* Whether a slice goes channel by channel. */
static bool slices_steadily(const data_t* d) {
  return hone_dim_is(d->slice->step[d->axis], 1) && hone_dim_is_int(d->slice->lo[d->axis]);
}

static bool find(const hone_node_t* contract, int side, data_t* d) {
  hone_value_t* x = contract->inputs[side];
  *d = (data_t){.side = side, .window = hone_match_prim(x, HONE_PRIM_WINDOW)};
  if (d->window) x = d->window->inputs[0];
  d->slice = hone_match_prim(x, HONE_PRIM_SLICE);
  if (d->slice) x = d->slice->inputs[0];
  d->pad = hone_match_prim(x, HONE_PRIM_PAD);
  d->x = d->pad ? d->pad->inputs[0] : x;
  d->pair = hone_operand_only_sum(contract, side, d->x->type.rank);
  if (d->pair < 0 || !hone_match_constant(hone_operand_origin(contract->inputs[1 - side])) ||
      hone_match_from_constants(d->x))
    return false;
  d->axis = (int)contract->axes[2 * d->pair + side];
  if ((d->pad && !pads_with_zeros(d)) || (d->slice && !slices_steadily(d))) return false;
  return d->x->type.rank + HALVES < HONE_MAX_RANK && pays(contract, d);
}

/* Products of f32, but for those of networks so deep that they magnify what rounding loses (pass
 * `deep_sums`). */
static bool may_round(const hone_node_t* node) {
  return node->prim == HONE_PRIM_CONTRACT && !node->n_batch && node->dtype == HONE_F32 &&
         !(node->flags & HONE_FLAG_BY_PARTS) && hone_match_is_f32(node->inputs[0]) &&
         hone_match_is_f32(node->inputs[1]);
}

/* ---- splitting ---- */

static void split(hone_builder_t* b, hone_value_t* x, hone_value_t* out[HALVES]) {
  out[0] = hone_cast_flags(b, x, HONE_BF16, HONE_FLAG_FLUSHES);
  hone_value_t* rest = hone_sub(b, x, hone_cast(b, out[0], HONE_F32));
  out[1] = hone_cast_flags(b, rest, HONE_BF16, HONE_FLAG_FLUSHES);
}

/* Both side by side along the channels, which lie innermost. */
static hone_value_t* split_and_join(hone_builder_t* b, hone_value_t* x, int axis) {
  int last = x->type.rank - 1;
  hone_value_t* halves[HALVES];
  split(b, x, halves);
  for (int i = 0; i < HALVES && halves[i]; i++)
    halves[i] = hone_move_axis(b, halves[i], axis, last);
  return hone_move_axis(b, hone_concat(b, HALVES, halves, last), last, axis);
}

/* NULL: r->b has the status. */
static const halves_t* split_data(hone_rewriter_t* r, const data_t* d) {
  halves_t* made = hone_map_get_u64(r->self, (uintptr_t)d->x);
  if (made && made->axis == d->axis) return made;
  made = hone_arena_alloc(r->graph->arena, sizeof *made);
  hone_status_t status = made ? hone_map_put_u64(r->self, (uintptr_t)d->x, made) : hone_oom();
  if (status) {
    hone_fail_status(r->b, status);
    return NULL;
  }
  made->axis = d->axis;
  made->joined = split_and_join(r->b, d->x, d->axis);
  return made->joined ? made : NULL;
}

/* Both halves, of c along `axis` of so many axes, as [..., PRODUCTS, c, ...]: the first, the second
 * and the first again; where they go `by_two` the first twice and the second. */
static hone_value_t* repeat(hone_builder_t* b, hone_value_t* both, int rank, int axis, hone_dim_t c,
                            bool by_two) {
  enum { MORE = 2 /* axes */ };
  hone_dim_t shape[HONE_MAX_RANK];
  int behind = both->type.rank - rank; /* of an axis that the halves go along alone */
  for (int i = 0; i < rank; i++)
    shape[i < axis ? i : i + MORE] = both->type.dims[i < axis ? i : i + behind];
  shape[axis] = hone_d(by_two ? HALVES : 1);
  shape[axis + 1] = hone_d(by_two ? 1 : HALVES);
  shape[axis + MORE] = c;
  hone_value_t* twice = hone_reshape(b, both, rank + MORE, shape);
  shape[axis] = shape[axis + 1] = hone_d(HALVES);
  twice = hone_expand(b, twice, rank + MORE, shape);
  for (int i = axis; i <= rank; i++) shape[i] = shape[i + 1];
  shape[axis] = hone_d(2 * HALVES);
  twice = hone_reshape(b, twice, rank + 1, shape);
  return hone_slice_axis(b, twice, axis, hone_d(0), hone_d(PRODUCTS));
}

/* Of other axes than the channels. */
static hone_value_t* slice_halves(hone_builder_t* b, const data_t* d, hone_value_t* both) {
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  for (int i = 0; i < both->type.rank; i++) {
    lo[i] = d->slice->lo[i];
    hi[i] = d->slice->hi[i];
  }
  lo[d->axis] = hone_d(0);
  hi[d->axis] = both->type.dims[d->axis];
  return hone_slice(b, both, lo, hi, d->slice->step);
}

static hone_value_t* make_data(hone_rewriter_t* r, const hone_node_t* node, const data_t* d) {
  const halves_t* halves = split_data(r, d);
  hone_builder_t* b = r->b;
  if (!halves) return NULL;
  hone_value_t* both = halves->joined;
  const hone_type_t* type = &node->inputs[d->side]->type;
  if (d->pad) both = hone_pad(b, both, d->pad->lo, d->pad->hi, NULL);
  if (d->slice && both) both = slice_halves(b, d, both);
  if (d->window && both)
    both = hone_window(b, both, d->window->n_axes, d->window->axes, d->window->shape,
                       d->window->step, d->window->hi);
  if (both) both = repeat(b, both, type->rank, d->axis, d->x->type.dims[d->axis], false);
  return both && d->slice
             ? hone_slice_axis(b, both, d->axis + 1, d->slice->lo[d->axis], d->slice->hi[d->axis])
             : both;
}

static hone_value_t* make_weights(hone_rewriter_t* r, hone_value_t* w, int axis) {
  hone_value_t* halves[HALVES];
  split(r->b, w, halves);
  for (int i = 0; i < HALVES; i++) halves[i] = hone_unsqueeze(r->b, halves[i], axis);
  hone_value_t* both = hone_evaluate_constant(r, hone_concat(r->b, HALVES, halves, axis));
  return both ? repeat(r->b, both, w->type.rank, axis, w->type.dims[axis], true) : NULL;
}

/* The sum over the products goes last, so that weights that serve two are still near. */
static hone_value_t* contract_halves(hone_rewriter_t* r, const hone_node_t* node, const data_t* d) {
  int at[2], n = 0;
  int64_t pairs[HONE_MAX_RANK][2];
  hone_value_t* operands[2];
  at[d->side] = d->axis;
  at[1 - d->side] = (int)node->axes[2 * d->pair + 1 - d->side];
  operands[d->side] = make_data(r, node, d);
  operands[1 - d->side] = make_weights(r, node->inputs[1 - d->side], at[1 - d->side]);
  if (!operands[0] || !operands[1]) return NULL;
  for (int i = 0; i < node->n_axes; i += 2, n++)
    for (int k = 0; k < 2; k++) pairs[n][k] = node->axes[i + k] + (node->axes[i + k] >= at[k]);
  for (int k = 0; k < 2; k++) pairs[n][k] = at[k];
  hone_pass_did(r->context, node, "three products of bf16 for each of f32");
  return hone_contract(r->b, operands[0], operands[1], n + 1, (const int64_t(*)[2])pairs, 0,
                       HONE_F32);
}

/* ---- pictures ---- */

/* Whether a picture of few channels is convolved, which zeros stand around, if any. */
static bool is_picture(const hone_node_t* node, hone_picture_t* p) {
  if (!hone_picture_find(node, p) || !hone_picture_pays(p, (int64_t)hone_dtype_size(HONE_BF16)))
    return false;
  const hone_node_t* pad = hone_match_prim(p->window->inputs[0], HONE_PRIM_PAD);
  return !pad || hone_match_is_number(pad->inputs[1], 0);
}

/* Both halves of a picture, one behind the other, with channels last. */
static hone_value_t* make_planes(hone_builder_t* b, const hone_picture_t* p) {
  hone_value_t *x = p->window->inputs[0], *halves[HALVES];
  const hone_node_t* pad = hone_match_prim(x, HONE_PRIM_PAD);
  x = hone_picture_turn(b, pad ? pad->inputs[0] : x, p->channels);
  if (!x) return NULL;
  split(b, x, halves);
  for (int i = 0; i < HALVES && pad && halves[i]; i++)
    halves[i] = hone_picture_pad(b, pad, p->channels, halves[i], NULL);
  hone_value_t* both = hone_concat(b, HALVES, halves, 0);
  both = both ? hone_picture_slide(b, p->window, p->channels, both) : NULL;
  return both ? repeat(b, both, both->type.rank, 0, x->type.dims[0], false) : NULL;
}

static hone_value_t* contract_planes(hone_rewriter_t* r, const hone_node_t* node,
                                     const hone_picture_t* p) {
  int64_t pairs[HONE_MAX_RANK][2] = {{0, 0}}, w_axes[HONE_MAX_RANK];
  hone_value_t* operands[2];
  hone_value_t* w = hone_picture_turn_weights(r->b, node, p, w_axes);
  operands[p->data] = make_planes(r->b, p);
  operands[1 - p->data] = w ? make_weights(r, w, 0) : NULL;
  if (!operands[0] || !operands[1]) return NULL;
  int n = 1 + hone_picture_pairs(node, p, w_axes, pairs + 1);
  for (int i = 1; i < n; i++)
    for (int k = 0; k < 2; k++) pairs[i][k]++; /* behind the axis of both parts */
  hone_pass_did(r->context, node, "a picture by three products of bf16 for each of f32");
  return hone_contract(r->b, operands[0], operands[1], n, (const int64_t(*)[2])pairs, 0, HONE_F32);
}

/* ---- what adds the same numbers ---- */

/* The first or second half of x, from where both are stored. */
static hone_value_t* read_half(hone_builder_t* b, const halves_t* halves, const hone_value_t* x,
                               bool is_second) {
  hone_dim_t c = x->type.dims[halves->axis], end = halves->joined->type.dims[halves->axis];
  hone_value_t* half = hone_slice_axis(b, halves->joined, halves->axis, is_second ? c : hone_d(0),
                                       is_second ? end : c);
  return hone_cast(b, half, HONE_F32);
}

/* One after the other, so that who adds them reads no more than both. */
static hone_value_t* add_halves(hone_rewriter_t* r, const hone_node_t* node) {
  hone_value_t* sum = NULL;
  const halves_t* halves[2];
  for (int i = 0; i < 2; i++) {
    halves[i] = hone_map_get_u64(r->self, (uintptr_t)node->inputs[i]);
    if (!halves[i]) sum = node->inputs[i];
  }
  if (!halves[0] && !halves[1]) return NULL;
  for (int i = 0; i < 2 * HALVES; i++) {
    int side = i / HALVES;
    if (!halves[side]) continue;
    hone_value_t* half = read_half(r->b, halves[side], node->inputs[side], i % HALVES);
    sum = sum ? hone_binary(r->b, HONE_PRIM_ADD, sum, half) : half;
  }
  return sum;
}

/* ---- the whole ---- */

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  data_t d;
  hone_picture_t p;
  if (node->prim == HONE_PRIM_ADD && hone_match_is_f32(node->outputs[0]))
    return add_halves(r, node);
  if (!may_round(node)) return NULL;
  if (is_picture(node, &p)) return contract_planes(r, node, &p);
  return find(node, 0, &d) || find(node, 1, &d) ? contract_halves(r, node, &d) : NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  hone_map_t halves;
  if (!context->options->splits || context->options->exact) return NULL;
  hone_map_init(&halves, graph->allocator);
  hone_status_t status = hone_rewrite_once(context, graph, rule, &halves);
  hone_map_free(&halves);
  HONE_TRY(status);
  if (context->count)
    hone_pass_note(context, "%" PRId64 " contractions by three products of bf16", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_bf16x3;
const hone_pass_t hone_pass_bf16x3 = {
    .name = "bf16x3",
    .summary = "products of f32 become three of bf16, where matrix instructions do those (rounds)",
    .phases = {HONE_PHASE_TIDY + 90},
    .run = run,
};
