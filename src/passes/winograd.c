/* Winograd: convolutions by 3 x 3 windows, side by side, with fewer products.
 *
 * Results are made in tiles of 4 x 4 or 2 x 2. The 6 x 6 or 4 x 4 inputs under a
 * tile are transformed, V = B' d B, the weights once and for all, U = G g G'; the
 * sum over channels is one product of matrices for each of the 36 or 16 places, and
 * a tile is Y = A' M A of its results. That takes 36 or 64 products for 16 results,
 * where windows take 144; the smaller tiles have weights of 16 numbers for each 9,
 * the larger of 36. After A. Lavin and S. Gray, "Fast Algorithms for Convolutional
 * Neural Networks" (2015), F(4 x 4, 3 x 3) and F(2 x 2, 3 x 3).
 *
 * The transforms are written as slices, sums and concats of elements, which
 * become one kernel each. Results differ by rounding, by about 1e-5 of the
 * largest; options->exact leaves convolutions as they are. It runs after all that
 * moves permutes, because the order that values have here is the order in which
 * the three kernels read and write best. */
#include <inttypes.h>

#include "base/memory.h"
#include "passes/common/match.h"
#include "passes/common/rewrite.h"

enum { WINDOW = 3, MOST_TILE = 4, MOST_PATCH = MOST_TILE + WINDOW - 1 };

/* One size of tiles. */
typedef struct tiling {
  int tile, patch;                   /* results and inputs along an axis */
  float weights[MOST_PATCH][WINDOW]; /* G */
  void (*inputs)(hone_builder_t* b, hone_value_t* const* d, hone_value_t** v);  /* B' */
  void (*results)(hone_builder_t* b, hone_value_t* const* m, hone_value_t** y); /* A' */
} tiling_t;

typedef struct conv {
  const hone_node_t *contract, *window;
  hone_value_t* x;        /* before the window, rank 4 */
  const hone_tensor_t* w; /* weights */
  int channel;            /* axis of x; the others are batch, height, width in order */
  int free[3];
  int64_t height, width;                    /* of the result */
  int w_filter, w_channel, w_row, w_column; /* axes of the weights */
  int64_t channels, filters;
  const tiling_t* tiling; /* what follows depends on it */
  int64_t tiles_high, tiles_wide;
} conv_t;

/* ---- recognising ---- */

static bool is_window(const hone_node_t* node) {
  if (!node || node->n_axes != 2 || node->inputs[0]->type.rank != 4) return false;
  for (int i = 0; i < 2; i++)
    if (!hone_dim_is(node->shape[i], WINDOW) || !hone_dim_is(node->step[i], 1) ||
        !hone_dim_is(node->hi[i], 1))
      return false;
  return node->axes[0] < node->axes[1];
}

/* The axis of the weights that is paired with axis `axis` of the window; -1: none. */
static int partner(const hone_node_t* contract, int64_t axis) {
  for (int i = 0; i < contract->n_axes; i += 2)
    if (contract->axes[i] == axis) return (int)contract->axes[i + 1];
  return -1;
}

/* The weights' axes, and the channels' of x: the one free axis is the filters'. */
static bool find_axes(conv_t* c) {
  c->w_row = partner(c->contract, 4);
  c->w_column = partner(c->contract, 5);
  c->channel = -1;
  int n = 0;
  for (int i = 0; i < 4; i++) {
    int other = partner(c->contract, i);
    if (other < 0 && n < 3) c->free[n++] = i;
    if (other < 0) continue;
    c->channel = i;
    c->w_channel = other;
  }
  if (c->w_row < 0 || c->w_column < 0 || c->channel < 0 || n != 3) return false;
  c->w_filter = 6 - c->w_row - c->w_column - c->w_channel;
  return c->free[1] == c->window->axes[0] && c->free[2] == c->window->axes[1];
}

static bool find_sizes(conv_t* c) {
  const hone_type_t* type = &c->contract->outputs[0]->type;
  if (!hone_dim_is_int(type->dims[1]) || !hone_dim_is_int(type->dims[2])) return false;
  c->height = type->dims[1].k;
  c->width = type->dims[2].k;
  c->channels = hone_tensor_dims(c->w)[c->w_channel];
  c->filters = hone_tensor_dims(c->w)[c->w_filter];
  return c->height > 0 && c->width > 0;
}

