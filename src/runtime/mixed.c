/* Choosing what is narrow: engines are compiled and run, and what they give is compared. */
#include "hone/mixed.h"

#include <math.h>
#include <stdlib.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "base/tensor_impl.h"
#include "runtime/engine_impl.h"
#include "tune/cost.h"

enum { ROW = 256 };
static const double usual_bound = 1e-2;

typedef struct owned_report {
  hone_mixed_report_t told; /* first: what users have is a pointer to it */
  const hone_allocator_t* allocator;
  hone_arena_t* arena;
  int room;
  hone_mixed_layer_t* layers;
} owned_report_t;

typedef struct search {
  const hone_model_t* model;
  hone_engine_options_t options; /* without what is told on the way */
  const hone_mixed_options_t* mixed;
  owned_report_t* report;
  hone_device_properties_t properties;
  hone_dtype_t dtype;
  hone_status_t status; /* of noting candidates */
  int n_outputs;
  hone_tensor_t** want;
  int* order;   /* of candidates, the best first */
  bool* narrow; /* what is tried */
} search_t;

/* ---- errors ---- */

static bool is_float(const hone_tensor_t* tensor) {
  return hone_dtype_is_float(hone_tensor_dtype(tensor));
}

/* The largest number, and the largest difference; what is no number on one side only counts
 * as endless. */
typedef struct extremes {
  double largest, difference;
} extremes_t;

static void compare_element(double want, double got, extremes_t* e) {
  bool same = want == got || (isnan(want) && isnan(got));
  double difference = same ? 0 : fabs(want - got);
  if (isnan(difference)) difference = INFINITY;
  if (difference > e->difference) e->difference = difference;
  if (isfinite(want) && fabs(want) > e->largest) e->largest = fabs(want);
}

static double compare_output(const hone_tensor_t* want, const hone_tensor_t* got) {
  hone_dtype_t dtype = hone_tensor_dtype(want);
  int64_t count = hone_tensor_count(want), step = (int64_t)hone_dtype_size(dtype);
  const char *x = hone_tensor_data(want), *y = hone_tensor_data(got);
  double a[ROW], b[ROW];
  extremes_t e = {0, 0};
  if (hone_tensor_count(got) != count) return INFINITY;
  for (int64_t done = 0; done < count; done += ROW) {
    int64_t n = count - done < ROW ? count - done : ROW;
    hone_load_f64(dtype, x + done * step, step, n, a);
    hone_load_f64(dtype, y + done * step, step, n, b);
    for (int64_t i = 0; i < n; i++) compare_element(a[i], b[i], &e);
  }
  return e.difference == 0 ? 0 : e.difference / e.largest;
}

static double compare(const search_t* s, hone_tensor_t* const* got) {
  double error = 0;
  for (int i = 0; i < s->n_outputs; i++) {
    if (!s->want[i] || !is_float(s->want[i])) continue;
    error = fmax(error, compare_output(s->want[i], got[i]));
  }
  return error;
}

/* ---- running ---- */

static void release(int count, hone_tensor_t** tensors) {
  for (int i = 0; i < count; i++) hone_tensor_release(tensors[i]);
}

/* The engine's outputs for the inputs, in the arena; to be released. */
static hone_status_t run(const search_t* s, hone_engine_t* engine, int* out_count,
                         hone_tensor_t*** out) {
  hone_session_t* session;
  *out_count = 0;
  HONE_TRY(hone_session_create_from_engine(engine, &session));
  int count = hone_session_output_count(session);
  *out = hone_arena_array(s->report->arena, (size_t)count, sizeof(hone_tensor_t*));
  hone_status_t status = *out ? NULL : hone_oom();
  if (!status)
    status = hone_session_run(session, NULL, s->mixed->n_inputs, s->mixed->inputs, count, *out);
  hone_session_destroy(session);
  if (!status) *out_count = count;
  return status;
}

static hone_status_t check_runs_here(const hone_engine_t* engine) {
  if (engine->runs_here) return NULL;
  return hone_status_make(HONE_UNSUPPORTED,
                          "precision mixed is chosen by running the model, and %s does not run "
                          "here: compile it there, or ask for bf16 or fp16",
                          engine->program->properties.target);
}

static hone_status_t measure(search_t* s, hone_engine_t* engine, double* out_error) {
  int count;
  hone_tensor_t** got;
  HONE_TRY(run(s, engine, &count, &got));
  *out_error = compare(s, got);
  release(count, got);
  s->report->told.n_measured++;
  return NULL;
}

/* ---- candidates ---- */

/* Seconds that narrow operands save: half of what reading the weights takes, and half of
 * the products' time where the device has fast ones. */
