/* Which kernels a model has, how often each is launched, and with what sizes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ops/lower.h"
#include "runtime/precision.h"
#include "runtime/routine.h"
#include "runtime/tune_model.h"

enum { USUAL_EXTENT = 64, MOST_EXTENT = 4096 };

/* ---- the kernels ---- */

hone_status_t hone_tuning_add(hone_tuning_t* t, const hone_kernel_t* lowered, const char* digest,
                              int entry) {
  if (t->n_kernels == t->room) {
    int room = t->room ? 2 * t->room : 64;
    hone_tuned_kernel_t** list = hone_arena_array(t->arena, (size_t)room, sizeof *list);
    if (!list) return hone_oom();
    if (t->n_kernels) memcpy(list, t->kernels, (size_t)t->n_kernels * sizeof *list);
    t->kernels = list;
    t->room = room;
  }
  hone_tuned_kernel_t* kernel = hone_arena_alloc(t->arena, sizeof *kernel);
  if (!kernel) return hone_oom();
  *kernel = (hone_tuned_kernel_t){.entry = entry};
  snprintf(kernel->digest, sizeof kernel->digest, "%s", digest);
  t->kernels[t->n_kernels++] = kernel;
  HONE_TRY(hone_kernel_clone(lowered, &kernel->lowered));
  return hone_map_put(&t->by_digest, kernel->digest, kernel);
}

static hone_status_t watch(void* self, const hone_kernel_t* lowered, const char* digest,
                           int entry) {
  hone_tuning_t* t = self;
  return hone_map_get(&t->by_digest, digest) ? NULL : hone_tuning_add(t, lowered, digest, entry);
}

hone_status_t hone_tuning_compile(const hone_tuning_t* t, const hone_model_t* model,
                                  const hone_compile_settings_t* settings, hone_graph_t** out_graph,
                                  hone_program_t** out_program) {
  const hone_lower_options_t lowering = {.n_dims = t->options.n_dims, .dims = t->options.dims};
  hone_precision_t precision;
  HONE_TRY(hone_precision_parse(t->options.precision, model, &precision));
  const hone_pass_options_t passes = {
      .precision = precision.dtype, .bf16x3 = precision.bf16x3, .exact = t->options.exact};
  hone_compile_settings_t own = *settings;
  own.allocator = t->allocator;
  own.passes = &passes;
  HONE_TRY(hone_lower_model(model, &lowering, t->allocator, out_graph));
  return hone_compile(*out_graph, t->backend, t->device, &own, NULL, out_program);
}

static hone_status_t plan(hone_tuning_t* t) {
  const hone_compile_settings_t settings = {
      .no_tuned = true, .plan_only = true, .watch = watch, .watch_self = t};
  double start = hone_clock_now(NULL);
  HONE_TRY(hone_tuning_compile(t, t->model, &settings, &t->graph, &t->program));
  t->plan_seconds = hone_clock_now(NULL) - start;
  return NULL;
}

/* ---- sizes ---- */

static int64_t clamp(int64_t value, int64_t least, int64_t most) {
  return value < least ? least : value > most ? most : value;
}

/* Ranges that were given are tried at their upper end. Of what is open, the
 * first axis of an input is taken for a batch, of one. */
static void choose_symbols(const hone_tuning_t* t, int64_t* symbols) {
  const hone_routine_t* whole = t->program->routines[0];
  for (int i = 0; i < hone_dims_symbol_count(t->program->dims); i++) {
    const hone_symbol_t* symbol = hone_dims_symbol(t->program->dims, i);
    int64_t value = symbol->max <= MOST_EXTENT ? symbol->max : USUAL_EXTENT;
    symbols[i] = clamp(value, symbol->min, symbol->max);
  }
  for (int i = 0; i < whole->n_inputs; i++) {
    const hone_program_value_t* value = &whole->values[whole->inputs[i]];
    for (int k = 0; k < value->n_binds; k++) {
      const hone_program_bind_t* bind = &value->binds[k];
      const hone_symbol_t* symbol = hone_dims_symbol(t->program->dims, bind->symbol);
      if (bind->is_dim && bind->index == 0 && symbol->max > MOST_EXTENT)
        symbols[bind->symbol] = clamp(1, symbol->min, symbol->max);
    }
  }
}

/* Counts the kernel's launches; gives the first. */
static const hone_step_t* find_launches(const hone_tuning_t* t, hone_tuned_kernel_t* kernel) {
  const hone_step_t* first = NULL;
  for (int r = 0; r < t->program->n_routines; r++)
    for (int s = 0; s < t->program->routines[r]->n_steps; s++) {
      const hone_step_t* step = &t->program->routines[r]->steps[s];
      if (step->kind != HONE_STEP_LAUNCH || step->kernel != kernel->entry) continue;
      if (!first) first = step;
      kernel->count++;
    }
  return first;
}

/* ---- rigs ---- */

