/* What a program takes, before it runs. */
#include <string.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "ir/type_text.h"
#include "runtime/context.h"
#include "runtime/guard.h"

/* Plans a routine and calls `use` with the plan while it is there. */
static hone_status_t with_plan(const hone_program_t* program, const hone_routine_t* routine,
                               const int64_t* symbols,
                               void (*use)(void* self, hone_plan_t* plan, const int* which),
                               void* self) {
  size_t count = (size_t)routine->n_values;
  size_t bytes = count * (sizeof(hone_plan_value_t) + sizeof(int));
  hone_plan_value_t* values = hone_alloc(program->allocator, bytes);
  if (!values) return hone_oom();
  hone_plan_t plan = {.values = values};
  int* which = (int*)(void*)(values + count);
  hone_status_t status = hone_routine_plan(program, routine, symbols, false, &plan, which);
  if (!status) use(self, &plan, which);
  hone_free(program->allocator, values, bytes);
  return status;
}

/* Whether its bytes are those of one of the first `count` outputs. */
static bool is_output(const hone_routine_t* routine, int count, int v) {
  for (int i = 0; i < count; i++)
    if (hone_routine_base_of(routine, routine->outputs[i]) == hone_routine_base_of(routine, v))
      return true;
  return false;
}

/* What is an input or an earlier output as well takes nothing more; weights are copied. */
static bool is_new_output(const hone_routine_t* whole, int index) {
  int v = hone_routine_base_of(whole, whole->outputs[index]);
  hone_place_t place = whole->values[v].place;
  return place == HONE_PLACE_WEIGHT || (place != HONE_PLACE_INPUT && !is_output(whole, index, v));
}

/* The loop whose body it is; NULL: there is none. */
static const hone_step_t* loop_of(const hone_program_t* program, const hone_routine_t* body,
                                  const hone_routine_t** out_around) {
  for (int r = 0; r < program->n_routines; r++)
    for (int s = 0; s < program->routines[r]->n_steps; s++) {
      const hone_step_t* step = &program->routines[r]->steps[s];
      if (step->kind != HONE_STEP_LOOP || step->bodies[0] != body) continue;
      *out_around = program->routines[r];
      return step;
    }
  return NULL;
}

/* Which of a body's outputs its rounds write into stacks, where they do not count by themselves:
 * those from the result on; none where there is no such loop. */
static int first_stacked(const hone_program_t* program, const hone_routine_t* routine) {
  const hone_routine_t* around;
  if (routine->index == 0 || program->properties.guard) return routine->n_outputs;
  const hone_step_t* loop = loop_of(program, routine, &around);
  return loop ? 1 + loop->n_carried : routine->n_outputs;
}

static bool is_stacked(const hone_routine_t* routine, int first, int v) {
  for (int i = first; i < routine->n_outputs; i++)
    if (routine->outputs[i] == v) return hone_value_is_launched(routine, v);
  return false;
}

/* The results of the whole count elsewhere, as do outputs from `stacked` on. */
static bool counts_as_heap(const hone_routine_t* routine, int stacked, int v) {
  const hone_program_value_t* value = &routine->values[v];
  bool on_heap = value->place == HONE_PLACE_HOST || value->place == HONE_PLACE_HEAP;
  return on_heap && value->is_known && !value->is_late && value->first >= 0 &&
         !(routine->index == 0 && is_output(routine, routine->n_outputs, v)) &&
         !is_stacked(routine, stacked, v);
}

static void add_entry(hone_plan_t* plan, int first, int last, size_t bytes) {
  plan->values[plan->n_values++] = (hone_plan_value_t){
      .first = first, .last = last, .bytes = bytes, .view_of = -1, .in_place_of = -1};
}

/* Inputs of an interpreted step; false where one is of unknown size, or has strings. */
static bool input_extents(const hone_routine_t* routine, const hone_step_t* step,
                          const int64_t* symbols, hone_extents_t* out) {
  for (int i = 0; i < step->n_inputs; i++) {
    if (step->inputs[i] < 0) continue;
    const hone_program_value_t* value = &routine->values[step->inputs[i]];
    if (!value->is_known || value->is_late || value->dtype == HONE_STRING) return false;
    out[i] = (hone_extents_t){.dtype = value->dtype, .rank = value->rank};
    for (int k = 0; k < value->rank; k++) out[i].dims[k] = hone_dim_eval(value->dims[k], symbols);
  }
  return true;
}

