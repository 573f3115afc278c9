/* The tile of a contraction that is kept in registers, by a model of what its steps cost. */
#include <math.h>

#include "backends/common/contraction.h"
#include "ir/slight.h"
#include "loop/block.h"

/* Elements whose addresses differ by a multiple of this share a set of the first
 * cache, which has as many ways as it has such pieces. */
enum { WAY_BYTES = 4096, USUAL_WAYS = 8 };

/* Whether so many rows at once drive one another out of the first cache: they are
 * a large power of two apart, and two ways are left to everything else. */
static bool evicts_itself(const hone_cpu_shape_t* shape, int64_t row_bytes, int rows) {
  int64_t common = row_bytes & -row_bytes; /* the power of two in it */
  int64_t sets = common >= WAY_BYTES ? 1 : common ? WAY_BYTES / common : WAY_BYTES;
  int64_t ways = shape->first_cache / WAY_BYTES > 2 ? shape->first_cache / WAY_BYTES : USUAL_WAYS;
  return rows > sets * (ways - 1);
}

/* Cycles that a vector of weights takes to arrive: more, where those of a block
 * of lanes, read again for each tile of rows, find no room in the second cache. */
static double vector_cycles(const hone_cpu_shape_t* shape, double sums, int vectors) {
  enum { USUAL_ROOM = 1 << 20, NEAR = 32, FAR = 4 }; /* lanes a cycle */
  double bytes = sums * vectors * shape->lanes * (double)sizeof(float);
  double room = shape->second_cache > 0 ? (double)shape->second_cache : USUAL_ROOM;
  return (double)shape->lanes / (bytes > 0.75 * room ? FAR : NEAR);
}

/* Vectors that hold the weights of a group for as many lanes as one has. */
static int group_vectors(const hone_contraction_t* c) {
  return c->group == HONE_SLIGHT_GROUP ? HONE_SLIGHT_HALVES : 1;
}

/* Vectors of a tile, the last of which counts half where that holds its lanes and takes half as
 * long. */
static double count_vectors(const hone_cpu_shape_t* shape, const hone_contraction_t* c,
                            int vectors) {
  int64_t lanes = hone_known_extent(c->lanes->extent), rest = lanes % shape->lanes;
  bool has_last = (lanes + shape->lanes - 1) / shape->lanes == vectors;
  return shape->halves_vectors && has_last && rest && 2 * rest <= shape->lanes ? vectors - 0.5
                                                                               : vectors;
}

/* Cycles of arithmetic for one step of the sum; of bytes that are widened, with that. */
static double step_arithmetic(const hone_contraction_t* c, int rows, double vectors) {
  if (c->group == HONE_SLIGHT_GROUP) return 1.5 * rows * vectors;
  bool widens = c->group == 4 && c->widens;
  return widens ? rows * vectors + 0.5 * rows + 0.75 * vectors : rows * vectors / 2.0;
}

/* Vectors that a tile keeps; of products in pairs those that are to be added too. */
static int count_registers(const hone_cpu_shape_t* shape, const hone_contraction_t* c, int rows,
                           int vectors) {
  enum { SLIGHT = 4 /* both operands, their products, and ones */ };
  if (c->group == HONE_SLIGHT_GROUP) return (rows + group_vectors(c)) * vectors + SLIGHT;
  if (c->apart && c->group == 1) return rows * vectors + 2; /* a place, and its weight */
  bool is_apart = c->group == 2 && shape->has_dot2_i16 && !shape->fast_int8;
  /* Beside instructions that add up products: even and odd bytes of what these do not take. */
  int halves = c->group == 4 && c->widens && shape->fast_int8 ? vectors + 1 : 0;
  return rows * vectors + vectors + (is_apart ? 2 : 1) + halves;
}

/* Rounds of the innermost sum that are written out: a window of few steps over data of the lanes'
 * own, whose places are then loaded once for all rows that see them. */
static int64_t window_steps(const hone_contraction_t* c) {
  enum { MOST_STEPS = 7 };
  int64_t steps = c->apart && c->n_sums ? hone_known_extent(c->sums[c->n_sums - 1].extent) : 0;
  return steps <= MOST_STEPS ? steps : 0;
}

