/* Peers: what is asked of them, and what becomes of those that fail. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "versus.h"

/* ---- the program that runs them ---- */

/* "…/build/release/hone" has "…/build/peers/run". */
static bool is_beside(hone_versus_t* versus) {
  char path[PATH_MAX - 32];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = 0;
  for (int i = 0; i < 2; i++) {
    char* slash = strrchr(path, '/');
    if (!slash) return false;
    *slash = 0;
  }
  snprintf(versus->program, sizeof versus->program, "%s/peers/run", path);
  return access(versus->program, X_OK) == 0;
}

hone_status_t hone_versus_find_program(hone_versus_t* versus) {
  const char* given = hone_cli_text(versus->bench->cli, "peers", NULL);
  if (!given && is_beside(versus)) return NULL;
  snprintf(versus->program, sizeof versus->program, "%s", given ? given : "build/peers/run");
  if (access(versus->program, X_OK) == 0) return NULL;
  return hone_status_make(HONE_NOT_FOUND,
                          "%s: no program to run peers; `make peers` in hone's sources makes one, "
                          "--peers names another",
                          versus->program);
}

const char* hone_peer_answers_path(const hone_versus_t* versus, const hone_racer_t* racer) {
  return hone_arena_format(versus->bench->arena, "%s/%s.npz", versus->folder, racer->name);
}

/* ---- questions ---- */

static void drop_ended(hone_racer_t* racer) {
  hone_str_t why;
  hone_str_init(&why, NULL);
  hone_child_end(&racer->child, &why);
  hone_racer_drop(racer, "crashed", "%s", hone_str_text(&why));
  hone_str_free(&why);
}

/* NULL, and the racer is dropped, when it does not answer, or that it cannot. The
 * question is freed. */
static json_t* ask(const hone_versus_t* versus, hone_racer_t* racer, json_t* question) {
  const char* line = NULL;
  char* text = json_dumps(question, JSON_COMPACT);
  json_decref(question);
  hone_child_answer_t answer =
      text ? hone_child_ask(&racer->child, text, versus->limit_s, &line) : HONE_CHILD_ENDED;
  free(text);
  if (answer == HONE_CHILD_ENDED) drop_ended(racer);
  if (answer == HONE_CHILD_LATE)
    hone_racer_drop(racer, "hung", "no answer within %.4g s", versus->limit_s);
  if (answer != HONE_CHILD_ANSWERED) return NULL;
  json_t* got = json_loads(line, 0, NULL);
  const char* why = json_string_value(json_object_get(got, "cannot"));
  if (got && !why) return got;
  hone_racer_drop(racer, why ? "cannot" : "crashed", "%s", why ? why : "its answer is no JSON");
  json_decref(got);
  return NULL;
}

static double number(const json_t* object, const char* name) {
  return json_number_value(json_object_get(object, name));
}

static json_t* loading(const hone_versus_t* versus, const hone_racer_t* racer, bool reference) {
  const hone_bench_entry_t* entry = &versus->bench->entries[0];
  const hone_bench_t* bench = versus->bench;
  const char* model = hone_arena_format(bench->arena, "%s", entry->run.subject.path);
  const char* inputs = hone_arena_format(bench->arena, "%s/inputs.npz", versus->folder);
  const char* answers = hone_peer_answers_path(versus, racer);
  if (!model || !inputs || !answers) return NULL;
  return json_pack("{s:s, s:s, s:s, s:s, s:i, s:s}", "do", reference ? "reference" : "load",
                   "model", model, "inputs", inputs, "answers", answers, "threads", entry->threads,
                   "precision", hone_cli_text(bench->cli, "precision", "fp32"));
}

hone_status_t hone_peer_load(const hone_versus_t* versus, hone_racer_t* racer, bool reference) {
  const char* argv[] = {versus->program, racer->name, versus->folder, NULL};
  json_t* question = loading(versus, racer, reference);
  if (!question) return hone_oom();
  hone_status_t status = hone_child_start(argv, &racer->child);
  if (status) {
    json_decref(question);
    return status;
  }
  json_t* got = ask(versus, racer, question);
  if (!got) return NULL;
  const char* version = json_string_value(json_object_get(got, "version"));
  snprintf(racer->version, sizeof racer->version, "%s", version ? version : "");
  racer->prepare_ms = number(got, "prepare_ms");
  racer->load_ms = number(got, "load_ms");
  racer->first_ms = number(got, "first_ms");
  json_decref(got);
  return NULL;
}

hone_status_t hone_peer_turn(const hone_versus_t* versus, hone_racer_t* racer, double seconds,
                             int64_t most) {
  enum { LEAST = 3 };
  json_t* question = json_pack("{s:s, s:f, s:I, s:I}", "do", "run", "seconds", seconds, "least",
                               (json_int_t)(most < LEAST ? most : LEAST), "most", (json_int_t)most);
  if (!question) return hone_oom();
  json_t* got = ask(versus, racer, question);
  if (!got) return NULL;
  const json_t* times = json_object_get(got, "ms");
  for (size_t i = 0; i < json_array_size(times); i++)
    hone_racer_add_time(racer, json_number_value(json_array_get(times, i)));
  if (!json_array_size(times)) hone_racer_drop(racer, "crashed", "it gave no times");
  double cpus = number(got, "cpus");
  if (cpus > racer->cpus) racer->cpus = cpus;
  json_decref(got);
  return NULL;
}