static bool recognise(const hone_node_t* node, conv_t* c) {
  *c = (conv_t){.contract = node};
  if (node->prim != HONE_PRIM_CONTRACT || node->n_batch || node->n_axes != 6) return false;
  c->window = hone_match_prim(node->inputs[0], HONE_PRIM_WINDOW);
  c->w = hone_match_constant(node->inputs[1]);
  if (!is_window(c->window) || !c->w || hone_tensor_rank(c->w) != 4) return false;
  c->x = c->window->inputs[0];
  if (c->x->type.dtype != HONE_F32 || hone_tensor_dtype(c->w) != HONE_F32 ||
      node->dtype != HONE_F32)
    return false;
  return find_axes(c) && find_sizes(c);
}

/* ---- transforms along one axis ---- */

/* x + factor * y */
static hone_value_t* plus(hone_builder_t* b, hone_value_t* x, double factor, hone_value_t* y) {
  return hone_add(b, x, hone_mul_number(b, y, factor));
}

static void inputs_of_6(hone_builder_t* b, hone_value_t* const* d, hone_value_t** v) {
  hone_value_t* even = plus(b, d[4], -4, d[2]);
  hone_value_t* odd = plus(b, d[3], -4, d[1]);
  hone_value_t* even2 = hone_sub(b, d[4], d[2]);
  hone_value_t* odd2 = hone_sub(b, d[3], d[1]);
  v[0] = plus(b, plus(b, d[4], 4, d[0]), -5, d[2]);
  v[1] = hone_add(b, even, odd);
  v[2] = hone_sub(b, even, odd);
  v[3] = plus(b, even2, 2, odd2);
  v[4] = plus(b, even2, -2, odd2);
  v[5] = plus(b, plus(b, d[5], 4, d[1]), -5, d[3]);
}

static void results_of_6(hone_builder_t* b, hone_value_t* const* m, hone_value_t** y) {
  hone_value_t* sum = hone_add(b, m[1], m[2]);
  hone_value_t* difference = hone_sub(b, m[1], m[2]);
  hone_value_t* sum2 = hone_add(b, m[3], m[4]);
  hone_value_t* difference2 = hone_sub(b, m[3], m[4]);
  y[0] = hone_add(b, hone_add(b, m[0], sum), sum2);
  y[1] = plus(b, difference, 2, difference2);
  y[2] = plus(b, sum, 4, sum2);
  y[3] = hone_add(b, plus(b, difference, 8, difference2), m[5]);
}

static void inputs_of_4(hone_builder_t* b, hone_value_t* const* d, hone_value_t** v) {
  v[0] = hone_sub(b, d[0], d[2]);
  v[1] = hone_add(b, d[1], d[2]);
  v[2] = hone_sub(b, d[2], d[1]);
  v[3] = hone_sub(b, d[1], d[3]);
}

static void results_of_4(hone_builder_t* b, hone_value_t* const* m, hone_value_t** y) {
  y[0] = hone_add(b, hone_add(b, m[0], m[1]), m[2]);
  y[1] = hone_sub(b, hone_sub(b, m[1], m[2]), m[3]);
}

static const tiling_t tilings[] = {
    {.tile = 4,
     .patch = 6,
     .weights = {{1.0f / 4, 0, 0},
                 {-1.0f / 6, -1.0f / 6, -1.0f / 6},
                 {-1.0f / 6, 1.0f / 6, -1.0f / 6},
                 {1.0f / 24, 1.0f / 12, 1.0f / 6},
                 {1.0f / 24, -1.0f / 12, 1.0f / 6},
                 {0, 0, 1}},
     .inputs = inputs_of_6,
     .results = results_of_6},
    {.tile = 2,
     .patch = 4,
     .weights = {{1, 0, 0}, {0.5f, 0.5f, 0.5f}, {0.5f, -0.5f, 0.5f}, {0, 0, 1}},
     .inputs = inputs_of_4,
     .results = results_of_4},
};

static hone_value_t* transform(hone_builder_t* b, hone_value_t* x, int axis, int from, int to,
                               void (*fn)(hone_builder_t* b, hone_value_t* const* in,
                                          hone_value_t** out)) {
  hone_value_t *in[MOST_PATCH], *out[MOST_PATCH];
  for (int i = 0; i < from; i++) in[i] = hone_slice_axis(b, x, axis, hone_d(i), hone_d(i + 1));
  fn(b, in, out);
  return hone_concat(b, to, out, axis);
}

/* ---- which tiles pay ---- */

static void set_tiling(conv_t* c, const tiling_t* tiling) {
  c->tiling = tiling;
  c->tiles_high = (c->height + tiling->tile - 1) / tiling->tile;
  c->tiles_wide = (c->width + tiling->tile - 1) / tiling->tile;
}