bool hone_contraction_is_window(const hone_contraction_t* c) {
  enum { MOST_STEPS = 49 /* of 7 by 7: with 5 by 5 all of them take 0.92 of the time of a loop */ };
  return c->apart && c->group == 1 && c->rows && c->n_sums == 2 && c->sum_count <= MOST_STEPS;
}

static int count_lines(hone_tile_t t) { return t.lines ? t.lines : 1; }

/* What one step of the sum over a tile of windows loads: each place once for all rows that see it
 * from a line of the window, or from all lines where all are written out. */
static double window_loads(const hone_contraction_t* c, hone_tile_t t) {
  double steps = (double)window_steps(c), lines = count_lines(t);
  if (c->lines && hone_contraction_is_window(c))
    lines = (lines - 1 + (double)c->line_steps) / (double)c->line_steps;
  return (lines * (t.rows - 1 + steps) / steps + 1) * t.vectors;
}

/* What one step of the sum over a tile loads. */
static double step_loads(const hone_cpu_shape_t* shape, const hone_contraction_t* c,
                         hone_tile_t t) {
  int rows = t.rows, vectors = t.vectors;
  if (window_steps(c) > 0) return window_loads(c, t);
  return group_vectors(c) * (rows * (evicts_itself(shape, c->row_bytes, rows) ? 4 : 1) + vectors);
}

/* Cycles for one step of a tile that matrix instructions add to, of those with as many steps as
 * they can have: what they read does not arrive beside products. */
static double block_cycles(const hone_cpu_shape_t* shape, const hone_contraction_t* c,
                           hone_tile_t t) {
  const hone_intrinsic_block_t* b = &c->matrix->block;
  int64_t each = hone_block_parts(c->matrix, t.rows, c->line_rows), vectors = t.vectors;
  int64_t heights = count_lines(t) > 1 ? (count_lines(t) + each - 1) / each
                                       : (t.rows + b->height - 1) / b->height;
  double weights = (double)vectors * vector_cycles(shape, c->sum_count / c->group, (int)vectors);
  return b->cycles * (double)(heights * vectors) + b->load_cycles * (double)(heights + vectors) +
         weights;
}

/* Cycles that an element of data and a vector of weights take to arrive, beside arithmetic, where
 * tiles are wide: as measured on Emerald Rapids (docs/cpu.md). */
static const double WIDE_ROW = 0.2, WIDE_VECTOR = 0.1;
/* The part of the cycles for loads that shows beside products by slight weights, which keep two of
 * four units busy: 4 rows by 2 vectors take 0.92 of the time of 10 by 1, as measured on Zen 3. */
static const double SLIGHT_LOAD = 1. / 3;
/* What shows of each row where products take its element from memory: measured on Zen 4. */
static const double ROW_IN_PLACE = 0.015;

/* Whether products take an element of data from memory, and it is near, where a vector takes two
 * turns. */
static bool loads_in_place(const hone_cpu_shape_t* shape, const hone_contraction_t* c, int rows) {
  return shape->halves_vectors && c->group <= 2 && !c->apart &&
         !evicts_itself(shape, c->row_bytes, rows);
}

/* Cycles of a load, with two in a cycle: where each row's element takes an instruction of its own
 * to go into all lanes, not all of them find their place beside the products (as measured on Zen 3,
 * in a quiet hour as well as where others share the core). */
static double load_cycles(const hone_cpu_shape_t* shape, const hone_contraction_t* c,
                          bool in_place) {
  enum { FEW_REGISTERS = 16 /* of machines whose products take no element from memory */ };
  static const double alone = 0.58, usual = 0.5, hidden = 0.25;
  if (in_place) return hidden;
  return shape->registers <= FEW_REGISTERS && !c->apart ? alone : usual;
}

/* Cycles that products wait at the end of a tile whose results are more than a thread has room for
 * until they are stored, 32 parts of 32 bytes where another thread has the other half of the core:
 * none of the next tile's come in so long. Measured on Zen 4: 93 cycles for 28 vectors of f32, 60
 * for 18, 8 for 16, none for 14. In cycles of two products, as those of steps are. */
static double store_cycles(const hone_cpu_shape_t* shape, const hone_contraction_t* c,
                           hone_tile_t t) {
  enum { PART = 32, ROOM = 32, SPARE = 4 };
  static const double EACH = 1.7 / 2, FEW = 8. / 2;
  if (!shape->halves_vectors || c->matrix || c->apart) return 0;
  int bytes = shape->lanes * c->result_bytes;
  double parts = t.rows * count_vectors(shape, c, t.vectors) * (bytes > PART ? bytes / PART : 1);
  return parts > ROOM ? EACH * parts : parts > ROOM - SPARE ? FEW : 0;
}

