/* Winograd: convolutions by 3 x 3 windows, side by side, with fewer products; of all channels or in
 * groups.
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
 * become one kernel each. Results of floats differ by rounding, by about 1e-5 of the
 * largest; options->exact leaves them as they are. It runs after all that
 * moves permutes, because the order that values have here is the order in which
 * the three kernels read and write best.
 *
 * Sums of products of bytes come out as they were. B has whole numbers: the sizes of those in a
 * column add up to 10 at most, so that V is within 100 * 255, and fits 16 bits. G has whole
 * numbers too when each row is multiplied by 6 or 24: sizes add up to 7, and U is within 49 * 255.
 * Products and sums of them are taken modulo 2^32. What A' makes of them is 576 times the result
 * in tiles of 4 x 4 (24 along each axis), 4 times in those of 2 x 2. 576 is 9 * 64: multiplied by
 * the number that times 9 is 1 modulo 2^32, 64 times the result is left modulo 2^32, which is the
 * result when it is within 2^25 either way. How large it can be follows from the weights; where
 * that is too large, the smaller tiles need no more than 2^29. It is done where two products of
 * 16 bits take no longer than two of bytes, as on CPUs that widen bytes to multiply them.
 *
 * Operands that were rounded to bf16 or f16 are transformed in f32, and multiplied so in the larger
 * tiles. Where the device has fast products of such, these take half the time of those, and tiles
 * have to gain more. In the smaller tiles of bf16 both transformed operands are rounded to it
 * again: A' adds up nine sums there, none of which it multiplies, while in the larger ones factors
 * go up to 64. */
#include "passes/common/winograd.h"

#include <inttypes.h>
#include <string.h>

#include "base/float_convert.h"
#include "base/tensor_impl.h"
#include "base/thread_pool.h"
#include "passes/common/match.h"
#include "passes/common/padding.h"
#include "passes/common/rewrite.h"

enum { WINDOW = HONE_WINOGRAD_WINDOW };

typedef struct conv {
  const hone_node_t *contract, *window;
  hone_value_t* x;        /* before the window */
  const hone_tensor_t* w; /* weights */
  int rank;               /* of x: 4, or 5 with groups */
  int group;              /* axis of x; -1: there is none */
  int channel;            /* the same; the others are batch, height, width in order */
  int free[3];
  int64_t images;                                    /* 1 where only a run knows */
  int64_t height, width;                             /* of the result */
  int w_group, w_filter, w_channel, w_row, w_column; /* axes of the weights */
  int64_t groups, channels, filters;                 /* the latter of a group */
  bool is_whole;                                     /* bytes, and sums of 32 bits */
  bool is_narrow;                                    /* floats of 16 bits, and sums in f32 */
  double word_price;                                 /* of the device */
  const hone_winograd_t* tiling;                     /* what follows depends on it */
  int64_t tiles_high, tiles_wide;
} conv_t;

/* ---- recognising ---- */

static bool is_window(const hone_node_t* node) {
  if (!node || node->n_axes != 2) return false;
  for (int i = 0; i < 2; i++)
    if (!hone_dim_is(node->shape[i], WINDOW) || !hone_dim_is(node->step[i], 1) ||
        !hone_dim_is(node->hi[i], 1))
      return false;
  return node->axes[0] < node->axes[1];
}

/* The weights' axes, and those of x for groups and channels: the one free axis is the filters'. */
static bool find_axes(conv_t* c) {
  const hone_node_t* contract = c->contract;
  c->w_row = hone_match_partner(contract, 0, c->rank);
  c->w_column = hone_match_partner(contract, 0, c->rank + 1);
  c->group = contract->n_batch ? (int)contract->axes[0] : -1;
  c->w_group = contract->n_batch ? (int)contract->axes[1] : 0;
  c->channel = -1;
  int n = 0;
  for (int i = 0; i < c->rank; i++) {
    int other = hone_match_partner(contract, 0, i);
    if (other < 0 && n < 3) c->free[n++] = i;
    if (other < 0 || i == c->group) continue;
    c->channel = i;
    c->w_channel = other;
  }
  if (c->w_row < 0 || c->w_column < 0 || c->channel < 0 || n != 3) return false;
  int all = c->rank * (c->rank - 1) / 2;
  c->w_filter = all - c->w_group - c->w_row - c->w_column - c->w_channel;
  return c->free[1] == c->window->axes[0] && c->free[2] == c->window->axes[1];
}

