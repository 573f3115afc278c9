/* Winograd: convolutions by windows that overlap, along one axis or more, with fewer products; of
 * all channels or in groups.
 *
 * Of 3 x 3 windows results are made in tiles of 4 x 4 or 2 x 2. The 6 x 6 or 4 x 4 inputs under a
 * tile are transformed, V = B' d B, the weights once and for all, U = G g G'; the
 * sum over channels is one product of matrices for each of the 36 or 16 places, and
 * a tile is Y = A' M A of its results. That takes 36 or 64 products for 16 results,
 * where windows take 144; the smaller tiles have weights of 16 numbers for each 9,
 * the larger of 36. After A. Lavin and S. Gray, "Fast Algorithms for Convolutional
 * Neural Networks" (2015), F(4 x 4, 3 x 3) and F(2 x 2, 3 x 3).
 *
 * Windows that slide along one axis have tiles of 4 or 2, with 6 products for 12. Longer ones, and
 * such that take steps, are cut into parts of three elements or of two (F(4, 2), 5 products for 8,
 * and F(2, 2), 3 for 4), each of every step-th element: [0 2 4] and [1 3] of five in steps of two.
 * The patches of all parts lie side by side, as more channels, so that products add them up. A part
 * that is too short is filled up with zeros; it has none but zeros in the last place along an axis,
 * where products leave it out. 3 x 3 windows in steps of two have four parts, of 4, 2, 2 and 1
 * elements: all are in 16 of the 25 places, two in 9 others, where one has zeros in one: 82
 * products for 16 results, where windows take 144.
 *
 * Along the first of three axes, the time of a film or the depth of a scan, windows stay: tiles
 * along the other two are transformed once, and each product is a sum over some of them that follow
 * one another as well.
 *
 * The transforms are written as slices, sums and concats of elements, which
 * become one kernel each. Results of floats differ by rounding, by about 2e-6 of the
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
 * that is too large, the smaller tiles need no more than 2^29. It is done where products of 16 bits
 * take no longer than of bytes, as on CPUs that widen bytes to multiply them, or twice as long, as
 * on those with VNNI; matrix instructions for bytes leave tiles nothing to gain.
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

enum { WINDOW = HONE_WINOGRAD_WINDOW, SLIDES = 2, TAPS = WINDOW * WINDOW, MOST_PARTS = 16 };

/* One of the axes that windows slide along. A window is cut into parts of as many elements as the
 * tiling has in one, of every step-th of its own; the last of them may have fewer. */
typedef struct slide {
  int axis;                 /* of x */
  int w_axis;               /* of the weights */
  int64_t size, taps, step; /* of the result; of the window */
  int64_t tiles;            /* this and what follows depends on the tiling */
  int n_parts, n_full;      /* whole ones come first */
  int64_t first[MOST_PARTS];
} slide_t;

typedef struct conv {
  const hone_node_t *contract, *window;
  hone_value_t* x;                 /* before the window */
  const hone_tensor_t* w;          /* weights */
  const void* numbers;             /* of w */
  int rank;                        /* of x */
  int group;                       /* axis of x; -1: there is none */
  int channel;                     /* the same */
  int n_free, free[HONE_MAX_RANK]; /* all others in order, those of slides among them */
  int n_slides;
  slide_t slides[SLIDES];            /* of a line the second has one of everything */
  slide_t stays;                     /* the axis of windows without tiles; taps 0: there is none */
  int64_t images;                    /* of all free axes but slides, as far as they are known */
  int w_group, w_filter, w_channel;  /* axes of the weights */
  int64_t groups, channels, filters; /* the latter of a group */
  bool is_whole;                     /* bytes, and sums of 32 bits */
  bool is_narrow;                    /* floats of 16 bits, and sums in f32 */
  double word_price;                 /* of the device */
  bool has_fast_bytes;               /* whose products of bytes take half of those of 16 bits */
  const hone_winograd_t* tiling;
} conv_t;

/* Products over the axes that windows slide along. */
static int for_slides(const conv_t* c, int n) { return c->n_slides == 1 ? n : n * n; }
/* Of a window, along the axes with tiles, and in all. */
static int64_t taps_in_tiles(const conv_t* c) { return c->slides[0].taps * c->slides[1].taps; }
static int64_t taps_that_stay(const conv_t* c) { return c->stays.taps ? c->stays.taps : 1; }
static int64_t taps_of(const conv_t* c) { return taps_in_tiles(c) * taps_that_stay(c); }
static int64_t size_of(const conv_t* c) { return c->slides[0].size * c->slides[1].size; }
static int64_t tiles_of(const conv_t* c) { return c->slides[0].tiles * c->slides[1].tiles; }
static int places_of(const conv_t* c) { return for_slides(c, c->tiling->patch); }
static int parts_of(const conv_t* c) { return c->slides[0].n_parts * c->slides[1].n_parts; }