static double expect_gain(const search_t* s, double products, double bytes) {
  const hone_device_properties_t* p = &s->properties;
  double fast = products / (4 * hone_cost_lanes(p)) / hone_cost_clock(p);
  return fast + hone_cost_traffic(p, bytes, 2 * bytes);
}

static hone_status_t grow(owned_report_t* r) {
  if (r->told.n_layers < r->room) return NULL;
  int room = r->room ? 2 * r->room : 64;
  hone_mixed_layer_t* layers = hone_arena_array(r->arena, (size_t)room, sizeof *layers);
  if (!layers) return hone_oom();
  for (int i = 0; i < r->told.n_layers; i++) layers[i] = r->layers[i];
  r->layers = layers;
  r->told.layers = layers;
  r->room = room;
  return NULL;
}

/* hone_mixture_t.found, of the first time that all are narrow. */
static void note(void* self, const char* node, double products, double bytes) {
  search_t* s = self;
  owned_report_t* r = s->report;
  if (s->status) return;
  const char* name = hone_arena_strdup(r->arena, node);
  s->status = name ? grow(r) : hone_oom();
  if (s->status) return;
  r->layers[r->told.n_layers++] = (hone_mixed_layer_t){
      .node = name, .error = -1, .gain_seconds = expect_gain(s, products, bytes)};
}

/* ---- choosing ---- */

/* Compiles with the candidates of s->narrow, and measures. */
static hone_status_t try_choice(search_t* s, const hone_engine_options_t* options,
                                hone_engine_t** out_engine, double* out_error) {
  const hone_mixture_t mixture = {.count = s->report->told.n_layers, .narrow = s->narrow};
  *out_engine = NULL;
  hone_engine_t* engine;
  HONE_TRY(hone_engine_compile_as(s->model, options, s->dtype, &mixture, &engine));
  hone_status_t status = measure(s, engine, out_error);
  if (status)
    hone_engine_destroy(engine);
  else
    *out_engine = engine;
  return status;
}

static hone_status_t try_and_forget(search_t* s, double* out_error) {
  hone_engine_t* engine;
  HONE_TRY(try_choice(s, &s->options, &engine, out_error));
  hone_engine_destroy(engine);
  return NULL;
}

/* The first `count` in order, and no others. */
static void choose_first(search_t* s, int count) {
  for (int i = 0; i < s->report->told.n_layers; i++) s->narrow[s->order[i]] = i < count;
}

static int by_price(const void* left, const void* right, void* context) {
  const hone_mixed_layer_t* layers = context;
  int a = *(const int*)left, b = *(const int*)right;
  double x = layers[a].error / layers[a].gain_seconds, y = layers[b].error / layers[b].gain_seconds;
  if (x != y) return x < y ? -1 : 1;
  return a < b ? -1 : 1;
}

static hone_status_t measure_each(search_t* s) {
  owned_report_t* r = s->report;
  for (int i = 0; i < r->told.n_layers; i++) {
    for (int k = 0; k < r->told.n_layers; k++) s->narrow[k] = k == i;
    HONE_TRY(try_and_forget(s, &r->layers[i].error));
  }
  qsort_r(s->order, (size_t)r->told.n_layers, sizeof *s->order, by_price, r->layers);
  return NULL;
}

/* How many of the order keep the bound: the most that halving the rest finds. */
static hone_status_t find_most(search_t* s, int* out_count) {
  int keeps = 0, breaks = s->report->told.n_layers;
  while (breaks - keeps > 1) {
    int middle = keeps + (breaks - keeps) / 2;
    double error;
    choose_first(s, middle);
    HONE_TRY(try_and_forget(s, &error));
    if (error <= s->report->told.error_bound)
      keeps = middle;
    else
      breaks = middle;
  }
  *out_count = keeps;
  return NULL;
}

/* All of them, with a note of each. */
static hone_status_t find_candidates(search_t* s, hone_engine_t** out_engine, double* out_error) {
  const hone_mixture_t all = {.found = note, .self = s};
  HONE_TRY(hone_engine_compile_as(s->model, &s->options, s->dtype, &all, out_engine));
  HONE_TRY(s->status);
  HONE_TRY(measure(s, *out_engine, out_error));
  size_t count = (size_t)s->report->told.n_layers;
  s->order = hone_arena_array(s->report->arena, count, sizeof *s->order);
  s->narrow = hone_arena_array(s->report->arena, count, sizeof *s->narrow);
  if (!s->order || !s->narrow) return hone_oom();
  for (size_t i = 0; i < count; i++) s->order[i] = (int)i;
  return NULL;
}