/* What tiles take, as the multiply-adds that take as long, for one pair of a channel
 * and a filter. Transformed weights are more bytes, most of which come from memory in
 * each run; patches and results are written and read again in a far cache. Fitted on
 * x86 with AVX2. */
static double cost(const conv_t* c) {
  const double per_byte = 2.5, per_far_byte = 3;
  double places = (double)(c->tiling->patch * c->tiling->patch);
  double products = places * (double)(c->tiles_high * c->tiles_wide);
  double weight_bytes = (places - WINDOW * WINDOW) * (double)sizeof(float);
  double moved = products * 8 * (1.0 / (double)c->channels + 1.0 / (double)c->filters);
  return products + weight_bytes * per_byte + moved * per_far_byte;
}

/* Sets the best tiling; false where windows are as fast. */
static bool choose(conv_t* c) {
  enum { LEAST_CHANNELS = 24 };
  const double least_gain = 1.25;
  conv_t best = *c;
  if (c->channels < LEAST_CHANNELS || c->filters < LEAST_CHANNELS) return false;
  for (size_t i = 0; i < sizeof tilings / sizeof *tilings; i++) {
    set_tiling(c, &tilings[i]);
    if (!best.tiling || cost(c) < cost(&best)) best = *c;
  }
  *c = best;
  double direct = (double)(WINDOW * WINDOW) * (double)(c->height * c->width);
  return direct > least_gain * cost(c);
}

/* ---- weights ---- */

/* G, for all filters of a channel at once: row r of `out` is the sum of
 * weights[r][k] times row k of `in`; rows are `stride` apart on each side. */
static void transform_rows(const tiling_t* tiling, const float* in, int64_t in_stride, float* out,
                           int64_t out_stride, int64_t count) {
  for (int r = 0; r < tiling->patch; r++) {
    const float* factors = tiling->weights[r];
    for (int64_t i = 0; i < count; i++)
      out[r * out_stride + i] =
          factors[0] * in[i] + factors[1] * in[in_stride + i] + factors[2] * in[2 * in_stride + i];
  }
}

typedef struct strides {
  int64_t filter, channel, row, column;
} strides_t;

static strides_t strides_of(const conv_t* c) {
  int64_t stride[4], next = 1;
  for (int i = 3; i >= 0; i--) {
    stride[i] = next;
    next *= hone_tensor_dims(c->w)[i];
  }
  return (strides_t){stride[c->w_filter], stride[c->w_channel], stride[c->w_row],
                     stride[c->w_column]};
}

/* The windows of one channel as [row, column, filter]. */
static void gather_channel(const conv_t* c, const strides_t* s, int64_t channel, float* out) {
  const float* w = (const float*)hone_tensor_data(c->w) + channel * s->channel;
  for (int row = 0; row < WINDOW; row++)
    for (int column = 0; column < WINDOW; column++)
      for (int64_t f = 0; f < c->filters; f++)
        *out++ = w[row * s->row + column * s->column + f * s->filter];
}

/* U as [places, channels, filters]. `room` holds the window of a channel, and its rows
 * transformed. */
static void transform_weights(const conv_t* c, float* room, float* out) {
  strides_t s = strides_of(c);
  int64_t n = c->filters, place = c->channels * n;
  float *window = room, *rows = room + (int64_t)(WINDOW * WINDOW) * n;
  for (int64_t channel = 0; channel < c->channels; channel++) {
    gather_channel(c, &s, channel, window);
    transform_rows(c->tiling, window, WINDOW * n, rows, WINDOW * n, WINDOW * n);
    for (int r = 0; r < c->tiling->patch; r++)
      transform_rows(c->tiling, rows + (int64_t)(r * WINDOW) * n, n,
                     out + r * c->tiling->patch * place + channel * n, place, n);
  }
}

static hone_value_t* make_weights(hone_rewriter_t* r, const conv_t* c) {
  const hone_allocator_t* allocator = r->graph->allocator;
  const int64_t dims[] = {(int64_t)c->tiling->patch * c->tiling->patch, c->channels, c->filters};
  size_t bytes =
      (size_t)(WINDOW * (WINDOW + c->tiling->patch)) * (size_t)c->filters * sizeof(float);
  hone_tensor_t* u;
  hone_status_t status = hone_tensor_create(allocator, HONE_F32, 3, dims, &u);
  if (status) return hone_fail_status(r->b, status);
  float* room = hone_alloc(allocator, bytes);
  if (!room) {
    hone_tensor_release(u);
    return hone_fail_status(r->b, hone_oom());
  }
  transform_weights(c, room, hone_tensor_data(u));
  hone_free(allocator, room, bytes);
  return hone_constant(r->b, u);
}

