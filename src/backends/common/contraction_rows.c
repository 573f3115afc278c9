/* How the rows of a contraction are cut into blocks, and what threads share: blocks of rows, rows
 * in nearly equal parts, or lanes. */
#include <math.h>

#include "backends/common/contraction.h"
#include "tune/cost.h"

/* More weights than elements of the other operand, at a small size where only a run knows
 * it: each thread takes weights of its own. */
bool hone_contraction_has_many_weights(hone_kernel_t* kernel, const hone_contraction_t* c) {
  enum { SMALL = 8 }; /* times the smallest size there can be */
  hone_dim_t a = hone_dim_product(kernel->dims, c->a->buffer->rank, c->a->buffer->dims);
  hone_dim_t b = hone_dim_product(kernel->dims, c->b->buffer->rank, c->b->buffer->dims);
  int64_t likely = hone_dim_min_value(a), most = hone_dim_max_value(a);
  if (!hone_dim_is_int(a) && c->b->buffer->is_constant)
    return hone_dim_min_value(b) > (likely < most / SMALL ? likely * SMALL : most);
  return hone_dim_min_value(b) > most || (hone_dim_is_int(a) && hone_dim_is_int(b) && b.k > a.k);
}

bool hone_contraction_is_batch(const hone_contraction_t* c, const hone_axis_t* axis) {
  return axis != c->lanes && axis != c->rows && hone_dim_is_int(axis->extent) &&
         hone_term_uses(c->a, axis->var) && hone_term_uses(c->b, axis->var);
}

bool hone_contraction_has_batches(const hone_contraction_t* c) {
  enum { ENOUGH = 4 };
  int64_t rounds = 1;
  for (int i = 0; i < c->n_outs; i++)
    if (hone_contraction_is_batch(c, &c->outs[i])) rounds *= c->outs[i].extent.k;
  return rounds >= ENOUGH;
}

/* Data and results of such products come from far and go there, which shows more than weights
 * that come from the second cache: blocks of four vectors instead of two go through the data
 * half as often, and store twice as much in a row. Where rows are few, weights show too, unless a
 * block of them stays in the first cache. */
bool hone_contraction_is_wide(const hone_recipe_t* r, const hone_contraction_t* c) {
  enum { MANY_REGISTERS = 32, MANY_ROWS = 128, SOME_ROWS = 32 };
  int64_t rows = c->rows ? hone_known_extent(c->rows->extent) : 0;
  int64_t lanes = (int64_t)HONE_TILE_MOST_VECTORS * r->shape->lanes;
  double block = c->sum_count * (double)lanes * (double)sizeof(float);
  return r->shape->registers >= MANY_REGISTERS && c->group == 1 && !c->apart && !c->matrix &&
         c->b->buffer->is_constant && hone_known_extent(c->lanes->extent) >= lanes &&
         (rows >= MANY_ROWS ||
          (rows >= SOME_ROWS && 3 * block <= 2.0 * (double)r->shape->first_cache)) &&
         hone_contraction_has_batches(c);
}

bool hone_contraction_lanes_first(const hone_recipe_t* r, const hone_contraction_t* c) {
  if (r->choice->order == HONE_LANES_ORDER_AUTO)
    return c->wide || hone_contraction_has_many_weights(r->kernel, c);
  return r->choice->order == HONE_LANES_ORDER_FIRST;
}

/* Rounds of the loops of the output around lanes and rows; of those that only a run knows one,
 * as a batch may well have. */
int64_t hone_contraction_count_others(const hone_contraction_t* c) {
  int64_t rounds = 1;
  for (int i = 0; i < c->n_outs; i++)
    if (&c->outs[i] != c->lanes && &c->outs[i] != c->rows && hone_dim_is_int(c->outs[i].extent))
      rounds *= c->outs[i].extent.k;
  return rounds;
}

int64_t hone_contraction_second_cache(const hone_recipe_t* r) {
  enum { USUAL = 1 << 19 };
  return r->shape->second_cache > 0 ? r->shape->second_cache : USUAL;
}

/* A number that divides the extent whatever the run: all of it, or that at the smallest sizes. */
static int64_t known_factor(hone_kernel_t* kernel, hone_dim_t extent) {
  int64_t factor = hone_likely_extent(kernel, extent);
  bool divides = hone_dim_is(hone_dim_mod(kernel->dims, extent, hone_dim_int(factor)), 0);
  return divides ? factor : 0;
}

