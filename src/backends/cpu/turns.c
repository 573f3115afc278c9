/* Launches that take turns, on the CPU.
 *
 * Each thread has a share of every launch: consecutive rounds, so cut that they need none of the
 * rounds of the shares before. They may need first rounds of the shares behind, which are done
 * early; so a thread takes the last share that is left, and never waits for what nobody has begun.
 * It goes through its shares strip by strip: some rounds of the first launch, then of each
 * other all rounds whose needs are met, so that what is handed on stays in the second cache. */
#include <stdatomic.h>
#include <string.h>

#include "backends/cpu/device.h"
#include "base/memory.h"
#include "base/thread_pool.h"
#include "loop/span.h"

enum { MOST_LAUNCHES = 12, MOST_SHARES = 64, MOST_BUFFERS = 16, LINE = 64 /* bytes */ };

/* How far a thread has come in its shares: written by that thread. */
typedef struct progress {
  _Alignas(LINE) atomic_llong done[MOST_LAUNCHES]; /* rounds before this one */
} progress_t;

typedef struct turns {
  int count, n_needs, n_shares;
  const hone_launch_t* launches;
  const hone_need_t* needs; /* by reader, rising */
  void* buffers[MOST_LAUNCHES][MOST_BUFFERS];
  int64_t rounds[MOST_LAUNCHES];
  int64_t begins[MOST_LAUNCHES][MOST_SHARES + 1]; /* of shares; the last is the end */
  int64_t strips;                                 /* of a share */
  atomic_int taken;                               /* shares */
  progress_t progress[MOST_SHARES];
} turns_t;

/* ---- shares ---- */

/* The first round whose needs begin no earlier than the share's rounds of the launches it reads. */
static int64_t find_begin(const turns_t* t, int launch, int share) {
  int64_t begin = t->begins[launch][share - 1];
  for (int i = 0; i < t->n_needs; i++) {
    const hone_need_t* need = &t->needs[i];
    if (need->reader != launch) continue;
    int64_t first =
        hone_need_first_without(need, t->rounds[need->writer], t->begins[need->writer][share]);
    if (first > begin) begin = first;
  }
  return begin < t->rounds[launch] ? begin : t->rounds[launch];
}

/* Launches that nobody knows the time of count alike. */
static double weight_of(const turns_t* t, int launch) {
  for (int l = 0; l < t->count; l++)
    if (t->launches[l].seconds <= 0) return 1;
  return t->launches[launch].seconds;
}

/* The part of all work that comes before the share. */
static double part_before(const turns_t* t, int share) {
  double sum = 0, all = 0;
  for (int l = 0; l < t->count; l++) {
    double weight = weight_of(t, l);
    sum += weight * (double)t->begins[l][share] / (double)t->rounds[l];
    all += weight;
  }
  return sum / all;
}

static void cut_share(turns_t* t, int share, int64_t begin) {
  int64_t least = t->begins[0][share - 1];
  t->begins[0][share] = begin < least ? least : begin > t->rounds[0] ? t->rounds[0] : begin;
  for (int l = 1; l < t->count; l++) t->begins[l][share] = find_begin(t, l, share);
}

/* Equal parts of the whole: later launches begin later in a share, so the first begins earlier. */
static void cut_shares(turns_t* t) {
  for (int l = 0; l < t->count; l++) {
    t->begins[l][0] = 0;
    t->begins[l][t->n_shares] = t->rounds[l];
  }
  for (int s = 1; s < t->n_shares; s++) {
    double wanted = (double)s / t->n_shares, rounds = (double)t->rounds[0];
    cut_share(t, s, (int64_t)(wanted * rounds + 0.5));
    double excess = part_before(t, s) - wanted;
    cut_share(t, s, (int64_t)((wanted - excess) * rounds + 0.5));
  }
}

/* ---- rounds ---- */

typedef struct worker {
  turns_t* turns;
  int share;
  int64_t at[MOST_LAUNCHES]; /* the next round */
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
  const turns_t* t = w->turns;
  int64_t end = t->begins[launch][w->share + 1];
  for (int i = 0; i < t->n_needs; i++) {
    const hone_need_t* need = &t->needs[i];
    if (need->reader != launch || w->at[need->writer] == t->rounds[need->writer]) continue;
    int64_t met = hone_need_count_before(need, w->at[need->writer]);
    if (met < end) end = met;
  }
  return end;
}

