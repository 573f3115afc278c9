#include "versus.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "hone/report.h"

enum {
  ROUNDS = 5,
  MORE = 4 /* times as many where they disagree */,
  LIMIT_S = 300,
  MOST_PEERS = 32
};

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
      hone_arena_array(versus->bench->arena, (size_t)versus->most_rounds, sizeof *racer->round_ms);
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

void hone_versus_show(hone_versus_t* versus, double part, const char* what, const char* name) {
  char text[96];
  snprintf(text, sizeof text, "%s %s", what, name);
  hone_progress_show(&versus->bench->progress, part, text);
}

/* One after another: nobody loads while another one does. */
static hone_status_t load_all(hone_versus_t* versus) {
  for (int i = 0; i < versus->n_racers; i++) {
    hone_racer_t* racer = &versus->racers[i];
    hone_versus_show(versus, (double)i / versus->n_racers, "loading", racer->name);
    if (!racer->entry) HONE_TRY(hone_peer_load(versus, racer, false));
    if (hone_racer_is_ok(racer)) HONE_TRY(hone_versus_check_answers(versus, racer));
    hone_child_hold(&racer->child);
  }
  return NULL;
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
  versus->rounds = (int)hone_cli_int(bench->cli, "rounds", ROUNDS);
  versus->most_rounds = (int)hone_cli_int(bench->cli, "most-rounds", MORE * versus->rounds);
  if (versus->most_rounds < versus->rounds) versus->most_rounds = versus->rounds;
  if (hone_subject_is_engine(bench->entries[0].run.subject.path))
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "--vs: peers run models; name the model before its engine");
  HONE_TRY(hone_versus_find_program(versus));
  HONE_TRY(make_folder(versus));
  HONE_TRY(add_all(versus));
  HONE_TRY(hone_versus_write_inputs(versus));
  HONE_TRY(find_reference(versus));
  HONE_TRY(load_all(versus));
  HONE_TRY(hone_versus_take_turns(versus));
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