/* What runs on whole tensors cannot be lent planned memory: it gets copies. */
static hone_status_t add_copies(const hone_routine_t* routine, const hone_step_t* step, int index,
                                const int64_t* symbols, hone_plan_t* plan) {
  for (int i = 0; i < step->n_inputs && !step->gives_tensors; i++) {
    size_t bytes;
    if (step->inputs[i] < 0) continue;
    const hone_program_value_t* value = &routine->values[step->inputs[i]];
    if (routine->values[hone_routine_base_of(routine, step->inputs[i])].place != HONE_PLACE_ARENA)
      continue;
    HONE_TRY(hone_program_value_bytes(value, symbols, &bytes));
    add_entry(plan, index, value->last, bytes);
  }
  return NULL;
}

/* What an interpreted step works in, where that is known before it runs. */
static hone_status_t find_working(const hone_program_t* program, const hone_routine_t* routine,
                                  const hone_step_t* step, const int64_t* symbols,
                                  uint64_t* out_bytes, bool* out_known) {
  size_t size = (size_t)step->n_inputs * sizeof(hone_extents_t);
  hone_extents_t* inputs = hone_alloc(program->allocator, size);
  if (!inputs) return hone_oom();
  *out_known =
      program->properties.shares_host_memory && input_extents(routine, step, symbols, inputs) &&
      hone_backend_find("ref")->working_bytes(step->interpreted, step->n_inputs, inputs, out_bytes);
  hone_free(program->allocator, inputs, size);
  return NULL;
}

static hone_status_t list_working(const hone_program_t* program, const hone_routine_t* routine,
                                  int index, const int64_t* symbols, hone_plan_t* plan,
                                  bool* has_late) {
  const hone_step_t* step = &routine->steps[index];
  uint64_t bytes = 0;
  bool known;
  HONE_TRY(find_working(program, routine, step, symbols, &bytes, &known));
  *has_late |= !known;
  if (!known) return NULL;
  add_entry(plan, index, index, (size_t)bytes);
  return add_copies(routine, step, index, symbols, plan);
}

/* Launches for whose sizes no kernel was made are interpreted too. */
static bool is_interpreted(const hone_step_t* step, const int64_t* symbols) {
  if (step->kind == HONE_STEP_INTERPRET) return true;
  return step->kind == HONE_STEP_LAUNCH && !step->is_late && !hone_guards_hold(step, symbols);
}

static hone_status_t list_steps(const hone_program_t* program, const hone_routine_t* routine,
                                const int64_t* symbols, hone_plan_t* plan, bool* has_late) {
  for (int s = 0; s < routine->n_steps; s++)
    if (is_interpreted(&routine->steps[s], symbols))
      HONE_TRY(list_working(program, routine, s, symbols, plan, has_late));
  return NULL;
}

/* Values on the heap whose size is known; a plan of them says how much is alive
 * at once. */
static hone_status_t list_heap(const hone_program_t* program, const hone_routine_t* routine,
                               const int64_t* symbols, hone_plan_t* plan) {
  int stacked = first_stacked(program, routine);
  for (int v = 0; v < routine->n_values; v++) {
    const hone_program_value_t* value = &routine->values[v];
    if (!counts_as_heap(routine, stacked, v)) continue;
    size_t bytes;
    HONE_TRY(hone_program_value_bytes(value, symbols, &bytes));
    bool is_kept = routine->steps[value->first].kind == HONE_STEP_DIMS; /* from run to run */
    add_entry(plan, is_kept ? 0 : value->first, value->last, bytes);
  }
  return NULL;
}

/* Room for all values, and for each step what it works in and copies of its inputs. */
static size_t most_entries(const hone_routine_t* routine) {
  size_t count = (size_t)routine->n_values + (size_t)routine->n_steps + (size_t)routine->n_outputs;
  for (int s = 0; s < routine->n_steps; s++) count += (size_t)routine->steps[s].n_inputs;
  return count;
}

