/* The answers of all are compared before any time is taken. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "difference.h"
#include "import/npy.h"
#include "versus.h"

hone_status_t hone_versus_write_inputs(const hone_versus_t* versus) {
  const hone_run_t* run = &versus->bench->entries[0].run;
  const char* path = hone_arena_format(versus->bench->arena, "%s/inputs.npz", versus->folder);
  const char** names = hone_arena_array(versus->bench->arena, (size_t)run->n_inputs, sizeof *names);
  if (!path || !names) return hone_oom();
  for (int i = 0; i < run->n_inputs; i++) names[i] = hone_session_input_name(run->session, i);
  return hone_npz_save_file(NULL, run->n_inputs, names, run->inputs, path);
}

/* ---- getting them ---- */

static void release(int count, hone_tensor_t** tensors) {
  for (int i = 0; i < count; i++) {
    hone_tensor_release(tensors[i]);
    tensors[i] = NULL;
  }
}

/* Sequences and maps are not compared: archives have no place for them. */
static bool is_compared(const hone_versus_t* versus, int index) {
  char type[32];
  hone_session_output_type(versus->bench->entries[0].run.session, index, type, sizeof type);
  return strncmp(type, "seq", 3) != 0 && strncmp(type, "map", 3) != 0 &&
         strncmp(type, "opt", 3) != 0;
}

/* Of a peer: arrays "0", "1", ... in its archive. */
static hone_status_t read_answers(const hone_versus_t* versus, const hone_racer_t* racer, int count,
                                  hone_tensor_t** out) {
  hone_npz_t* npz;
  const char* path = hone_peer_answers_path(versus, racer);
  hone_status_t status = NULL;
  if (!path) return hone_oom();
  HONE_TRY(hone_npz_open_file(NULL, path, &npz));
  for (int i = 0; i < count && !status; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    int index = hone_npz_find(npz, name);
    if (!is_compared(versus, i)) continue;
    status = index < 0 ? hone_status_make(HONE_NOT_FOUND, "it gave %d of the model's %d outputs",
                                          hone_npz_count(npz), count)
                       : hone_npz_read(npz, index, HONE_UNKNOWN, &out[i]);
  }
  hone_npz_close(npz);
  return status;
}

/* Of an entry of hone's: the very first run, which is timed as such. */
static hone_status_t run_entry(hone_racer_t* racer, hone_tensor_t** out) {
  hone_bench_entry_t* entry = racer->entry;
  int64_t start = hone_clock_ns();
  HONE_TRY(hone_bench_run_entry(entry));
  if (racer->first_ms <= 0) racer->first_ms = (double)(hone_clock_ns() - start) / 1e6;
  for (int i = 0; i < entry->run.n_outputs; i++) {
    out[i] = entry->outputs[i];
    entry->outputs[i] = NULL;
  }
  return NULL;
}

static hone_status_t find_answers(const hone_versus_t* versus, hone_racer_t* racer, int count,
                                  hone_tensor_t** out) {
  return racer->entry ? run_entry(racer, out) : read_answers(versus, racer, count, out);
}

hone_status_t hone_versus_keep_reference(hone_versus_t* versus, hone_racer_t* racer) {
  release(versus->n_answers, versus->answers);
  versus->reference = racer->name;
  return find_answers(versus, racer, versus->n_answers, versus->answers);
}

/* ---- comparing ---- */

/* Largest error by the expected tensor's largest value; infinite where types or shapes differ. */
static double error_of(const hone_versus_t* versus, const hone_difference_t* difference) {
  if (difference->kind == HONE_DIFFERENCE_TYPE) return INFINITY;
  if (!(difference->max_error > 0)) return 0;
  return versus->tolerance * difference->max_error / difference->bound;
}

static hone_difference_t find_difference(const hone_versus_t* versus, const hone_tensor_t* expected,
                                         const hone_tensor_t* actual) {
  return hone_difference_find(expected, actual, (hone_tolerance_t){.relative = versus->tolerance});
}

/* False, and the racer is dropped, where the error is too large. */
static bool compare(const hone_versus_t* versus, hone_racer_t* racer, int index,
                    const hone_tensor_t* actual) {
  hone_difference_t difference = find_difference(versus, versus->answers[index], actual);
  const char* name = hone_session_output_name(versus->bench->entries[0].run.session, index);
  if (difference.kind == HONE_DIFFERENCE_TYPE) {
    hone_racer_drop(racer, "wrong", "output '%s' has another type or shape", name);
    return false;
  }
  double error = error_of(versus, &difference);
  if (!(error <= racer->error)) racer->error = error;
  if (difference.kind == HONE_DIFFERENCE_NONE) return true;
  hone_racer_drop(racer, "wrong", "output '%s' differs by %.2g of its largest value, %.2g allowed",
                  name, error, versus->tolerance);
  return false;
}

static void compare_all(const hone_versus_t* versus, hone_racer_t* racer,
                        hone_tensor_t* const* actual) {
  racer->error = 0;
  for (int i = 0; i < versus->n_answers; i++)
    if (is_compared(versus, i) && !compare(versus, racer, i, actual[i])) return;
}

/* Hone's to this peer's, as it comes: what somebody sees who goes from one to the other. */
static void compare_hones(const hone_versus_t* versus, hone_racer_t* peer,
                          hone_tensor_t* const* answers) {
  for (int i = 0; i < versus->n_answers; i++) {
    if (!is_compared(versus, i) || !versus->hones[i]) continue;
    hone_difference_t difference = find_difference(versus, answers[i], versus->hones[i]);
    double error = error_of(versus, &difference);
    if (!(error <= peer->hone_error)) peer->hone_error = error;
  }
}

static void keep_hones(hone_versus_t* versus, hone_tensor_t** answers) {
  for (int i = 0; i < versus->n_answers; i++) {
    versus->hones[i] = answers[i];
    answers[i] = NULL;
  }
}

hone_status_t hone_versus_check_answers(hone_versus_t* versus, hone_racer_t* racer) {
  int count = versus->n_answers;
  hone_tensor_t** actual =
      hone_arena_array(versus->bench->arena, (size_t)count, sizeof(hone_tensor_t*));
  if (!actual) return hone_oom();
  hone_status_t status = find_answers(versus, racer, count, actual);
  if (status) {
    hone_racer_drop(racer, racer->entry ? "crashed" : "wrong", "%s", hone_status_message(status));
    hone_status_free(status);
  } else {
    compare_all(versus, racer, actual);
    if (!racer->entry) compare_hones(versus, racer, actual);
    if (racer == versus->racers) keep_hones(versus, actual);
  }
  release(count, actual);
  return NULL;
}