static bool is_byte(hone_dtype_t dtype) { return dtype == HONE_I8 || dtype == HONE_U8; }

static bool find_sizes(conv_t* c) {
  const hone_type_t* type = &c->contract->outputs[0]->type;
  const hone_dim_t* dims = type->dims + c->contract->n_batch; /* behind the groups */
  if (!hone_dim_is_int(dims[1]) || !hone_dim_is_int(dims[2])) return false;
  c->images = hone_dim_is_int(dims[0]) && dims[0].k > 0 ? dims[0].k : 1;
  c->height = dims[1].k;
  c->width = dims[2].k;
  c->groups = c->group < 0 ? 1 : hone_tensor_dims(c->w)[c->w_group];
  c->channels = hone_tensor_dims(c->w)[c->w_channel];
  c->filters = hone_tensor_dims(c->w)[c->w_filter];
  return c->height > 0 && c->width > 0;
}

static bool is_half(hone_dtype_t dtype) { return dtype == HONE_BF16 || dtype == HONE_F16; }

/* Floats, or sums of products of bytes. */
static bool has_types(conv_t* c) {
  hone_dtype_t x = c->x->type.dtype, w = hone_tensor_dtype(c->w), sum = c->contract->dtype;
  c->is_whole = sum == HONE_I32 && is_byte(x) && is_byte(w);
  c->is_narrow = sum == HONE_F32 && is_half(x) && is_half(w);
  return c->is_whole || c->is_narrow || (x == HONE_F32 && w == HONE_F32 && sum == HONE_F32);
}

static bool recognise(const hone_node_t* node, conv_t* c) {
  *c = (conv_t){.contract = node};
  if (node->prim != HONE_PRIM_CONTRACT || node->n_batch > 1) return false;
  c->rank = 4 + node->n_batch;
  c->window = hone_match_prim(node->inputs[0], HONE_PRIM_WINDOW);
  c->w = hone_match_constant(node->inputs[1]);
  if (!is_window(c->window) || !c->w || node->n_axes != 2 * (3 + node->n_batch)) return false;
  c->x = c->window->inputs[0];
  if (c->x->type.rank != c->rank || hone_tensor_rank(c->w) != c->rank) return false;
  return has_types(c) && find_axes(c) && find_sizes(c);
}

/* Whether what is transformed is multiplied in bf16: in small tiles, whose sums are of few numbers,
 * of which f16 might not hold the largest. */
static bool stays_narrow(const conv_t* c) {
  return hone_tensor_dtype(c->w) == HONE_BF16 && c->tiling->tile < HONE_WINOGRAD_TILE;
}

static hone_dtype_t dtype_of_tiles(const conv_t* c) {
  return c->is_whole ? HONE_I16 : stays_narrow(c) ? HONE_BF16 : HONE_F32;
}

static int places_of(const conv_t* c) { return c->tiling->patch * c->tiling->patch; }

/* ---- weights ---- */

typedef struct strides {
  int64_t group, filter, channel, row, column;
} strides_t;

static strides_t strides_of(const conv_t* c) {
  int64_t stride[HONE_MAX_RANK], next = 1;
  for (int i = c->rank - 1; i >= 0; i--) {
    stride[i] = next;
    next *= hone_tensor_dims(c->w)[i];
  }
  return (strides_t){c->group < 0 ? 0 : stride[c->w_group], stride[c->w_filter],
                     stride[c->w_channel], stride[c->w_row], stride[c->w_column]};
}

