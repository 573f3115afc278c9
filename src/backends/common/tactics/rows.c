/* rows: innermost loops become vectors, or the output's loops around a
 * reduction do. */
#include <math.h>

#include "backends/common/schedule.h"
#include "base/memory.h"
#include "tune/tactic.h"

static bool supports(hone_kernel_t* kernel, const hone_device_properties_t* properties, char* why) {
  return true;
}

static hone_status_t make_space(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                                hone_arena_t* arena, hone_space_t* space, const void** out_facts) {
  static const char* const columns[] = {"yes", "no"};
  static const int64_t parallel[] = {1, 2, 0};
  hone_cost_facts_t* facts = hone_arena_alloc(arena, sizeof *facts);
  if (!facts) return hone_oom();
  *facts = hone_cost_look(kernel);
  *out_facts = facts;
  HONE_TRY(hone_space_define_powers(space, "unroll", 1, 4));
  HONE_TRY(hone_space_define_words(space, "columns", 2, columns));
  return hone_space_define_numbers(space, "parallel", 3, parallel);
}

static hone_cpu_choice_t read_choice(const hone_space_t* space, const hone_candidate_t* candidate) {
  return (hone_cpu_choice_t){
      .no_tile = true,
      .unroll = (int)hone_candidate_number(space, candidate, "unroll", 0),
      .no_columns = candidate->choice[hone_space_find(space, "columns")] == 1,
      .parallel = hone_cpu_parallel(space, candidate),
  };
}

static hone_status_t build(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                           const hone_space_t* space, const hone_candidate_t* candidate) {
  const hone_cpu_shape_t shape = hone_cpu_shape(properties);
  const hone_cpu_choice_t choice = read_choice(space, candidate);
  return hone_cpu_schedule(kernel, &shape, &choice);
}

static double cost(const void* facts, const hone_device_properties_t* p, const hone_space_t* space,
                   const hone_candidate_t* candidate) {
  const hone_cost_facts_t* f = facts;
  const hone_cpu_choice_t choice = read_choice(space, candidate);
  double lanes = hone_cost_lanes(p) * 4.0 / fmax(4, f->element_bytes);
  double vectors = f->lanes_share * f->operations / fmax(1, lanes);
  double scalars = (1 - f->lanes_share) * f->operations;
  double arithmetic = (vectors / (choice.unroll > 1 ? 2 : 1.5) + scalars) / hone_cost_clock(p);
  double accesses =
      f->accesses * (f->lanes_share / fmax(1, lanes) + 1 - f->lanes_share) / 2 / hone_cost_clock(p);
  double seconds = fmax(fmax(arithmetic, accesses), hone_cost_traffic(p, f->bytes, f->bytes));
  double rounds = choice.parallel < 0 ? 0 : choice.parallel > 1 ? f->inner : f->rounds;
  return hone_cost_share(p, seconds, rounds);
}

extern const hone_tactic_t hone_tactic_rows;
const hone_tactic_t hone_tactic_rows = {
    .name = "rows",
    .summary = "innermost loops in vectors, or the output's loops around a reduction",
    .order = 2,
    .supports = supports,
    .space = make_space,
    .build = build,
    .cost = cost,
};
