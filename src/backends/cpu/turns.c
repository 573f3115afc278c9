/* Launches that take turns, on the CPU.
 *
 * Each thread has a share of every launch: consecutive rounds, so cut that they need none of the
 * rounds of the shares before. They may need first rounds of the shares behind, which are done
 * early; so a thread takes the last share that is left, and never waits for what nobody has begun.
 * How it goes through a share, strip by strip, stands in loop/turn_walk.h.
 *
 * Of a value with windows (hone/backend.h) each thread holds a part, and gives launches such an
 * address of the whole that the part is where they look for it. Once that is full, what is still
 * needed moves, and the address with it. */
#include <stdatomic.h>
#include <string.h>

#include "backends/cpu/device.h"
#include "base/thread_pool.h"
#include "loop/span.h"
#include "loop/turn_walk.h"

enum { LINE = 64 /* bytes */ };

/* How far a thread has come in its shares: written by that thread. */
typedef struct progress {
  _Alignas(LINE) atomic_llong done[HONE_TURNS_MOST]; /* rounds before this one */
} progress_t;

typedef struct turns {
  const hone_turn_plan_t* plan;
  const hone_launch_t* launches;
  void* buffers[HONE_TURNS_MOST][HONE_TURNS_BUFFERS];
  atomic_int taken; /* shares */
  progress_t progress[HONE_TURNS_SHARES];
} turns_t;

/* ---- rounds ---- */

/* The addresses are the thread's own: windows move. */
typedef struct worker {
  hone_turn_walk_t walk; /* first: of the same address */
  turns_t* turns;
  void* buffers[HONE_TURNS_MOST][HONE_TURNS_BUFFERS];
  int64_t shifts[HONE_TURNS_WINDOWS]; /* bytes: see move_to */
} worker_t;

/* ---- windows ---- */

static char* memory_of(const worker_t* w, const hone_turn_window_t* window) {
  return w->turns->buffers[window->writer][window->writer_buffer];
}

/* Byte 0 of the value is `shift` bytes behind the beginning of its memory, for this thread. */
static void move_to(worker_t* w, int index, int64_t shift) {
  const hone_turn_window_t* window = &w->walk.plan->windows[index];
  char* value = memory_of(w, window) + shift;
  w->shifts[index] = shift;
  w->buffers[window->writer][window->writer_buffer] = value;
  w->buffers[window->reader][window->reader_buffer] = value;
}

/* What is held goes to the window's place. */
static void slide(worker_t* w, int index, const hone_turn_held_t* held) {
  const hone_turn_window_t* window = &w->walk.plan->windows[index];
  char *memory = memory_of(w, window), *from = memory + held->begin + w->shifts[index];
  move_to(w, index, window->parts[w->walk.share].place - held->begin);
  memmove(memory + held->begin + w->shifts[index], from, (size_t)(held->made - held->begin));
}

/* Gets bytes begin … end - 1 of the value from the shares behind, which have made them. */
static void copy_from_behind(worker_t* w, int index, int64_t begin, int64_t end) {
  const hone_turn_window_t* window = &w->walk.plan->windows[index];
  char* memory = memory_of(w, window);
  for (int s = w->walk.share + 1; s < w->walk.plan->n_shares && begin < end; s++) {
    const hone_turn_part_t* part = &window->parts[s];
    int64_t limit = s + 1 < w->walk.plan->n_shares ? part[1].begin : window->bytes;
    if (limit > end) limit = end;
    if (begin < part->begin) begin = part->begin; /* between rounds nothing is made */
    if (limit <= begin) continue;
    memcpy(memory + begin + w->shifts[index], memory + part->origin + begin - part->begin,
           (size_t)(limit - begin));
    begin = limit;
  }
}

