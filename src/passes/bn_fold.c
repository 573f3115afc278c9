/* A factor of each output channel moves into the constant weights of the
 * contraction that it follows: convolution and batch normalization become a
 * convolution with other weights and a bias. Rounding differs. The pass
 * `movement` has brought the factor next to the contraction, and `affine` has
 * made one factor of what was several. */
#include <inttypes.h>

#include "base/tensor_impl.h"
#include "base/thread_pool.h"
#include "passes/common/evaluate.h"
#include "passes/common/match.h"
#include "passes/common/rewrite.h"

/* Where axis i of the contraction's result is in the weights; -1: not there. */
static void weight_axes(const hone_node_t* contract, int side, int* out) {
  int n = contract->n_batch, pairs = contract->n_axes / 2;
  for (int i = 0; i < n; i++) out[i] = (int)contract->axes[2 * i + side];
  for (int s = 0; s < 2; s++) {
    bool named[HONE_MAX_RANK] = {false};
    for (int i = 0; i < pairs; i++) named[contract->axes[2 * i + s]] = true;
    for (int i = 0; i < contract->inputs[s]->type.rank; i++)
      if (!named[i]) out[n++] = s == side ? i : -1;
  }
}

/* `factor`, shaped like the result, so shaped that it broadcasts against the
 * weights; NULL when it varies along an axis that they do not have. */
static hone_value_t* shape_factor(hone_rewriter_t* r, hone_value_t* factor,
                                  const hone_node_t* contract, int side) {
  int axis_of[2 * HONE_MAX_RANK], source[HONE_MAX_RANK];
  hone_dim_t shape[HONE_MAX_RANK], listed[HONE_MAX_RANK];
  int64_t order[HONE_MAX_RANK];
  int rank = contract->inputs[side]->type.rank, n = 0;
  weight_axes(contract, side, axis_of);
  for (int i = 0; i < rank; i++) source[i] = -1;
  for (int i = 0; i < factor->type.rank; i++) {
    if (hone_dim_is(factor->type.dims[i], 1)) continue;
    if (axis_of[i] < 0) return NULL;
    source[axis_of[i]] = n;
    listed[n++] = factor->type.dims[i];
  }
  for (int i = 0, k = 0; i < rank; i++) {
    shape[i] = source[i] < 0 ? hone_dim_int(1) : listed[source[i]];
    if (source[i] >= 0) order[k++] = source[i];
  }
  hone_value_t* list = hone_reshape(r->b, factor, n, listed);
  return hone_reshape(r->b, hone_permute(r->b, list, order), rank, shape);
}

/* The operand that is constant of the contraction's own type; -1: none. */
static int constant_side(const hone_node_t* contract) {
  for (int side = 1; side >= 0; side--)
    if (hone_match_constant(contract->inputs[side]) &&
        contract->inputs[side]->type.dtype == contract->dtype)
      return side;
  return -1;
}

/* In blocks, which the compiler makes vectors of. */
static void multiply(const hone_loose_f32_t* restrict w, float factor, int64_t n,
                     float* restrict out) {
  enum { BLOCK = 8 };
  int64_t i = 0;
  for (; i + BLOCK <= n; i += BLOCK)
    for (int k = 0; k < BLOCK; k++) out[i + k] = w[i + k] * factor;
  for (; i < n; i++) out[i] = w[i] * factor;
}

/* Rows of `length` elements, each with its factor, or (steps) with one an element. */
static void scale_row(const hone_loose_f32_t* w, const hone_loose_f32_t* c, int64_t length,
                      bool steps, bool divides, float* out) {
  if (!steps && !divides) {
    multiply(w, *c, length, out);
    return;
  }
  for (int64_t i = 0; i < length; i++) {
    float factor = c[steps ? i : 0];
    out[i] = divides ? w[i] / factor : w[i] * factor;
  }
}

/* out = w * c, c having w's rank and extents of 1 where it repeats; row by row of a length that
 * has one factor, or factors that follow one another. */
typedef struct scaling {
  const hone_loose_f32_t *w, *c;
  float* out;
  bool divides, steps; /* steps: c varies along the last axis */
  int64_t length;
  int outer; /* axes before a row's */
  int64_t dims[HONE_MAX_RANK], stride[HONE_MAX_RANK];
} scaling_t;

