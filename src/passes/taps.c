/* Taps: windows lose the elements at their ends that only ever meet padding.
 *
 * Of windows of three over one element with padding on both sides, as the last stages of networks
 * for films have them along time, only the element in the middle counts. Weights are cut to what
 * meets data, and padding with them; an axis along which one element is left is no longer slid
 * along. */
#include <inttypes.h>

#include "passes/common/match.h"
#include "passes/common/rewrite.h"

typedef struct conv {
  const hone_node_t *contract, *window, *pad;
  int rank; /* of x, before the window */
} conv_t;

/* Elements of a window that meet data, `last` included, along one of its axes. */
typedef struct span {
  int64_t first, last;
} span_t;

static bool recognise(const hone_node_t* node, conv_t* c) {
  if (node->prim != HONE_PRIM_CONTRACT) return false;
  *c = (conv_t){.contract = node, .window = hone_match_prim(node->inputs[0], HONE_PRIM_WINDOW)};
  if (!c->window) return false;
  c->pad = hone_match_prim(c->window->inputs[0], HONE_PRIM_PAD);
  if (!c->pad || !hone_match_is_number(c->pad->inputs[1], 0)) return false;
  c->rank = c->window->inputs[0]->type.rank;
  for (int i = 0; i < c->window->n_axes; i++)
    if (hone_match_partner(node, 0, c->rank + i) < 0) return false;
  return true;
}

/* Along axis `i` of the window; false where not all sizes are known, or nothing meets data. */
static bool find_span(const conv_t* c, int i, span_t* span) {
  const hone_node_t* window = c->window;
  int64_t axis = window->axes[i];
  hone_dim_t data = c->pad->inputs[0]->type.dims[axis], before = c->pad->lo[axis];
  hone_dim_t results = window->outputs[0]->type.dims[axis];
  hone_dim_t taps = window->shape[i], step = window->step[i], gap = window->hi[i];
  const hone_dim_t all[] = {data, before, results, taps, step, gap, c->pad->hi[axis]};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    if (!hone_dim_is_int(all[k])) return false;
  span->first = taps.k;
  for (int64_t tap = 0; tap < taps.k; tap++) {
    int64_t begin = tap * gap.k - before.k; /* where the first window meets it */
    int64_t skipped = begin < 0 ? (-begin + step.k - 1) / step.k : 0;
    if (skipped >= results.k || begin + skipped * step.k >= data.k) continue;
    if (span->first == taps.k) span->first = tap;
    span->last = tap;
  }
  return span->first < taps.k;
}

/* Of x, what windows of these spans reach: data with less padding. */
static hone_value_t* cut_data(hone_rewriter_t* r, const conv_t* c, const span_t* spans) {
  hone_value_t* x = c->pad->inputs[0];
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK];
  for (int axis = 0; axis < c->rank; axis++) {
    lo[axis] = c->pad->lo[axis];
    hi[axis] = c->pad->hi[axis];
  }
  for (int i = 0; i < c->window->n_axes; i++) {
    int axis = (int)c->window->axes[i];
    int64_t gap = c->window->hi[i].k, size = x->type.dims[axis].k;
    int64_t windows = c->window->outputs[0]->type.dims[axis].k;
    int64_t begin = spans[i].first * gap - lo[axis].k; /* from the first of the data */
    int64_t end = (windows - 1) * c->window->step[i].k + spans[i].last * gap + 1 - lo[axis].k;
    int64_t from = begin > 0 ? begin : 0, to = end < size ? end : size;
    x = hone_slice_axis(r->b, x, axis, hone_d(from), hone_d(to));
    lo[axis] = hone_d(from - begin);
    hi[axis] = hone_d(end - to);
  }
  return hone_pad(r->b, x, lo, hi, c->pad->inputs[1]);
}

/* Every step-th element along an axis that is no longer slid along. */
static hone_value_t* take_steps(hone_rewriter_t* r, hone_value_t* x, int axis, hone_dim_t step) {
  hone_dim_t lo[HONE_MAX_RANK], hi[HONE_MAX_RANK], steps[HONE_MAX_RANK];
  if (!x || hone_dim_is(step, 1)) return x;
  for (int i = 0; i < x->type.rank; i++) {
    lo[i] = hone_d(0);
    hi[i] = x->type.dims[i];
    steps[i] = i == axis ? step : hone_d(1);
  }
  return hone_slice(r->b, x, lo, hi, steps);
}

