/* Turns: each round, everybody runs for a while, whoever begins. What a round compares ran within
 * seconds: the ratio of two is the median of the rounds' ratios, so that a minute in which the
 * machine has other things to do counts for both. Rounds that disagree are followed by others.
 *
 * One thread stays where it got to, and cores differ where others share them; so those that are to
 * use one take turns on the same core, in each round on another one. */
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "versus.h"

/* A turn begins when the threads of whoever had the last one sleep. */
enum { PAUSE_US = 100000 };

/* Busy CPUs beyond its threads that a peer may have, for what a process does beside. */
static const double SPARE_CPUS = 0.3;
/* Rounds agree where the middle half of their ratios lies within this. */
static const double AGREEMENT = 1.1;

/* ---- cores ---- */

/* Those that this process may use; none where all are to be used at once. */
static cpu_set_t find_cores(const hone_versus_t* versus) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (versus->bench->entries[0].threads == 1) sched_getaffinity(0, sizeof cores, &cores);
  return cores;
}

/* The core of a round: one after the other. */
static cpu_set_t core_of(const cpu_set_t* cores, int round) {
  cpu_set_t one;
  int skip = round % CPU_COUNT(cores), core = 0;
  for (; core < CPU_SETSIZE; core++)
    if (CPU_ISSET(core, cores) && skip-- == 0) break;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  return one;
}

/* Puts whoever has a turn onto the round's core. A system that does not let it goes on without. */
static void bind(const hone_racer_t* racer, const cpu_set_t* cores, int round) {
  if (CPU_COUNT(cores) < 2) return;
  cpu_set_t one = core_of(cores, round);
  if (racer->entry)
    sched_setaffinity(0, sizeof one, &one);
  else
    hone_child_bind(&racer->child, &one);
}

/* ---- turns ---- */