static inline float weight_at(const conv_t* c, int64_t index) {
  const void* data = c->w->data;
  switch (c->w->dtype) {
    case HONE_F32:
      return ((const hone_loose_f32_t*)data)[index];
    case HONE_I8:
      return ((const int8_t*)data)[index];
    case HONE_U8:
      return ((const uint8_t*)data)[index];
    default:
      return (float)hone_to_double(c->w->dtype,
                                   (const char*)data + index * (int64_t)sizeof(uint16_t));
  }
}

/* Weights that are transformed together: one channel of some filters. */
enum { LANES = HONE_WINOGRAD_LANES, PLACES = HONE_WINOGRAD_PATCH * HONE_WINOGRAD_PATCH };

typedef struct transform {
  const conv_t* conv;
  strides_t strides;
  void* to; /* [places, groups, channels, filters] */
} transform_t;

/* The windows of `n` filters, the first of which is at `index`, as [row, column, filter]; zero
 * beyond them. */
static void gather_windows(const transform_t* t, int64_t index, int64_t n, double (*out)[LANES]) {
  const strides_t* s = &t->strides;
  float found[WINDOW * WINDOW][LANES] = {{0}};
  for (int64_t f = 0; f < n; f++, index += s->filter)
    for (int row = 0; row < WINDOW; row++)
      for (int column = 0; column < WINDOW; column++)
        found[row * WINDOW + column][f] =
            weight_at(t->conv, index + row * s->row + column * s->column);
  for (int i = 0; i < WINDOW * WINDOW; i++)
    for (int f = 0; f < LANES; f++) out[i][f] = (double)found[i][f];
}

/* A place of `n` filters, which lie at `at` of the transformed weights. All lanes are rounded, so
 * that the compiler does so to several at once. */
static void put_place(const transform_t* t, const double* from, int64_t at, int64_t n) {
  if (t->conv->tiling->is_whole) {
    for (int64_t f = 0; f < n; f++) ((int16_t*)t->to)[at + f] = (int16_t)from[f];
    return;
  }
  if (stays_narrow(t->conv)) {
    hone_store_f64(HONE_BF16, from, n, (uint16_t*)t->to + at);
    return;
  }
  float rounded[LANES];
  for (int f = 0; f < LANES; f++) rounded[f] = (float)from[f];
  memcpy((float*)t->to + at, rounded, (size_t)n * sizeof *rounded);
}

static void transform_block(const transform_t* t, int64_t group, int64_t channel, int64_t filter) {
  const conv_t* c = t->conv;
  int patch = c->tiling->patch;
  int64_t n = c->filters - filter < LANES ? c->filters - filter : LANES;
  double window[WINDOW * WINDOW][LANES], rows[HONE_WINOGRAD_PATCH * WINDOW][LANES];
  double all[PLACES][LANES];
  const strides_t* s = &t->strides;
  gather_windows(t, group * s->group + channel * s->channel + filter * s->filter, n, window);
  for (int k = 0; k < WINDOW; k++)
    hone_winograd_weights(c->tiling, window + k, WINDOW, rows + k, WINDOW);
  for (int r = 0; r < patch; r++)
    hone_winograd_weights(c->tiling, rows + (ptrdiff_t)r * WINDOW, 1, all + (ptrdiff_t)r * patch,
                          1);
  for (int p = 0; p < places_of(c); p++)
    put_place(t, all[p], ((p * c->groups + group) * c->channels + channel) * c->filters + filter,
              n);
}

static int64_t filter_blocks(const conv_t* c) { return (c->filters + LANES - 1) / LANES; }

/* Neighbouring channels follow one another, since their weights share lines of memory. */
static void transform_blocks(void* context, int64_t begin, int64_t end) {
  const transform_t* t = context;
  int64_t channels = t->conv->channels, blocks = filter_blocks(t->conv);
  for (int64_t i = begin; i < end; i++) {
    int64_t block = i / channels;
    transform_block(t, block / blocks, i % channels, block % blocks * LANES);
  }
}

