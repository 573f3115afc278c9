/* The loop: choose a task, take its next candidate, measure, keep, tell. */
#include "tune/tuner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/memory.h"
#include "tune/apply.h"

enum {
  MOST_BATCH = 64,
  WINDOW = 8,  /* latest trials of a task, whose gain says what to hope for */
  TRUSTED = 4, /* trials that a task gets before its failures count against it */
  DATABASE_TEXT = 512,
  MOST_PENDING = 64,
};

static const double flush_seconds = 1; /* what a kill may lose */

/* What tuning knows of one task. */
typedef struct state {
  const hone_tune_task_t* task;
  hone_tune_key_t key;
  hone_search_t* search;
  hone_candidate_t queue[MOST_BATCH]; /* proposed, not yet measured: from `next` on */
  int n_queue, next;
  bool is_over;
  int64_t since_gain;
  double best;            /* INFINITY: none */
  double window[WINDOW];  /* `best` after trial i, at i % WINDOW */
  double prepared;        /* seconds per candidate that the last preparing took */
  double took, deviation; /* moving means of what a measurement takes, and of how far it strays */
  hone_tune_result_t* result;
} state_t;

/* A trial not yet in the database. */
typedef struct pending {
  const state_t* state;
  hone_candidate_t candidate;
  hone_measurement_t found;
  int64_t when;
} pending_t;

typedef struct tuning {
  const hone_allocator_t* allocator;
  hone_tune_options_t options;
  int n_tasks;
  state_t* states;
  double start, deadline;
  int64_t trials;
  hone_tune_stop_t stop;
  pending_t pending[MOST_PENDING];
  int n_pending;
  double pending_since;     /* the clock at the first of them */
  hone_str_t text;          /* of the candidate at hand */
  hone_tune_db_t* database; /* NULL once it failed */
  hone_tune_report_t* report;
} tuning_t;

const char* hone_tune_stop_text(hone_tune_stop_t stop) {
  static const char* const texts[] = {
      [HONE_TUNE_STOP_BUDGET] = "the budget is spent",
      [HONE_TUNE_STOP_TRIALS] = "all trials are made",
      [HONE_TUNE_STOP_NO_GAIN] = "there was no gain for long",
      [HONE_TUNE_STOP_EXHAUSTED] = "everything was tried",
      [HONE_TUNE_STOP_ASKED] = "stopped on request",
  };
  return (unsigned)stop < sizeof texts / sizeof *texts ? texts[stop] : "unknown";
}

static double now(const tuning_t* tuning) { return hone_clock_now(&tuning->options.clock); }

static double weight(const hone_tune_task_t* task) { return task->weight > 0 ? task->weight : 1; }

/* ---- the database ---- */

/* Takes down the failure and goes on without. Out of memory is passed on. */
static hone_status_t lose_database(tuning_t* tuning, hone_status_t status) {
  if (!status || hone_status_code(status) == HONE_OUT_OF_MEMORY) return status;
  hone_log_write(HONE_LOG_WARNING, "tuning goes on without its database: %s",
                 hone_status_message(status));
  snprintf(tuning->report->database_error, DATABASE_TEXT, "%s", hone_status_message(status));
  hone_status_free(status);
  tuning->database = NULL;
  return NULL;
}

static void note_time(state_t* state, double seconds) {
  if (isfinite(seconds) && seconds < state->best) state->best = seconds;
}

typedef struct recall {
  tuning_t* tuning;
  state_t* state;
} recall_t;

/* Learns one record. Records of other spaces, of an older recipe perhaps, are passed over. */
static hone_status_t recall_record(void* context, const hone_tune_record_t* record) {
  recall_t* recall = context;
  state_t* state = recall->state;
  hone_candidate_t candidate;
  bool is_ok = record->outcome == HONE_OUTCOME_OK;
  if (!is_ok && recall->tuning->options.retry_failures) return NULL;
  bool fits;
  HONE_TRY(hone_tune_record_candidate(record, state->task->space, &fits, &candidate));
  if (!fits) return NULL;
  double seconds = is_ok ? record->seconds : INFINITY;
  HONE_TRY(hone_search_learn(state->search, &candidate, seconds));
  note_time(state, seconds);
  state->result->known++;
  return NULL;
}

static hone_status_t recall_task(tuning_t* tuning, state_t* state) {
  recall_t recall = {tuning, state};
  if (!tuning->database) return NULL;
  return lose_database(
      tuning, hone_tune_db_each(tuning->database, &state->key, false, recall_record, &recall));
}