static void scale_rows(void* context, int64_t begin, int64_t end) {
  const scaling_t* s = context;
  for (int64_t row = begin; row < end; row++) {
    int64_t at = 0, rest = row;
    for (int i = s->outer - 1; i >= 0; i--) {
      at += rest % s->dims[i] * s->stride[i];
      rest /= s->dims[i];
    }
    scale_row(s->w + row * s->length, s->c + at, s->length, s->steps, s->divides,
              s->out + row * s->length);
  }
}

/* Weights are most of a model, so this is not left to folding. */
static void scale(const hone_tensor_t* w, const hone_tensor_t* c, bool divides, float* out) {
  enum { GRAIN = 1 << 16 /* elements */ };
  const int64_t *dims = hone_tensor_dims(w), *narrow = hone_tensor_dims(c);
  int rank = hone_tensor_rank(w);
  scaling_t s = {hone_tensor_data(w), hone_tensor_data(c), out, divides, .length = 1};
  s.outer = rank;
  while (s.outer > 0 && narrow[s.outer - 1] == 1) s.length *= dims[--s.outer];
  s.steps = s.outer == rank && rank > 0;
  if (s.steps) s.length = dims[--s.outer];
  int64_t next = 1;
  for (int i = rank - 1; i >= 0; i--) {
    s.dims[i] = dims[i];
    s.stride[i] = narrow[i] == 1 ? 0 : next;
    next *= narrow[i];
  }
  if (!hone_tensor_count(w)) return;
  hone_parallel_for(hone_thread_pool_shared(), hone_tensor_count(w) / s.length,
                    GRAIN / s.length + 1, scale_rows, &s);
}

/* The scaled weights as a constant. */
static hone_value_t* scaled_constant(hone_rewriter_t* r, const hone_value_t* weights,
                                     const hone_value_t* factor, bool divides) {
  const hone_tensor_t* w = hone_match_constant(weights);
  hone_tensor_t *c, *out;
  hone_status_t status = hone_evaluate(r->context, factor, &c);
  if (status) return hone_fail_status(r->b, status);
  status = hone_tensor_create_raw(r->graph->allocator, HONE_F32, hone_tensor_rank(w),
                                  hone_tensor_dims(w), &out);
  if (!status) scale(w, c, divides, hone_tensor_data(out));
  hone_tensor_release(c);
  return status ? hone_fail_status(r->b, status) : hone_constant(r->b, out);
}

static hone_value_t* fold_into(hone_rewriter_t* r, const hone_node_t* contract, int side,
                               hone_value_t* factor, bool divides) {
  hone_value_t* shaped = shape_factor(r, factor, contract, side);
  if (!shaped) return NULL;
  hone_value_t* inputs[2] = {contract->inputs[0], contract->inputs[1]};
  hone_value_t* w = inputs[side];
  if (contract->dtype == HONE_F32)
    inputs[side] = scaled_constant(r, w, shaped, divides);
  else
    inputs[side] = divides ? hone_div(r->b, w, shaped) : hone_mul(r->b, w, shaped);
  return hone_rewrite_copy(r, contract, inputs);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  if (node->prim != HONE_PRIM_MUL && node->prim != HONE_PRIM_DIV) return NULL;
  for (int i = 0; i < (node->prim == HONE_PRIM_DIV ? 1 : 2); i++) {
    hone_node_t* contract = hone_match_prim_once(node->inputs[i], HONE_PRIM_CONTRACT);
    hone_node_t* expand = hone_match_prim(node->inputs[1 - i], HONE_PRIM_EXPAND);
    hone_value_t* factor = expand ? expand->inputs[0] : node->inputs[1 - i];
    if (!contract || !hone_match_constant(factor)) continue;
    int side = constant_side(contract);
    if (side < 0 || !hone_dtype_is_float(contract->dtype)) continue;
    hone_rewrite_blend(r, contract);
    hone_value_t* now = fold_into(r, contract, side, factor, node->prim == HONE_PRIM_DIV);
    if (!now) continue;
    hone_pass_did(r->context, node, "factor moved into the weights of %s",
                  contract->origin ? contract->origin : "a contraction");
    return now;
  }
  return NULL;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "moved %" PRId64 " factors into weights", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_bn_fold;
const hone_pass_t hone_pass_bn_fold = {
    .name = "bn_fold",
    .summary = "factors of channels move into constant weights (rounding differs)",
    .phases = {HONE_PHASE_WEIGHTS + 20},
    .run = run,
};