static void tell_choice(search_t* s, int count, double error) {
  s->report->told.n_narrow = count;
  s->report->told.error = error;
  choose_first(s, count);
  for (int i = 0; i < s->report->told.n_layers; i++) s->report->layers[i].is_narrow = s->narrow[i];
}

/* The engine that is given away, with fewer narrow ones should it not keep the bound. */
static hone_status_t finish(search_t* s, const hone_engine_options_t* options, int count,
                            hone_engine_t** out_engine) {
  for (;; count--) {
    double error;
    choose_first(s, count);
    HONE_TRY(try_choice(s, options, out_engine, &error));
    tell_choice(s, count, error);
    if (error <= s->report->told.error_bound || count == 0) return NULL;
    hone_engine_destroy(*out_engine);
    *out_engine = NULL;
  }
}

/* What fp32 gives, and what the device has fast products of. */
static hone_status_t begin(search_t* s) {
  hone_engine_t* engine;
  HONE_TRY(hone_engine_compile(s->model, &s->options, &engine));
  hone_status_t status = check_runs_here(engine);
  if (!status) status = run(s, engine, &s->n_outputs, &s->want);
  s->properties = engine->program->properties;
  hone_engine_destroy(engine);
  if (status) return status;
  bool prefers_bf16 = s->properties.fast_bf16 && !s->properties.fast_f16;
  s->dtype = prefers_bf16 ? HONE_BF16 : HONE_F16;
  s->report->told.dtype = hone_dtype_name(s->dtype);
  for (int i = 0; i < s->n_outputs; i++)
    if (s->want[i] && is_float(s->want[i])) return NULL;
  return hone_status_make(HONE_UNSUPPORTED,
                          "precision mixed bounds the error of outputs, and the model has none of "
                          "floats: ask for bf16 or fp16");
}

static hone_status_t choose(search_t* s, const hone_engine_options_t* options,
                            hone_engine_t** out_engine) {
  double error;
  HONE_TRY(begin(s));
  HONE_TRY(find_candidates(s, out_engine, &error));
  int count = s->report->told.n_layers;
  bool keeps = error <= s->report->told.error_bound;
  if (keeps && !options->dump) {
    tell_choice(s, count, error);
    return NULL;
  }
  hone_engine_destroy(*out_engine);
  *out_engine = NULL;
  if (!keeps) {
    HONE_TRY(measure_each(s));
    HONE_TRY(find_most(s, &count));
  }
  return finish(s, options, count, out_engine);
}

/* ---- the whole ---- */

static hone_status_t create_report(const hone_allocator_t* allocator, double bound,
                                   owned_report_t** out) {
  owned_report_t* r = *out = hone_alloc(allocator, sizeof *r);
  if (!r) return hone_oom();
  r->allocator = allocator;
  r->told.error_bound = bound > 0 ? bound : usual_bound;
  return hone_arena_create(allocator, &r->arena);
}

void hone_mixed_report_destroy(hone_mixed_report_t* report) {
  owned_report_t* r = (owned_report_t*)(void*)report;
  if (!r) return;
  hone_arena_destroy(r->arena);
  hone_free(r->allocator, r, sizeof *r);
}

static hone_status_t check_bound(double bound) {
  if (bound >= 0 && isfinite(bound)) return NULL;
  return hone_status_make(HONE_INVALID_ARGUMENT, "an error bound of %g makes no sense", bound);
}

hone_status_t hone_engine_compile_mixed(const hone_model_t* model,
                                        const hone_engine_options_t* options,
                                        const hone_mixed_options_t* given,
                                        hone_engine_t** out_engine,
                                        hone_mixed_report_t** out_report) {
  hone_mixed_options_t mixed;
  hone_engine_options_t full;
  *out_engine = NULL;
  if (out_report) *out_report = NULL;
  hone_options_take(given, sizeof mixed, &mixed);
  hone_options_take(options, sizeof full, &full);
  full.precision = NULL;
  HONE_TRY(check_bound(mixed.error_bound));
  search_t s = {.model = model, .options = full, .mixed = &mixed};
  s.options.dump = NULL;
  hone_status_t status = create_report(full.allocator ? full.allocator : hone_allocator_system(),
                                       mixed.error_bound, &s.report);
  if (!status) status = choose(&s, &full, out_engine);
  release(s.n_outputs, s.want);
  if (status) hone_engine_destroy(*out_engine);
  if (status) *out_engine = NULL;
  if (!status && out_report)
    *out_report = &s.report->told;
  else
    hone_mixed_report_destroy(s.report ? &s.report->told : NULL);
  return status;
}
