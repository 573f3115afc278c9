/* Tuning a model: its kernels become tasks of the tuner (tune/tuner.h). */
#include "runtime/tune_model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "runtime/device.h"

/* Bytes of data that kernels are tried on. */
static const size_t data_room = (size_t)1 << 30;

/* ---- opening ---- */

static hone_status_t open_device(hone_tuning_t* t) {
  const char* name = t->options.device ? t->options.device : "cpu";
  const hone_open_options_t open = {.struct_size = sizeof open,
                                    .allocator = t->allocator,
                                    .threads = t->options.threads,
                                    .deterministic = t->options.deterministic};
  HONE_TRY(hone_device_open(name, &open, &t->backend, &t->device));
  HONE_TRY(t->backend->stream_create(t->device, &t->shared.stream));
  t->backend->properties(t->device, &t->properties);
  t->shared = (hone_rig_shared_t){.allocator = t->allocator,
                                  .backend = t->backend,
                                  .device = t->device,
                                  .stream = t->shared.stream,
                                  .room = data_room};
  return t->backend->identify ? t->backend->identify(t->device, &t->properties) : NULL;
}

/* A database that cannot be opened is said to be so, and done without: what is found is then
 * kept in memory, as long as the tuning. */
static hone_status_t open_database(hone_tuning_t* t) {
  char* path = NULL;
  t->report.database = t->options.database;
  hone_status_t status = NULL;
  if (!t->report.database) {
    status = hone_tune_db_default_path(t->arena, &path);
    t->report.database = path ? path : "";
  }
  bool writes = t->options.budget_seconds > 0;
  if (!status)
    status = hone_tune_db_open(t->allocator, t->report.database,
                               writes ? HONE_TUNE_DB_WRITE : HONE_TUNE_DB_READ, &t->database);
  bool is_none = !writes && hone_status_code(status) == HONE_NOT_FOUND;
  if (!status || hone_status_code(status) == HONE_OUT_OF_MEMORY) return status;
  if (!is_none) t->report.database_error = hone_arena_strdup(t->arena, hone_status_message(status));
  hone_status_free(status);
  if (!t->report.database_error) return hone_oom();
  return hone_tune_db_open(t->allocator, NULL, HONE_TUNE_DB_WRITE, &t->database);
}

hone_status_t hone_tuning_log(hone_tuning_t* t, const hone_tune_record_t* record) {
  hone_str_t line;
  hone_str_init(&line, t->allocator);
  if (record)
    hone_tune_print_record(record, &line);
  else
    hone_tune_print_head(&line);
  bool ok = !line.failed && fputs(hone_str_text(&line), t->log) >= 0 && fflush(t->log) == 0;
  hone_str_free(&line);
  if (ok) return NULL;
  return hone_status_make(HONE_IO, "cannot write to %s: %s", t->options.log, strerror(errno));
}

static hone_status_t open_log(hone_tuning_t* t) {
  if (!t->options.log) return NULL;
  t->log = fopen(t->options.log, "ae");
  if (!t->log)
    return hone_status_make(HONE_IO, "cannot write to %s: %s", t->options.log, strerror(errno));
  return hone_tuning_log(t, NULL);
}

/* ---- progress ---- */

typedef struct listener {
  hone_tuning_t* tuning;
  hone_tuned_kernel_t** of_task;
  const hone_tune_task_t* tasks;
  int n_tasks;
  hone_str_t text;
  hone_status_t status; /* of the log */
} listener_t;

static bool is_default(const hone_tuned_kernel_t* kernel, const hone_candidate_t* candidate) {
  hone_candidate_t first = hone_space_default(kernel->set->space);
  return hone_space_index(kernel->set->space, &first) ==
         hone_space_index(kernel->set->space, candidate);
}

/* Seconds of a run of the model untuned; 0 while some kernel is not known. */
static double untuned(const listener_t* l) {
  double sum = 0;
  for (int i = 0; i < l->n_tasks; i++) {
    if (l->of_task[i]->default_seconds <= 0) return 0;
    sum += l->of_task[i]->count * l->of_task[i]->default_seconds;
  }
  return sum;
}