/* ---- recognising ---- */

static bool read_slide(const hone_node_t* window, int i, slide_t* s) {
  if (!hone_dim_is_int(window->shape[i]) || !hone_dim_is_int(window->step[i]) ||
      !hone_dim_is(window->hi[i], 1))
    return false;
  s->axis = (int)window->axes[i];
  s->taps = window->shape[i].k;
  s->step = window->step[i].k;
  return s->taps > 0 && s->step > 0;
}

static bool find_slides(conv_t* c) {
  const hone_node_t* window = c->window;
  if (!window || window->n_axes > SLIDES + 1) return false;
  int n_stay = window->n_axes > SLIDES;
  c->n_slides = window->n_axes - n_stay;
  if (n_stay && !read_slide(window, 0, &c->stays)) return false;
  for (int i = 0; i < c->n_slides; i++) {
    slide_t* s = &c->slides[i];
    if (!read_slide(window, n_stay + i, s) || s->taps < 2 || s->step >= s->taps) return false;
  }
  return c->n_slides == 1 || c->slides[0].axis < c->slides[1].axis;
}

/* The weights' axes, and those of x for groups and channels: the one free axis is the filters'. */
static bool find_axes(conv_t* c) {
  const hone_node_t* contract = c->contract;
  int all = c->w->rank * (c->w->rank - 1) / 2;
  c->group = contract->n_batch ? (int)contract->axes[0] : -1;
  c->w_group = contract->n_batch ? (int)contract->axes[1] : 0;
  c->channel = -1;
  for (int i = 0; i < c->rank; i++) {
    int other = hone_match_partner(contract, 0, i);
    if (other < 0) c->free[c->n_free++] = i;
    if (other < 0 || i == c->group) continue;
    c->channel = i;
    c->w_channel = other;
  }
  c->w_filter = all - c->w_group - c->w_channel;
  for (int i = 0; i < c->window->n_axes; i++) {
    int n_stay = c->window->n_axes - c->n_slides;
    slide_t* s = i < n_stay ? &c->stays : &c->slides[i - n_stay];
    s->w_axis = hone_match_partner(contract, 0, c->rank + i);
    if (s->w_axis < 0 || hone_match_partner(contract, 0, s->axis) >= 0) return false;
    c->w_filter -= s->w_axis;
  }
  return c->channel >= 0 && c->n_free == c->rank - contract->n_batch - 1;
}

static slide_t* slide_of(conv_t* c, int axis) {
  for (int i = 0; i < c->n_slides; i++)
    if (c->slides[i].axis == axis) return &c->slides[i];
  return NULL;
}

static bool is_byte(hone_dtype_t dtype) { return dtype == HONE_I8 || dtype == HONE_U8; }

/* Where only a run knows how many: tiles that are best for two are near the best ones for one, and
 * for many. */
static int64_t likely_images(hone_dim_t open) {
  enum { SOME = 2 };
  int64_t least = hone_dim_min_value(open), most = hone_dim_max_value(open);
  return most < SOME ? 1 : least > SOME ? least : SOME;
}

