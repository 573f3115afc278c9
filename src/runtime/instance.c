/* Instances: found by their key, made by evaluating and planning. */
#include "runtime/instance.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/turns.h"
#include "tune/cost.h"

/* ---- planning ---- */

hone_status_t hone_program_value_bytes(const hone_program_value_t* value, const int64_t* symbols,
                                       size_t* out_bytes) {
  int64_t dims[HONE_MAX_RANK], count, bytes;
  for (int i = 0; i < value->rank; i++) {
    dims[i] = hone_dim_eval(value->dims[i], symbols);
    if (dims[i] < 0)
      return hone_status_make(HONE_OUT_OF_RANGE, "value '%s': extent %d is %lld", value->name, i,
                              (long long)dims[i]);
  }
  if (!hone_dims_count(value->rank, dims, &count) ||
      !hone_i64_mul(count, (int64_t)hone_dtype_size(value->dtype), &bytes))
    return hone_status_make(HONE_OUT_OF_RANGE, "value '%s' is too large", value->name);
  *out_bytes = (size_t)bytes;
  return NULL;
}

/* The last step that reads the value or a view of it. */
static int last_read(const hone_routine_t* routine, int v) {
  int last = routine->values[v].last;
  for (int u = 0; u < routine->n_values; u++) {
    const hone_program_value_t* view = &routine->values[u];
    if (view->place == HONE_PLACE_VIEW && view->view_of == v && view->last > last)
      last = view->last;
  }
  return last;
}

/* Index among the planned values; -1: it is not planned. */
static int planned(const hone_routine_t* routine, const int* which, int count, int value) {
  if (value < 0) return -1;
  value = hone_routine_base_of(routine, value);
  for (int i = count - 1; i >= 0; i--)
    if (which[i] == value) return i;
  return -1;
}

/* Launches that take turns are one step, in which an output may take the place of what nobody else
 * of them touches. */
static int input_replaced(const hone_routine_t* routine, const hone_program_value_t* value) {
  int input = value->in_place_of;
  return input >= 0 && hone_turns_spare(routine, value->first, input) ? input : -1;
}

/* All windows are in the bytes of the first value that has one. */
static void plan_window(const hone_routine_t* routine, int index, int* base,
                        hone_plan_value_t* value) {
  value->bytes = (size_t)routine->window_bytes;
  value->view_of = *base;
  if (*base >= 0) return;
  *base = index;
  value->first = routine->window_first;
  value->last = routine->window_last;
}

/* Bytes to spare for sizes that do not share them: a fiftieth of the weights. */
static size_t find_spare(const hone_program_t* program) {
  const hone_device_properties_t* device = &program->properties;
  if (!device->is_immediate || device->compute_units < 2) return 0;
  return (size_t)(hone_program_weight_bytes(program) / 50);
}

hone_status_t hone_routine_plan(const hone_program_t* program, const hone_routine_t* routine,
                                const int64_t* symbols, bool is_apart, hone_plan_t* out_plan,
                                int* out_which) {
  int count = 0, windows = -1;
  for (int v = 0; v < routine->n_values; v++) {
    const hone_program_value_t* value = &routine->values[v];
    if (value->place != HONE_PLACE_ARENA) continue;
    hone_plan_value_t* planned_value = &out_plan->values[count];
    *planned_value = (hone_plan_value_t){.name = value->name,
                                         .first = hone_turns_first(routine, value->first),
                                         .last = hone_turns_first(routine, last_read(routine, v)),
                                         .view_of = -1};
    HONE_TRY(hone_program_value_bytes(value, symbols, &planned_value->bytes));
    planned_value->in_place_of = planned(routine, out_which, count, input_replaced(routine, value));
    if (value->has_window && !is_apart) plan_window(routine, count, &windows, planned_value);
    out_which[count++] = v;
  }
  out_plan->n_values = count;
  out_plan->alignment = program->properties.alignment;
  out_plan->spare = find_spare(program);
  return hone_plan_make(out_plan, program->allocator);
}

/* ---- making ---- */

void hone_step_evaluate(const hone_program_t* program, const hone_step_t* step,
                        const int64_t* symbols, int64_t* out_numbers) {
  for (int i = 0; i < step->n_sizes; i++) *out_numbers++ = hone_dim_eval(step->sizes[i], symbols);
  const int64_t* groups = out_numbers;
  for (int i = 0; i < 3; i++) *out_numbers++ = hone_dim_eval(step->groups[i], symbols);
  for (int i = 0; i < 3; i++) *out_numbers++ = hone_dim_eval(step->locals[i], symbols);
  const hone_work_amount_t work = hone_work_eval(&step->work, symbols);
  *out_numbers++ = hone_cost_grain(&program->properties, &work, groups);
  *out_numbers = (int64_t)fmin(1e9 * hone_cost_least_seconds(&program->properties, &work), 1e15);
}

static hone_status_t allocate(const hone_program_t* program, const hone_routine_t* routine,
                              hone_instance_t** out_instance) {
  size_t numbers = (size_t)routine->n_key + (size_t)routine->n_numbers;
  size_t bytes = sizeof(hone_instance_t) + numbers * sizeof(int64_t) +
                 (size_t)routine->n_values * sizeof(size_t);
  hone_instance_t* instance = hone_alloc(program->allocator, bytes);
  if (!instance) return hone_oom();
  instance->allocated = bytes;
  instance->references = 1;
  instance->key = (int64_t*)(void*)(instance + 1);
  instance->numbers = instance->key + routine->n_key;
  instance->offsets = (size_t*)(void*)(instance->numbers + routine->n_numbers);
  *out_instance = instance;
  return NULL;
}