/* Cycles for one step of the sum over a tile, with two loads a cycle, and four cycles until a
 * result can be added to again. Vectors of weights come from the second cache, so that what they
 * take shows a little even where arithmetic is the limit: of tiles that are equally fast else,
 * the one with more rows for each vector is better. */
static double step_cycles(const hone_cpu_shape_t* shape, const hone_contraction_t* c,
                          hone_tile_t t) {
  if (c->matrix) return block_cycles(shape, c, t);
  bool in_place = loads_in_place(shape, c, t.rows);
  double arithmetic =
      step_arithmetic(c, t.rows * count_lines(t), count_vectors(shape, c, t.vectors));
  double loads = step_loads(shape, c, t) * load_cycles(shape, c, in_place);
  double cycles = arithmetic > loads ? arithmetic : loads;
  if (cycles < 4) cycles = 4;
  cycles += store_cycles(shape, c, t) * c->group / c->sum_count;
  if (c->group == HONE_SLIGHT_GROUP) cycles += loads * SLIGHT_LOAD;
  if (in_place) cycles += t.rows * ROW_IN_PLACE;
  if (c->wide) return cycles + t.rows * WIDE_ROW + t.vectors * WIDE_VECTOR;
  double weights = group_vectors(c) * vector_cycles(shape, c->sum_count / c->group, t.vectors);
  return cycles + t.vectors * weights;
}

enum { FEW_SYMBOLS = 64 };

/* The extent when all sizes are as small as they can be, one at least: a factor
 * that is always there. HONE_MANY_ROUNDS when there is none. */
int64_t hone_likely_extent(hone_kernel_t* kernel, hone_dim_t extent) {
  int64_t values[FEW_SYMBOLS];
  if (hone_dim_is_int(extent)) return extent.k;
  if (hone_dims_symbol_count(kernel->dims) > FEW_SYMBOLS) return HONE_MANY_ROUNDS;
  hone_dims_smallest(kernel->dims, values);
  int64_t extent_then = hone_dim_eval(extent, values);
  return extent_then > 1 ? extent_then : HONE_MANY_ROUNDS;
}

/* Vectors along the lanes, the last of which may be part of one unless weights are slight. */
int64_t hone_contraction_vectors(const hone_recipe_t* r, const hone_contraction_t* c) {
  int64_t lanes = hone_likely_extent(r->kernel, c->lanes->extent), each = r->shape->lanes;
  if (c->group == HONE_SLIGHT_GROUP && lanes >= each) return lanes / each;
  return (lanes + each - 1) / each;
}

/* What a tile takes longer where the sums of windows, the weights of one of their rows and a place
 * of the data are more than there are registers (less, where all steps are written out); or, of
 * windows that overlap, the sums, the weights of a step, and the places that the compiler keeps for
 * the rows that see them next. */
static double crowd_factor(const hone_cpu_shape_t* shape, const hone_contraction_t* c,
                           hone_tile_t t) {
  enum { TURNED = 2 /* vectors of a place, and of its weights */ };
  int64_t vectors = 0, rows = t.rows * count_lines(t);
  if (c->apart) vectors = (rows + window_steps(c) + 1) * t.vectors;
  if (c->apart && c->group > 1 && c->update->value->dtype == HONE_F32)
    vectors = (t.rows + TURNED * 2 * window_steps(c)) * t.vectors;
  if (c->overlaps) vectors = (t.rows + 1) * t.vectors + t.rows;
  double crowd = count_lines(t) > 1 && hone_contraction_is_window(c) ? 1.1 : c->apart ? 1.3 : 1.25;
  return vectors > shape->registers ? crowd : 1;
}

bool hone_contraction_cuts_evenly(hone_dim_t extent, int64_t rows) {
  enum { FEW = 2, LEAST = 5 };
  if (!hone_dim_is_int(extent)) return rows <= HONE_MOST_HEIGHTS;
  int64_t rest = extent.k % rows;
  return rows >= LEAST && extent.k > 2 * rows && rest >= 1 && rest <= FEW;
}

