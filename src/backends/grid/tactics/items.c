/* items: each work-item computes an element of the output, or a few. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "hone/schedule.h"
#include "tune/tactic.h"

enum { USUAL_ITEMS = 64, LEAST_ITEMS = 16, MOST_ITEMS = 256, NAME = 128 };

static hone_stmt_t* only_loop(const hone_stmt_t* stmt) {
  bool is_one = stmt->n_body == 1 && stmt->body[0]->kind == HONE_STMT_LOOP;
  return is_one && !stmt->body[0]->is_reduction ? stmt->body[0] : NULL;
}

static bool supports(hone_kernel_t* kernel, const hone_device_properties_t* properties, char* why) {
  if (properties->max_group_size > 0) return true;
  snprintf(why, HONE_DEVICE_TEXT_SIZE, "the device has no work-items");
  return false;
}

/* Powers of two up to what a group may have, and the usual number. */
static hone_status_t make_space(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                                hone_arena_t* arena, hone_space_t* space, const void** out_facts) {
  static const int64_t each[] = {1, 2, 4};
  int64_t most = properties->max_group_size, numbers[8];
  int64_t usual = most < USUAL_ITEMS ? most : USUAL_ITEMS;
  int count = 0;
  hone_candidate_t first = {{0}};
  hone_cost_facts_t* facts = hone_arena_alloc(arena, sizeof *facts);
  if (!facts) return hone_oom();
  *facts = hone_cost_look(kernel);
  *out_facts = facts;
  for (int64_t n = LEAST_ITEMS; n <= MOST_ITEMS && n <= most; n *= 2) numbers[count++] = n;
  for (int i = 0; i < count; i++)
    if (numbers[i] == usual) first.choice[0] = (uint16_t)i;
  if (!count || numbers[first.choice[0]] != usual) {
    first.choice[0] = (uint16_t)count;
    numbers[count++] = usual;
  }
  HONE_TRY(hone_space_define_numbers(space, "items", count, numbers));
  HONE_TRY(hone_space_define_numbers(space, "each", 3, each));
  hone_space_set_default(space, &first);
  return NULL;
}

/* True when the primitive was applied; what it refuses is left as it is. */
static bool did(hone_status_t* status, hone_status_t result) {
  bool was_applied = !result;
  if (hone_status_code(result) == HONE_OUT_OF_MEMORY && !*status)
    *status = result;
  else
    hone_status_free(result);
  return was_applied;
}

/* Groups of work-items over all elements of the only output's nest. */
static hone_status_t build(hone_kernel_t* kernel, const hone_device_properties_t* properties,
                           const hone_space_t* space, const hone_candidate_t* candidate) {
  int64_t items = hone_candidate_number(space, candidate, "items", 0);
  int64_t each = hone_candidate_number(space, candidate, "each", 0);
  hone_status_t status = NULL;
  char name[NAME];
  for (hone_stmt_t* outer; (outer = only_loop(kernel->root)) && only_loop(outer);)
    if (!did(&status, hone_sched_fuse(kernel, outer->name, only_loop(outer)->name))) break;
  const hone_stmt_t* loop = only_loop(kernel->root);
  if (!loop || status) return status;
  char outer[NAME + 2], inner[NAME + 2];
  snprintf(name, sizeof name, "%s", loop->name);
  /* The elements of an item are the innermost loop, in its order. */
  if (each > 1) did(&status, hone_sched_split(kernel, name, each, HONE_TAIL_GUARD));
  if (only_loop(kernel->root)) snprintf(name, sizeof name, "%s", only_loop(kernel->root)->name);
  snprintf(outer, sizeof outer, "%s.o", name);
  snprintf(inner, sizeof inner, "%s.i", name);
  if (did(&status, hone_sched_split(kernel, name, items, HONE_TAIL_GUARD)) &&
      did(&status, hone_sched_bind(kernel, outer, HONE_BIND_GROUP)))
    did(&status, hone_sched_bind(kernel, inner, HONE_BIND_ITEM));
  return status;
}

static double cost(const void* facts, const hone_device_properties_t* p, const hone_space_t* space,
                   const hone_candidate_t* candidate) {
  const hone_cost_facts_t* f = facts;
  int64_t items = hone_candidate_number(space, candidate, "items", 0);
  double seconds = fmax(f->operations, f->accesses / 2) / hone_cost_clock(p);
  seconds = fmax(seconds, hone_cost_traffic(p, f->bytes, f->bytes));
  return hone_cost_share(p, seconds, ceil(fmax(f->inner, f->rounds) / (double)items));
}

extern const hone_tactic_t hone_tactic_items;
const hone_tactic_t hone_tactic_items = {
    .name = "items",
    .summary = "an element of the output, or a few, for each work-item",
    .order = 4,
    .supports = supports,
    .space = make_space,
    .build = build,
    .cost = cost,
};