static hone_status_t note(listener_t* l, const hone_tune_progress_t* p, const char* parameters) {
  if (!l->tuning->log || (p->measurement->cut && p->measurement->outcome == HONE_OUTCOME_TIMEOUT))
    return NULL;
  const hone_tune_record_t record = {.key = hone_tune_key_complete(&l->tasks[p->task].key),
                                     .label = p->label,
                                     .parameters = parameters,
                                     .outcome = p->measurement->outcome,
                                     .seconds = p->measurement->seconds,
                                     .spread = p->measurement->spread,
                                     .message = p->measurement->message,
                                     .when = (int64_t)time(NULL)};
  return hone_tuning_log(l->tuning, &record);
}

static bool hear(void* context, const hone_tune_progress_t* p) {
  listener_t* l = context;
  hone_tuned_kernel_t* kernel = l->of_task[p->task];
  bool is_ok = p->measurement->outcome == HONE_OUTCOME_OK;
  if (is_ok && is_default(kernel, p->candidate)) kernel->default_seconds = p->measurement->seconds;
  l->text.size = 0;
  hone_candidate_print(kernel->set->space, p->candidate, &l->text);
  const char* parameters = l->text.failed ? "" : hone_str_text(&l->text);
  l->status = note(l, p, parameters);
  if (l->status) return false;
  if (!l->tuning->options.progress) return true;
  double before = untuned(l);
  const hone_tuning_progress_t told = {.kernel = p->label,
                                       .parameters = parameters,
                                       .outcome = hone_outcome_name(p->measurement->outcome),
                                       .message = p->measurement->message,
                                       .seconds = is_ok ? p->measurement->seconds : 0,
                                       .is_gain = p->is_gain,
                                       .trials = p->trials,
                                       .whole = isfinite(p->whole) ? p->whole : 0,
                                       .untuned = before,
                                       .spent = hone_clock_now(NULL) - l->tuning->start,
                                       .left = p->left};
  return l->tuning->options.progress(l->tuning->options.progress_self, &told);
}

/* ---- the tasks ---- */

static double predict(void* context, const hone_space_t* space, const hone_candidate_t* candidate) {
  return hone_tactic_set_cost(context, candidate);
}

hone_tune_key_t hone_tuning_key(hone_tuned_kernel_t* kernel) {
  hone_tune_key_t key = hone_tactic_set_key(kernel->set, kernel->digest, kernel->device);
  return hone_tune_key_complete(&key);
}

static int fill_tasks(hone_tuning_t* t, hone_tune_task_t* tasks, hone_tuned_kernel_t** of_task) {
  int count = 0;
  for (int i = 0; i < t->n_kernels; i++) {
    hone_tuned_kernel_t* kernel = t->kernels[i];
    if (!kernel->rig) continue;
    tasks[count] = (hone_tune_task_t){.label = kernel->lowered->name,
                                      .key = hone_tuning_key(kernel),
                                      .space = kernel->set->space,
                                      .measurer = hone_rig_measurer(kernel->rig),
                                      .weight = kernel->count,
                                      .predict = predict,
                                      .features_context = kernel->set};
    of_task[count++] = kernel;
  }
  return count;
}

/* Of the seconds left, those for runs of the whole: a fifth, or what a few wholes take. */
static double reserve(const hone_tuning_t* t, double left) {
  enum { SHARE = 5, WHOLES = 6 };
  if (!t->whole.open || !isfinite(left)) return 0;
  return fmin(fmax(left / SHARE, WHOLES * t->plan_seconds), left / 2);
}

static hone_tune_options_t tuner_options(const hone_tuning_t* t, listener_t* listener) {
  const hone_tuning_options_t* o = &t->options;
  double left = o->budget_seconds - (hone_clock_now(NULL) - t->start);
  left -= reserve(t, left);
  return (hone_tune_options_t){.budget_seconds = left > 0 ? left : 0,
                               .trials = o->trials,
                               .early_stopping = o->early_stopping,
                               .strategy = o->strategy,
                               .seed = o->seed,
                               .measure = {.repeats = o->repeats,
                                           .runs = o->runs,
                                           .min_repeat_seconds = o->min_repeat_seconds,
                                           .build_limit_seconds = o->build_timeout,
                                           .run_limit_seconds = o->run_timeout},
                               .database = t->database,
                               .retry_failures = o->retry_failures,
                               .progress = hear,
                               .progress_context = listener};
}

