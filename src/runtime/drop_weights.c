/* Weights that nobody reads as they are: those that kernels have in another order. */
#include "base/memory.h"
#include "runtime/program.h"

static void mark_weight(const hone_routine_t* routine, int v, bool* used) {
  if (v < 0) return;
  const hone_program_value_t* value = &routine->values[v];
  if (value->place == HONE_PLACE_VIEW) value = &routine->values[value->view_of];
  if (value->place == HONE_PLACE_WEIGHT) used[value->weight] = true;
}

/* Where guards may have a step interpreted, its inputs are the weights as the
 * model has them, and its kernel reads others. */
static void mark_weights(const hone_routine_t* routine, bool* used) {
  for (int s = 0; s < routine->n_steps; s++) {
    const hone_step_t* step = &routine->steps[s];
    for (int i = 0; i < step->n_inputs; i++) mark_weight(routine, step->inputs[i], used);
    for (int i = 0; i < step->n_buffers; i++) mark_weight(routine, step->buffers[i], used);
  }
  for (int i = 0; i < routine->n_outputs; i++) mark_weight(routine, routine->outputs[i], used);
  for (int v = 0; v < routine->n_values; v++)
    if (routine->values[v].n_binds) mark_weight(routine, v, used);
}

/* Gives each weight that stays its new index, and drops the others. */
static void compact(hone_program_t* program, const bool* used, int* moved) {
  int count = 0;
  for (int i = 0; i < program->n_weights; i++) {
    moved[i] = used[i] ? count : -1;
    if (used[i])
      program->weights[count++] = program->weights[i];
    else
      hone_tensor_release(program->weights[i].tensor);
  }
  program->n_weights = count;
}

/* A value whose weight is gone is one that is never made. */
static void renumber(const hone_routine_t* routine, const int* moved) {
  for (int v = 0; v < routine->n_values; v++) {
    hone_program_value_t* value = &routine->values[v];
    if (value->place != HONE_PLACE_WEIGHT) continue;
    int weight = moved[value->weight];
    value->weight = weight < 0 ? 0 : weight;
    if (weight < 0) value->place = HONE_PLACE_HOST;
  }
}

hone_status_t hone_program_drop_weights(hone_program_t* program) {
  size_t count = (size_t)program->n_weights, bytes = count * (sizeof(bool) + sizeof(int));
  int* moved = hone_alloc(program->allocator, bytes);
  if (!moved) return hone_oom();
  bool* used = (bool*)(void*)(moved + count);
  for (int r = 0; r < program->n_routines; r++) mark_weights(program->routines[r], used);
  compact(program, used, moved);
  for (int r = 0; r < program->n_routines; r++) renumber(program->routines[r], moved);
  hone_free(program->allocator, moved, bytes);
  return NULL;
}
