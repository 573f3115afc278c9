/* contract: products are summed in a tile of the output that stays in registers;
 * weights are laid out as they are read. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/common/schedule.h"
#include "base/memory.h"
#include "tune/tactic.h"

enum { MOST_BLOCKS = 5 };

/* What cost and the rule of registers want to know. */
typedef struct facts {
  hone_contraction_facts_t contraction;
  hone_cost_facts_t whole;
  int registers;
} facts_t;

static bool supports(hone_kernel_t* kernel, const hone_device_properties_t* properties, char* why) {
  if (hone_contraction_any(kernel)) return true;
  snprintf(why, HONE_DEVICE_TEXT_SIZE, "it is no sum of products along loops of the output");
  return false;
}

/* ---- the space ---- */

static bool fits_registers(const hone_space_t* space, const hone_candidate_t* candidate,
                           void* context) {
  const facts_t* facts = context;
  int64_t rows = hone_candidate_number(space, candidate, "rows", 0) *
                 hone_candidate_number(space, candidate, "lines", 0);
  int64_t vectors = hone_candidate_number(space, candidate, "vectors", 0);
  if (rows == 1 && vectors == 1) return true;
  int64_t others = facts->contraction.apart ? 2 : vectors + 1; /* what is multiplied */
  return rows * vectors + others <= facts->registers;
}

/* A parameter from 1 to `most` whose default is `chosen`. */
static hone_status_t define_range(hone_space_t* space, hone_candidate_t* first, const char* name,
                                  int most, int chosen) {
  int64_t numbers[HONE_TILE_MOST_ROWS];
  for (int i = 0; i < most; i++) numbers[i] = i + 1;
  HONE_TRY(hone_space_define_numbers(space, name, most, numbers));
  first->choice[hone_space_find(space, name)] = (uint16_t)(chosen - 1);
  return NULL;
}

/* 1, 2 and 4, as far as they divide the lines of an image. */
static hone_status_t define_lines(const hone_contraction_facts_t* f, hone_space_t* space,
                                  hone_candidate_t* first) {
  int64_t numbers[HONE_TILE_MOST_LINES] = {1};
  int count = 1, chosen = 0;
  for (int64_t n = 2; n <= f->most_lines; n *= 2) {
    if (n == f->tile_lines) chosen = count;
    numbers[count++] = n;
  }
  HONE_TRY(hone_space_define_numbers(space, "lines", count, numbers));
  first->choice[hone_space_find(space, "lines")] = (uint16_t)chosen;
  return NULL;
}

/* That of a matrix instruction is what the recipe finds. */
static hone_status_t define_block_tile(const hone_contraction_facts_t* f, hone_space_t* space) {
  const int64_t rows = f->tile_rows, vectors = f->tile_vectors;
  HONE_TRY(hone_space_define_numbers(space, "rows", 1, &rows));
  return hone_space_define_numbers(space, "vectors", 1, &vectors);
}

static hone_status_t define_tile(const hone_contraction_facts_t* f, hone_space_t* space,
                                 hone_candidate_t* first) {
  if (f->matrix && f->tile_rows) return define_block_tile(f, space);
  int rows = !f->has_rows                               ? 1
             : f->rows && f->rows < HONE_TILE_MOST_ROWS ? (int)f->rows
                                                        : HONE_TILE_MOST_ROWS;
  int vectors = f->tile_rows ? HONE_TILE_MOST_VECTORS : 1;
  if (!f->tile_rows) rows = 1;
  HONE_TRY(define_range(space, first, "rows", rows, f->tile_rows ? f->tile_rows : 1));
  return define_range(space, first, "vectors", vectors, f->tile_vectors ? f->tile_vectors : 1);
}

/* 1, 2, 4 and 8, as far as they divide the extent. */
static hone_status_t define_unroll(const hone_contraction_facts_t* f, hone_space_t* space) {
  int64_t numbers[4] = {1};
  int count = 1;
  for (int64_t n = 2; n <= 8 && f->last_sum; n *= 2)
    if (f->last_sum % n == 0 && f->last_sum > n) numbers[count++] = n;
  return hone_space_define_numbers(space, "unroll", count, numbers);
}

/* 0 is all rows; else divisors, small ones first. */
static hone_status_t define_block(const hone_contraction_facts_t* f, hone_space_t* space) {
  int64_t numbers[MOST_BLOCKS] = {0};
  int count = 1;
  for (int64_t n = 2 * (f->tile_rows ? f->tile_rows : 1); n < f->rows && count < MOST_BLOCKS; n++)
    if (f->rows % n == 0 && n >= 2 * numbers[count - 1]) numbers[count++] = n;
  return hone_space_define_numbers(space, "block", count, numbers);
}