/* Has room for what the launch makes, and behind it what it reads of the shares behind. */
static void make_room(worker_t* w, int index, int launch, int64_t end) {
  const hone_turn_window_t* window = &w->walk.plan->windows[index];
  if (launch != window->writer && launch != window->reader) return;
  const hone_turn_held_t held = hone_turn_held(&w->walk, window, launch, end);
  if (held.end + w->shifts[index] > window->parts[w->walk.share].end) slide(w, index, &held);
  if (launch == window->reader) copy_from_behind(w, index, held.made, held.end);
}

static void run(hone_turn_walk_t* walk, int launch, int64_t end) {
  worker_t* w = (worker_t*)walk;
  const hone_launch_t* call = &w->turns->launches[launch];
  for (int i = 0; i < walk->plan->n_windows; i++) make_room(w, i, launch, end);
  call->module->entries[call->entry](w->buffers[launch], call->sizes, walk->at[launch], end);
  atomic_store_explicit(&w->turns->progress[walk->share].done[launch], end, memory_order_release);
}

/* ---- shares ---- */

/* Waits until the writer's rounds before `end` are done that are in shares behind. */
static void await_rounds(const worker_t* w, int writer, int64_t end) {
  const hone_turn_plan_t* plan = w->walk.plan;
  for (int s = w->walk.share + 1; s < plan->n_shares && hone_turn_begin(plan, writer, s) < end;
       s++) {
    int64_t last = hone_turn_begin(plan, writer, s + 1), wanted = end < last ? end : last;
    atomic_llong* done = &w->turns->progress[s].done[writer];
    for (int looks = 0; atomic_load_explicit(done, memory_order_acquire) < wanted;)
      hone_thread_relax(&looks);
  }
}

static void await(hone_turn_walk_t* walk, int launch, int64_t end) {
  const hone_turn_plan_t* plan = walk->plan;
  for (int i = 0; i < plan->n_needs; i++) {
    const hone_need_t* need = &plan->needs[i];
    int64_t writers = hone_turn_begin(plan, need->writer, plan->n_shares);
    if (need->reader == launch)
      await_rounds((const worker_t*)walk, need->writer, hone_need_end(need, writers, end));
  }
}

static void run_share(turns_t* t, int share) {
  worker_t w = {.walk = {.plan = t->plan, .share = share, .run = run, .await = await}, .turns = t};
  memcpy(w.buffers, t->buffers, (size_t)t->plan->count * sizeof *w.buffers);
  for (int i = 0; i < t->plan->n_windows; i++) {
    const hone_turn_part_t* part = &t->plan->windows[i].parts[share];
    move_to(&w, i, part->origin - part->begin);
  }
  hone_turn_walk(&w.walk);
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
    grains += hone_turn_begin(plan, l, plan->n_shares) / grain;
  }
  return plan->n_shares == 1 || grains >= plan->n_shares;
}

static bool has_room(const hone_launch_t* launches, const hone_turn_plan_t* plan) {
  if (plan->count > HONE_TURNS_MOST || plan->n_shares > HONE_TURNS_SHARES ||
      plan->n_windows > HONE_TURNS_WINDOWS)
    return false;
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
      atomic_init(&t->progress[s].done[l], hone_turn_begin(plan, l, s));
}

hone_status_t hone_cpu_launch_turns(hone_stream_t* stream, const hone_launch_t* launches,
                                    const hone_turn_plan_t* plan) {
  const hone_device_t* device = stream->device;
  bool takes_turns = !device->guard && has_room(launches, plan) &&
                     (plan->n_windows || is_worth_it(launches, plan));
  if (!takes_turns) {
    for (int l = 0; l < plan->count; l++) HONE_TRY(hone_cpu_launch(stream, &launches[l]));
    return NULL;
  }
  turns_t t; /* of which few shares are looked at */
  fill(&t, launches, plan);
  hone_parallel_for_on(plan->n_shares > 1 ? hone_thread_pool_shared() : NULL, device->threads,
                       plan->n_shares, 1, run_shares, &t);
  return NULL;
}
