/* Runs of a whole model with chosen candidates, for confirming them (tune/confirm.h). */
#include <math.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "base/tensor_impl.h"
#include "runtime/routine.h"
#include "runtime/tune_model.h"

enum { MOST_RUNS = 256 };

/* A stretch of runs is to take so long; the first of shorter ones only warms the caches. */
static const double stretch_seconds = 0.012;

typedef struct whole {
  hone_graph_t* graph;
  hone_program_t* program;
} whole_t;

/* ---- inputs ---- */

/* Floats lie from -1 to 1; integers, which may be indices, masks or counts, are ones. */
static void fill(hone_tensor_t* tensor) {
  bool is_float = hone_dtype_is_float(tensor->dtype);
  size_t size = hone_dtype_size(tensor->dtype);
  uint32_t state = 1;
  for (int64_t i = 0; i < tensor->count; i++) {
    state = state * 1664525u + 1013904223u;
    double value = is_float ? state / 2147483648.0 - 1 : 1;
    hone_from_double(tensor->dtype, value, true, (char*)tensor->data + (size_t)i * size);
  }
}

static hone_status_t make_input(const hone_tuning_t* t, const hone_program_value_t* value,
                                hone_tensor_t** out_tensor) {
  int64_t dims[HONE_MAX_RANK];
  if (!value->is_known || value->dtype == HONE_STRING || value->rank > HONE_MAX_RANK)
    return hone_status_make(HONE_UNSUPPORTED, "input '%s' cannot be made up", value->name);
  for (int i = 0; i < value->rank; i++) {
    dims[i] = hone_dim_eval(value->dims[i], t->symbols);
    if (dims[i] < 0) dims[i] = 0;
  }
  HONE_TRY(hone_tensor_create(t->allocator, value->dtype, value->rank, dims, out_tensor));
  fill(*out_tensor);
  return NULL;
}

static hone_status_t make_inputs(hone_tuning_t* t) {
  const hone_routine_t* routine = t->program->routines[0];
  if (t->inputs) return NULL;
  t->inputs = hone_arena_array(t->arena, (size_t)routine->n_inputs, sizeof *t->inputs);
  if (!t->inputs) return hone_oom();
  for (int i = 0; i < routine->n_inputs; i++) {
    HONE_TRY(make_input(t, &routine->values[routine->inputs[i]], &t->inputs[i]));
    t->n_inputs++;
  }
  return NULL;
}

/* ---- wholes ---- */

static void close_whole(void* context, void* built) {
  const hone_tuning_t* t = context;
  whole_t* whole = built;
  hone_program_destroy(whole->program);
  hone_graph_destroy(whole->graph);
  hone_free(t->allocator, whole, sizeof *whole);
}

/* A database that has those candidates, and nothing else. */
static hone_status_t put_items(const hone_tuning_t* t, const bool* on, hone_tune_db_t* database) {
  for (int i = 0; i < t->n_items; i++) {
    if (!on[i]) continue;
    const hone_tune_record_t record = hone_tuning_record(&t->items[i], HONE_VERDICT_CONFIRMED);
    HONE_TRY(hone_tune_db_put(database, &record, NULL));
  }
  return NULL;
}

static hone_status_t compile(const hone_tuning_t* t, const bool* on, whole_t* whole) {
  hone_compile_settings_t settings = {0};
  HONE_TRY(hone_tune_db_open(t->allocator, NULL, HONE_TUNE_DB_WRITE, &settings.tuned));
  hone_status_t status = put_items(t, on, settings.tuned);
  if (!status) status = hone_tuning_compile(t, t->model, &settings, &whole->graph, &whole->program);
  hone_tune_db_close(settings.tuned);
  return status;
}

static hone_status_t open_whole(void* context, const bool* on, void** out_whole) {
  hone_tuning_t* t = context;
  HONE_TRY(make_inputs(t));
  whole_t* whole = hone_alloc(t->allocator, sizeof *whole);
  if (!whole) return hone_oom();
  hone_status_t status = compile(t, on, whole);
  if (status)
    close_whole(t, whole);
  else
    *out_whole = whole;
  return status;
}

/* ---- runs ---- */

static hone_status_t run_once(const hone_tuning_t* t, const whole_t* whole, double* out_seconds) {
  enum { MOST_OUTPUTS = 256 };
  static const hone_run_options_t plain = {0};
  hone_tensor_t* outputs[MOST_OUTPUTS] = {0};
  int count = whole->program->routines[0]->n_outputs;
  if (count > MOST_OUTPUTS)
    return hone_status_make(HONE_UNSUPPORTED, "it has more than %d outputs", MOST_OUTPUTS);
  double start = hone_clock_now(NULL);
  hone_status_t status =
      hone_program_run(whole->program, &plain, t->n_inputs, t->inputs, count, outputs);
  *out_seconds = hone_clock_now(NULL) - start;
  for (int i = 0; i < count; i++) hone_tensor_release(outputs[i]);
  return status;
}

/* The median of a stretch: one that is interrupted does not count. */
static hone_status_t run_whole(void* context, void* built, double* out_seconds) {
  const hone_tuning_t* t = context;
  double asked = t->options.min_repeat_seconds, seconds[MOST_RUNS];
  double stretch = asked > 0 ? asked : stretch_seconds;
  HONE_TRY(run_once(t, built, &seconds[0]));
  double runs = ceil(stretch / fmax(seconds[0], 1e-9));
  int count = runs < MOST_RUNS ? (int)runs : MOST_RUNS;
  for (int i = 0; i < count && count > 1; i++) HONE_TRY(run_once(t, built, &seconds[i]));
  *out_seconds = hone_median(count, seconds);
  return NULL;
}

hone_confirm_driver_t hone_tuning_whole(hone_tuning_t* tuning) {
  return (hone_confirm_driver_t){tuning, open_whole, run_whole, close_whole};
}
