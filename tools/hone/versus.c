#include "versus.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "hone/report.h"

/* A turn begins when the threads of whoever had the last one sleep. */
enum { ROUNDS = 5, LIMIT_S = 300, PAUSE_US = 100000, MOST_PEERS = 32 };

/* Busy CPUs beyond its threads that a peer may have, for what a process does beside. */
static const double SPARE_CPUS = 0.3;

bool hone_racer_is_ok(const hone_racer_t* racer) { return strcmp(racer->state, "ok") == 0; }

void hone_racer_drop(hone_racer_t* racer, const char* state, const char* format, ...) {
  va_list args;
  va_start(args, format);
  racer->state = state;
  vsnprintf(racer->why, sizeof racer->why, format, args);
  va_end(args);
  hone_child_end(&racer->child, NULL);
}

void hone_racer_add_time(hone_racer_t* racer, double ms) {
  if (racer->n_runs < HONE_MOST_ROUNDS) racer->milliseconds[racer->n_runs++] = ms;
}

/* ---- who takes part ---- */

static hone_status_t add_racer(hone_versus_t* versus, const char* name, hone_bench_entry_t* entry) {
  hone_racer_t* racer = &versus->racers[versus->n_racers++];
  *racer =
      (hone_racer_t){.name = name, .entry = entry, .state = "ok", .error = -1, .hone_error = -1};
  racer->milliseconds =
      hone_arena_array(versus->bench->arena, HONE_MOST_ROUNDS, sizeof *racer->milliseconds);
  racer->round_ms =
      hone_arena_array(versus->bench->arena, (size_t)versus->n_rounds, sizeof *racer->round_ms);
  if (!racer->milliseconds || !racer->round_ms) return hone_oom();
  if (!entry) return NULL;
  snprintf(racer->version, sizeof racer->version, "hone %s", hone_version());
  racer->prepare_ms = entry->run.subject.compile_ms;
  racer->load_ms = entry->run.subject.load_ms;
  return NULL;
}

static hone_status_t add_peers(hone_versus_t* versus) {
  char* rest = hone_arena_strdup(versus->bench->arena, hone_cli_text(versus->bench->cli, "vs", ""));
  if (!rest) return hone_oom();
  for (char* name; (name = strsep(&rest, ","));) {
    if (!*name || strchr(name, '/') || versus->n_racers == versus->bench->n_entries + MOST_PEERS)
      return hone_status_make(HONE_INVALID_ARGUMENT,
                              "--vs: expected up to %d names with commas between, as in "
                              "onnxruntime,openvino",
                              MOST_PEERS);
    HONE_TRY(add_racer(versus, name, NULL));
  }
  return NULL;
}

static hone_status_t add_all(hone_versus_t* versus) {
  hone_bench_t* bench = versus->bench;
  size_t most = (size_t)bench->n_entries + MOST_PEERS;
  versus->racers = hone_arena_array(bench->arena, most, sizeof *versus->racers);
  versus->n_answers = bench->entries[0].run.n_outputs;
  versus->answers =
      hone_arena_array(bench->arena, (size_t)versus->n_answers, sizeof(hone_tensor_t*));
  versus->hones = hone_arena_array(bench->arena, (size_t)versus->n_answers, sizeof(hone_tensor_t*));
  if (!versus->racers || !versus->answers || !versus->hones) return hone_oom();
  for (int i = 0; i < bench->n_entries; i++)
    HONE_TRY(add_racer(versus, "hone", &bench->entries[i]));
  return add_peers(versus);
}

static hone_status_t make_folder(hone_versus_t* versus) {
  const char* base = getenv("TMPDIR");
  snprintf(versus->folder, sizeof versus->folder, "%.100s/hone_bench_XXXXXX",
           base && *base ? base : "/tmp");
  if (mkdtemp(versus->folder)) return NULL;
  hone_status_t status = hone_file_error(errno, versus->folder, "make folder");
  versus->folder[0] = 0;
  return status;
}

/* ---- answers ---- */

/* The first peer that can answer without rewriting the model says what is right; it
 * does so in a process of its own. Nobody: hone. */
static hone_status_t find_reference(hone_versus_t* versus) {
  for (int i = versus->bench->n_entries; i < versus->n_racers; i++) {
    hone_racer_t plain = {.name = versus->racers[i].name, .state = "ok"};
    HONE_TRY(hone_peer_load(versus, &plain, true));
    hone_child_end(&plain.child, NULL);
    hone_status_t status =
        hone_racer_is_ok(&plain) ? hone_versus_keep_reference(versus, &plain) : NULL;
    if (!status && hone_racer_is_ok(&plain)) return NULL;
    hone_status_free(status);
  }
  return hone_versus_keep_reference(versus, &versus->racers[0]);
}

static void show(hone_versus_t* versus, double part, const char* what, const char* name) {
  char text[96];
  snprintf(text, sizeof text, "%s %s", what, name);
  hone_progress_show(&versus->bench->progress, part, text);
}