/* U as [places, groups, channels, filters]. */
static void transform_weights(const conv_t* c, void* to) {
  enum { GRAIN = 64 };
  transform_t t = {c, strides_of(c), to};
  int64_t n = c->groups * filter_blocks(c) * c->channels;
  hone_parallel_for(hone_thread_pool_shared(), n, GRAIN, transform_blocks, &t);
}

static hone_value_t* make_weights(hone_rewriter_t* r, const conv_t* c) {
  int64_t dims[4] = {places_of(c)};
  int n = 1;
  if (c->group >= 0) dims[n++] = c->groups;
  dims[n++] = c->channels;
  dims[n++] = c->filters;
  hone_tensor_t* u;
  hone_status_t status =
      hone_tensor_create_raw(r->graph->allocator, dtype_of_tiles(c), n, dims, &u);
  if (status) return hone_fail_status(r->b, status);
  transform_weights(c, hone_tensor_data(u));
  return hone_constant(r->b, u);
}

/* The largest result of integers there can be from filter `f` of all, of inputs of magnitude 1. */
static int64_t reach_of_filter(const conv_t* c, const strides_t* s, int64_t f, bool has_sign) {
  int64_t above = 0, below = 0, start = f / c->filters * s->group + f % c->filters * s->filter;
  for (int64_t i = 0; i < c->channels * WINDOW * WINDOW; i++) {
    int64_t channel = i / (WINDOW * WINDOW), row = i / WINDOW % WINDOW, column = i % WINDOW;
    int64_t w =
        (int64_t)weight_at(c, start + channel * s->channel + row * s->row + column * s->column);
    *(w > 0 ? &above : &below) += w > 0 ? w : -w;
  }
  if (has_sign) return above + below;
  return above > below ? above : below;
}

/* The largest result of integers there can be, either way. */
static int64_t reach_of(const conv_t* c) {
  strides_t s = strides_of(c);
  bool has_sign = hone_dtype_of(c->x) == HONE_I8;
  int64_t most = 0;
  for (int64_t f = 0; f < c->groups * c->filters; f++) {
    int64_t sum = reach_of_filter(c, &s, f, has_sign);
    if (sum > most) most = sum;
  }
  return most * (has_sign ? 128 : 255);
}

/* ---- which tiles pay ---- */

static void set_tiling(conv_t* c, const hone_winograd_t* tiling) {
  c->tiling = tiling;
  c->tiles_high = (c->height + tiling->tile - 1) / tiling->tile;
  c->tiles_wide = (c->width + tiling->tile - 1) / tiling->tile;
}

/* What tiles take, as the multiply-adds of f32, or of bytes, that take as long, for one pair of a
 * channel and a filter, of an image. Transformed weights are more bytes, most of which come from
 * memory in each run, once for all images of a batch; patches and results are written and read
 * again in a far cache. Fitted on x86 with AVX2, and those of narrow floats with AVX-512, whose
 * tiles have so many rows that weights arrive meanwhile. */
typedef struct prices {
  double patch, result;      /* to write and read a number of V, and of M */
  double weight, old_weight; /* to read one of U, and one as it was */
  double product;            /* in tiles */
  double direct;             /* a product in windows */
  double least_gain;         /* for which tiles are worth it */
} prices_t;

static const prices_t* prices_of(const conv_t* c) {
  static const prices_t of_floats = {24, 24, 10, 10, 1, 1, 1.25},
                        of_bytes = {12, 24, 8.5, 4.25, 1, 1, 1.1},
                        of_halves = {8, 7, 4, 2, 1, 0.5, 1},
                        of_halves_kept = {10.5, 4, 2, 2, 0.5, 0.5, 1};
  if (c->is_narrow) return stays_narrow(c) ? &of_halves_kept : &of_halves;
  return c->is_whole ? &of_bytes : &of_floats;
}

static double cost(const conv_t* c) {
  const prices_t* p = prices_of(c);
  double places = places_of(c);
  double products = places * (double)(c->tiles_high * c->tiles_wide);
  double weights = places * p->weight - WINDOW * WINDOW * p->old_weight;
  double moved = p->patch / (double)c->filters + p->result / (double)c->channels;
  return products * (p->product + c->word_price * moved) +
         c->word_price * weights / (double)c->images;
}

