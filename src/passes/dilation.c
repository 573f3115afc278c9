/* Dilation: convolutions by windows with gaps, without the gaps or without what falls into padding.
 *
 * Windows whose elements are d apart meet only every d-th row and column: the d * d
 * pictures of these are convolved by windows without gaps, as that many images of a batch,
 * which Winograd's tiles then do with fewer products (pass `winograd`). Pictures are views: what
 * reads and stores them finds them in place.
 *
 * Where pictures are too small for that, as behind a wide pad, results fall into parts along each
 * axis by which elements of their windows meet data. Each part is convolved by those alone. */
#include <inttypes.h>

#include "base/tensor_impl.h"
#include "passes/common/match.h"
#include "passes/common/padding.h"
#include "passes/common/rewrite.h"

enum { AXES = 2, RANK = 4, WINDOW = 3 };

/* One of the axes that windows slide along. */
typedef struct slide {
  int axis;                          /* of x */
  int w_axis;                        /* of the weights */
  int64_t size, results, taps, gaps; /* of x and of the result; of the window, and how far apart */
} slide_t;

typedef struct conv {
  const hone_node_t *contract, *window;
  hone_value_t *x, *w;
  int n_slides, rank; /* of x: batch, slides, channels */
  slide_t slides[AXES];
  int channel; /* axis of x; axis 0 is the batch */
  int64_t channels, filters;
} conv_t;

/* ---- recognising ---- */

static bool find_slide(const conv_t* c, int i, slide_t* s) {
  const hone_node_t* window = c->window;
  s->axis = (int)window->axes[i];
  s->w_axis = hone_match_partner(c->contract, 0, c->rank + i);
  const hone_dim_t size = c->x->type.dims[s->axis];
  if (s->axis < 1 || s->w_axis < 0 || !hone_dim_is(window->step[i], 1) || !hone_dim_is_int(size) ||
      !hone_dim_is_int(window->shape[i]) || !hone_dim_is_int(window->hi[i]))
    return false;
  s->size = size.k;
  s->taps = window->shape[i].k;
  s->gaps = window->hi[i].k;
  s->results = s->size - (s->taps - 1) * s->gaps;
  return s->results > 0;
}

/* Batch first, height before width, and channels anywhere behind. */
static bool recognise(const hone_node_t* node, conv_t* c) {
  if (node->prim != HONE_PRIM_CONTRACT || node->n_batch) return false;
  *c = (conv_t){.contract = node, .w = node->inputs[1]};
  c->window = hone_match_prim(node->inputs[0], HONE_PRIM_WINDOW);
  const hone_tensor_t* w = hone_match_constant(c->w);
  if (!c->window || c->window->n_axes > AXES || !w) return false;
  c->n_slides = c->window->n_axes;
  c->x = c->window->inputs[0];
  c->rank = c->n_slides + 2;
  if (c->x->type.rank != c->rank || hone_tensor_rank(w) != c->rank ||
      node->n_axes != 2 * (c->n_slides + 1) || hone_match_partner(node, 0, 0) >= 0)
    return false;
  int all = c->rank * (c->rank - 1) / 2, w_filter = all;
  bool has_gaps = false;
  c->channel = all;
  for (int i = 0; i < c->n_slides; i++) {
    if (!find_slide(c, i, &c->slides[i])) return false;
    if (i && c->slides[i - 1].axis >= c->slides[i].axis) return false;
    c->channel -= c->slides[i].axis;
    w_filter -= c->slides[i].w_axis;
    has_gaps = has_gaps || c->slides[i].gaps > 1;
  }
  int w_channel = hone_match_partner(node, 0, c->channel);
  if (w_channel < 0) return false;
  w_filter -= w_channel;
  c->channels = hone_tensor_dims(w)[w_channel];
  c->filters = hone_tensor_dims(w)[w_filter];
  return has_gaps;
}

static const slide_t* slide_at(const conv_t* c, int axis) {
  for (int i = 0; i < c->n_slides; i++)
    if (c->slides[i].axis == axis) return &c->slides[i];
  return NULL;
}

static hone_value_t* convolve(hone_rewriter_t* r, const conv_t* c, hone_value_t* x, hone_value_t* w,
                              const hone_dim_t* sizes, const hone_dim_t* gaps) {
  static const hone_dim_t ones[AXES] = {{.k = 1}, {.k = 1}};
  int64_t pairs[HONE_MAX_RANK][2];
  for (int i = 0; i < c->contract->n_axes; i++) pairs[i / 2][i % 2] = c->contract->axes[i];
  hone_value_t* window = hone_window(r->b, x, c->n_slides, c->window->axes, sizes, ones, gaps);
  return hone_contract(r->b, window, w, c->contract->n_axes / 2, (const int64_t(*)[2])pairs, 0,
                       c->contract->dtype);
}

/* ---- pictures of every d-th row and column ---- */