static double cpu_seconds(void) {
  struct rusage use;
  if (getrusage(RUSAGE_SELF, &use)) return 0;
  return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static hone_status_t run_once(hone_racer_t* racer, double* out_ms) {
  int64_t start = hone_clock_ns();
  hone_status_t status = hone_bench_run_entry(racer->entry);
  *out_ms = (double)(hone_clock_ns() - start) / 1e6;
  hone_bench_drop_outputs(racer->entry);
  return status;
}

/* The same as peers do (bench/peer.py). */
static hone_status_t entry_turn(hone_racer_t* racer, double seconds, int64_t most) {
  double ms, cpu = cpu_seconds();
  int64_t begin = hone_clock_ns(), least = most < 3 ? most : 3;
  HONE_TRY(run_once(racer, &ms));
  if (ms > seconds * 1e3) least = 1;
  for (int64_t i = 0; i < most; i++) {
    if (i >= least && (double)(hone_clock_ns() - begin) > seconds * 1e9) break;
    HONE_TRY(run_once(racer, &ms));
    hone_racer_add_time(racer, ms);
  }
  double cpus = (cpu_seconds() - cpu) / ((double)(hone_clock_ns() - begin) / 1e9);
  if (cpus > racer->cpus) racer->cpus = cpus;
  return NULL;
}

static hone_status_t take_turn(hone_versus_t* versus, hone_racer_t* racer, const cpu_set_t* cores) {
  const hone_rounds_options_t* options = &versus->bench->rounds;
  double seconds = options->seconds > 0 ? options->seconds / versus->rounds : 1e9;
  int64_t room = HONE_MOST_ROUNDS / versus->most_rounds;
  int64_t most = options->runs ? (options->runs + versus->rounds - 1) / versus->rounds : room;
  int64_t before = racer->n_runs;
  if (most > room) most = room;
  usleep(PAUSE_US);
  bind(racer, cores, versus->n_rounds);
  if (racer->entry) {
    HONE_TRY(entry_turn(racer, seconds, most));
  } else {
    hone_child_go_on(&racer->child);
    HONE_TRY(hone_peer_turn(versus, racer, seconds, most));
    hone_child_hold(&racer->child);
  }
  if (racer->n_runs > before)
    racer->round_ms[versus->n_rounds] =
        hone_times_find(racer->n_runs - before, racer->milliseconds + before).median;
  return NULL;
}

static void check_threads(hone_versus_t* versus, hone_racer_t* racer) {
  int threads = versus->bench->entries[0].threads;
  if (racer->entry || racer->cpus <= threads + SPARE_CPUS) return;
  hone_racer_drop(racer, "threads", "kept %.1f CPUs busy when told to use %d thread%s", racer->cpus,
                  threads, threads == 1 ? "" : "s");
}

static hone_status_t take_round(hone_versus_t* versus, const cpu_set_t* cores) {
  int round = versus->n_rounds;
  int of = versus->rounds * (round / versus->rounds + 1); /* as many as it looks like now */
  for (int i = 0; i < versus->n_racers; i++) {
    hone_racer_t* racer = &versus->racers[(i + round) % versus->n_racers];
    double part = (round + (double)i / versus->n_racers) / of;
    hone_versus_show(versus, part, "running", racer->name);
    if (hone_racer_is_ok(racer)) HONE_TRY(take_turn(versus, racer, cores));
    if (hone_racer_is_ok(racer)) check_threads(versus, racer);
  }
  versus->n_rounds++;
  return NULL;
}

/* ---- what came of it ---- */

/* A number of which that part of the others is lower; those in between by what is beside. */
static double quantile(int n, const double* sorted, double part) {
  double place = part * (n - 1);
  int below = (int)place;
  double next = below + 1 < n ? sorted[below + 1] : sorted[below];
  return sorted[below] + (place - below) * (next - sorted[below]);
}

/* What the rounds' ratios of a peer's medians by hone's say; gives these, in order. */
static hone_times_t find_ratios(const hone_versus_t* versus, const hone_racer_t* peer,
                                double* out_ratios) {
  for (int i = 0; i < versus->n_rounds; i++)
    out_ratios[i] = peer->round_ms[i] / versus->racers[0].round_ms[i];
  return hone_times_find(versus->n_rounds, out_ratios);
}

static bool has_times(const hone_racer_t* racer) {
  return hone_racer_is_ok(racer) && racer->n_runs > 0;
}

/* Beside the others: the least ratio, or the least time where hone has none. */
static bool is_better(const hone_versus_t* versus, const hone_racer_t* peer) {
  const hone_racer_t* best = versus->best;
  if (!best) return true;
  return has_times(&versus->racers[0]) ? peer->ratio < best->ratio
                                       : peer->times.median < best->times.median;
}

/* Finds times, ratios and the best peer; `ratios` has room for those of all rounds, and then has
 * the best peer's, in order. */
static void find_best(hone_versus_t* versus, double* ratios) {
  bool has_ratio = has_times(&versus->racers[0]);
  versus->best = NULL;
  for (int i = 0; i < versus->n_racers; i++) {
    hone_racer_t* racer = &versus->racers[i];
    if (!has_times(racer)) continue;
    racer->times = hone_times_find(racer->n_runs, racer->milliseconds);
    if (racer->entry) {
      racer->entry->times = racer->times;
      versus->bench->contestants[i].first_ms = racer->first_ms;
      continue;
    }
    if (has_ratio) racer->ratio = find_ratios(versus, racer, ratios).median;
    if (is_better(versus, racer)) versus->best = racer;
  }
  if (!versus->best || !has_ratio) return;
  hone_times_t found = find_ratios(versus, versus->best, ratios);
  versus->lowest = found.min;
  versus->highest = found.max;
}

static bool agree(const hone_versus_t* versus, const double* ratios) {
  if (!versus->best || !has_times(&versus->racers[0])) return true;
  return quantile(versus->n_rounds, ratios, 0.75) <=
         AGREEMENT * quantile(versus->n_rounds, ratios, 0.25);
}

hone_status_t hone_versus_take_turns(hone_versus_t* versus) {
  cpu_set_t cores = find_cores(versus);
  hone_status_t status = NULL;
  double* ratios =
      hone_arena_array(versus->bench->arena, (size_t)versus->most_rounds, sizeof *ratios);
  if (!ratios) return hone_oom();
  do {
    for (int i = 0; i < versus->rounds && versus->n_rounds < versus->most_rounds && !status; i++)
      status = take_round(versus, &cores);
    if (!status) find_best(versus, ratios);
  } while (!status && versus->n_rounds < versus->most_rounds && !agree(versus, ratios));
  if (CPU_COUNT(&cores)) sched_setaffinity(0, sizeof cores, &cores);
  return status;
}