static hone_status_t put(tuning_t* tuning, const pending_t* pending) {
  const state_t* state = pending->state;
  tuning->text.size = 0;
  hone_candidate_print(state->task->space, &pending->candidate, &tuning->text);
  if (tuning->text.failed) return hone_oom();
  hone_tune_record_t record = {
      .key = state->key,
      .label = state->task->label ? state->task->label : state->key.kernel,
      .parameters = tuning->text.size ? hone_str_text(&tuning->text) : "",
      .outcome = pending->found.outcome,
      .seconds = pending->found.seconds,
      .spread = pending->found.spread,
      .message = pending->found.message,
      .when = pending->when,
  };
  return hone_tune_db_put(tuning->database, &record, NULL);
}

static hone_status_t put_pending(tuning_t* tuning) {
  HONE_TRY(hone_tune_db_begin(tuning->database));
  hone_status_t status = NULL;
  for (int i = 0; i < tuning->n_pending && !status; i++) status = put(tuning, &tuning->pending[i]);
  return hone_tune_db_end(tuning->database, status);
}

/* Writes what is pending. */
static hone_status_t flush(tuning_t* tuning) {
  hone_status_t status = NULL;
  if (tuning->n_pending && tuning->database) status = lose_database(tuning, put_pending(tuning));
  tuning->n_pending = 0;
  return status;
}

/* Sees to it that a trial comes into the database. Each transaction waits for
 * the disk, so that those of a second share one. */
static hone_status_t keep(tuning_t* tuning, const state_t* state, const hone_candidate_t* candidate,
                          const hone_measurement_t* found) {
  /* A limit shortened by the budget says nothing about the candidate. */
  if (!tuning->database || (found->cut && found->outcome == HONE_OUTCOME_TIMEOUT)) return NULL;
  double clock = now(tuning);
  if (tuning->n_pending == 0) tuning->pending_since = clock;
  tuning->pending[tuning->n_pending++] =
      (pending_t){state, *candidate, *found, (int64_t)time(NULL)};
  bool is_due = tuning->n_pending == MOST_PENDING || clock - tuning->pending_since >= flush_seconds;
  return is_due ? flush(tuning) : NULL;
}

/* ---- which task ---- */

/* What a measurement of the task will take; of one never measured, what others took. */
static double estimate(const tuning_t* tuning, const state_t* state) {
  if (state->result->trials) return state->took + 2 * state->deviation;
  double sum = 0;
  int count = 0;
  for (int i = 0; i < tuning->n_tasks; i++) {
    if (!tuning->states[i].result->trials) continue;
    sum += tuning->states[i].took;
    count++;
  }
  return count ? sum / count : 0;
}

/* What a kernel that was never right may weigh: as much as the heaviest that was. */
static double heaviest(const tuning_t* tuning) {
  double most = 0;
  for (int i = 0; i < tuning->n_tasks; i++) {
    const state_t* state = &tuning->states[i];
    double part = weight(state->task) * state->best;
    if (isfinite(part) && part > most) most = part;
  }
  return most > 0 ? most : 1;
}

/* The time that may be gained per second of tuning. */
static double hope(const tuning_t* tuning, const state_t* state) {
  int64_t trials = state->result->trials, tried = hone_search_learned(state->search);
  if (trials == 0) return INFINITY;
  if (!isfinite(state->best) && trials < TRUSTED) return INFINITY;
  double cost = state->took + state->prepared > 1e-9 ? state->took + state->prepared : 1e-9;
  if (!isfinite(state->best)) return heaviest(tuning) / (double)(tried + 1) / cost;
  double before = state->window[trials % WINDOW]; /* WINDOW trials ago */
  double gained = trials >= WINDOW && isfinite(before) ? (before - state->best) / WINDOW : 0;
  double untried = state->best / (double)(tried + 1);
  return weight(state->task) * (gained + untried) / 2 / cost;
}

/* The task to try next; NULL when none is left, or none that ends in time. */
static state_t* choose(const tuning_t* tuning) {
  double left = tuning->deadline - now(tuning), most = -1;
  state_t* chosen = NULL;
  for (int i = 0; i < tuning->n_tasks && left > 0; i++) {
    state_t* state = &tuning->states[i];
    if (state->is_over || estimate(tuning, state) > left) continue;
    double hoped = hope(tuning, state);
    if (hoped <= most) continue;
    most = hoped;
    chosen = state;
  }
  return chosen;
}

/* ---- trials ---- */

static void end_task(tuning_t* tuning, state_t* state, hone_tune_stop_t stop) {
  state->is_over = true;
  state->result->stop = tuning->stop = stop;
}