static hone_status_t place(const hone_program_t* program, const hone_routine_t* routine,
                           const int64_t* symbols, hone_instance_t* instance) {
  size_t count = (size_t)routine->n_values;
  size_t bytes = count * (sizeof(hone_plan_value_t) + sizeof(int));
  hone_plan_value_t* values = hone_alloc(program->allocator, bytes);
  if (!values) return hone_oom();
  hone_plan_t plan = {.values = values};
  int* which = (int*)(void*)(values + count);
  hone_status_t status =
      hone_routine_plan(program, routine, symbols, instance->is_apart, &plan, which);
  memset(instance->offsets, 0xff, count * sizeof *instance->offsets);
  for (int i = 0; !status && i < plan.n_values; i++) instance->offsets[which[i]] = values[i].offset;
  instance->arena_bytes = plan.bytes;
  hone_free(program->allocator, values, bytes);
  return status;
}

/* Who comes to a value whose size cannot be says what is wrong. */
static void evaluate_shape(const hone_program_value_t* value, const int64_t* symbols,
                           int64_t* numbers) {
  size_t bytes = 0;
  hone_status_t status = hone_program_value_bytes(value, symbols, &bytes);
  *numbers++ = status ? -1 : (int64_t)bytes;
  for (int i = 0; i < value->rank; i++) numbers[i] = hone_dim_eval(value->dims[i], symbols);
  hone_status_free(status);
}

static hone_status_t make(const hone_program_t* program, const hone_routine_t* routine,
                          const int64_t* symbols, bool is_apart, hone_instance_t** out_instance) {
  hone_instance_t* instance = NULL;
  HONE_TRY(allocate(program, routine, &instance));
  instance->is_apart = is_apart;
  for (int i = 0; i < routine->n_key; i++) instance->key[i] = symbols[routine->key[i]];
  for (int s = 0; s < routine->n_steps; s++) {
    const hone_step_t* step = &routine->steps[s];
    if (step->kind == HONE_STEP_LAUNCH && !step->is_late)
      hone_step_evaluate(program, step, symbols, instance->numbers + step->numbers);
  }
  for (int v = 0; v < routine->n_values; v++) {
    const hone_program_value_t* value = &routine->values[v];
    if (value->shape >= 0) evaluate_shape(value, symbols, instance->numbers + value->shape);
  }
  hone_status_t status = place(program, routine, symbols, instance);
  if (status) hone_instance_release(program, instance);
  *out_instance = status ? NULL : instance;
  return status;
}

/* ---- keeping; with the mutex held ---- */

void hone_instance_release(const hone_program_t* program, hone_instance_t* instance) {
  if (instance && --instance->references == 0)
    hone_free(program->allocator, instance, instance->allocated);
}

/* Puts it first in the list. */
static void move_up(hone_routine_t* routine, int from) {
  hone_instance_t* instance = routine->instances[from];
  memmove(routine->instances + 1, routine->instances, (size_t)from * sizeof(hone_instance_t*));
  routine->instances[0] = instance;
}

bool hone_instance_fits(const hone_instance_t* instance, const hone_routine_t* routine,
                        const int64_t* symbols, bool is_apart) {
  int same = 0;
  while (same < routine->n_key && instance->key[same] == symbols[routine->key[same]]) same++;
  return same == routine->n_key && instance->is_apart == is_apart;
}

static hone_instance_t* look_up(hone_routine_t* routine, const int64_t* symbols, bool is_apart) {
  for (int i = 0; i < routine->n_instances; i++) {
    if (!hone_instance_fits(routine->instances[i], routine, symbols, is_apart)) continue;
    move_up(routine, i);
    return routine->instances[0];
  }
  return NULL;
}

static void keep(const hone_program_t* program, hone_routine_t* routine,
                 hone_instance_t* instance) {
  if (routine->n_instances == HONE_MAX_INSTANCES)
    hone_instance_release(program, routine->instances[--routine->n_instances]);
  routine->instances[routine->n_instances++] = instance;
  move_up(routine, routine->n_instances - 1);
}

hone_status_t hone_instance_find(hone_program_t* program, hone_routine_t* routine,
                                 const int64_t* symbols, bool is_apart,
                                 hone_instance_t** out_instance) {
  pthread_mutex_lock(&program->mutex);
  hone_instance_t* instance = look_up(routine, symbols, is_apart);
  hone_status_t status = NULL;
  if (!instance) {
    status = make(program, routine, symbols, is_apart, &instance);
    if (instance) keep(program, routine, instance);
  }
  if (instance) instance->references++;
  pthread_mutex_unlock(&program->mutex);
  *out_instance = instance;
  return status;
}

void hone_instance_drop(hone_program_t* program, hone_instance_t* instance) {
  pthread_mutex_lock(&program->mutex);
  hone_instance_release(program, instance);
  pthread_mutex_unlock(&program->mutex);
}