/* Of windows, a row of the image after the other: tiles of few results read each weight for few
 * products, which shows where products take little beside that; and the short sums of groups, whose
 * filters are few vectors, do less of what the machine can than others (f32 with AVX2). */
static double cost_of_windows(const conv_t* c) {
  enum { LOW = 8 };
  static const double waits = 1.15, of_groups = 1.6;
  double products = (double)(WINDOW * WINDOW) * (double)(c->height * c->width);
  if (c->group >= 0 && !c->is_whole && !c->is_narrow) products *= of_groups;
  return prices_of(c)->direct * products * (c->word_price > 1 && c->width < LOW ? waits : 1);
}

/* Whether sums of integers, no larger than `reach`, are known from the bits that are left. */
static bool is_exact(const conv_t* c, int64_t reach) {
  return !c->is_whole || reach < (int64_t)1 << (31 - c->tiling->shift);
}

/* Sets the best tiling; false where windows are as fast. */
static bool choose(conv_t* c, const hone_pass_options_t* options) {
  enum { PAIR = 2 };
  int least_channels = c->group < 0 ? 24 : 16;
  c->word_price = hone_pass_word_price(options);
  conv_t best = *c;
  if (c->channels < least_channels || c->filters < least_channels) return false;
  if (c->is_whole && c->channels % PAIR) return false;
  int64_t reach = c->is_whole ? reach_of(c) : 0;
  for (int i = 0; hone_winograd_at(c->is_whole, i); i++) {
    set_tiling(c, hone_winograd_at(c->is_whole, i));
    if (is_exact(c, reach) && (!best.tiling || cost(c) < cost(&best))) best = *c;
  }
  *c = best;
  if (!c->tiling) return false;
  return cost_of_windows(c) > prices_of(c)->least_gain * cost(c);
}

/* ---- the three steps ---- */

/* x with as much more padding behind as whole tiles need. */
static hone_value_t* fill_tiles(hone_rewriter_t* r, const conv_t* c) {
  hone_dim_t more[HONE_MAX_RANK] = {{0}};
  more[c->free[1]] = hone_d(c->tiles_high * c->tiling->tile - c->height);
  more[c->free[2]] = hone_d(c->tiles_wide * c->tiling->tile - c->width);
  return hone_pad_more(r->b, c->x, more);
}

/* [places, groups, batch, tiles down, tiles across, channels], the groups where there are some */
static hone_value_t* make_patches(hone_rewriter_t* r, const conv_t* c) {
  int tile = c->tiling->tile, patch = c->tiling->patch;
  const hone_dim_t sizes[] = {hone_d(patch), hone_d(patch)};
  const hone_dim_t strides[] = {hone_d(tile), hone_d(tile)}, ones[] = {hone_d(1), hone_d(1)};
  int64_t order[HONE_MAX_RANK];
  int n = 0;
  order[n++] = c->rank;
  order[n++] = c->rank + 1;
  if (c->group >= 0) order[n++] = c->group;
  for (int i = 0; i < 3; i++) order[n++] = c->free[i];
  order[n++] = c->channel;
  hone_value_t* v = hone_window(r->b, fill_tiles(r, c), 2, c->window->axes, sizes, strides, ones);
  if (c->is_whole) v = hone_cast(r->b, v, HONE_I16);
  if (c->is_narrow) v = hone_cast(r->b, v, HONE_F32);
  for (int i = 0; i < 2; i++) v = hone_winograd_inputs(r->b, c->tiling, v, c->rank + i);
  if (stays_narrow(c)) v = hone_cast_flags(r->b, v, HONE_BF16, HONE_FLAG_FLUSHES);
  v = hone_permute(r->b, v, order);
  if (!v) return NULL;
  hone_dim_t shape[HONE_MAX_RANK] = {hone_d(patch * patch)};
  for (int i = 1; i <= c->rank; i++) shape[i] = hone_dim(v, i + 1);
  return hone_reshape(r->b, v, c->rank + 1, shape);
}