/* Rows, or columns, of a picture. */
static int64_t picture(const slide_t* s) { return (s->size + s->gaps - 1) / s->gaps; }

/* Whether tiles of 4 results each way find some, and channels enough to pay, of which lines need
 * more; what is filled up to whole pictures is no more than a quarter. */
static bool has_pictures(const conv_t* c) {
  enum { LEAST_RESULTS = 4 };
  int64_t all = 1, wanted = 1, least_channels = c->n_slides == 1 ? 64 : 32;
  for (int i = 0; i < c->n_slides; i++) {
    const slide_t* s = &c->slides[i];
    int64_t results = picture(s) - (s->taps - 1);
    if (s->taps < WINDOW || results < LEAST_RESULTS) return false;
    all *= results * s->gaps;
    wanted *= s->results;
  }
  return c->channels >= least_channels && c->filters >= least_channels && 4 * all <= 5 * wanted;
}

/* x with as much more padding behind as whole pictures need. */
static hone_value_t* fill_pictures(hone_rewriter_t* r, const conv_t* c) {
  hone_dim_t more[RANK] = {{0}};
  for (int i = 0; i < c->n_slides; i++) {
    const slide_t* s = &c->slides[i];
    more[s->axis] = hone_d(picture(s) * s->gaps - s->size);
  }
  return hone_pad_more(r->b, c->x, more);
}

/* Pictures of one image. */
static int64_t count_pictures(const conv_t* c) {
  return c->slides[0].gaps * (c->n_slides == 1 ? 1 : c->slides[1].gaps);
}

/* [batch * gaps * gaps, …]: the pictures as images of their own. */
static hone_value_t* make_pictures(hone_rewriter_t* r, const conv_t* c) {
  hone_dim_t apart[RANK + AXES], together[RANK];
  int64_t order[RANK + AXES] = {0};
  int n = 0, n_phases = 1, n_order = 1 + c->n_slides;
  hone_value_t* x = fill_pictures(r, c);
  for (int axis = 0; axis < c->rank; axis++) {
    const slide_t* s = slide_at(c, axis);
    together[axis] = s ? hone_d(picture(s)) : c->x->type.dims[axis];
    if (axis > 0) order[n_order++] = n;
    apart[n++] = together[axis];
    if (!s) continue;
    order[n_phases++] = n;
    apart[n++] = hone_d(s->gaps);
  }
  together[0] = hone_d_mul(r->b, together[0], hone_d(count_pictures(c)));
  x = hone_permute(r->b, hone_reshape(r->b, x, n, apart), order);
  return hone_reshape(r->b, x, c->rank, together);
}

/* [batch, sizes, filters] of [batch * gaps * gaps, …]. */
static hone_value_t* join_pictures(hone_rewriter_t* r, const conv_t* c, hone_value_t* y) {
  if (!y) return NULL;
  hone_dim_t apart[RANK + AXES], together[RANK];
  int64_t order[RANK + AXES] = {0};
  int n = c->n_slides;
  together[0] = apart[0] = c->x->type.dims[0];
  for (int i = 0; i < n; i++) {
    apart[1 + i] = hone_d(c->slides[i].gaps);
    apart[1 + n + i] = hone_dim(y, 1 + i);
    order[1 + 2 * i] = 1 + n + i;
    order[2 + 2 * i] = 1 + i;
    together[1 + i] = hone_d_mul(r->b, apart[1 + i], apart[1 + n + i]);
  }
  together[1 + n] = apart[1 + 2 * n] = hone_dim(y, 1 + n);
  order[1 + 2 * n] = 1 + 2 * n;
  y = hone_permute(r->b, hone_reshape(r->b, y, 2 + 2 * n, apart), order);
  y = hone_reshape(r->b, y, c->rank, together);
  for (int i = 0; i < n; i++)
    y = hone_slice_axis(r->b, y, 1 + i, hone_d(0), hone_d(c->slides[i].results));
  return y;
}

static hone_value_t* by_pictures(hone_rewriter_t* r, const conv_t* c) {
  static const hone_dim_t ones[AXES] = {{.k = 1}, {.k = 1}};
  hone_value_t* y = convolve(r, c, make_pictures(r, c), c->w, c->window->shape, ones);
  return join_pictures(r, c, y);
}

/* ---- parts by what meets data ---- */

enum { MOST_PARTS = 8 };

/* Results along one axis whose windows meet data with the same elements. */
typedef struct part {
  int64_t begin, end, first, last; /* results; elements of the window, `last` included */
} part_t;

typedef struct parts {
  part_t items[MOST_PARTS];
  int count;
  int64_t met; /* elements that meet data, of all results */
} parts_t;

/* The elements of window `i` that meet data: false where none does. */
static bool find_met(const slide_t* s, int64_t data, int64_t before, int64_t i, part_t* part) {
  *part = (part_t){.begin = i, .end = i + 1, .first = s->taps};
  for (int64_t tap = 0; tap < s->taps; tap++) {
    int64_t at = i + tap * s->gaps - before;
    if (at < 0 || at >= data) continue;
    if (part->first == s->taps) part->first = tap;
    part->last = tap;
  }
  return part->first < s->taps;
}