static hone_status_t make_rig(hone_tuning_t* t, hone_tuned_kernel_t* kernel,
                              const hone_step_t* step, const int64_t* symbols) {
  int64_t* sizes = hone_arena_array(t->arena, (size_t)step->n_sizes, sizeof *sizes);
  if (!sizes) return hone_oom();
  if (step->n_sizes != kernel->lowered->n_sizes)
    return hone_status_make(HONE_UNSUPPORTED, "its sizes cannot be told");
  for (int i = 0; i < step->n_sizes; i++) {
    const hone_symbol_t* symbol = hone_dim_as_symbol(kernel->lowered->sizes[i]);
    sizes[i] = clamp(hone_dim_eval(step->sizes[i], symbols), symbol->min, symbol->max);
  }
  HONE_TRY(hone_tactic_set_create(t->allocator, kernel->lowered, &t->properties, t->backend->tactic,
                                  t->device, &kernel->set));
  return hone_rig_create(&t->shared, kernel->lowered, sizes, kernel->set, &kernel->rig);
}

/* What cannot be tuned stays as compiling has it, with the reason. */
static hone_status_t equip(hone_tuning_t* t, hone_tuned_kernel_t* kernel, const int64_t* symbols) {
  const hone_step_t* step = find_launches(t, kernel);
  kernel->told = (hone_tuning_kernel_t){.name = kernel->lowered->name,
                                        .origin = kernel->lowered->origin,
                                        .tactic = "",
                                        .parameters = "",
                                        .skipped = step ? "" : "nothing launches it",
                                        .count = kernel->count};
  hone_status_t status = step ? make_rig(t, kernel, step, symbols) : NULL;
  if (hone_status_code(status) != HONE_UNSUPPORTED) return status;
  kernel->told.skipped = hone_arena_strdup(t->arena, hone_status_message(status));
  hone_status_free(status);
  return kernel->told.skipped ? NULL : hone_oom();
}

/* ---- the defaults ---- */

enum { MOST_AT_ONCE = 16 };

static double time_left(const hone_tuning_t* t) {
  return t->options.budget_seconds - (hone_clock_now(NULL) - t->start);
}

static void build_kernels(const hone_tuning_t* t, int first, int count) {
  const char *names[MOST_AT_ONCE], *sources[MOST_AT_ONCE];
  double left = time_left(t);
  hone_blob_t binary = {0};
  for (int i = 0; i < count; i++) {
    names[i] = t->program->kernels[first + i].name;
    sources[i] = t->program->kernels[first + i].source;
  }
  t->backend->limit_build(t->device, left < 10 ? left : 10);
  hone_status_free(t->backend->build(t->device, count, names, sources, &binary));
  t->backend->limit_build(t->device, 0);
  hone_free(t->allocator, binary.data, binary.size);
}

/* Builds what compiling would use, several at once and into the backend's cache
 * where it has one: every kernel's first trial. Half of the time may go there;
 * how many are begun at once follows from what the last ones took. What fails,
 * fails again when it is tried. */
static void build_ahead(const hone_tuning_t* t) {
  double budget = t->options.budget_seconds, each = 0;
  double spare = isfinite(budget) ? 0.5 * budget : 0;
  for (int i = 0, count = 2; i < t->program->n_kernels; i += count) {
    double left = time_left(t) - spare, start = hone_clock_now(NULL);
    if (each > 0) count = left / each > MOST_AT_ONCE ? MOST_AT_ONCE : (int)(left / each);
    if (count > t->program->n_kernels - i) count = t->program->n_kernels - i;
    if (!(left > 0) || count < 1) return;
    build_kernels(t, i, count);
    each = (hone_clock_now(NULL) - start) / count;
  }
}

/* By the time that they are expected to take in a run, the longest first. */
static int by_expectation(const void* left, const void* right) {
  const hone_tuned_kernel_t *a = *(hone_tuned_kernel_t*const*)left,
                            *b = *(hone_tuned_kernel_t*const*)right;
  if (a->expected != b->expected) return a->expected > b->expected ? -1 : 1;
  return strcmp(a->digest, b->digest);
}

static void order(hone_tuning_t* t) {
  for (int i = 0; i < t->n_kernels; i++) {
    hone_tuned_kernel_t* kernel = t->kernels[i];
    if (!kernel->rig) continue;
    hone_candidate_t first = hone_space_default(kernel->set->space);
    kernel->expected = kernel->count * hone_tactic_set_cost(kernel->set, &first);
  }
  if (t->n_kernels) qsort(t->kernels, (size_t)t->n_kernels, sizeof *t->kernels, by_expectation);
}

static hone_status_t want_tactics(const hone_tuning_t* t) {
  if (t->backend->tactic) return NULL;
  return hone_status_make(HONE_UNSUPPORTED, "device '%s' has no tactics: there is nothing to tune",
                          t->backend->name);
}

hone_status_t hone_tuning_collect_model(hone_tuning_t* t, const void* model) {
  HONE_TRY(want_tactics(t));
  t->model = model;
  t->whole = hone_tuning_whole(t);
  HONE_TRY(plan(t));
  int count = hone_dims_symbol_count(t->program->dims);
  t->symbols = hone_arena_array(t->arena, (size_t)count, sizeof *t->symbols);
  if (!t->symbols) return hone_oom();
  choose_symbols(t, t->symbols);
  for (int i = 0; i < t->n_kernels; i++) HONE_TRY(equip(t, t->kernels[i], t->symbols));
  order(t);
  if (t->backend->limit_build) build_ahead(t);
  return NULL;
}