static bool find_sizes(conv_t* c) {
  const hone_dim_t* dims = c->contract->outputs[0]->type.dims + c->contract->n_batch;
  c->images = 1;
  for (int i = 0; i < c->n_free; i++) {
    slide_t* s = slide_of(c, c->free[i]);
    bool is_known = hone_dim_is_int(dims[i]) && dims[i].k > 0;
    if (s && (!is_known || !hone_dim_is_int(c->x->type.dims[s->axis]))) return false;
    if (s) s->size = dims[i].k;
    if (!s) c->images *= is_known ? dims[i].k : likely_images(dims[i]);
  }
  c->groups = c->group < 0 ? 1 : hone_tensor_dims(c->w)[c->w_group];
  c->channels = hone_tensor_dims(c->w)[c->w_channel];
  c->filters = hone_tensor_dims(c->w)[c->w_filter];
  return true;
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
  const slide_t none = {.size = 1, .taps = 1, .tiles = 1, .n_parts = 1, .n_full = 1};
  *c = (conv_t){.contract = node, .slides[1] = none};
  if (node->prim != HONE_PRIM_CONTRACT || node->n_batch > 1) return false;
  c->window = hone_match_prim(node->inputs[0], HONE_PRIM_WINDOW);
  c->w = hone_match_constant(node->inputs[1]);
  if (!c->w || !find_slides(c)) return false;
  c->numbers = hone_tensor_data(c->w);
  int summed = node->n_batch + 1 + c->window->n_axes; /* groups, channels, elements of a window */
  c->x = c->window->inputs[0];
  c->rank = c->x->type.rank;
  if (node->n_axes != 2 * summed || hone_tensor_rank(c->w) != summed + 1) return false;
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

/* ---- weights ---- */

typedef struct strides {
  int64_t group, filter, channel, stay, taps[SLIDES];
} strides_t;

static strides_t strides_of(const conv_t* c) {
  int64_t stride[HONE_MAX_RANK], next = 1;
  for (int i = hone_tensor_rank(c->w) - 1; i >= 0; i--) {
    stride[i] = next;
    next *= hone_tensor_dims(c->w)[i];
  }
  strides_t s = {c->group < 0 ? 0 : stride[c->w_group],
                 stride[c->w_filter],
                 stride[c->w_channel],
                 c->stays.taps ? stride[c->stays.w_axis] : 0,
                 {0}};
  for (int i = 0; i < c->n_slides; i++) s.taps[i] = stride[c->slides[i].w_axis];
  return s;
}

static inline float weight_at(const conv_t* c, int64_t index) {
  switch (c->w->dtype) {
    case HONE_F32:
      return ((const hone_loose_f32_t*)c->numbers)[index];
    case HONE_I8:
      return ((const int8_t*)c->numbers)[index];
    case HONE_U8:
      return ((const uint8_t*)c->numbers)[index];
    default:
      return (float)hone_to_double(c->w->dtype,
                                   (const char*)c->numbers + index * (int64_t)sizeof(uint16_t));
  }
}

/* What one product multiplies along an axis: places, and parts, the first ones. */
typedef struct range {
  int first, count, parts;
} range_t;

/* Along all axes: one that is not there has one place and one part. */
typedef struct block {
  range_t along[SLIDES];
} block_t;

static int block_places(const block_t* block) {
  return block->along[0].count * block->along[1].count;
}
static int block_parts(const block_t* block) {
  return block->along[0].parts * block->along[1].parts;
}

/* Blocks of as many parts each, which are multiplied together: the places of the first come
 * first. */
enum { MOST_BLOCKS = 3 };
typedef struct product {
  int n;
  block_t blocks[MOST_BLOCKS];
} product_t;

static int product_places(const product_t* product) {
  int places = 0;
  for (int i = 0; i < product->n; i++) places += block_places(&product->blocks[i]);
  return places;
}

/* Weights that are transformed together: one channel of some filters. */
enum { LANES = HONE_WINOGRAD_LANES, PLACES = HONE_WINOGRAD_PATCH * HONE_WINOGRAD_PATCH };

typedef struct transform {
  const conv_t* conv;
  const block_t* block;
  strides_t strides;
  void* to; /* [places, groups, taps that stay, parts, channels, filters] of the block */
} transform_t;

/* The elements of a part of the windows of `n` filters, as [element, filter], zero beyond the
 * filters and the windows: the first filter is at `index`, and `part` counts along the last axis
 * first. */
static void gather_windows(const transform_t* t, int64_t part, int64_t index, int64_t n,
                           double (*out)[LANES]) {
  const conv_t* c = t->conv;
  int across = t->block->along[1].parts;
  int64_t parts[SLIDES] = {part / across, part % across};
  float found[TAPS][LANES] = {{0}};
  for (int i = 0; i < for_slides(c, WINDOW); i++) {
    int64_t at = index;
    bool is_there = true;
    for (int k = 0; k < c->n_slides; k++) {
      const slide_t* s = &c->slides[k];
      int element = k == c->n_slides - 1 ? i % WINDOW : i / WINDOW;
      int64_t tap = s->first[parts[k]] + element * s->step;
      is_there = is_there && element < c->tiling->window && tap < s->taps;
      at += tap * t->strides.taps[k];
    }
    for (int64_t f = 0; is_there && f < n; f++)
      found[i][f] = weight_at(c, at + f * t->strides.filter);
  }
  for (int i = 0; i < TAPS; i++)
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

/* G along each axis of a part's elements. */
static void transform_part(const conv_t* c, double (*window)[LANES], double (*all)[LANES]) {
  double rows[HONE_WINOGRAD_PATCH * WINDOW][LANES];
  int patch = c->tiling->patch;
  if (c->n_slides == 1) {
    hone_winograd_weights(c->tiling, window, 1, all, 1);
    return;
  }
  for (int k = 0; k < WINDOW; k++)
    hone_winograd_weights(c->tiling, window + k, WINDOW, rows + k, WINDOW);
  for (int r = 0; r < patch; r++)
    hone_winograd_weights(c->tiling, rows + (ptrdiff_t)r * WINDOW, 1, all + (ptrdiff_t)r * patch,
                          1);
}

/* Of a group, channels of all parts, and of those for each tap that stays. */
static int64_t channels_of(const conv_t* c, const block_t* block) {
  return taps_that_stay(c) * block_parts(block) * c->channels;
}

/* Of all places of a tile, that of a block's number `p`. */
static int place_at(const conv_t* c, const block_t* block, int p) {
  const range_t *down = &block->along[0], *across = &block->along[1];
  int row = down->first + p / across->count, column = across->first + p % across->count;
  return c->n_slides == 1 ? row : row * c->tiling->patch + column;
}

static void transform_block(const transform_t* t, int64_t group, int64_t channel, int64_t filter) {
  const conv_t* c = t->conv;
  const strides_t* s = &t->strides;
  int64_t n = c->filters - filter < LANES ? c->filters - filter : LANES;
  int64_t channels = channels_of(c, t->block), part = channel / c->channels;
  double window[TAPS][LANES], all[PLACES][LANES];
  int64_t index = group * s->group + part / block_parts(t->block) * s->stay +
                  channel % c->channels * s->channel + filter * s->filter;
  gather_windows(t, part % block_parts(t->block), index, n, window);
  transform_part(c, window, all);
  for (int p = 0; p < block_places(t->block); p++)
    put_place(t, all[place_at(c, t->block, p)],
              ((p * c->groups + group) * channels + channel) * c->filters + filter, n);
}

static int64_t filter_blocks(const conv_t* c) { return (c->filters + LANES - 1) / LANES; }

/* Neighbouring channels follow one another, since their weights share lines of memory. */
static void transform_blocks(void* context, int64_t begin, int64_t end) {
  const transform_t* t = context;
  int64_t channels = channels_of(t->conv, t->block), blocks = filter_blocks(t->conv);
  for (int64_t i = begin; i < end; i++) {
    int64_t block = i / channels;
    transform_block(t, block / blocks, i % channels, block % blocks * LANES);
  }
}

/* U of a block, as [places, groups, taps that stay, parts and channels, filters]. */
static void transform_weights(const conv_t* c, const block_t* block, void* to) {
  enum { GRAIN = 64 };
  transform_t t = {c, block, strides_of(c), to};
  int64_t n = c->groups * filter_blocks(c) * channels_of(c, block);
  hone_parallel_for(hone_thread_pool_shared(), n, GRAIN, transform_blocks, &t);
}

/* What U is made of when it is wanted, which is when a kernel has it packed: it is in the cache
 * then, and there are not all of them at once. */
typedef struct source {
  conv_t conv;
  product_t product;
} source_t;

static void fill_weights(void* context, void* data) {
  const source_t* source = context;
  const conv_t* c = &source->conv;
  char* to = data;
  for (int i = 0; i < source->product.n; i++) {
    const block_t* block = &source->product.blocks[i];
    transform_weights(c, block, to);
    to += block_places(block) * c->groups * channels_of(c, block) * c->filters *
          (int64_t)hone_dtype_size(dtype_of_tiles(c));
  }
}

static hone_value_t* make_weights(hone_rewriter_t* r, const conv_t* c, const product_t* product) {
  int64_t dims[5] = {product_places(product)};
  int n = 1;
  if (c->group >= 0) dims[n++] = c->groups;
  if (c->stays.taps) dims[n++] = c->stays.taps;
  dims[n++] = block_parts(product->blocks) * c->channels;
  dims[n++] = c->filters;
  const source_t source = {*c, *product};
  hone_tensor_t* u;
  hone_status_t status = hone_tensor_create_late(r->graph->allocator, dtype_of_tiles(c), n, dims,
                                                 fill_weights, &source, sizeof source, c->w, &u);
  return status ? hone_fail_status(r->b, status) : hone_constant(r->b, u);
}

/* The largest result of integers there can be from filter `f` of all, of inputs of magnitude 1. */
static int64_t reach_of_filter(const conv_t* c, const strides_t* s, int64_t f, bool has_sign) {
  int64_t above = 0, below = 0, start = f / c->filters * s->group + f % c->filters * s->filter;
  int64_t across = c->slides[1].taps;
  for (int64_t i = 0; i < c->channels * taps_of(c); i++) {
    int64_t channel = i / taps_of(c), tap = i % taps_of(c);
    int64_t in_tile = tap % taps_in_tiles(c);
    int64_t w =
        (int64_t)weight_at(c, start + channel * s->channel + tap / taps_in_tiles(c) * s->stay +
                                  in_tile / across * s->taps[0] + in_tile % across * s->taps[1]);
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

/* The parts of windows, those with all elements first; false if there are too many. */
static bool cut_windows(slide_t* s, int window) {
  s->n_parts = 0;
  for (int is_rest = 0; is_rest < 2; is_rest++) {
    for (int64_t start = 0; start < s->taps; start += s->step * window)
      for (int64_t first = start; first < start + s->step && first < s->taps; first++) {
        bool is_full = first + (window - 1) * s->step < s->taps;
        if (is_full == is_rest) continue;
        if (s->n_parts == MOST_PARTS) return false;
        s->first[s->n_parts++] = first;
      }
    if (!is_rest) s->n_full = s->n_parts;
  }
  return true;
}

static bool set_tiling(conv_t* c, const hone_winograd_t* tiling) {
  c->tiling = tiling;
  for (int i = 0; i < c->n_slides; i++) {
    slide_t* s = &c->slides[i];
    s->tiles = (s->size + tiling->tile - 1) / tiling->tile;
    if (!cut_windows(s, tiling->window)) return false;
  }
  return parts_of(c) <= MOST_PARTS;
}

/* Whether the last place along an axis, where incomplete parts have no weights, is multiplied by
 * the others alone. */
static bool parts_ways(const slide_t* s) { return s->n_full > 0 && s->n_full < s->n_parts; }

/* The blocks that places of a tile are cut into, one to three: the first has no last places that
 * part ways, then come those of the last axis, then those of the first one that are left. */
static int cut_tile(const conv_t* c, block_t* out) {
  const slide_t *down = &c->slides[0], *across = &c->slides[1];
  int patch = c->tiling->patch, n = 1;
  bool splits_down = parts_ways(down), splits_across = parts_ways(across);
  range_t all_down = {0, patch, down->n_parts}, most_down = {0, patch - splits_down, down->n_parts};
  range_t most_across = {0, 1, 1};
  if (c->n_slides > 1) most_across = (range_t){0, patch - splits_across, across->n_parts};
  out[0] = (block_t){{most_down, most_across}};
  if (splits_across) out[n++] = (block_t){{all_down, {patch - 1, 1, across->n_full}}};
  if (splits_down) out[n++] = (block_t){{{patch - 1, 1, down->n_full}, most_across}};
  return n;
}

/* Places and parts that are multiplied. */
static int pairs_of(const conv_t* c) {
  block_t blocks[MOST_BLOCKS];
  int pairs = 0;
  for (int i = 0, n = cut_tile(c, blocks); i < n; i++)
    pairs += block_places(&blocks[i]) * block_parts(&blocks[i]);
  return pairs;
}

/* What tiles take, as the multiply-adds of f32, or of 16 bits, that take as long, for one pair of a
 * channel and a filter, of an image. Transformed weights are more bytes, most of which come from
 * memory in each run, once for all images of a batch; patches and results are written and read
 * again in a far cache, and patches of parts of windows, which are the more, beyond it where it has
 * no room for them. Fitted on x86 with AVX2, and those of narrow floats and fast bytes with
 * AVX-512, whose tiles have so many rows that weights arrive meanwhile. */
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
                        of_fast_bytes = {8, 8, 3.5, 1.75, 1, 0.5, 1.1},
                        of_halves = {8, 7, 4, 2, 1, 0.5, 1},
                        of_halves_kept = {10.5, 4, 2, 2, 0.5, 0.5, 1};
  if (c->is_narrow) return stays_narrow(c) ? &of_halves_kept : &of_halves;
  if (c->has_fast_bytes) return &of_fast_bytes;
  return c->is_whole ? &of_bytes : &of_floats;
}

static double cost(const conv_t* c) {
  static const double far_cache = 24 << 20, beyond = 3.5; /* bytes; times the price */
  const prices_t* p = prices_of(c);
  double tiles = (double)tiles_of(c), places = places_of(c), pairs = pairs_of(c);
  double stay = (double)taps_that_stay(c); /* each patch is a factor of so many products */
  double weights = stay * (pairs * p->weight - (double)taps_in_tiles(c) * p->old_weight);
  double patches = pairs * tiles * (double)(c->images * c->groups * c->channels);
  bool is_far = parts_of(c) > 1 && patches * (double)hone_dtype_size(dtype_of_tiles(c)) > far_cache;
  double patch = p->patch * (is_far ? beyond : 1);
  double moved = pairs * patch / (double)c->filters + places * p->result / (double)c->channels;
  return tiles * (p->product * stay * pairs + c->word_price * moved) +
         c->word_price * weights / (double)c->images;
}

/* Of windows, a row of the image after the other: tiles of few results read each weight for few
 * products, which shows where products take little beside that; and the short sums of groups, whose
 * filters are few vectors, do less of what the machine can than others (f32 with AVX2). */
static double cost_of_windows(const conv_t* c) {
  enum { LOW = 8 };
  static const double waits = 1.15, of_groups = 1.6;
  double products = (double)taps_of(c) * (double)size_of(c);
  bool is_low = c->slides[c->n_slides - 1].size < LOW;
  if (c->group >= 0 && !c->is_whole && !c->is_narrow) products *= of_groups;
  if (c->word_price > 1 && is_low && !c->has_fast_bytes) products *= waits;
  return prices_of(c)->direct * products;
}

/* Bits by which results of integers are too large, after all axes. */
static int shift_of(const conv_t* c) { return c->n_slides * c->tiling->shift; }

/* Prices of large windows and of lines are nearer to what is measured than those of 3 x 3, and of
 * floats in steps they are too high: what should take as long takes 0.8 of the time. */
static double least_gain(const conv_t* c) {
  static const double of_others = 1.1, of_steps = 0.98;
  bool is_picture = c->n_slides == SLIDES, is_wide = !c->is_whole && !c->is_narrow;
  if (is_picture && is_wide && c->slides[0].step > 1 && c->slides[1].step > 1) return of_steps;
  return is_picture && taps_of(c) == TAPS ? prices_of(c)->least_gain : of_others;
}

/* Whether sums of integers, no larger than `reach`, are known from the bits that are left. */
static bool is_exact(const conv_t* c, int64_t reach) {
  return !c->is_whole || reach < (int64_t)1 << (31 - shift_of(c));
}

/* A quarter of the products along an axis: for windows of f32, whose products take long. */
static bool saves_little(const hone_winograd_t* tiling) {
  return tiling->tile == 2 && tiling->window == 2;
}

/* Sets the best tiling; false where windows are as fast. */
static bool choose(conv_t* c, const hone_pass_options_t* options) {
  enum { PAIR = 2, VECTOR = 16 };
  int least_channels = c->group < 0 ? 24 : 16;
  c->word_price = hone_pass_word_price(options);
  c->has_fast_bytes = c->is_whole && options->halves_shorts;
  conv_t best = *c;
  if (c->channels < least_channels || c->filters < least_channels) return false;
  if (c->is_whole && c->channels % PAIR) return false;
  /* What vectors leave goes number by number in transforms: more than products of bytes take. */
  if (c->has_fast_bytes && (c->channels % VECTOR || c->filters % VECTOR)) return false;
  int64_t reach = c->is_whole ? reach_of(c) : 0;
  for (int i = 0; hone_winograd_at(c->is_whole, i); i++) {
    if (!set_tiling(c, hone_winograd_at(c->is_whole, i)) || !is_exact(c, reach)) continue;
    if (c->is_narrow && saves_little(c->tiling)) continue;
    if (!best.tiling || cost(c) < cost(&best)) best = *c;
  }
  *c = best;
  if (!c->tiling) return false;
  return cost_of_windows(c) > least_gain(c) * cost(c);
}

/* ---- the three steps ---- */

/* Inputs along an axis that the tiles of a part reach to, from its first element on. */
static int64_t reach_of_part(const conv_t* c, const slide_t* s) {
  return s->step * (s->tiles * c->tiling->tile + c->tiling->window - 2) + 1;
}

/* x with as much more padding behind as whole tiles of all parts need. */
static hone_value_t* fill_tiles(hone_rewriter_t* r, const conv_t* c) {
  hone_dim_t more[HONE_MAX_RANK] = {{0}};
  for (int i = 0; i < c->n_slides; i++) {
    const slide_t* s = &c->slides[i];
    int64_t last = 0, given = c->x->type.dims[s->axis].k;
    for (int k = 0; k < s->n_parts; k++) last = s->first[k] > last ? s->first[k] : last;
    int64_t wanted = last + reach_of_part(c, s);
    if (wanted > given) more[s->axis] = hone_d(wanted - given);
  }
  return hone_pad_more(r->b, c->x, more);
}

/* [places, groups, batch, tiles, channels] of a part of a block, the groups where there are some.
 * `x` has whole tiles for all parts. */
static hone_value_t* make_part(hone_rewriter_t* r, const conv_t* c, const block_t* block,
                               hone_value_t* x, const int* part) {
  hone_dim_t sizes[SLIDES], strides[SLIDES], gaps[SLIDES];
  int64_t order[HONE_MAX_RANK], axes[SLIDES];
  int n = 0;
  for (int i = 0; i < c->n_slides; i++) {
    const slide_t* s = &c->slides[i];
    int64_t first = s->first[part[i]];
    x = hone_slice_axis(r->b, x, s->axis, hone_d(first), hone_d(first + reach_of_part(c, s)));
    sizes[i] = hone_d(c->tiling->patch);
    strides[i] = hone_d(c->tiling->tile * s->step);
    gaps[i] = hone_d(s->step);
    axes[i] = s->axis;
    order[n++] = c->rank + i;
  }
  if (c->group >= 0) order[n++] = c->group;
  for (int i = 0; i < c->n_free; i++) order[n++] = c->free[i];
  order[n++] = c->channel;
  hone_value_t* v = hone_window(r->b, x, c->n_slides, axes, sizes, strides, gaps);
  if (c->is_whole) v = hone_cast(r->b, v, HONE_I16);
  if (c->is_narrow) v = hone_cast(r->b, v, HONE_F32);
  for (int i = 0; i < c->n_slides; i++)
    v = hone_winograd_inputs(r->b, c->tiling, v, c->rank + i, block->along[i].first,
                             block->along[i].count);
  if (stays_narrow(c)) v = hone_cast_flags(r->b, v, HONE_BF16, HONE_FLAG_FLUSHES);
  v = hone_permute(r->b, v, order);
  if (!v) return NULL;
  hone_dim_t shape[HONE_MAX_RANK] = {hone_d(block_places(block))};
  for (int i = 1; i <= c->rank; i++) shape[i] = hone_dim(v, i + c->n_slides - 1);
  return hone_reshape(r->b, v, c->rank + 1, shape);
}

/* Parts side by side as channels: [places, groups, batch, tiles, parts and channels]. */
static hone_value_t* make_patches(hone_rewriter_t* r, const conv_t* c, const block_t* block,
                                  hone_value_t* x) {
  hone_value_t* parts[MOST_PARTS];
  int across = block->along[1].parts;
  for (int i = 0; i < block_parts(block); i++) {
    const int part[SLIDES] = {i / across, i % across};
    parts[i] = make_part(r, c, block, x, part);
  }
  return hone_concat(r->b, block_parts(block), parts, c->rank);
}

/* The axes in front, of places in a tile, behind those of tiles, and joined with them; then
 * without what the last tiles have too many. */
static hone_value_t* join_tiles(hone_builder_t* b, const conv_t* c, hone_value_t* y) {
  int64_t order[HONE_MAX_RANK];
  hone_dim_t shape[HONE_MAX_RANK];
  int n = 0, from = c->n_slides, out = 0, slide = 0, at[SLIDES] = {0};
  if (!y) return NULL;
  if (c->group >= 0) {
    shape[out++] = hone_dim(y, from);
    order[n++] = from++;
  }
  for (int i = 0; i < c->n_free; i++, out++) {
    const slide_t* s = slide < c->n_slides ? &c->slides[slide] : NULL;
    bool is_slide = s && c->free[i] == s->axis;
    shape[out] = is_slide ? hone_d(s->tiles * c->tiling->tile) : hone_dim(y, from);
    order[n++] = from++;
    if (!is_slide) continue;
    at[slide] = out;
    order[n++] = slide++;
  }
  shape[out] = hone_dim(y, from);
  order[n] = from;
  y = hone_reshape(b, hone_permute(b, y, order), c->rank, shape);
  for (int i = 0; i < c->n_slides; i++)
    y = hone_slice_axis(b, y, at[i], hone_d(0), hone_d(c->slides[i].size));
  return y;
}

/* Floats round in another way; integers do not, and need products of 16 bits. */
static bool is_welcome(const hone_pass_options_t* options, const conv_t* c) {
  if (!c->is_whole) return !options->exact && !options->sums_blocks && !options->splits;
  return (options->sums_shorts || options->halves_shorts) && !options->blocks_bytes;
}

/* Patches with windows along the axis that has no tiles. */
static hone_value_t* slide_patches(hone_rewriter_t* r, const conv_t* c, hone_value_t* patches) {
  const slide_t* s = &c->stays;
  int64_t axis = 1 + (c->group >= 0);
  for (int i = 0; c->free[i] != s->axis; i++) axis++;
  hone_dim_t size = hone_d(s->taps), step = hone_d(s->step), gap = hone_d(1);
  return hone_window(r->b, patches, 1, &axis, &size, &step, &gap);
}

/* Of patches and weights, as [places, groups, batch, tiles, filters]. */
static hone_value_t* multiply_together(hone_rewriter_t* r, const conv_t* c,
                                       const product_t* product, hone_value_t* x) {
  int64_t pairs[4][2] = {{0, 0}, {1, 1}}; /* places, groups, taps that stay, channels */
  int n = c->group >= 0 ? 2 : 1, n_batch = n;
  hone_value_t* patches[MOST_BLOCKS];
  for (int i = 0; i < product->n; i++) patches[i] = make_patches(r, c, &product->blocks[i], x);
  hone_value_t *v = hone_concat(r->b, product->n, patches, 0), *u = make_weights(r, c, product);
  if (c->stays.taps) {
    v = slide_patches(r, c, v);
    pairs[n][0] = c->rank + 1;
    pairs[n][1] = n;
    n++;
  }
  pairs[n][0] = c->rank;
  pairs[n][1] = n;
  return hone_contract(r->b, v, u, n + 1, (const int64_t(*)[2])pairs, n_batch,
                       c->is_whole ? HONE_I32 : HONE_F32);
}

/* [places along each axis, groups, batch, tiles, filters] of a block whose places begin at
 * `first` in a product. */
static hone_value_t* take_block(hone_rewriter_t* r, const conv_t* c, const block_t* block,
                                hone_value_t* m, int first) {
  hone_dim_t apart[HONE_MAX_RANK];
  m = hone_slice_axis(r->b, m, 0, hone_d(first), hone_d(first + block_places(block)));
  if (!m) return NULL;
  for (int i = 0; i < c->n_slides; i++) apart[i] = hone_d(block->along[i].count);
  for (int i = 1; i <= c->rank; i++) apart[i + c->n_slides - 1] = hone_dim(m, i);
  return hone_reshape(r->b, m, c->rank + c->n_slides, apart);
}

/* The blocks of a tile, each as take_block has it; those behind the first have one product where
 * they have as many parts. Returns how many. */
static int multiply_blocks(hone_rewriter_t* r, const conv_t* c, hone_value_t* x, block_t* blocks,
                           hone_value_t** out) {
  int n = cut_tile(c, blocks);
  for (int begin = 0, end; begin < n; begin = end) {
    product_t product = {0};
    end = begin;
    do product.blocks[product.n++] = blocks[end++];
    while (end < n && begin > 0 && block_parts(&blocks[end]) == block_parts(&blocks[begin]));
    hone_value_t* m = multiply_together(r, c, &product, x);
    for (int i = begin, first = 0; i < end; first += block_places(&blocks[i++]))
      out[i] = take_block(r, c, &blocks[i], m, first);
  }
  return n;
}

/* A' along an axis. */
static hone_value_t* make_results(hone_rewriter_t* r, const conv_t* c, int slide, int count,
                                  hone_value_t* const* m) {
  return hone_winograd_results(r->b, c->tiling, count, m, slide, slide == 0 ? c->n_slides : 0);
}

/* A' along the second axis of `rows` places along the first one: the second block has the last
 * places, from the first on, or there is none. */
static hone_value_t* finish_rows(hone_rewriter_t* r, const conv_t* c, hone_value_t* block,
                                 hone_value_t* last, int first, int rows) {
  if (c->n_slides == 1) return block;
  hone_value_t* m[] = {block, last};
  if (last) m[1] = hone_slice_axis(r->b, last, 0, hone_d(first), hone_d(first + rows));
  return make_results(r, c, 1, last ? 2 : 1, m);
}

/* [groups, batch, sizes, filters], the groups where there are some. */
static hone_value_t* convolve(hone_rewriter_t* r, const conv_t* c) {
  block_t blocks[MOST_BLOCKS];
  hone_value_t *m[MOST_BLOCKS] = {NULL}, *rows[SLIDES];
  int n = multiply_blocks(r, c, fill_tiles(r, c), blocks, m), n_rows = 0;
  bool splits_down = parts_ways(&c->slides[0]);
  hone_value_t* last = n - splits_down > 1 ? m[1] : NULL;
  int most = blocks[0].along[0].count;
  rows[n_rows++] = finish_rows(r, c, m[0], last, 0, most);
  if (splits_down) rows[n_rows++] = finish_rows(r, c, m[n - 1], last, most, 1);
  hone_value_t* y = make_results(r, c, 0, n_rows, rows);
  if (c->is_whole)
    y = hone_binary(r->b, HONE_PRIM_SHR, y, hone_scalar(r->b, HONE_I32, shift_of(c)));
  return join_tiles(r->b, c, y);
}

static hone_value_t* rule(hone_rewriter_t* r, hone_node_t* node) {
  conv_t c;
  if (!recognise(node, &c) || !is_welcome(r->context->options, &c) ||
      !choose(&c, r->context->options))
    return NULL;
  hone_value_t* now = convolve(r, &c);
  int tile = c.tiling->tile;
  if (now && c.n_slides == 1) hone_pass_did(r->context, node, "by tiles of %d", tile);
  if (now && c.n_slides == 2) hone_pass_did(r->context, node, "by tiles of %d x %d", tile, tile);
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