/* Outputs count by themselves; what else is there at once counts beyond them. */
static hone_status_t list_outputs(const hone_routine_t* whole, const int64_t* symbols,
                                  hone_plan_t* plan) {
  for (int i = 0; i < whole->n_outputs; i++) {
    int v = hone_routine_base_of(whole, whole->outputs[i]);
    const hone_program_value_t* value = &whole->values[v];
    size_t bytes;
    if (!is_new_output(whole, i) || !value->is_known || value->is_late) continue;
    HONE_TRY(hone_program_value_bytes(value, symbols, &bytes));
    int first = value->place == HONE_PLACE_WEIGHT ? whole->n_steps : value->first;
    add_entry(plan, first, whole->n_steps, bytes);
  }
  return NULL;
}

static hone_status_t add_heap(const hone_program_t* program, const hone_routine_t* routine,
                              const int64_t* symbols, hone_program_memory_t* memory) {
  size_t bytes = most_entries(routine) * sizeof(hone_plan_value_t);
  hone_plan_t plan = {.alignment = 1, .values = hone_alloc(program->allocator, bytes)};
  if (!plan.values) return hone_oom();
  hone_status_t status = list_heap(program, routine, symbols, &plan);
  if (!status) status = list_steps(program, routine, symbols, &plan, &memory->has_late);
  if (!status && routine->index == 0) status = list_outputs(routine, symbols, &plan);
  if (!status) status = hone_plan_make(&plan, program->allocator);
  if (!status) memory->heap += plan.lower_bound - (routine->index == 0 ? memory->outputs : 0);
  hone_free(program->allocator, plan.values, bytes);
  return status;
}

static void add_plan(void* self, hone_plan_t* plan, const int* which) {
  hone_program_memory_t* memory = self;
  (void)which;
  memory->least += plan->lower_bound;
  memory->n_planned += plan->n_values;
  memory->n_in_place += plan->n_in_place;
  memory->planned += plan->bytes;
  memory->unshared += plan->unshared_bytes;
}

static hone_status_t add_values(const hone_routine_t* routine, int count, const int* values,
                                const int64_t* symbols, size_t* total, bool* has_late) {
  for (int i = 0; i < count; i++) {
    const hone_program_value_t* value = &routine->values[values[i]];
    size_t bytes = 0;
    if (!value->is_known || value->is_late)
      *has_late = true;
    else
      HONE_TRY(hone_program_value_bytes(value, symbols, &bytes));
    *total += bytes;
  }
  return NULL;
}

static hone_status_t add_outputs(const hone_routine_t* whole, const int64_t* symbols,
                                 hone_program_memory_t* memory) {
  for (int i = 0; i < whole->n_outputs; i++) {
    int v = hone_routine_base_of(whole, whole->outputs[i]);
    if (!is_new_output(whole, i)) continue;
    HONE_TRY(add_values(whole, 1, &v, symbols, &memory->outputs, &memory->has_late));
  }
  return NULL;
}

/* Values of interpreted steps are on the host's heap, known or not. */
static void find_late(const hone_routine_t* routine, bool* has_late) {
  for (int s = 0; s < routine->n_steps; s++)
    for (int i = 0; i < routine->steps[s].n_outputs; i++) {
      const hone_program_value_t* value = &routine->values[routine->steps[s].outputs[i]];
      if (value->is_late || !value->is_known) *has_late = true;
    }
}

/* Contexts that have memory for a routine at once: those of the threads that share out the rounds
 * of a loop, and the loop's own for what is left over. */
static size_t contexts_of(const hone_program_t* program, const hone_routine_t* body,
                          const int64_t* symbols) {
  const hone_routine_t* around;
  const hone_step_t* step = loop_of(program, body, &around);
  if (!step || !step->n_outputs) return 1;
  const hone_program_value_t* out = &around->values[step->outputs[0]];
  if (!out->is_known || out->is_late || out->rank < 1) return 1;
  int64_t rounds = hone_dim_eval(out->dims[0], symbols);
  int64_t at_once = hone_loop_count_at_once(program, step, symbols, rounds);
  return at_once ? (size_t)program->properties.compute_units + (at_once < rounds) : 1;
}

/* Contexts that a run uses. */
static size_t most_contexts(const hone_program_t* program, const int64_t* symbols) {
  size_t most = 1;
  for (int r = 1; r < program->n_routines; r++)
    if (contexts_of(program, program->routines[r], symbols) > 1)
      most = 1 + (size_t)program->properties.compute_units;
  return most;
}