/* The two axes in front, of places in a tile, behind those of tiles, and joined with them; then
 * without what the last tiles have too many. */
static hone_value_t* join_tiles(hone_builder_t* b, const conv_t* c, hone_value_t* y) {
  static const int64_t order[] = {2, 3, 0, 4, 1, 5}, grouped[] = {2, 3, 4, 0, 5, 1, 6};
  y = hone_permute(b, y, c->group < 0 ? order : grouped);
  if (!y) return NULL;
  hone_dim_t shape[HONE_MAX_RANK];
  int n = 0;
  for (; n < c->rank - 3; n++) shape[n] = hone_dim(y, n); /* groups, images */
  int high = n, wide = n + 1;
  shape[high] = hone_d(c->tiles_high * c->tiling->tile);
  shape[wide] = hone_d(c->tiles_wide * c->tiling->tile);
  shape[wide + 1] = hone_d(c->filters);
  y = hone_reshape(b, y, c->rank, shape);
  y = hone_slice_axis(b, y, high, hone_d(0), hone_d(c->height));
  return hone_slice_axis(b, y, wide, hone_d(0), hone_d(c->width));
}

/* [groups, batch, height, width, filters] from [places, groups, batch, tiles down, tiles across,
 * filters], the groups where there are some. */
static hone_value_t* make_results(hone_rewriter_t* r, const conv_t* c, hone_value_t* m) {
  hone_builder_t* b = r->b;
  if (!m) return NULL;
  int patch = c->tiling->patch;
  hone_dim_t apart[HONE_MAX_RANK] = {hone_d(patch), hone_d(patch)};
  for (int i = 1; i <= c->rank; i++) apart[i + 1] = hone_dim(m, i);
  hone_value_t* y = hone_reshape(b, m, c->rank + 2, apart);
  for (int axis = 1; axis >= 0; axis--) y = hone_winograd_results(b, c->tiling, y, axis, axis == 0);
  if (c->is_whole) y = hone_binary(b, HONE_PRIM_SHR, y, hone_scalar(b, HONE_I32, c->tiling->shift));
  return join_tiles(b, c, y);
}

/* Floats round in another way; integers do not, and need products of 16 bits. */
static bool is_welcome(const hone_pass_options_t* options, const conv_t* c) {
  return c->is_whole ? options->sums_shorts : !options->exact && !options->sums_blocks;
}

/* Of patches and weights. */
static hone_value_t* multiply(hone_rewriter_t* r, const conv_t* c) {
  static const int64_t pairs[][2] = {{0, 0}, {4, 1}}, grouped[][2] = {{0, 0}, {1, 1}, {5, 2}};
  bool has_groups = c->group >= 0;
  hone_value_t *v = make_patches(r, c), *u = make_weights(r, c);
  hone_dtype_t sum = c->is_whole ? HONE_I32 : HONE_F32;
  return hone_contract(r->b, v, u, 2 + has_groups, has_groups ? grouped : pairs, 1 + has_groups,
                       sum);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  conv_t c;
  if (!recognise(node, &c) || !is_welcome(r->context->options, &c) ||
      !choose(&c, r->context->options))
    return NULL;
  hone_value_t* now = make_results(r, &c, multiply(r, &c));
  if (now) hone_pass_did(r->context, node, "by tiles of %d x %d", c.tiling->tile, c.tiling->tile);
  return now;
}

static hone_status_t run(hone_pass_context_t* context, hone_graph_t* graph) {
  HONE_TRY(hone_rewrite_once(context, graph, rule, NULL));
  if (context->count) hone_pass_note(context, "%" PRId64 " convolutions by tiles", context->count);
  return NULL;
}

extern const hone_pass_t hone_pass_winograd;
const hone_pass_t hone_pass_winograd = {
    .name = "winograd",
    .summary =
        "3 x 3 convolutions with a quarter of the products, or half (floats round differently)",
    .phases = {HONE_PHASE_TIDY + 90},
    .run = run,
};