/* One after another: nobody loads while another one does. */
static hone_status_t load_all(hone_versus_t* versus) {
  for (int i = 0; i < versus->n_racers; i++) {
    hone_racer_t* racer = &versus->racers[i];
    show(versus, (double)i / versus->n_racers, "loading", racer->name);
    if (!racer->entry) HONE_TRY(hone_peer_load(versus, racer, false));
    if (hone_racer_is_ok(racer)) HONE_TRY(hone_versus_check_answers(versus, racer));
    hone_child_hold(&racer->child);
  }
  return NULL;
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

static hone_status_t take_turn(hone_versus_t* versus, hone_racer_t* racer, int round) {
  const hone_rounds_options_t* options = &versus->bench->rounds;
  double seconds = options->seconds > 0 ? options->seconds / versus->n_rounds : INFINITY;
  int64_t most = options->runs ? (options->runs + versus->n_rounds - 1) / versus->n_rounds
                               : HONE_MOST_ROUNDS / versus->n_rounds;
  int64_t before = racer->n_runs;
  if (isinf(seconds)) seconds = 1e9;
  usleep(PAUSE_US);
  if (racer->entry) {
    HONE_TRY(entry_turn(racer, seconds, most));
  } else {
    hone_child_go_on(&racer->child);
    HONE_TRY(hone_peer_turn(versus, racer, seconds, most));
    hone_child_hold(&racer->child);
  }
  if (racer->n_runs > before)
    racer->round_ms[round] =
        hone_times_find(racer->n_runs - before, racer->milliseconds + before).median;
  return NULL;
}

static void check_threads(hone_versus_t* versus, hone_racer_t* racer) {
  int threads = versus->bench->entries[0].threads;
  if (racer->entry || racer->cpus <= threads + SPARE_CPUS) return;
  hone_racer_drop(racer, "threads", "kept %.1f CPUs busy when told to use %d thread%s", racer->cpus,
                  threads, threads == 1 ? "" : "s");
}

static hone_status_t run_rounds(hone_versus_t* versus) {
  for (int round = 0; round < versus->n_rounds; round++) {
    for (int i = 0; i < versus->n_racers; i++) {
      hone_racer_t* racer = &versus->racers[(i + round) % versus->n_racers];
      double part = (round + (double)i / versus->n_racers) / versus->n_rounds;
      show(versus, part, "running", racer->name);
      if (hone_racer_is_ok(racer)) HONE_TRY(take_turn(versus, racer, round));
      if (hone_racer_is_ok(racer)) check_threads(versus, racer);
    }
  }
  return NULL;
}

/* ---- what came of it ---- */

static void compare_rounds(hone_versus_t* versus) {
  const hone_racer_t *hone = &versus->racers[0], *best = versus->best;
  versus->ratio = best->times.median / hone->times.median;
  versus->lowest = INFINITY;
  for (int i = 0; i < versus->n_rounds; i++) {
    double ratio = best->round_ms[i] / hone->round_ms[i];
    versus->lowest = fmin(versus->lowest, ratio);
    versus->highest = fmax(versus->highest, ratio);
  }
}

static void find_best(hone_versus_t* versus) {
  for (int i = 0; i < versus->n_racers; i++) {
    hone_racer_t* racer = &versus->racers[i];
    if (!hone_racer_is_ok(racer) || !racer->n_runs) continue;
    racer->times = hone_times_find(racer->n_runs, racer->milliseconds);
    if (racer->entry) {
      racer->entry->times = racer->times;
      versus->bench->contestants[i].first_ms = racer->first_ms;
    } else if (!versus->best || racer->times.median < versus->best->times.median) {
      versus->best = racer;
    }
  }
  if (versus->best && hone_racer_is_ok(&versus->racers[0])) compare_rounds(versus);
}

/* The sum of what each step needs at least, by the machine's peaks (hone profile). */
static hone_status_t find_limit(hone_versus_t* versus) {
  const hone_run_t* run = &versus->bench->entries[0].run;
  hone_report_options_t options = {.struct_size = sizeof options,
                                   .n_inputs = run->n_inputs,
                                   .inputs = run->inputs,
                                   .limits = true};
  hone_report_t* report;
  HONE_TRY(hone_report_create(run->session, &options, &report));
  hone_status_t status = hone_report_measure(report, 1, run->n_inputs, run->inputs, NULL, NULL);
  for (int i = 0; i < hone_report_step_count(report); i++) {
    const hone_report_step_t* step = hone_report_step(report, i);
    versus->limit_ms += step->limit * step->runs * 1e3;
  }
  hone_report_destroy(report);
  return status;
}

/* Of the tensor's largest value. Models in int8 round between layers, where a last bit
 * that differs becomes a whole step. */
static double usual_tolerance(const char* precision) {
  if (strcmp(precision, "int8") == 0) return 0.1;
  return strcmp(precision, "fp32") == 0 ? 1e-3 : 2e-2;
}

hone_status_t hone_versus_run(hone_bench_t* bench, hone_versus_t* versus) {
  *versus = (hone_versus_t){.bench = bench};
  double fallback = usual_tolerance(hone_cli_text(bench->cli, "precision", "fp32"));
  versus->tolerance = hone_bench_number(bench->cli, "tolerance", fallback);
  versus->limit_s = hone_bench_number(bench->cli, "peer-limit", LIMIT_S);
  versus->n_rounds = (int)hone_cli_int(bench->cli, "rounds", ROUNDS);
  if (hone_subject_is_engine(bench->entries[0].run.subject.path))
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "--vs: peers run models; name the model before its engine");
  HONE_TRY(hone_versus_find_program(versus));
  HONE_TRY(make_folder(versus));
  HONE_TRY(add_all(versus));
  HONE_TRY(hone_versus_write_inputs(versus));
  HONE_TRY(find_reference(versus));
  HONE_TRY(load_all(versus));
  HONE_TRY(run_rounds(versus));
  find_best(versus);
  return find_limit(versus);
}

static int remove_entry(const char* path, const struct stat* about, int kind, struct FTW* where) {
  (void)about, (void)kind, (void)where;
  return remove(path);
}

void hone_versus_close(hone_versus_t* versus) {
  for (int i = 0; i < versus->n_racers; i++) hone_child_end(&versus->racers[i].child, NULL);
  for (int i = 0; i < versus->n_answers && versus->hones; i++) {
    hone_tensor_release(versus->answers[i]);
    hone_tensor_release(versus->hones[i]);
  }
  if (versus->folder[0]) nftw(versus->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
