/* Whether a program that was read from bytes can be run without going astray. */
#include "base/memory.h"
#include "runtime/engine_program.h"

static hone_status_t wrong(const hone_routine_t* routine, int step, const char* what) {
  return hone_status_make(HONE_INVALID_DATA, "the program is damaged: routine %d, step %d: %s",
                          routine->index, step, what);
}

static bool all_there(int count, const int* values, const bool* made) {
  for (int i = 0; i < count; i++)
    if (values[i] >= 0 && !made[values[i]]) return false;
  return true;
}

static bool none_left_out(int count, const int* values) {
  for (int i = 0; i < count; i++)
    if (values[i] < 0) return false;
  return true;
}

static bool is_launch_sound(const hone_routine_t* routine, const hone_step_t* step,
                            const bool* made) {
  const hone_program_value_t* values = routine->values;
  for (int i = 0; i < step->n_outputs; i++)
    if (!values[step->outputs[i]].is_known || values[step->outputs[i]].dtype == HONE_STRING)
      return false;
  for (int i = 0; i < step->n_buffers; i++) {
    int v = step->buffers[i];
    if (v == HONE_BUFFER_ERROR) continue;
    bool is_output = false;
    for (int k = 0; k < step->n_outputs; k++) is_output = is_output || step->outputs[k] == v;
    if (!values[v].is_known || values[v].dtype == HONE_STRING || (!is_output && !made[v]))
      return false;
  }
  return true;
}

static bool is_view_sound(const hone_routine_t* routine, const hone_step_t* step) {
  if (step->n_inputs != 1 || step->n_outputs != 1 || step->inputs[0] < 0) return false;
  const hone_program_value_t* out = &routine->values[step->outputs[0]];
  int base = step->inputs[0];
  if (routine->values[base].place == HONE_PLACE_VIEW) base = routine->values[base].view_of;
  return out->place == HONE_PLACE_VIEW && out->view_of == base && out->is_known &&
         routine->values[base].is_known && routine->values[base].place != HONE_PLACE_VIEW;
}

static bool is_control_sound(const hone_step_t* step) {
  if (!none_left_out(step->n_inputs, step->inputs)) return false;
  if (step->kind == HONE_STEP_IF)
    return step->n_inputs == 1 + step->bodies[0]->n_inputs + step->bodies[1]->n_inputs &&
           step->bodies[0]->n_outputs == step->n_outputs &&
           step->bodies[1]->n_outputs == step->n_outputs;
  const hone_routine_t* body = step->bodies[0];
  return step->n_inputs == body->n_inputs && body->n_outputs == step->n_outputs + 1 &&
         step->n_inputs >= 2 + step->n_carried;
}

static bool is_dims_sound(const hone_routine_t* routine, const hone_step_t* step) {
  if (step->n_inputs != 0 || step->n_outputs != 1) return false;
  const hone_program_value_t* out = &routine->values[step->outputs[0]];
  return out->place == HONE_PLACE_HOST && out->is_known && out->dtype == HONE_I64 &&
         out->rank == 1 && hone_dim_is(out->dims[0], step->n_sizes);
}

static bool is_step_sound(const hone_routine_t* routine, const hone_step_t* step,
                          const bool* made) {
  if (!all_there(step->n_inputs, step->inputs, made)) return false;
  switch (step->kind) {
    case HONE_STEP_LAUNCH:
      return is_launch_sound(routine, step, made);
    case HONE_STEP_VIEW:
      return is_view_sound(routine, step);
    case HONE_STEP_INTERPRET:
      return true;
    case HONE_STEP_DIMS:
      return is_dims_sound(routine, step);
    default:
      return is_control_sound(step);
  }
}

/* Marks what a step makes; false when it is there already. */
static bool make(const hone_routine_t* routine, const hone_step_t* step, bool* made) {
  for (int i = 0; i < step->n_outputs; i++) {
    int v = step->outputs[i];
    bool is_view = routine->values[v].place == HONE_PLACE_VIEW;
    if (made[v] || is_view != (step->kind == HONE_STEP_VIEW)) return false;
    made[v] = true;
  }
  return true;
}

static hone_status_t check_routine(const hone_routine_t* routine, bool* made) {
  for (int v = 0; v < routine->n_values; v++)
    made[v] = routine->values[v].place == HONE_PLACE_WEIGHT;
  for (int i = 0; i < routine->n_inputs; i++) {
    int v = routine->inputs[i];
    if (made[v] || routine->values[v].place != HONE_PLACE_INPUT)
      return wrong(routine, -1, "an input is no input");
    made[v] = true;
  }
  for (int s = 0; s < routine->n_steps; s++) {
    const hone_step_t* step = &routine->steps[s];
    if (!is_step_sound(routine, step, made) || !make(routine, step, made))
      return wrong(routine, s, "it does not fit its values");
  }
  if (!all_there(routine->n_outputs, routine->outputs, made))
    return wrong(routine, routine->n_steps, "an output is never made");
  return NULL;
}

hone_status_t hone_program_check(const hone_program_t* program) {
  for (int r = 0; r < program->n_routines; r++) {
    const hone_routine_t* routine = program->routines[r];
    size_t bytes = (size_t)routine->n_values * sizeof(bool);
    bool* made = hone_alloc(program->allocator, bytes);
    if (!made) return hone_oom();
    hone_status_t status = check_routine(routine, made);
    hone_free(program->allocator, made, bytes);
    HONE_TRY(status);
  }
  return NULL;
}