static bool has_one(const span_t* span) { return span->first == span->last; }

/* Windows along the axes of which more than one element is left; `axes`: which one the elements
 * along each of the window's axes now are, -1 where one is left. */
static hone_value_t* slide(hone_rewriter_t* r, const conv_t* c, const span_t* spans,
                           hone_value_t* x, int* axes) {
  const hone_node_t* window = c->window;
  hone_dim_t sizes[HONE_MAX_RANK], steps[HONE_MAX_RANK], gaps[HONE_MAX_RANK];
  int64_t along[HONE_MAX_RANK];
  int n = 0;
  for (int i = 0; i < window->n_axes; i++) {
    axes[i] = has_one(&spans[i]) ? -1 : c->rank + n;
    if (axes[i] < 0) {
      x = take_steps(r, x, (int)window->axes[i], window->step[i]);
      continue;
    }
    along[n] = window->axes[i];
    sizes[n] = hone_d(spans[i].last - spans[i].first + 1);
    steps[n] = window->step[i];
    gaps[n++] = window->hi[i];
  }
  return n ? hone_window(r->b, x, n, along, sizes, steps, gaps) : x;
}

/* Weights of the elements that are left, without axes of one; `axes`: which one each axis now is.
 */
static hone_value_t* cut_weights(hone_rewriter_t* r, const conv_t* c, const span_t* spans,
                                 int* axes) {
  hone_value_t* w = c->contract->inputs[1];
  int rank = w->type.rank, left = 0;
  for (int i = 0; i < rank; i++) axes[i] = 0;
  for (int i = 0; i < c->window->n_axes; i++) {
    int axis = hone_match_partner(c->contract, 0, c->rank + i);
    w = hone_slice_axis(r->b, w, axis, hone_d(spans[i].first), hone_d(spans[i].last + 1));
    if (has_one(&spans[i])) axes[axis] = -1;
  }
  for (int i = rank - 1; i >= 0; i--)
    if (axes[i] < 0) w = hone_squeeze(r->b, w, i);
  for (int i = 0; i < rank; i++)
    if (axes[i] >= 0) axes[i] = left++;
  return w;
}

static hone_value_t* convolve(hone_rewriter_t* r, const conv_t* c, const span_t* spans) {
  const hone_node_t* contract = c->contract;
  int window_axes[HONE_MAX_RANK], w_axes[HONE_MAX_RANK], n = 0;
  int64_t pairs[HONE_MAX_RANK][2];
  hone_value_t *x = cut_data(r, c, spans), *w = cut_weights(r, c, spans, w_axes);
  x = slide(r, c, spans, x, window_axes);
  for (int i = 0; i < contract->n_axes; i += 2) {
    int64_t axis = contract->axes[i];
    if (axis >= c->rank) axis = window_axes[axis - c->rank];
    if (axis < 0) continue;
    pairs[n][0] = axis;
    pairs[n++][1] = w_axes[contract->axes[i + 1]];
  }
  return hone_contract(r->b, x, w, n, (const int64_t(*)[2])pairs, contract->n_batch,
                       contract->dtype);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  conv_t c;
  span_t spans[HONE_MAX_RANK];
  if (!recognise(node, &c)) return NULL;
  bool cuts = false;
  for (int i = 0; i < c.window->n_axes; i++) {
    hone_dim_t taps = c.window->shape[i];
    if (!find_span(&c, i, &spans[i])) return NULL;
    cuts = cuts || spans[i].first > 0 || spans[i].last + 1 < taps.k;
  }
  if (!cuts) return NULL;
  hone_value_t* now = convolve(r, &c, spans);
  if (now) hone_pass_did(r->context, node, "windows without what only meets padding");
  return now;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "%" PRId64 " convolutions with smaller windows", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_taps;
const hone_pass_t hone_pass_taps = {
    .name = "taps",
    .summary = "windows lose the elements that only ever meet padding",
    .phases = {HONE_PHASE_TIDY + 42},
    .run = run,
};
