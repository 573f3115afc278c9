/* Views that need no step: kernels know shapes by themselves, so those that only kernels
 * read are the values that they look into, and a value that only kernels and one view read
 * is made in that view's shape. */
#include "runtime/merge_views.h"

#include "base/memory.h"

typedef struct merger {
  hone_program_t* program;
  hone_routine_t* routine;
  bool* is_shaped;   /* by value: its own shape matters to who reads it */
  bool* is_launched; /* by value: a kernel makes it, and only that can */
  int* to;           /* by value: which one serves for it */
} merger_t;

static bool is_kernel_only(const hone_step_t* step) {
  return step->kind == HONE_STEP_LAUNCH && !step->interpreted;
}

static void look(const merger_t* m) {
  const hone_routine_t* routine = m->routine;
  for (int s = 0; s < routine->n_steps; s++) {
    const hone_step_t* step = &routine->steps[s];
    bool is_blind = is_kernel_only(step) || step->kind == HONE_STEP_VIEW;
    for (int i = 0; !is_blind && i < step->n_inputs; i++)
      if (step->inputs[i] >= 0) m->is_shaped[step->inputs[i]] = true;
    for (int i = 0; is_kernel_only(step) && i < step->n_outputs; i++)
      m->is_launched[step->outputs[i]] = true;
  }
  for (int i = 0; i < routine->n_outputs; i++) m->is_shaped[routine->outputs[i]] = true;
  for (int v = 0; v < routine->n_values; v++) {
    m->is_shaped[v] = m->is_shaped[v] || routine->values[v].n_binds;
    m->to[v] = v;
  }
}

static hone_dim_t bytes_of(const merger_t* m, const hone_program_value_t* value) {
  hone_dims_t* dims = m->program->dims;
  hone_dim_t size = hone_dim_int((int64_t)hone_dtype_size(value->dtype));
  return hone_dim_mul(dims, hone_dim_product(dims, value->rank, value->dims), size);
}

/* The value that the view looks into serves for it, where it can. */
static void merge(const merger_t* m, int v) {
  hone_program_value_t* view = &m->routine->values[v];
  hone_program_value_t* base = &m->routine->values[view->view_of];
  if (!base->is_known || view->n_binds) return;
  hone_dim_t bytes = bytes_of(m, view);
  if (hone_dim_is_bad(bytes) || !hone_dim_same(bytes, bytes_of(m, base))) return;
  if (m->is_shaped[v]) {
    if (m->is_shaped[view->view_of] || !m->is_launched[view->view_of]) return;
    m->is_shaped[view->view_of] = true;
    base->dtype = view->dtype;
    base->rank = view->rank;
    base->dims = view->dims;
    if (view->name[0]) base->name = view->name;
  }
  m->to[v] = view->view_of;
}

/* The lists were made for this routine. */
static void rename(const merger_t* m, int count, const int* list) {
  int* values = (int*)(uintptr_t)list;
  for (int i = 0; i < count; i++)
    if (values[i] >= 0) values[i] = m->to[values[i]];
}

static void drop_steps(const merger_t* m) {
  hone_routine_t* routine = m->routine;
  int count = 0;
  for (int s = 0; s < routine->n_steps; s++) {
    const hone_step_t* step = &routine->steps[s];
    if (step->kind == HONE_STEP_VIEW && m->to[step->outputs[0]] != step->outputs[0]) continue;
    rename(m, step->n_inputs, step->inputs);
    rename(m, step->n_buffers, step->buffers);
    routine->steps[count++] = *step;
  }
  routine->n_steps = count;
  rename(m, routine->n_outputs, routine->outputs);
  for (int v = 0; v < routine->n_values; v++) rename(m, 1, &routine->values[v].in_place_of);
}

hone_status_t hone_routine_merge_views(hone_program_t* program, hone_routine_t* routine) {
  size_t count = (size_t)routine->n_values, bytes = count * (sizeof(int) + 2 * sizeof(bool));
  merger_t m = {.program = program, .routine = routine};
  m.to = hone_alloc(program->allocator, bytes);
  if (!m.to) return hone_oom();
  m.is_shaped = (bool*)(void*)(m.to + count);
  m.is_launched = m.is_shaped + count;
  look(&m);
  for (int s = 0; s < routine->n_steps; s++)
    if (routine->steps[s].kind == HONE_STEP_VIEW) merge(&m, routine->steps[s].outputs[0]);
  drop_steps(&m);
  hone_free(program->allocator, m.to, bytes);
  return hone_dims_out_of_memory(program->dims) ? hone_oom() : NULL;
}