/* Waits until the writer's rounds before `end` are done that are in shares behind. */
static void await(const worker_t* w, int writer, int64_t end) {
  turns_t* t = w->turns;
  for (int s = w->share + 1; s < t->n_shares && t->begins[writer][s] < end; s++) {
    int64_t wanted = end < t->begins[writer][s + 1] ? end : t->begins[writer][s + 1];
    for (int looks = 0;
         atomic_load_explicit(&t->progress[s].done[writer], memory_order_acquire) < wanted;)
      hone_thread_relax(&looks);
  }
}

static void await_needs(const worker_t* w, int launch) {
  const turns_t* t = w->turns;
  for (int i = 0; i < t->n_needs; i++) {
    const hone_need_t* need = &t->needs[i];
    if (need->reader == launch)
      await(w, need->writer,
            hone_need_end(need, t->rounds[need->writer], t->begins[launch][w->share + 1]));
  }
}

static void run_share(turns_t* t, int share) {
  worker_t w = {.turns = t, .share = share};
  for (int l = 0; l < t->count; l++) w.at[l] = t->begins[l][share];
  int64_t begin = w.at[0], size = t->begins[0][share + 1] - begin;
  for (int64_t strip = 1; strip < t->strips; strip++) {
    run_to(&w, 0, begin + size * strip / t->strips);
    for (int l = 1; l < t->count; l++) run_to(&w, l, find_end(&w, l));
  }
  for (int l = 0; l < t->count; l++) {
    await_needs(&w, l);
    run_to(&w, l, t->begins[l][share + 1]);
  }
}

static void run_shares(void* self, int64_t begin, int64_t end) {
  turns_t* t = self;
  for (int64_t i = begin; i < end; i++)
    run_share(t, t->n_shares - 1 - atomic_fetch_add(&t->taken, 1));
}

/* ---- the whole ---- */

/* As many as are worth a thread each. */
static int count_shares(const turns_t* t, int threads) {
  int64_t grains = 0;
  for (int l = 0; l < t->count; l++) {
    int64_t grain = t->launches[l].grain > 1 ? t->launches[l].grain : 1;
    grains += t->rounds[l] > grain ? t->rounds[l] / grain : 0;
  }
  if (threads > grains) threads = (int)grains;
  return threads < 1 ? 1 : threads < MOST_SHARES ? threads : MOST_SHARES;
}

/* So many that what is handed on in one takes a part of the second cache. */
static int64_t count_strips(const turns_t* t, const hone_device_t* device, int64_t bytes) {
  enum { PART = 8 };
  int64_t room = (int64_t)device->properties.cache_bytes[1] / PART;
  return room > 0 ? (bytes / t->n_shares + room - 1) / room : 1;
}

static void* address_of(const hone_argument_t* argument) {
  return argument->memory ? argument->memory->data + argument->offset : NULL;
}

/* False where there is no room for so many. */
static bool fill(turns_t* t, int count, const hone_launch_t* launches) {
  if (count > MOST_LAUNCHES) return false;
  t->count = count;
  t->launches = launches;
  for (int l = 0; l < count; l++) {
    const hone_launch_t* launch = &launches[l];
    if (launch->n_buffers > MOST_BUFFERS) return false;
    t->rounds[l] = launch->groups[0] * launch->groups[1] * launch->groups[2];
    for (int i = 0; i < launch->n_buffers; i++) t->buffers[l][i] = address_of(&launch->buffers[i]);
  }
  return true;
}

static hone_status_t launch_each(hone_stream_t* stream, int count, const hone_launch_t* launches) {
  for (int i = 0; i < count; i++) HONE_TRY(hone_cpu_launch(stream, &launches[i]));
  return NULL;
}

hone_status_t hone_cpu_launch_turns(hone_stream_t* stream, int count, const hone_launch_t* launches,
                                    int n_needs, const hone_need_t* needs, int64_t bytes) {
  const hone_device_t* device = stream->device;
  turns_t t; /* of which few shares are looked at */
  t.needs = needs;
  t.n_needs = n_needs;
  atomic_init(&t.taken, 0);
  if (device->guard || !fill(&t, count, launches)) return launch_each(stream, count, launches);
  hone_thread_pool_t* pool = device->threads == 1 ? NULL : hone_thread_pool_shared();
  int threads = hone_thread_pool_size(pool);
  if (device->threads > 0 && device->threads < threads) threads = device->threads;
  t.n_shares = count_shares(&t, threads);
  t.strips = count_strips(&t, device, bytes);
  cut_shares(&t);
  for (int s = 0; s < t.n_shares; s++)
    for (int l = 0; l < count; l++) atomic_init(&t.progress[s].done[l], t.begins[l][s]);
  hone_parallel_for_on(pool, t.n_shares, t.n_shares, 1, run_shares, &t);
  return NULL;
}