/* Whether the axis' nest stands beside others in a loop, whose rounds threads share. */
static bool is_part(const hone_kernel_t* kernel, const hone_axis_t* axis) {
  const hone_stmt_t* s = hone_kernel_find_loop(kernel, axis->name);
  for (; s && s->parent != kernel->root; s = s->parent)
    if (s->parent->n_body > 1) return true;
  return false;
}

/* Pixels of a row of the image, where the rows of the contraction are all pixels; else 0. */
static int64_t image_row(const hone_contraction_t* c) {
  for (int i = 0; i < c->a->buffer->rank; i++) {
    hone_dim_t row = hone_dim_modulus(c->a->index[i]);
    if (hone_dim_is_int(row) && row.k > 0 && hone_dim_uses(c->a->index[i], c->rows->var))
      return row.k;
  }
  return 0;
}

/* Few whole rows of an image, no more than `most` pixels: kernels can take turns then
 * (runtime/turns.h). 0: there are none such. */
static int64_t find_image_block(const hone_contraction_t* c, int64_t rows, int64_t least,
                                int64_t most) {
  int64_t row = image_row(c);
  for (int64_t block = row; row && block <= most && block * HONE_ENOUGH_BLOCKS <= rows;
       block += row)
    if (block >= least && rows % block == 0) return block;
  return 0;
}

/* Rows that are done for all lanes before the next ones, so that they are still near
 * when they are read again, and so that each thread has rows of its own, which it
 * finds in its own cache if it made them: the largest divisor of the rows that stays
 * in a part of the second cache and leaves threads enough blocks, else too few for that, which
 * they share out together with blocks of lanes. 0: all rows, also inside of what threads share. */
static int64_t find_block(const hone_recipe_t* r, const hone_contraction_t* c, int64_t tile_rows) {
  enum { PART = 2, ENOUGH_TILES = 4, SOME_TILES = 2 };
  int64_t rows = c->rows ? known_factor(r->kernel, c->rows->extent) : 0,
          others = hone_contraction_count_others(c), best = 0;
  if (!rows || others >= HONE_ENOUGH_BLOCKS || !c->row_bytes || is_part(r->kernel, c->rows))
    return 0;
  int64_t tiles = hone_dim_is_int(c->rows->extent) ? ENOUGH_TILES : SOME_TILES;
  for (int64_t block = tiles * tile_rows; block <= rows; block++) {
    if (block * HONE_ENOUGH_BLOCKS > rows && best && best * HONE_ENOUGH_BLOCKS <= rows) break;
    if (rows % block == 0 && block * c->row_bytes * PART <= hone_contraction_second_cache(r))
      best = block;
  }
  int64_t image = find_image_block(c, rows, tiles * tile_rows, best);
  return image ? image : best;
}

/* Rows of tiles that do so many rows, `tile_rows`, more than an instruction's, in a block: an
 * instruction takes as long for one row as for all that it could do. Where what is left over has
 * another shape than blocks begin with, tiles are shaped anew for it, and again for the next block.
 */
static double matrix_cost(const hone_contraction_t* c, int64_t rows, int64_t tile_rows) {
  static const double shaping = 2 * 340; /* cycles, as measured on Emerald Rapids */
  const hone_intrinsic_block_t* b = &c->matrix->block;
  int64_t height = b->height, each = (tile_rows + height - 1) / height, rest = rows % tile_rows,
          tiles = rows / tile_rows * each + (rest + height - 1) / height;
  bool keeps_shape = rest == 0 || rest == height;
  double cycles = b->cycles * b->vectors * c->sum_count / c->group;
  return (double)tiles + (keeps_shape ? 0 : shaping / cycles);
}

/* Rows of a block of tiles, `most` at most, that do so many rows fastest. */
static int64_t fit_matrix(const hone_contraction_t* c, int64_t rows, int64_t most) {
  int64_t best = most;
  if (rows <= most) return most;
  for (int64_t fewer = most - 1; fewer > c->matrix->block.height; fewer--)
    if (matrix_cost(c, rows, fewer) < matrix_cost(c, rows, best)) best = fewer;
  return best;
}