/* ---- results ---- */

/* What compiling will make of it: the same rule, on the same records. */
static hone_status_t conclude(const hone_tuning_t* t, hone_tuned_kernel_t* kernel,
                              const hone_tune_task_t* task, const hone_tune_result_t* result) {
  hone_tuned_t tuned;
  hone_tune_key_t key = hone_tune_key_complete(&task->key);
  hone_status_t status = hone_tactic_set_tuned(kernel->set, t->database, &key, &tuned);
  if (hone_status_code(status) == HONE_OUT_OF_MEMORY) return status;
  hone_status_free(status);
  hone_str_t text;
  hone_str_init(&text, t->allocator);
  hone_candidate_print(kernel->set->space, &tuned.candidate, &text);
  kernel->told.parameters = text.failed ? NULL : hone_arena_strdup(t->arena, hone_str_text(&text));
  hone_str_free(&text);
  kernel->told.tactic = hone_tactic_set_chosen(kernel->set, &tuned.candidate)->name;
  kernel->told.trials = result->trials;
  kernel->told.known = result->known;
  kernel->told.failed = result->failed;
  kernel->told.default_seconds = tuned.default_seconds;
  kernel->told.best_seconds = tuned.seconds;
  return kernel->told.parameters ? NULL : hone_oom();
}

static int by_weight(const void* left, const void* right) {
  const hone_tuning_kernel_t *a = left, *b = right;
  double x = a->count * a->default_seconds, y = b->count * b->default_seconds;
  return (x < y) - (x > y);
}

static hone_status_t report(hone_tuning_t* t) {
  hone_tuning_kernel_t* list = hone_arena_array(t->arena, (size_t)t->n_kernels, sizeof *list);
  if (!list) return hone_oom();
  for (int i = 0; i < t->n_kernels; i++) {
    const hone_tuning_kernel_t* kernel = &t->kernels[i]->told;
    list[i] = *kernel;
    if (kernel->default_seconds <= 0 || kernel->best_seconds <= 0) continue;
    t->report.default_seconds += kernel->count * kernel->default_seconds;
    t->report.best_seconds += kernel->count * kernel->best_seconds;
  }
  if (t->n_kernels) qsort(list, (size_t)t->n_kernels, sizeof *list, by_weight);
  t->report.kernels = list;
  t->report.n_kernels = t->n_kernels;
  return NULL;
}

/* Of a run of the whole, as far as its kernels were measured. */
static double run_seconds(const hone_tuning_t* t) {
  double sum = 0;
  for (int i = 0; i < t->n_kernels; i++)
    sum += t->kernels[i]->count * t->kernels[i]->default_seconds;
  return sum;
}

static hone_status_t run_tasks(hone_tuning_t* t, listener_t* l, hone_tune_task_t* tasks,
                               hone_tune_result_t* results) {
  hone_tune_report_t told;
  const hone_tune_options_t options = tuner_options(t, l);
  hone_status_t status = hone_tune(t->allocator, l->n_tasks, tasks, &options, results, &told);
  if (status)
    hone_status_free(l->status);
  else
    status = l->status;
  HONE_TRY(status);
  t->report.trials = told.trials;
  t->report.stop = hone_tune_stop_text(told.stop);
  if (told.database_error[0])
    t->report.database_error = hone_arena_strdup(t->arena, told.database_error);
  if (!t->report.database_error) return hone_oom();
  bool is_wanted = t->options.budget_seconds > 0 && told.stop != HONE_TUNE_STOP_ASKED;
  if (is_wanted) HONE_TRY(hone_tuning_confirm(t, run_seconds(t)));
  for (int i = 0; i < l->n_tasks; i++) HONE_TRY(conclude(t, l->of_task[i], &tasks[i], &results[i]));
  return report(t);
}

static hone_status_t tune(hone_tuning_t* t) {
  size_t count = (size_t)t->n_kernels;
  hone_tune_task_t* tasks = hone_arena_array(t->arena, count, sizeof *tasks);
  hone_tune_result_t* results = hone_arena_array(t->arena, count, sizeof *results);
  listener_t listener = {.tuning = t,
                         .of_task = hone_arena_array(t->arena, count, sizeof(hone_tuned_kernel_t*)),
                         .tasks = tasks};
  if (!tasks || !results || !listener.of_task) return hone_oom();
  listener.n_tasks = fill_tasks(t, tasks, listener.of_task);
  hone_str_init(&listener.text, t->allocator);
  hone_status_t status = run_tasks(t, &listener, tasks, results);
  hone_str_free(&listener.text);
  return status;
}