static hone_status_t define_words(hone_space_t* space, hone_candidate_t* first, const char* name,
                                  int count, const char* const* words, int chosen) {
  HONE_TRY(hone_space_define_words(space, name, count, words));
  first->choice[hone_space_find(space, name)] = (uint16_t)chosen;
  return NULL;
}

static hone_status_t define(const hone_contraction_facts_t* f, hone_space_t* space,
                            hone_candidate_t* first) {
  static const char* const outer[] = {"weights", "rows"};
  static const char* const lay[] = {"pack", "keep"};
  static const int64_t parallel[] = {1, 2, 0};
  static const char* const lanes[] = {"output", "weights"};
  HONE_TRY(define_lines(f, space, first));
  HONE_TRY(define_tile(f, space, first));
  HONE_TRY(define_words(space, first, "lanes", f->has_weight_lanes ? 2 : 1, lanes, 0));
  HONE_TRY(define_words(space, first, "outer", 2, outer, f->lanes_first ? 0 : 1));
  HONE_TRY(define_words(space, first, "weights", f->can_pack ? 2 : 1, lay + !f->can_pack, 0));
  int sums = f->n_sums < 4 ? f->n_sums : 4;
  bool has_choice = f->innermost < sums;
  HONE_TRY(define_range(space, first, "innermost", has_choice ? sums : 1,
                        has_choice ? f->innermost + 1 : 1));
  HONE_TRY(define_unroll(f, space));
  HONE_TRY(define_block(f, space));
  return hone_space_define_numbers(space, "parallel", 3, parallel);
}

static hone_status_t make_space(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                                hone_arena_t* arena, hone_space_t* space, const void** out_facts) {
  hone_kernel_t* copy;
  hone_candidate_t first = {{0}};
  facts_t* facts = hone_arena_alloc(arena, sizeof *facts);
  if (!facts) return hone_oom();
  const hone_cpu_shape_t shape = hone_cpu_shape(properties);
  HONE_TRY(hone_kernel_clone(kernel, &copy));
  if (!hone_contraction_look(copy, &shape, &facts->contraction))
    facts->contraction = (hone_contraction_facts_t){.n_sums = 1, .group = 1};
  hone_kernel_destroy(copy);
  facts->whole = hone_cost_look(kernel);
  facts->registers = shape.registers;
  HONE_TRY(define(&facts->contraction, space, &first));
  if (!facts->contraction.matrix) HONE_TRY(hone_space_add_rule(space, fits_registers, facts));
  hone_space_set_default(space, &first);
  *out_facts = facts;
  return NULL;
}

/* ---- building ---- */

/* The parameter, or 0 (as the recipe thinks best) where it is the default. */
static int unless_default(const hone_space_t* space, const hone_candidate_t* candidate,
                          const char* name) {
  hone_candidate_t first = hone_space_default(space);
  int at = hone_space_find(space, name);
  if (at < 0 || candidate->choice[at] == first.choice[at]) return 0;
  return (int)hone_candidate_number(space, candidate, name, 0);
}

/* A default stands for what is best for each contraction of the kernel. */
static hone_cpu_choice_t read_choice(const hone_space_t* space, const hone_candidate_t* candidate) {
  hone_candidate_t first = hone_space_default(space);
  hone_cpu_choice_t choice = {
      .lanes_of_weights = strcmp(hone_candidate_word(space, candidate, "lanes", 0), "weights") == 0,
      .innermost = unless_default(space, candidate, "innermost"),
      .sum_unroll = (int)hone_candidate_number(space, candidate, "unroll", 0),
      .block = (int)hone_candidate_number(space, candidate, "block", 0),
      .no_pack = strcmp(hone_candidate_word(space, candidate, "weights", 0), "keep") == 0,
      .parallel = (int)hone_candidate_number(space, candidate, "parallel", 0),
  };
  if (choice.parallel == 0) choice.parallel = -1;
  if (unless_default(space, candidate, "rows") || unless_default(space, candidate, "vectors") ||
      unless_default(space, candidate, "lines")) {
    choice.lines = (int)hone_candidate_number(space, candidate, "lines", 0);
    choice.rows = (int)hone_candidate_number(space, candidate, "rows", 0);
    choice.vectors = (int)hone_candidate_number(space, candidate, "vectors", 0);
  }
  int outer = hone_space_find(space, "outer");
  if (candidate->choice[outer] != first.choice[outer])
    choice.order = candidate->choice[outer] == 0 ? HONE_LANES_ORDER_FIRST : HONE_LANES_ORDER_LAST;
  return choice;
}

