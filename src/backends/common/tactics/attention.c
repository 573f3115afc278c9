/* attention: a contraction, what is computed from its rows, and the sums over them,
 * for a block of rows at a time in scratch. */
#include <math.h>
#include <stdio.h>

#include "backends/common/schedule.h"
#include "base/memory.h"
#include "tune/tactic.h"

static bool supports(hone_kernel_t* kernel, const hone_device_properties_t* properties, char* why) {
  if (hone_chain_rows(kernel) > 0) return true;
  snprintf(why, HONE_DEVICE_TEXT_SIZE, "it is no chain of two sums of products");
  return false;
}

typedef struct facts {
  hone_cost_facts_t kernel;
  double rows;
} facts_t;

static hone_status_t make_space(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                                hone_arena_t* arena, hone_space_t* space, const void** out_facts) {
  static const int64_t parallel[] = {1, 2, 0};
  const hone_cpu_shape_t shape = hone_cpu_shape(properties);
  static const int64_t near[] = {1, 0};
  facts_t* facts = hone_arena_alloc(arena, sizeof *facts);
  if (!facts) return hone_oom();
  *facts = (facts_t){hone_cost_look(kernel), hone_chain_rows(kernel)};
  *out_facts = facts;
  const int64_t rows[] = {2 * shape.lanes, shape.lanes, 4 * shape.lanes};
  HONE_TRY(hone_space_define_numbers(space, "rows", 3, rows));
  HONE_TRY(hone_space_define_numbers(space, "near", 2, near));
  return hone_space_define_numbers(space, "parallel", 3, parallel);
}

static hone_cpu_choice_t read_choice(const hone_space_t* space, const hone_candidate_t* candidate) {
  return (hone_cpu_choice_t){
      .chain_rows = (int)hone_candidate_number(space, candidate, "rows", 0),
      .chain_near = hone_candidate_number(space, candidate, "near", 0) != 0,
      .parallel = hone_cpu_parallel(space, candidate),
  };
}

static hone_status_t build(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                           const hone_space_t* space, const hone_candidate_t* candidate) {
  const hone_cpu_shape_t shape = hone_cpu_shape(properties);
  const hone_cpu_choice_t choice = read_choice(space, candidate);
  return hone_cpu_schedule(kernel, &shape, &choice);
}

/* Two operations on each of two vectors a cycle, as in a contraction that has no other limit. What
 * lies apart takes longer than what is near; to copy it takes what three rows do, and is shared out
 * with the loops around the rows alone. Fitted on x86 with AVX2. */
static double cost(const void* from, const hone_device_properties_t* p, const hone_space_t* space,
                   const hone_candidate_t* candidate) {
  static const double apart = 1.2, copied = 3;
  const facts_t* facts = from;
  const hone_cost_facts_t* f = &facts->kernel;
  const hone_cpu_choice_t choice = read_choice(space, candidate);
  double seconds = f->operations / (3.0 * hone_cost_lanes(p)) / hone_cost_clock(p);
  seconds *= choice.chain_near ? 1 + copied / facts->rows : apart;
  seconds = fmax(seconds, hone_cost_traffic(p, f->bytes, f->bytes));
  return hone_cost_share(p, seconds,
                         choice.parallel < 0                         ? 0
                         : choice.parallel > 1 && !choice.chain_near ? f->inner
                                                                     : f->rounds);
}

extern const hone_tactic_t hone_tactic_attention;
const hone_tactic_t hone_tactic_attention = {
    .name = "attention",
    .summary = "sums over rows that are computed from sums, a block of rows at a time in scratch",
    .order = 0,
    .supports = supports,
    .space = make_space,
    .build = build,
    .cost = cost,
};