/* Of so many tiles, some a row lower than the others, for one step. */
static double even_cost(const hone_recipe_t* r, const hone_contraction_t* c, hone_tile_t t,
                        int64_t rows, int64_t tiles) {
  hone_tile_t low = {(int)(rows / tiles), t.vectors, t.lines},
              high = {low.rows + 1, t.vectors, t.lines};
  int64_t n_high = rows % tiles;
  return (double)(tiles - n_high) * step_cycles(r->shape, c, low) +
         (double)n_high * step_cycles(r->shape, c, high);
}

/* Of tiles of the same height, and one of the rows that they leave over. */
static double uneven_cost(const hone_recipe_t* r, const hone_contraction_t* c, hone_tile_t t,
                          int64_t rows) {
  hone_tile_t rest = {(int)(rows % t.rows), t.vectors, t.lines};
  int64_t blocks = rows / t.rows;
  double cost = (double)blocks * step_cycles(r->shape, c, t);
  return rest.rows ? cost + step_cycles(r->shape, c, rest) : cost;
}

/* Cycles for one step of the sums of a tile's vectors in all rows of a line. */
static double rows_cost(const hone_recipe_t* r, const hone_contraction_t* c, hone_tile_t t) {
  int64_t rows = c->rows ? hone_likely_extent(r->kernel, c->rows->extent) : HONE_MANY_ROUNDS;
  bool is_even = c->rows && hone_dim_is_int(c->rows->extent) && !c->apart &&
                 hone_contraction_cuts_evenly(c->rows->extent, t.rows);
  double cost = is_even ? even_cost(r, c, t, rows, rows / t.rows + 1) : uneven_cost(r, c, t, rows);
  return cost / count_lines(t) * crowd_factor(r->shape, c, t);
}

/* Whether there is room for the sums of a tile, and for what is added to them. */
static bool has_room(const hone_recipe_t* r, const hone_contraction_t* c, int rows, int vectors) {
  if (c->matrix) return rows <= c->matrix->block.rows && vectors <= c->matrix->block.vectors;
  return count_registers(r->shape, c, rows, vectors) <= r->shape->registers;
}

bool hone_contraction_has_lines(const hone_cpu_shape_t* shape, const hone_contraction_t* c,
                                int lines) {
  enum { MANY = 8 /* rounds of a thread: one more or less shows little */ };
  if (lines <= 1) return true;
  int64_t extent = c->lines ? hone_known_extent(c->lines->extent) : 0, rounds = extent / lines,
          threads = shape->threads > 1 ? shape->threads : 1;
  if (c->matrix && lines > 2)
    return lines == 4 && extent > lines &&
           hone_block_parts(c->matrix, c->rows->extent.k, c->line_rows) > 1;
  if (c->matrix) return extent > 2;
  return rounds > 1 && extent % lines == 0 && (rounds % threads == 0 || rounds >= MANY * threads);
}

/* The best tile of so many lines and vectors. */
static hone_tile_t choose_rows(const hone_recipe_t* r, const hone_contraction_t* c, int lines,
                               int vectors, double* out_cost) {
  int64_t most = !c->rows                           ? 1
                 : hone_dim_is_int(c->rows->extent) ? c->rows->extent.k
                 : c->matrix                        ? c->matrix->block.height
                                                    : HONE_FEW_HEIGHTS;
  hone_tile_t best = {1, vectors, lines};
  bool whole_lines = c->matrix && lines > 1;
  *out_cost = whole_lines ? INFINITY : rows_cost(r, c, best);
  if (!c->matrix && most > HONE_TILE_MOST_ROWS / lines) most = HONE_TILE_MOST_ROWS / lines;
  for (int rows = whole_lines ? (int)most : 2; rows <= most; rows++) {
    hone_tile_t t = {rows, vectors, lines};
    if (c->apart && hone_known_extent(c->rows->extent) % rows) continue;
    if (!has_room(r, c, rows * lines, vectors)) break;
    double cost = rows_cost(r, c, t);
    if (cost >= *out_cost * 0.999) continue;
    best = t;
    *out_cost = cost;
  }
  return best;
}

/* Data of the lanes' own comes a line of the cache at a time: tiles of parts of lines
 * read those more than once, from the second cache where their places drive one another out. */