static hone_status_t add_routine(hone_program_t* program, const hone_routine_t* routine,
                                 const int64_t* symbols, hone_program_memory_t* memory) {
  hone_program_memory_t one = {.outputs = memory->outputs};
  HONE_TRY(with_plan(program, routine, symbols, add_plan, &one));
  size_t contexts = contexts_of(program, routine, symbols);
  HONE_TRY(add_heap(program, routine, symbols, &one));
  find_late(routine, &one.has_late);
  memory->least += contexts * one.least;
  memory->planned += contexts * one.planned;
  memory->unshared += contexts * one.unshared;
  memory->heap += contexts * one.heap;
  memory->n_planned += one.n_planned;
  memory->n_in_place += one.n_in_place;
  memory->has_late |= one.has_late;
  return NULL;
}

hone_status_t hone_program_memory(hone_program_t* program, const int64_t* symbols,
                                  hone_program_memory_t* out_memory) {
  *out_memory = (hone_program_memory_t){0};
  for (int i = 0; i < program->n_weights; i++) {
    const hone_weight_t* weight = &program->weights[i];
    out_memory->weights += weight->tensor->bytes;
    if (weight->is_copy) out_memory->copied += weight->tensor->bytes;
  }
  out_memory->tables = hone_program_tables(program, most_contexts(program, symbols));
  out_memory->stacks = program->properties.shares_host_memory ? hone_program_stacks(program) : 0;
  const hone_routine_t* whole = program->routines[0];
  HONE_TRY(add_outputs(whole, symbols, out_memory));
  for (int i = 0; i < program->n_routines; i++)
    HONE_TRY(add_routine(program, program->routines[i], symbols, out_memory));
  return add_values(whole, whole->n_inputs, whole->inputs, symbols, &out_memory->inputs,
                    &out_memory->has_late);
}

/* ---- what is not known ---- */

typedef struct unknowns {
  const hone_program_t* program;
  const hone_routine_t* routine;
  const int64_t* symbols;
  hone_dims_t* dims;   /* bounds are worked out in */
  hone_dim_t* numbers; /* by symbol: its value */
  void (*visit)(void* self, const hone_program_unknown_t* unknown);
  void* self;
} unknowns_t;

/* From the ranges of the sizes that a run finds. */
static int64_t most_bytes(const unknowns_t* u, const hone_program_value_t* value) {
  int64_t bytes = (int64_t)hone_dtype_size(value->dtype);
  int count = hone_dims_symbol_count(u->program->dims);
  if (value->dtype == HONE_STRING) return -1;
  for (int i = 0; i < value->rank; i++) {
    hone_dim_t dim = hone_dim_replace(u->dims, value->dims[i], count, u->numbers, NULL);
    int64_t most = hone_dim_is_bad(dim) ? INT32_MAX : hone_dim_max_value(dim);
    if (most >= INT32_MAX || !hone_i64_mul(bytes, most, &bytes)) return -1;
  }
  return bytes;
}

static void tell_value(const unknowns_t* u, int step, int v) {
  const hone_program_value_t* value = &u->routine->values[v];
  char text[256] = "";
  hone_program_unknown_t unknown = {
      .routine = u->routine->index, .step = step, .value = v, .type = text, .most = -1};
  if (value->is_known && !value->is_late) return;
  if (value->place == HONE_PLACE_VIEW) return;
  if (value->is_known) {
    const hone_type_t type = {.kind = HONE_TYPE_TENSOR,
                              .dtype = value->dtype,
                              .rank = value->rank,
                              .dims = (hone_dim_t*)(uintptr_t)value->dims};
    hone_type_print(&type, text, sizeof text);
    unknown.most = most_bytes(u, value);
  }
  u->visit(u->self, &unknown);
}

static hone_status_t tell_step(const unknowns_t* u, int index) {
  const hone_step_t* step = &u->routine->steps[index];
  for (int i = 0; i < step->n_outputs; i++) tell_value(u, index, step->outputs[i]);
  if (!is_interpreted(step, u->symbols)) return NULL;
  uint64_t bytes;
  bool is_known;
  HONE_TRY(find_working(u->program, u->routine, step, u->symbols, &bytes, &is_known));
  const hone_program_unknown_t unknown = {
      .routine = u->routine->index, .step = index, .value = -1, .type = "", .most = -1};
  if (!is_known) u->visit(u->self, &unknown);
  return NULL;
}