/* ---- the whole ---- */

/* What a tuning holds beside its report. */
static void let_go(hone_tuning_t* t) {
  for (int i = 0; i < t->n_kernels; i++) {
    hone_rig_destroy(t->kernels[i]->rig);
    hone_tactic_set_destroy(t->kernels[i]->set);
    t->kernels[i]->rig = NULL;
    t->kernels[i]->set = NULL;
  }
  for (int i = 0; i < t->n_inputs; i++) hone_tensor_release(t->inputs[i]);
  hone_program_destroy(t->program);
  hone_graph_destroy(t->graph);
  if (t->shared.stream) t->backend->stream_destroy(t->shared.stream);
  if (t->device) t->backend->close(t->device);
  hone_tune_db_close(t->database);
  if (t->log) fclose(t->log);
  t->n_inputs = 0;
  t->program = NULL;
  t->graph = NULL;
  t->shared.stream = NULL;
  t->device = NULL;
  t->database = NULL;
  t->log = NULL;
}

void hone_tuning_destroy(hone_tuning_t* t) {
  if (!t) return;
  let_go(t);
  for (int i = 0; i < t->n_kernels; i++) hone_kernel_destroy(t->kernels[i]->lowered);
  hone_map_free(&t->by_digest);
  hone_arena_destroy(t->arena);
  hone_free(t->allocator, t, sizeof *t);
}

static hone_status_t run(hone_tuning_t* t, hone_tuning_collect_t collect, const void* subject) {
  HONE_TRY(open_device(t));
  HONE_TRY(open_log(t));
  HONE_TRY(open_database(t));
  HONE_TRY(collect(t, subject));
  HONE_TRY(tune(t));
  let_go(t);
  t->report.seconds = hone_clock_now(NULL) - t->start;
  return NULL;
}

static hone_status_t check_options(const hone_tuning_options_t* o) {
  bool is_wrong = !(o->budget_seconds >= 0) || o->trials < 0 || o->early_stopping < 0 ||
                  o->repeats < 0 || o->runs < 0 || !(o->min_repeat_seconds >= 0) ||
                  !(o->build_timeout >= 0) || !(o->run_timeout >= 0) || o->threads < 0;
  if (!is_wrong) return NULL;
  return hone_status_make(HONE_INVALID_ARGUMENT,
                          "budgets, limits and numbers of trials, repeats, runs and threads of a "
                          "tuning are not negative");
}

hone_status_t hone_tuning_run(const hone_tuning_options_t* options, hone_tuning_collect_t collect,
                              const void* subject, hone_tuning_t** out_tuning) {
  static const hone_tuning_options_t defaults = {0};
  if (!options) options = &defaults;
  *out_tuning = NULL;
  HONE_TRY(check_options(options));
  const hone_allocator_t* allocator =
      options->allocator ? options->allocator : hone_allocator_system();
  hone_tuning_t* t = hone_alloc(allocator, sizeof *t);
  if (!t) return hone_oom();
  t->allocator = allocator;
  t->options = *options;
  t->start = hone_clock_now(NULL);
  t->report.database_error = t->report.stop = t->report.whole_error = "";
  hone_map_init(&t->by_digest, allocator);
  hone_status_t status = hone_arena_create(allocator, &t->arena);
  if (!status) status = run(t, collect, subject);
  if (status)
    hone_tuning_destroy(t);
  else
    *out_tuning = t;
  return status;
}

hone_status_t hone_model_tune(const hone_model_t* model, const hone_tuning_options_t* options,
                              hone_tuning_t** out_tuning) {
  return hone_tuning_run(options, hone_tuning_collect_model, model, out_tuning);
}

const hone_tuning_report_t* hone_tuning_report(const hone_tuning_t* tuning) {
  return &tuning->report;
}

const char* hone_tuning_strategy(int index) { return hone_strategy_name(index); }
const char* hone_tuning_strategy_summary(int index) { return hone_strategy_summary(index); }