static bool find_parts(const slide_t* s, const hone_node_t* pad, parts_t* out) {
  hone_dim_t data = pad->inputs[0]->type.dims[s->axis];
  *out = (parts_t){0};
  if (!hone_dim_is_int(data) || !hone_dim_is_int(pad->lo[s->axis])) return false;
  for (int64_t i = 0; i < s->results; i++) {
    part_t *last = out->count ? &out->items[out->count - 1] : NULL, now;
    if (!find_met(s, data.k, pad->lo[s->axis].k, i, &now)) return false;
    out->met += now.last - now.first + 1;
    if (last && last->first == now.first && last->last == now.last) {
      last->end = now.end;
      continue;
    }
    if (out->count == MOST_PARTS) return false;
    out->items[out->count++] = now;
  }
  return true;
}

/* Padding by zeros, along the axes of the windows alone. */
static const hone_node_t* find_pad(const conv_t* c) {
  const hone_node_t* pad = hone_match_prim(c->x, HONE_PRIM_PAD);
  if (!pad || !hone_match_is_number(pad->inputs[1], 0)) return NULL;
  for (int axis = 0; axis < c->rank; axis++)
    if (!slide_at(c, axis) && (!hone_dim_is(pad->lo[axis], 0) || !hone_dim_is(pad->hi[axis], 0)))
      return NULL;
  return pad;
}

/* Whether what is saved is worth a kernel for each part. */
static bool saves_enough(const conv_t* c, const parts_t* parts) {
  static const double least_products = 5e7, least_share = 0.25;
  double all = (double)c->channels * (double)c->filters, met = all;
  for (int i = 0; i < c->n_slides; i++) {
    all *= (double)(c->slides[i].results * c->slides[i].taps);
    met *= (double)parts[i].met;
  }
  return all >= least_products && all - met >= least_share * all;
}

/* `parts`: one of each axis. */
static hone_value_t* make_part(hone_rewriter_t* r, const conv_t* c, const hone_node_t* pad,
                               const part_t* const parts[AXES]) {
  hone_value_t *x = pad->inputs[0], *w = c->w;
  hone_dim_t taps[AXES];
  for (int i = 0; i < c->n_slides; i++) {
    const slide_t* s = &c->slides[i];
    const part_t* part = parts[i];
    int64_t before = pad->lo[s->axis].k;
    int64_t begin = part->begin + part->first * s->gaps - before;
    int64_t end = part->end + part->last * s->gaps - before;
    x = hone_slice_axis(r->b, x, s->axis, hone_d(begin), hone_d(end));
    w = hone_slice_axis(r->b, w, s->w_axis, hone_d(part->first), hone_d(part->last + 1));
    taps[i] = hone_d(part->last - part->first + 1);
  }
  return convolve(r, c, x, w, taps, c->window->hi);
}

/* The parts along slide `i` and those behind it, of the parts that are chosen before it. */
static hone_value_t* join_parts(hone_rewriter_t* r, const conv_t* c, const hone_node_t* pad,
                                const parts_t* parts, const part_t* chosen[AXES], int i) {
  hone_value_t* all[MOST_PARTS];
  if (i == c->n_slides) return make_part(r, c, pad, chosen);
  for (int k = 0; k < parts[i].count; k++) {
    chosen[i] = &parts[i].items[k];
    all[k] = join_parts(r, c, pad, parts, chosen, i + 1);
  }
  return hone_concat(r->b, parts[i].count, all, 1 + i);
}

static hone_value_t* by_parts(hone_rewriter_t* r, const conv_t* c) {
  const hone_node_t* pad = find_pad(c);
  const part_t* chosen[AXES];
  parts_t parts[AXES];
  if (!pad) return NULL;
  for (int i = 0; i < c->n_slides; i++)
    if (!find_parts(&c->slides[i], pad, &parts[i])) return NULL;
  return saves_enough(c, parts) ? join_parts(r, c, pad, parts, chosen, 0) : NULL;
}

/* ---- the pass ---- */

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  conv_t c;
  if (!recognise(node, &c)) return NULL;
  bool by_tiles = !r->context->options->exact && has_pictures(&c);
  hone_value_t* now = by_tiles ? by_pictures(r, &c) : by_parts(r, &c);
  if (now) hone_pass_did(r->context, node, by_tiles ? "by pictures" : "by parts that meet data");
  return now;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count)
    hone_pass_note(context, "%" PRId64 " convolutions without gaps", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_dilation;
const hone_pass_t hone_pass_dilation = {
    .name = "dilation",
    .summary = "windows with gaps become ones without, or lose what only meets padding",
    .phases = {HONE_PHASE_TIDY + 45},
    .run = run,
};