/* ---- the three steps ---- */

/* x with as much more padding behind as whole tiles need. */
static hone_value_t* fill_tiles(hone_rewriter_t* r, const conv_t* c) {
  hone_builder_t* b = r->b;
  hone_dim_t lo[4] = {hone_d(0), hone_d(0), hone_d(0), hone_d(0)};
  hone_dim_t hi[4] = {hone_d(0), hone_d(0), hone_d(0), hone_d(0)};
  hi[c->free[1]] = hone_d(c->tiles_high * c->tiling->tile - c->height);
  hi[c->free[2]] = hone_d(c->tiles_wide * c->tiling->tile - c->width);
  if (hone_dim_is(hi[c->free[1]], 0) && hone_dim_is(hi[c->free[2]], 0)) return c->x;
  const hone_node_t* pad = hone_match_prim(c->x, HONE_PRIM_PAD);
  if (!pad) return hone_pad(b, c->x, lo, hi, NULL);
  for (int i = 0; i < 4; i++) hi[i] = hone_d_add(b, hi[i], pad->hi[i]);
  return hone_pad(b, pad->inputs[0], pad->lo, hi, pad->inputs[1]);
}

/* [places, batch, tiles down, tiles across, channels] */
static hone_value_t* make_patches(hone_rewriter_t* r, const conv_t* c) {
  int tile = c->tiling->tile, patch = c->tiling->patch;
  const hone_dim_t sizes[] = {hone_d(patch), hone_d(patch)};
  const hone_dim_t strides[] = {hone_d(tile), hone_d(tile)}, ones[] = {hone_d(1), hone_d(1)};
  const int64_t order[] = {4, 5, c->free[0], c->free[1], c->free[2], c->channel};
  hone_value_t* v = hone_window(r->b, fill_tiles(r, c), 2, c->window->axes, sizes, strides, ones);
  for (int axis = 4; axis < 6; axis++)
    v = transform(r->b, v, axis, patch, patch, c->tiling->inputs);
  v = hone_permute(r->b, v, order);
  if (!v) return NULL;
  const hone_dim_t shape[] = {hone_d(patch * patch), hone_dim(v, 2), hone_dim(v, 3), hone_dim(v, 4),
                              hone_dim(v, 5)};
  return hone_reshape(r->b, v, 5, shape);
}

/* [batch, height, width, filters] from [places, batch, tiles down, tiles across, filters] */
static hone_value_t* make_results(hone_rewriter_t* r, const conv_t* c, hone_value_t* m) {
  hone_builder_t* b = r->b;
  static const int64_t order[] = {2, 3, 0, 4, 1, 5};
  if (!m) return NULL;
  int tile = c->tiling->tile, patch = c->tiling->patch;
  const hone_dim_t apart[] = {hone_d(patch),  hone_d(patch),  hone_dim(m, 1),
                              hone_dim(m, 2), hone_dim(m, 3), hone_dim(m, 4)};
  hone_value_t* y = hone_reshape(b, m, 6, apart);
  for (int axis = 1; axis >= 0; axis--) y = transform(b, y, axis, patch, tile, c->tiling->results);
  y = hone_permute(b, y, order);
  if (!y) return NULL;
  const hone_dim_t shape[] = {hone_dim(y, 0), hone_d(c->tiles_high * c->tiling->tile),
                              hone_d(c->tiles_wide * c->tiling->tile), hone_d(c->filters)};
  y = hone_reshape(b, y, 4, shape);
  y = hone_slice_axis(b, y, 1, hone_d(0), hone_d(c->height));
  return hone_slice_axis(b, y, 2, hone_d(0), hone_d(c->width));
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  static const int64_t pairs[][2] = {{0, 0}, {4, 1}};
  conv_t c;
  if (!recognise(node, &c) || !choose(&c)) return NULL;
  hone_value_t* v = make_patches(r, &c);
  hone_value_t* m = hone_contract(r->b, v, make_weights(r, &c), 2, pairs, 1, HONE_F32);
  hone_value_t* now = make_results(r, &c, m);
  if (now) hone_pass_did(r->context, node, "by tiles of %d x %d", c.tiling->tile, c.tiling->tile);
  return now;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  if (context->options->exact) return NULL;
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count) hone_pass_note(context, "%" PRId64 " convolutions by tiles", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_winograd;
const hone_pass_t hone_pass_winograd = {
    .name = "winograd",
    .summary = "3 x 3 convolutions with a quarter of the products, or half (rounding differs)",
    .phases = {HONE_PHASE_TIDY + 90},
    .run = run,
};