/* Whether tiles have a shape that it takes time to change. */
static bool has_shaped_tiles(const hone_contraction_t* c) {
  return c->matrix && c->matrix->block.keeps;
}

int64_t hone_contraction_fit_tile(const hone_contraction_t* c, int64_t tile_rows) {
  int64_t rows = c->rows ? hone_known_extent(c->rows->extent) : 0;
  return rows && has_shaped_tiles(c) ? fit_matrix(c, rows, tile_rows) : tile_rows;
}

/* Where tiles have shapes, another block than `usual`, if it leaves fewer rows of them empty: of
 * those that are as good one of whole lines of an image, so that kernels can take turns, and as
 * many as threads can share evenly. */
static int64_t fit_block(const hone_recipe_t* r, const hone_contraction_t* c, int64_t tile_rows,
                         int64_t usual) {
  static const double no_lines = 1.03, uneven = 1.01;
  int64_t rows = hone_known_extent(c->rows->extent), line = image_row(c), best = usual,
          threads = r->shape->threads > 1 ? r->shape->threads : 1;
  double least = INFINITY;
  if (!usual || !has_shaped_tiles(c)) return usual;
  for (int64_t block = tile_rows; block * (HONE_ENOUGH_BLOCKS - 1) <= rows; block++) {
    int64_t blocks = rows / block, each = (blocks + threads - 1) / threads;
    if (rows % block) continue;
    double cost = (double)each * matrix_cost(c, block, fit_matrix(c, block, tile_rows));
    if (line && block % line) cost *= no_lines;
    if (blocks % threads) cost *= uneven;
    if (cost >= least) continue;
    least = cost;
    best = block;
  }
  return best;
}

/* Whether the weights take such a part of the second cache at most. Products in groups go through
 * weights faster than those come, so these must be fewer. */
static bool weights_stay_near(const hone_recipe_t* r, const hone_contraction_t* c, int part,
                              int part_of_groups) {
  double room = (double)hone_contraction_second_cache(r);
  return hone_cost_bytes(c->b->buffer) * (c->group > 1 ? part_of_groups : part) <= room;
}

/* The same where that gives too few blocks, or where there are more weights than data, but all
 * weights stay in the second cache while blocks of rows go by, and they are less than what threads
 * would hand each other if each had lanes of its own: that of rows it reads or is read in. Blocks
 * of several tiles where there are enough of those, else each tile is one. */
static int64_t find_block_beside_weights(const hone_recipe_t* r, const hone_contraction_t* c,
                                         int64_t tile_rows) {
  enum { ENOUGH_TILES = 2, PART = 2, PART_OF_GROUPS = 8 };
  int64_t rows = c->rows ? hone_known_extent(c->rows->extent) : 0, best = 0;
  double weights = hone_cost_bytes(c->b->buffer);
  double results = hone_cost_extent(c->lanes->extent) * (double)rows * (double)sizeof(float);
  if (r->choice->order != HONE_LANES_ORDER_AUTO || !c->b->buffer->is_constant || c->wide ||
      !weights_stay_near(r, c, PART, PART_OF_GROUPS) ||
      weights > hone_cost_bytes(c->a->buffer) + results)
    return 0;
  for (int64_t block = ENOUGH_TILES * tile_rows; block * HONE_ENOUGH_BLOCKS <= rows; block++)
    if (rows % block == 0) best = block;
  bool are_tiles =
      rows % tile_rows == 0 && tile_rows * HONE_ENOUGH_BLOCKS <= rows && r->shape->threads != 1;
  return best || !are_tiles ? fit_block(r, c, tile_rows, best) : tile_rows;
}

/* Steps of a window along an axis of the data that rounds of another loop of the output move by
 * fewer than it has; 0: none does so. */
static int64_t find_window(const hone_contraction_t* c, hone_dim_t index) {
  int64_t step = 0, moved, steps = 0;
  for (int i = 0; i < c->n_outs; i++) {
    const hone_axis_t* axis = &c->outs[i];
    if (axis == c->rows || axis == c->lanes || !hone_dim_uses(index, axis->var)) continue;
    if (hone_dim_factor(index, axis->var, &moved) && moved > 0) step = moved;
  }
  for (int i = 0; i < c->n_sums && step; i++)
    if (hone_dim_uses(index, c->sums[i].var)) steps = hone_known_extent(c->sums[i].extent);
  return steps > step ? steps : 0;
}