/* Lets the driver build the queue ahead, if there is time to build it one by one. */
static void prepare(const tuning_t* tuning, state_t* state) {
  const hone_measurer_t* measurer = &state->task->measurer;
  double start = now(tuning), left = tuning->deadline - start;
  if (!measurer->prepare || state->n_queue < 2) return;
  if (state->n_queue * (estimate(tuning, state) + state->prepared) > left) return;
  measurer->prepare(measurer->context, state->task->space, state->n_queue, state->queue, left);
  state->prepared = (now(tuning) - start) / state->n_queue;
}

/* The first trial of a task comes by itself: it says what the task weighs. */
static hone_status_t fill_queue(const tuning_t* tuning, state_t* state) {
  if (state->next < state->n_queue) return NULL;
  int most = state->result->trials ? tuning->options.batch : 1;
  state->next = 0;
  HONE_TRY(hone_search_propose(state->search, most, state->queue, &state->n_queue));
  prepare(tuning, state);
  return NULL;
}

static void note_trial(tuning_t* tuning, state_t* state, const hone_measurement_t* found) {
  double took = found->total_seconds;
  if (state->result->trials == 0) {
    state->took = took;
    state->deviation = took / 4;
  } else {
    state->deviation += (fabs(took - state->took) - state->deviation) / 4;
    state->took += (took - state->took) / 4;
  }
  double before = state->best;
  if (found->outcome == HONE_OUTCOME_OK)
    note_time(state, found->seconds);
  else
    state->result->failed++;
  state->since_gain = state->best < before ? 0 : state->since_gain + 1;
  state->window[state->result->trials % WINDOW] = state->best;
  state->result->trials++;
  tuning->trials++;
  if (tuning->options.trials && state->result->trials >= tuning->options.trials)
    end_task(tuning, state, HONE_TUNE_STOP_TRIALS);
  else if (tuning->options.early_stopping && state->since_gain >= tuning->options.early_stopping)
    end_task(tuning, state, HONE_TUNE_STOP_NO_GAIN);
}

/* Tells the callback; false when it wants no more. */
static bool tell(const tuning_t* tuning, const state_t* state, const hone_candidate_t* candidate,
                 const hone_measurement_t* found) {
  if (!tuning->options.progress) return true;
  double time = now(tuning), whole = 0;
  for (int i = 0; i < tuning->n_tasks; i++)
    whole += weight(tuning->states[i].task) * tuning->states[i].best;
  hone_tune_progress_t progress = {
      .task = (int)(state - tuning->states),
      .label = state->task->label ? state->task->label : state->key.kernel,
      .candidate = candidate,
      .measurement = found,
      .is_gain = state->since_gain == 0,
      .trials = tuning->trials,
      .task_trials = state->result->trials,
      .best = state->best,
      .whole = whole,
      .spent = time - tuning->start,
      .left = tuning->deadline > time ? tuning->deadline - time : 0,
  };
  return tuning->options.progress(tuning->options.progress_context, &progress);
}

/* One trial. `*out_more` false: the callback wants no more. */
static hone_status_t try_one(tuning_t* tuning, state_t* state, bool* out_more) {
  hone_measurement_t found;
  HONE_TRY(fill_queue(tuning, state));
  if (state->n_queue == 0) {
    end_task(tuning, state, HONE_TUNE_STOP_EXHAUSTED);
    return NULL;
  }
  /* Proposing takes time too. */
  if (estimate(tuning, state) > tuning->deadline - now(tuning)) return NULL;
  const hone_candidate_t* candidate = &state->queue[state->next++];
  HONE_TRY(hone_measure(&state->task->measurer, &tuning->options.measure, &tuning->options.clock,
                        state->task->space, candidate, state->best, tuning->deadline, &found));
  bool is_ok = found.outcome == HONE_OUTCOME_OK;
  HONE_TRY(hone_search_learn(state->search, candidate, is_ok ? found.seconds : INFINITY));
  note_trial(tuning, state, &found);
  hone_status_t status = keep(tuning, state, candidate, &found);
  *out_more = tell(tuning, state, candidate, &found);
  return status;
}

static bool is_any_left(const tuning_t* tuning) {
  for (int i = 0; i < tuning->n_tasks; i++)
    if (!tuning->states[i].is_over) return true;
  return false;
}

