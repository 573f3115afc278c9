/* Launches that take turns, on the CPU.
 *
 * Each thread has a share of every launch: consecutive rounds, so cut that they need none of the
 * rounds of the shares before. They may need first rounds of the shares behind, which are done
 * early; so a thread takes the last share that is left, and never waits for what nobody has begun.
 * It goes through its shares strip by strip: some rounds of the first launch, then of each
 * other all rounds whose needs are met, so that what is handed on stays in the second cache. */
#include <stdatomic.h>

#include "backends/cpu/device.h"
#include "base/thread_pool.h"
#include "loop/span.h"

enum { MOST_SHARES = 64, LINE = 64 /* bytes */ };

/* How far a thread has come in its shares: written by that thread. */
typedef struct progress {
  _Alignas(LINE) atomic_llong done[HONE_TURNS_MOST]; /* rounds before this one */
} progress_t;

typedef struct turns {
  const hone_turn_plan_t* plan;
  const hone_launch_t* launches;
  void* buffers[HONE_TURNS_MOST][HONE_TURNS_BUFFERS];
  atomic_int taken; /* shares */
  progress_t progress[MOST_SHARES];
} turns_t;

static int64_t begin_of(const hone_turn_plan_t* plan, int launch, int share) {
  return plan->begins[hone_turn_begin_at(plan, launch, share)];
}

/* ---- rounds ---- */

typedef struct worker {
  turns_t* turns;
  int share;
  int64_t at[HONE_TURNS_MOST]; /* the next round */
} worker_t;

static void run_to(worker_t* w, int launch, int64_t end) {
  turns_t* t = w->turns;
  const hone_launch_t* call = &t->launches[launch];
  if (end <= w->at[launch]) return;
  call->module->entries[call->entry](t->buffers[launch], call->sizes, w->at[launch], end);
  w->at[launch] = end;
  atomic_store_explicit(&t->progress[w->share].done[launch], end, memory_order_release);
}

/* Rounds of the share, to before this one, whose needs the thread has met itself. */
static int64_t find_end(const worker_t* w, int launch) {
  const hone_turn_plan_t* plan = w->turns->plan;
  int64_t end = begin_of(plan, launch, w->share + 1);
  for (int i = 0; i < plan->n_needs; i++) {
    const hone_need_t* need = &plan->needs[i];
    bool is_all = w->at[need->writer] == begin_of(plan, need->writer, plan->n_shares);
    if (need->reader != launch || is_all) continue;
    int64_t met = hone_need_count_before(need, w->at[need->writer]);
    if (met < end) end = met;
  }
  return end;
}

/* Waits until the writer's rounds before `end` are done that are in shares behind. */
static void await(const worker_t* w, int writer, int64_t end) {
  const hone_turn_plan_t* plan = w->turns->plan;
  for (int s = w->share + 1; s < plan->n_shares && begin_of(plan, writer, s) < end; s++) {
    int64_t last = begin_of(plan, writer, s + 1), wanted = end < last ? end : last;
    atomic_llong* done = &w->turns->progress[s].done[writer];
    for (int looks = 0; atomic_load_explicit(done, memory_order_acquire) < wanted;)
      hone_thread_relax(&looks);
  }
}

static void await_needs(const worker_t* w, int launch, int64_t end) {
  const hone_turn_plan_t* plan = w->turns->plan;
  for (int i = 0; i < plan->n_needs; i++) {
    const hone_need_t* need = &plan->needs[i];
    int64_t writers = begin_of(plan, need->writer, plan->n_shares);
    if (need->reader == launch) await(w, need->writer, hone_need_end(need, writers, end));
  }
}

static void run_share(turns_t* t, int share) {
  const hone_turn_plan_t* plan = t->plan;
  worker_t w = {.turns = t, .share = share};
  for (int l = 0; l < plan->count; l++) w.at[l] = begin_of(plan, l, share);
  int64_t begin = w.at[0], size = begin_of(plan, 0, share + 1) - begin;
  for (int64_t strip = 1; strip < plan->strips; strip++) {
    run_to(&w, 0, begin + size * strip / plan->strips);
    for (int l = 1; l < plan->count; l++) run_to(&w, l, find_end(&w, l));
  }
  for (int l = 0; l < plan->count; l++) {
    int64_t end = begin_of(plan, l, share + 1);
    if (w.at[l] < end) await_needs(&w, l, end);
    run_to(&w, l, end);
  }
}

static void run_shares(void* self, int64_t begin, int64_t end) {
  turns_t* t = self;
  for (int64_t i = begin; i < end; i++)
    run_share(t, t->plan->n_shares - 1 - atomic_fetch_add(&t->taken, 1));
}

/* ---- the whole ---- */

/* Whether the launches are worth as many threads as there are shares. */
static bool is_worth_it(const hone_launch_t* launches, const hone_turn_plan_t* plan) {
  int64_t grains = 0;
  for (int l = 0; l < plan->count; l++) {
    int64_t grain = launches[l].grain > 1 ? launches[l].grain : 1;
    grains += begin_of(plan, l, plan->n_shares) / grain;
  }
  return plan->n_shares == 1 || grains >= plan->n_shares;
}

static bool has_room(const hone_launch_t* launches, const hone_turn_plan_t* plan) {
  if (plan->count > HONE_TURNS_MOST || plan->n_shares > MOST_SHARES) return false;
  for (int l = 0; l < plan->count; l++)
    if (launches[l].n_buffers > HONE_TURNS_BUFFERS) return false;
  return true;
}

static void fill(turns_t* t, const hone_launch_t* launches, const hone_turn_plan_t* plan) {
  t->plan = plan;
  t->launches = launches;
  atomic_init(&t->taken, 0);
  for (int l = 0; l < plan->count; l++) hone_cpu_addresses(&launches[l], t->buffers[l]);
  for (int s = 0; s < plan->n_shares; s++)
    for (int l = 0; l < plan->count; l++)
      atomic_init(&t->progress[s].done[l], begin_of(plan, l, s));
}

hone_status_t hone_cpu_launch_turns(hone_stream_t* stream, const hone_launch_t* launches,
                                    const hone_turn_plan_t* plan) {
  const hone_device_t* device = stream->device;
  if (device->guard || !has_room(launches, plan) || !is_worth_it(launches, plan)) {
    for (int l = 0; l < plan->count; l++) HONE_TRY(hone_cpu_launch(stream, &launches[l]));
    return NULL;
  }
  turns_t t; /* of which few shares are looked at */
  fill(&t, launches, plan);
  hone_parallel_for_on(plan->n_shares > 1 ? hone_thread_pool_shared() : NULL, device->threads,
                       plan->n_shares, 1, run_shares, &t);
  return NULL;
}