/* Rows that are done for all of a film before the next ones, where windows over pictures see more
 * than the second cache holds, most of which the next window sees as well: so many that what a
 * window sees of them stays there. 0: there are no such windows. */
static int64_t find_block_of_film(const hone_recipe_t* r, const hone_contraction_t* c,
                                  int64_t tile_rows) {
  enum { PART = 2 };
  int64_t rows = c->rows ? hone_known_extent(c->rows->extent) : 0, best = 0,
          cache = hone_contraction_second_cache(r);
  for (int i = 0; rows && c->row_bytes && i < c->a->buffer->rank; i++) {
    int64_t steps = find_window(c, c->a->index[i]), bytes = steps * c->row_bytes;
    if (!steps || bytes * rows <= cache) continue;
    for (int64_t block = tile_rows; block * bytes * PART <= cache; block += tile_rows)
      if (rows % block == 0 && block * HONE_ENOUGH_BLOCKS <= rows) best = block;
  }
  int64_t image = best ? find_image_block(c, rows, tile_rows, best) : 0;
  return image ? image : best;
}

/* Rows in a block; 0: all. */
int64_t hone_contraction_rows_block(const hone_recipe_t* r, const hone_contraction_t* c,
                                    int64_t tile_rows) {
  if (c->apart) return tile_rows;
  if (c->block) return c->block;
  if (r->choice->block) return r->choice->block;
  int64_t film = find_block_of_film(r, c, tile_rows);
  if (film) return film;
  if (hone_contraction_lanes_first(r, c)) return find_block_beside_weights(r, c, tile_rows);
  int64_t block = find_block(r, c, tile_rows);
  bool are_few = block && block * HONE_ENOUGH_BLOCKS > hone_dim_max_value(c->rows->extent);
  int64_t other = are_few ? find_block_beside_weights(r, c, tile_rows) : 0;
  return other ? other : block;
}

/* Whether each block of lanes goes through all rows. */
static bool has_lanes_around(const hone_recipe_t* r, const hone_contraction_t* c,
                             int64_t tile_rows) {
  return hone_contraction_lanes_first(r, c) && !hone_contraction_rows_block(r, c, tile_rows);
}

/* Whether nothing but lanes, rows and batches is in the output of a product by weights. */
static bool is_plain_product(const hone_recipe_t* r, const hone_contraction_t* c) {
  int batches = 0;
  for (int i = 0; i < c->n_outs; i++) batches += hone_contraction_is_batch(c, &c->outs[i]);
  return c->n_outs == 2 + batches && !c->apart && !c->matrix && c->b->buffer->is_constant &&
         r->choice->order == HONE_LANES_ORDER_AUTO && !is_part(r->kernel, c->rows);
}

/* Whether few threads share the rows of a product with more weights than data, as equally as can
 * be, rather than its lanes: each reads all weights then, which stay in its second cache, but of
 * what another made, which comes from far, nothing. So they do of products in batches, whatever
 * their weights, where each has rows for several tiles. */
bool hone_contraction_shares_rows(const hone_recipe_t* r, const hone_contraction_t* c,
                                  int64_t tile_rows) {
  enum {
    MOST_THREADS = 4,
    MOST_UNEQUAL = 64, /* rows of a share that is a row higher than others */
    SOME_ROWS = 32,
    PART = 1,
    PART_OF_GROUPS = 2
  };
  int64_t threads = r->shape->threads, rows = c->rows ? hone_known_extent(c->rows->extent) : 0;
  if (threads < 2 || threads > MOST_THREADS || rows < threads * tile_rows ||
      (rows % threads != 0 && rows > threads * MOST_UNEQUAL) || !is_plain_product(r, c))
    return false;
  if (c->n_outs > 2)
    return c->group <= 2 && hone_contraction_has_batches(c) && rows >= threads * SOME_ROWS;
  return has_lanes_around(r, c, tile_rows) && weights_stay_near(r, c, PART, PART_OF_GROUPS);
}

bool hone_contraction_shares_lanes(const hone_recipe_t* r, const hone_contraction_t* c,
                                   int64_t tile_rows) {
  return has_lanes_around(r, c, tile_rows) && !hone_contraction_shares_rows(r, c, tile_rows);
}