/* Sizes that steps find stay symbols. */
static void set_numbers(unknowns_t* u) {
  for (int i = 0; i < hone_dims_symbol_count(u->program->dims); i++) {
    const hone_symbol_t* symbol = hone_dims_symbol(u->program->dims, i);
    u->numbers[i] = hone_program_knows(u->program, i)
                        ? hone_dim_int(u->symbols[i])
                        : hone_dim_symbol(u->dims, NULL, symbol->origin, symbol->min, symbol->max);
  }
}

hone_status_t hone_program_visit_unknown(const hone_program_t* program, const int64_t* symbols,
                                         void (*visit)(void* self,
                                                       const hone_program_unknown_t* unknown),
                                         void* self) {
  hone_arena_t* arena;
  unknowns_t u = {.program = program, .symbols = symbols, .visit = visit, .self = self};
  HONE_TRY(hone_arena_create(program->allocator, &arena));
  hone_status_t status = hone_dims_create(arena, &u.dims);
  if (!status) {
    u.numbers =
        hone_arena_array(arena, (size_t)hone_dims_symbol_count(program->dims), sizeof *u.numbers);
    if (!u.numbers) status = hone_oom();
  }
  if (!status) set_numbers(&u);
  for (int r = 0; r < program->n_routines && !status; r++) {
    u.routine = program->routines[r];
    for (int s = 0; s < u.routine->n_steps && !status; s++) status = tell_step(&u, s);
  }
  hone_arena_destroy(arena);
  return status;
}

/* ---- value by value ---- */

typedef struct visiting {
  const hone_program_t* program;
  const hone_routine_t* routine;
  size_t contexts;
  void (*visit)(void* self, const hone_program_placed_t* placed);
  void* self;
} visiting_t;

static void visit_plan(void* self, hone_plan_t* plan, const int* which) {
  const visiting_t* v = self;
  for (int i = 0; i < plan->n_values; i++) {
    const hone_plan_value_t* value = &plan->values[i];
    const hone_program_placed_t placed = {
        .routine = v->routine->index,
        .value = which[i],
        .bytes = value->bytes,
        .offset = value->offset,
        .block = plan->bytes,
        .contexts = v->contexts,
        .first = value->first,
        .last = value->last,
        .is_planned = true,
        .in_place_of = value->took_place ? which[value->in_place_of] : -1};
    v->visit(v->self, &placed);
  }
}

static hone_status_t visit_heap(const visiting_t* v, const int64_t* symbols) {
  int stacked = first_stacked(v->program, v->routine);
  for (int i = 0; i < v->routine->n_values; i++) {
    const hone_program_value_t* value = &v->routine->values[i];
    if (!counts_as_heap(v->routine, stacked, i)) continue;
    hone_program_placed_t placed = {.routine = v->routine->index,
                                    .value = i,
                                    .contexts = v->contexts,
                                    .first = value->first,
                                    .last = value->last,
                                    .in_place_of = -1};
    HONE_TRY(hone_program_value_bytes(value, symbols, &placed.bytes));
    v->visit(v->self, &placed);
  }
  return NULL;
}

hone_status_t hone_program_visit_values(const hone_program_t* program, const int64_t* symbols,
                                        void (*visit)(void* self,
                                                      const hone_program_placed_t* placed),
                                        void* self) {
  for (int i = 0; i < program->n_routines; i++) {
    const hone_routine_t* routine = program->routines[i];
    size_t contexts = contexts_of(program, routine, symbols);
    visiting_t v = {program, routine, contexts, visit, self};
    HONE_TRY(with_plan(program, v.routine, symbols, visit_plan, &v));
    HONE_TRY(visit_heap(&v, symbols));
  }
  return NULL;
}

static void print(void* self, hone_plan_t* plan, const int* which) {
  (void)which;
  hone_plan_print(plan, self);
}

hone_status_t hone_program_print_plan(hone_program_t* program, const int64_t* symbols,
                                      hone_str_t* out) {
  for (int i = 0; i < program->n_routines; i++) {
    const hone_routine_t* routine = program->routines[i];
    if (program->n_routines > 1) hone_str_appendf(out, "routine %d\n", routine->index);
    HONE_TRY(with_plan(program, routine, symbols, print, out));
  }
  return out->failed ? hone_oom() : NULL;
}