static double line_factor(const hone_recipe_t* r, const hone_contraction_t* c, hone_tile_t t) {
  enum { LINE = 64 };
  bool has_parts = t.vectors * r->shape->lanes * (int)sizeof(float) % LINE != 0;
  if (!c->apart || !has_parts) return 1;
  int64_t places = t.rows - 1 + window_steps(c);
  if (c->lines) places *= count_lines(t) - 1 + c->line_steps;
  if (evicts_itself(r->shape, c->row_bytes, (int)places)) return 1.3;
  return count_lines(t) > 1 ? 1 : 1.1;
}

/* Cycles that the data of windows over lines takes from the second cache and their results there,
 * 32 bytes in one, of which half shows: the more lines and rows a tile has, the less often it
 * reads what it shares with its neighbours. For all rows of a line, as a step of its sums. */
static double line_traffic(const hone_recipe_t* r, const hone_contraction_t* c, hone_tile_t t) {
  static const double PACE = 32, SHOWS = 0.5;
  if (!c->lines || c->matrix) return 0;
  double lines = count_lines(t), steps = (double)window_steps(c), rows = t.rows,
         all = (double)(c->rows ? hone_known_extent(c->rows->extent) : 0);
  const hone_stmt_t* store = c->body->body[c->body->n_body - 1];
  double read = (double)hone_dtype_size(c->a->buffer->dtype) *
                ((lines - 1 + (double)c->line_steps) / lines) * ((rows - 1 + steps) / rows);
  double written = 2.0 * (double)hone_dtype_size(store->buffer->dtype); /* fetched, put down */
  double vector = (read + written) * r->shape->lanes / PACE * SHOWS;
  return vector * all * (double)hone_contraction_vectors(r, c) / c->sum_count;
}

/* Of all lanes: what tiles leave over has a tile of its own, or, where only a run
 * knows how much that is, is done one after the other. */
double hone_contraction_cost(const hone_recipe_t* r, const hone_contraction_t* c, hone_tile_t t) {
  int64_t vectors = hone_contraction_vectors(r, c);
  double cost = rows_cost(r, c, t), rest_cost = 0;
  int64_t blocks = vectors / t.vectors, rest = vectors % t.vectors;
  if (!hone_dim_is_int(c->lanes->extent)) return cost * ((double)blocks + 1.5 * (double)rest);
  if (rest) choose_rows(r, c, count_lines(t), (int)rest, &rest_cost);
  return cost * (double)blocks + rest_cost;
}

/* Threads that share blocks of lanes wait for the one that has most of them. */
static double wait_factor(const hone_recipe_t* r, const hone_contraction_t* c, hone_tile_t t) {
  int64_t threads = r->shape->threads, vectors = hone_contraction_vectors(r, c);
  if (threads < 2 || c->apart || !hone_dim_is_int(c->lanes->extent) || vectors <= t.vectors ||
      !hone_contraction_shares_lanes(r, c, t.rows))
    return 1;
  int64_t blocks = (vectors + t.vectors - 1) / t.vectors;
  int64_t each = (blocks + threads - 1) / threads;
  return (double)(each * threads * t.vectors) / (double)vectors;
}

/* Of tiles that are as good as each other the narrower one; where only a run knows the rows the
 * wider one, which goes through them less often: there may be many. */
hone_tile_t hone_contraction_tile(const hone_recipe_t* r, const hone_contraction_t* c) {
  int64_t most = hone_contraction_vectors(r, c);
  double less = c->rows && !hone_dim_is_int(c->rows->extent) ? 1.001 : 0.999;
  double cost, best_cost = 0;
  hone_tile_t best = {0};
  for (int lines = HONE_TILE_MOST_LINES; lines >= 1; lines /= 2)
    for (int vectors = 1; vectors <= HONE_TILE_MOST_VECTORS && vectors <= most; vectors++) {
      if (!hone_contraction_has_lines(r->shape, c, lines)) break;
      if (vectors > 1 && !has_room(r, c, lines, vectors)) break;
      hone_tile_t t = choose_rows(r, c, lines, vectors, &cost);
      cost = hone_contraction_cost(r, c, t) * line_factor(r, c, t) * wait_factor(r, c, t) +
             line_traffic(r, c, t);
      if (best.rows && cost >= best_cost * less) continue;
      best = t;
      best_cost = cost;
    }
  return best;
}
