/* plain: the loops as they are, shared out among threads; vectors are up to the
 * compiler. */
#include <math.h>

#include "backends/common/schedule.h"
#include "base/memory.h"
#include "tune/tactic.h"

static bool supports(hone_kernel_t* kernel, const hone_device_properties_t* properties, char* why) {
  return true;
}

static hone_status_t make_space(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                                hone_arena_t* arena, hone_space_t* space, const void** out_facts) {
  static const int64_t parallel[] = {1, 2, 0};
  hone_cost_facts_t* facts = hone_arena_alloc(arena, sizeof *facts);
  if (!facts) return hone_oom();
  *facts = hone_cost_look(kernel);
  *out_facts = facts;
  return hone_space_define_numbers(space, "parallel", 3, parallel);
}

static hone_status_t build(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                           const hone_space_t* space, const hone_candidate_t* candidate) {
  const hone_cpu_shape_t shape = hone_cpu_shape(properties);
  const hone_cpu_choice_t choice = {
      .no_tile = true, .no_lanes = true, .parallel = hone_cpu_parallel(space, candidate)};
  return hone_cpu_schedule(kernel, &shape, &choice);
}

static double cost(const void* facts, const hone_device_properties_t* p, const hone_space_t* space,
                   const hone_candidate_t* candidate) {
  const hone_cost_facts_t* f = facts;
  int parallel = hone_cpu_parallel(space, candidate);
  double seconds = fmax(f->operations, f->accesses / 2) / hone_cost_clock(p);
  seconds = fmax(seconds, hone_cost_traffic(p, f->bytes, f->bytes));
  return hone_cost_share(p, seconds, parallel < 0 ? 0 : parallel > 1 ? f->inner : f->rounds);
}

extern const hone_tactic_t hone_tactic_plain;
const hone_tactic_t hone_tactic_plain = {
    .name = "plain",
    .summary = "the loops as they are, shared out among threads",
    .order = 3,
    .supports = supports,
    .space = make_space,
    .build = build,
    .cost = cost,
};