static hone_status_t loop(tuning_t* tuning) {
  bool more = true;
  state_t* state;
  while (more && (state = choose(tuning))) HONE_TRY(try_one(tuning, state, &more));
  if (!more)
    tuning->stop = HONE_TUNE_STOP_ASKED;
  else if (is_any_left(tuning))
    tuning->stop = HONE_TUNE_STOP_BUDGET;
  for (int i = 0; i < tuning->n_tasks; i++)
    if (!tuning->states[i].is_over) tuning->states[i].result->stop = tuning->stop;
  return NULL;
}

/* ---- setting up ---- */

static hone_status_t check_arguments(int n_tasks, const hone_tune_task_t* tasks,
                                     const hone_tune_options_t* options) {
  if (!(options->budget_seconds >= 0))
    return hone_status_make(HONE_INVALID_ARGUMENT, "a tuning budget of %g seconds makes no sense",
                            options->budget_seconds);
  if (options->trials < 0 || options->early_stopping < 0 || n_tasks < 0)
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "numbers of trials, of trials without gain and of tasks are not "
                            "negative");
  if (options->batch < 0 || options->batch > MOST_BATCH)
    return hone_status_make(HONE_INVALID_ARGUMENT, "a batch has 1 to %d candidates, not %d",
                            MOST_BATCH, options->batch);
  for (int i = 0; i < n_tasks; i++)
    if (!tasks[i].key.kernel || !tasks[i].key.kernel[0] || !tasks[i].space ||
        !tasks[i].measurer.build || !tasks[i].measurer.run)
      return hone_status_make(HONE_INVALID_ARGUMENT,
                              "tuning task %d lacks a kernel, a space or a way to measure", i);
  return NULL;
}

static hone_status_t open_state(tuning_t* tuning, const hone_tune_task_t* task,
                                hone_tune_result_t* result, state_t* state) {
  *result = (hone_tune_result_t){.stop = HONE_TUNE_STOP_BUDGET};
  state->task = task;
  state->key = hone_tune_key_complete(&task->key); /* not to match other devices */
  state->best = INFINITY;
  state->result = result;
  hone_search_options_t options = {
      .strategy = tuning->options.strategy,
      .seed = tuning->options.seed * 0x9e3779b97f4a7c15u + (uint64_t)(state - tuning->states),
      .n_features = task->n_features,
      .features = task->features,
      .predict = task->predict,
      .context = task->features_context,
  };
  HONE_TRY(hone_search_create(tuning->allocator, task->space, &options, &state->search));
  return recall_task(tuning, state);
}

static void close_state(state_t* state) {
  if (!state->search) return;
  state->result->found =
      hone_search_best(state->search, &state->result->best, &state->result->seconds);
  hone_search_destroy(state->search);
}

static hone_status_t run(tuning_t* tuning, const hone_tune_task_t* tasks,
                         hone_tune_result_t* out_results) {
  for (int i = 0; i < tuning->n_tasks; i++)
    HONE_TRY(open_state(tuning, &tasks[i], &out_results[i], &tuning->states[i]));
  return loop(tuning);
}

hone_status_t hone_tune(const hone_allocator_t* allocator, int n_tasks,
                        const hone_tune_task_t* tasks, const hone_tune_options_t* options,
                        hone_tune_result_t* out_results, hone_tune_report_t* out_report) {
  hone_tune_report_t unwanted;
  if (!out_report) out_report = &unwanted;
  *out_report = (hone_tune_report_t){0};
  HONE_TRY(check_arguments(n_tasks, tasks, options));
  if (n_tasks) memset(out_results, 0, (size_t)n_tasks * sizeof *out_results);
  tuning_t tuning = {.allocator = allocator,
                     .options = *options,
                     .n_tasks = n_tasks,
                     .database = options->database,
                     .stop = HONE_TUNE_STOP_EXHAUSTED,
                     .report = out_report};
  if (!tuning.options.batch) tuning.options.batch = 8;
  size_t size = (size_t)n_tasks * sizeof *tuning.states;
  tuning.states = hone_alloc(allocator, size);
  if (!tuning.states) return hone_oom();
  hone_str_init(&tuning.text, allocator);
  tuning.start = now(&tuning);
  tuning.deadline = tuning.start + options->budget_seconds;
  hone_status_t status = run(&tuning, tasks, out_results);
  hone_status_t flushed = flush(&tuning);
  if (status)
    hone_status_free(flushed);
  else
    status = flushed;
  for (int i = 0; i < n_tasks; i++) close_state(&tuning.states[i]);
  hone_str_free(&tuning.text);
  hone_free(allocator, tuning.states, size);
  out_report->seconds = now(&tuning) - tuning.start;
  out_report->trials = tuning.trials;
  out_report->stop = tuning.stop;
  return status;
}
