/* blocks: sums of integers, block by block, which are scaled and added up: all rows by some vectors
 * of columns at a time, or tiles of many rows. */
#include <math.h>
#include <stdio.h>

#include "backends/common/schedule.h"
#include "base/memory.h"
#include "tune/tactic.h"

static bool supports(hone_kernel_t* kernel, const hone_device_properties_t* properties, char* why) {
  const hone_cpu_shape_t shape = hone_cpu_shape(properties);
  hone_blocks_facts_t facts;
  if (hone_blocks_look(kernel, &shape, &facts)) return true;
  snprintf(why, HONE_DEVICE_TEXT_SIZE, "it adds up no sums of blocks");
  return false;
}

typedef struct facts {
  hone_cost_facts_t kernel;
  hone_blocks_facts_t blocks;
} facts_t;

static hone_status_t make_space(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                                hone_arena_t* arena, hone_space_t* space, const void** out_facts) {
  enum { MANY_REGISTERS = 32 };
  static const int64_t parallel[] = {1, 0}, vectors[] = {1, 2, 4}, wide[] = {2, 1};
  const hone_cpu_shape_t shape = hone_cpu_shape(properties);
  facts_t* facts = hone_arena_alloc(arena, sizeof *facts);
  if (!facts) return hone_oom();
  *facts = (facts_t){.kernel = hone_cost_look(kernel)};
  hone_blocks_look(kernel, &shape, &facts->blocks);
  *out_facts = facts;
  bool has_tiles = facts->blocks.digits == 0 && shape.registers >= MANY_REGISTERS;
  HONE_TRY(has_tiles ? hone_space_define_numbers(space, "vectors", 2, wide)
                     : hone_space_define_numbers(space, "vectors", 3, vectors));
  return hone_space_define_numbers(space, "parallel", 2, parallel);
}

static hone_cpu_choice_t read_choice(const hone_space_t* space, const hone_candidate_t* candidate) {
  return (hone_cpu_choice_t){
      .vectors = (int)hone_candidate_number(space, candidate, "vectors", 0),
      .parallel = hone_cpu_parallel(space, candidate),
  };
}

static hone_status_t build(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                           const hone_space_t* space, const hone_candidate_t* candidate) {
  const hone_cpu_shape_t shape = hone_cpu_shape(properties);
  const hone_cpu_choice_t choice = read_choice(space, candidate);
  return hone_cpu_schedule(kernel, &shape, &choice);
}

/* Cycles of products of pairs, one for each vector and row, and of what is done with each sum. */
static double pairs_cycles(const hone_blocks_facts_t* b, double vectors) {
  static const double sum = 3, beside = 1.1;
  return vectors * (double)b->rows * ((double)b->block / 2 + sum) * beside;
}

/* Operations for a vector of a block of 32: two for each four digits, and what turns weights; and
 * for each sum. */
static double digits_cycles(const hone_blocks_facts_t* b, double vectors, int wide) {
  static const double word = 8, turned = 3, products = 4, sum = 5, a_cycle = 2.65;
  double sums = (double)(b->rows * b->digits), words = (double)b->block / word;
  double operations = vectors * (words * (turned + products * sums) + sum * sums);
  return operations / a_cycle * (1 + 0.05 * (wide - 1));
}

/* Weights of nibbles take half a byte. */
static double cost(const void* from, const hone_device_properties_t* p, const hone_space_t* space,
                   const hone_candidate_t* candidate) {
  const facts_t* facts = from;
  const hone_blocks_facts_t* b = &facts->blocks;
  const hone_cpu_choice_t choice = read_choice(space, candidate);
  double vectors = b->blocks * (double)b->columns / hone_cost_lanes(p);
  double nibbles = b->digits ? b->blocks * (double)(b->block * b->columns) : 0;
  double bytes = facts->kernel.bytes - nibbles / 2;
  double cycles = b->digits ? digits_cycles(b, vectors, choice.vectors) : pairs_cycles(b, vectors);
  double seconds = fmax(cycles / hone_cost_clock(p), hone_cost_traffic(p, bytes, bytes));
  return hone_cost_share(p, seconds, choice.parallel < 0 ? 0 : facts->kernel.rounds);
}

extern const hone_tactic_t hone_tactic_blocks;
const hone_tactic_t hone_tactic_blocks = {
    .name = "blocks",
    .summary = "sums of integers, block by block, scaled and added up in registers",
    .order = 0,
    .supports = supports,
    .space = make_space,
    .build = build,
    .cost = cost,
};
