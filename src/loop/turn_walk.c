#include "loop/turn_walk.h"

#include "base/memory.h"
#include "loop/span.h"

int64_t hone_turn_begin(const hone_turn_plan_t* plan, int launch, int share) {
  return plan->begins[hone_turn_begin_at(plan, launch, share)];
}

static int64_t rounds_of(const hone_turn_plan_t* plan, int launch) {
  return hone_turn_begin(plan, launch, plan->n_shares);
}

/* ---- the walk ---- */

static void run_to(hone_turn_walk_t* walk, int launch, int64_t end) {
  if (end <= walk->at[launch]) return;
  walk->run(walk, launch, end);
  walk->at[launch] = end;
}

/* Rounds of the share, to before this one, whose needs it has met itself. */
static int64_t find_end(const hone_turn_walk_t* walk, int launch) {
  const hone_turn_plan_t* plan = walk->plan;
  int64_t end = hone_turn_begin(plan, launch, walk->share + 1);
  for (int i = 0; i < plan->n_needs; i++) {
    const hone_need_t* need = &plan->needs[i];
    bool is_all = walk->at[need->writer] == rounds_of(plan, need->writer);
    if (need->reader != launch || is_all) continue;
    int64_t met = hone_need_count_before(need, walk->at[need->writer]);
    if (met < end) end = met;
  }
  return end;
}

void hone_turn_walk(hone_turn_walk_t* walk) {
  const hone_turn_plan_t* plan = walk->plan;
  for (int l = 0; l < plan->count; l++) walk->at[l] = hone_turn_begin(plan, l, walk->share);
  int64_t begin = walk->at[0], size = hone_turn_begin(plan, 0, walk->share + 1) - begin;
  for (int64_t strip = 1; strip < plan->strips; strip++) {
    run_to(walk, 0, begin + size * strip / plan->strips);
    for (int l = 1; l < plan->count; l++) run_to(walk, l, find_end(walk, l));
  }
  for (int l = 0; l < plan->count; l++) {
    int64_t end = hone_turn_begin(plan, l, walk->share + 1);
    if (walk->at[l] < end) walk->await(walk, l, end);
    run_to(walk, l, end);
  }
}

/* ---- windows ---- */

static int64_t clamp(int64_t k, int64_t most) { return hone_i64_max(0, hone_i64_min(k, most)); }

int64_t hone_turn_reach_begin(const hone_turn_reach_t* reach, int64_t begin, int64_t bytes) {
  return begin ? clamp(reach->step * begin + reach->least, bytes) : 0;
}

int64_t hone_turn_reach_end(const hone_turn_reach_t* reach, int64_t end, int64_t rounds,
                            int64_t bytes) {
  return end < rounds ? clamp(reach->step * (end - 1) + reach->most, bytes) : bytes;
}

hone_turn_held_t hone_turn_held(const hone_turn_walk_t* walk, const hone_turn_window_t* window,
                                int launch, int64_t end) {
  enum { LINE = 64 /* bytes */ };
  const int w = window->writer, r = window->reader;
  const int64_t at = walk->at[w], writers = rounds_of(walk->plan, w), bytes = window->bytes;
  hone_turn_held_t held;
  held.begin = hone_i64_min(hone_turn_reach_begin(&window->read, walk->at[r], bytes),
                            hone_turn_reach_begin(&window->written, at, bytes));
  held.begin = hone_i64_max(held.begin, window->parts ? window->parts[walk->share].begin : 0);
  held.begin -= held.begin % LINE;
  held.made = at == hone_turn_begin(walk->plan, w, walk->share)
                  ? held.begin
                  : hone_turn_reach_end(&window->written, at, writers, bytes);
  held.end = launch == w ? hone_turn_reach_end(&window->written, end, writers, bytes)
                         : hone_turn_reach_end(&window->read, end, rounds_of(walk->plan, r), bytes);
  held.end = hone_i64_max(held.end, held.made);
  return held;
}