static hone_status_t build(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                           const hone_space_t* space, const hone_candidate_t* candidate) {
  const hone_cpu_shape_t shape = hone_cpu_shape(properties);
  const hone_cpu_choice_t choice = read_choice(space, candidate);
  return hone_cpu_schedule(kernel, &shape, &choice);
}

/* ---- cost ---- */

/* How often the operand that is not outermost is read anew, and what that takes. */
static double traffic(const hone_contraction_facts_t* f, const hone_device_properties_t* p,
                      const hone_cpu_shape_t* shape, const hone_cpu_choice_t* choice, int rows,
                      int vectors) {
  double lanes = f->lanes ? (double)f->lanes : HONE_COST_EXTENT;
  double all_rows = f->rows ? (double)f->rows : HONE_COST_EXTENT;
  bool first = choice->order == HONE_LANES_ORDER_AUTO ? f->lanes_first
                                                      : choice->order == HONE_LANES_ORDER_FIRST;
  double lane_blocks = fmax(1, lanes / (shape->lanes * vectors));
  double row_blocks = choice->block > 0 ? all_rows / choice->block : 1;
  double row_tiles = fmax(1, all_rows / rows), element = 4.0 / f->group;
  /* No operand is read more often than the tiles load it. */
  double a_loads = element * f->others * f->sums * all_rows * lane_blocks;
  double b_loads = element * f->others * f->sums * lanes * row_tiles;
  double a_block = f->a_bytes / row_blocks, b_block = f->b_bytes / lane_blocks;
  double a_read = fmin(f->a_bytes * lane_blocks, a_loads);
  double b_read = fmin(f->b_bytes * (first ? row_blocks : row_tiles * f->others), b_loads);
  return fmax(hone_cost_traffic(p, a_read, first ? a_block : b_block),
              hone_cost_traffic(p, b_read, b_block));
}

static double shared_rounds(const hone_contraction_facts_t* f, const hone_cpu_shape_t* shape,
                            const hone_cpu_choice_t* choice, int rows, int vectors) {
  double lane_blocks = f->lanes ? (double)f->lanes / (shape->lanes * vectors) : HONE_COST_EXTENT;
  double row_blocks = f->rows ? (double)f->rows / rows : HONE_COST_EXTENT;
  if (choice->parallel < 0) return 0;
  bool first = choice->order == HONE_LANES_ORDER_AUTO ? f->lanes_first
                                                      : choice->order == HONE_LANES_ORDER_FIRST;
  double outer = first ? lane_blocks : f->others > 1 ? f->others : lane_blocks;
  return fmax(1, floor(choice->parallel > 1 ? outer * fmax(f->others, row_blocks) : outer));
}

static double cost(const void* facts, const hone_device_properties_t* p, const hone_space_t* space,
                   const hone_candidate_t* candidate) {
  const hone_contraction_facts_t* f = &((const facts_t*)facts)->contraction;
  const hone_cost_facts_t* whole = &((const facts_t*)facts)->whole;
  const hone_cpu_shape_t shape = hone_cpu_shape(p);
  const hone_cpu_choice_t choice = read_choice(space, candidate);
  double clock = hone_cost_clock(p);
  if (!f->tile_rows) /* no tile: rows do it */
    return hone_cost_share(p, whole->operations / clock, whole->rounds);
  int rows = (int)hone_candidate_number(space, candidate, "rows", 0);
  int vectors = (int)hone_candidate_number(space, candidate, "vectors", 0);
  int lines = (int)hone_candidate_number(space, candidate, "lines", 0);
  double seconds = hone_contraction_cycles(f, &shape, lines * rows, vectors) / clock;
  /* Lanes that do not lie side by side are gathered one by one. */
  if (choice.no_pack && f->can_pack) seconds *= shape.lanes / 2.0;
  seconds = fmax(seconds, traffic(f, p, &shape, &choice, rows, vectors));
  seconds += hone_cost_traffic(p, whole->bytes, whole->bytes);
  return hone_cost_share(p, seconds, shared_rounds(f, &shape, &choice, rows, vectors));
}

extern const hone_tactic_t hone_tactic_contract;
const hone_tactic_t hone_tactic_contract = {
    .name = "contract",
    .summary = "sums of products in a tile of registers, weights laid out as they are read",
    .order = 1,
    .supports = supports,
    .space = make_space,
    .build = build,
    .cost = cost,
};
