/* Making programs: their parts, and what follows from them once they are all
 * there (what is late, how long values live, and where). */
#include "runtime/program.h"

#include <string.h>

#include "base/memory.h"
#include "base/tensor_impl.h"
#include "runtime/context.h"
#include "runtime/instance.h"
#include "runtime/turns.h"

hone_status_t hone_program_create(const hone_allocator_t* allocator, const hone_backend_t* backend,
                                  hone_device_t* device, hone_program_t** out_program) {
  *out_program = NULL;
  hone_program_t* program = hone_alloc(allocator, sizeof *program);
  if (!program) return hone_oom();
  program->allocator = allocator;
  program->backend = backend;
  program->device = device;
  backend->properties(device, &program->properties);
  pthread_mutex_init(&program->mutex, NULL);
  hone_status_t status = hone_arena_create(allocator, &program->arena);
  if (!status) status = hone_dims_create(program->arena, &program->dims);
  if (status)
    hone_program_destroy(program);
  else
    *out_program = program;
  return status;
}

static void drop_routine(const hone_program_t* program, hone_routine_t* routine) {
  for (int i = 0; i < routine->n_instances; i++)
    hone_instance_release(program, routine->instances[i]);
  const hone_backend_t* ref = hone_backend_find("ref");
  for (int i = 0; i < routine->n_steps; i++) {
    hone_step_t* step = &routine->steps[i];
    if (step->interpreted) ref->destroy(step->interpreted);
    hone_graph_destroy(step->graph);
  }
}

void hone_program_destroy(hone_program_t* program) {
  if (!program) return;
  hone_contexts_destroy(program);
  for (int i = 0; i < program->n_routines; i++) drop_routine(program, program->routines[i]);
  for (int i = 0; i < program->n_weights; i++) {
    if (program->weights[i].block && program->weights[i].block->memory)
      program->backend->free(program->device, program->weights[i].block->memory);
    hone_tensor_release(program->weights[i].tensor);
  }
  hone_room_destroy(program->room);
  if (program->module) program->backend->unload(program->device, program->module);
  hone_free(program->allocator, program->binary.data, program->binary.size);
  hone_arena_destroy(program->arena);
  pthread_mutex_destroy(&program->mutex);
  hone_free(program->allocator, program, sizeof *program);
}

/* Room for one more entry of `size` bytes; false when memory is out. */
static bool reserve(hone_arena_t* arena, void** list, int count, int* room, size_t size) {
  if (count < *room) return true;
  int grown = *room ? *room * 2 : 16;
  char* copy = hone_arena_array(arena, (size_t)grown, size);
  if (!copy) return false;
  if (count) memcpy(copy, *list, (size_t)count * size);
  *list = copy;
  *room = grown;
  return true;
}

int hone_program_add_weight(hone_program_t* program, hone_tensor_t* tensor) {
  if (!reserve(program->arena, (void**)&program->weights, program->n_weights,
               &program->weights_room, sizeof *program->weights))
    return -1;
  hone_tensor_retain(tensor);
  program->weights[program->n_weights] = (hone_weight_t){.tensor = tensor};
  return program->n_weights++;
}

hone_routine_t* hone_program_add_routine(hone_program_t* program) {
  if (!reserve(program->arena, (void**)&program->routines, program->n_routines,
               &program->routines_room, sizeof *program->routines))
    return NULL;
  hone_routine_t* routine = hone_arena_alloc(program->arena, sizeof *routine);
  if (!routine) return NULL;
  routine->index = program->n_routines;
  program->routines[program->n_routines++] = routine;
  return routine;
}

/* ---- what is late ---- */

typedef struct finisher {
  hone_program_t* program;
  hone_routine_t* routine;
  bool* late;   /* by symbol: it gets its value in this routine's steps */
  bool* in_key; /* by symbol */
  bool found;   /* a late symbol, while one is looked for */
} finisher_t;

static void see_late(void* self, const hone_symbol_t* symbol) {
  finisher_t* f = self;
  if (f->late[symbol->id]) f->found = true;
}

static void see_key(void* self, const hone_symbol_t* symbol) {
  finisher_t* f = self;
  f->in_key[symbol->id] = true;
}

static bool any_late(finisher_t* f, int count, const hone_dim_t* dims) {
  f->found = false;
  for (int i = 0; i < count; i++) hone_dim_visit_symbols(dims[i], see_late, f);
  return f->found;
}

static void add_to_key(finisher_t* f, int count, const hone_dim_t* dims) {
  for (int i = 0; i < count; i++) hone_dim_visit_symbols(dims[i], see_key, f);
}

static void find_late_symbols(finisher_t* f) {
  const hone_routine_t* routine = f->routine;
  for (int s = 0; s < routine->n_steps; s++)
    for (int i = 0; i < routine->steps[s].n_outputs; i++) {
      const hone_program_value_t* value = &routine->values[routine->steps[s].outputs[i]];
      for (int b = 0; b < value->n_binds; b++) f->late[value->binds[b].symbol] = true;
    }
}

/* Symbols whose definitions need nothing that is late are not late themselves. */
static hone_status_t find_early(finisher_t* f) {
  hone_routine_t* routine = f->routine;
  int count = f->program->n_definitions;
  int* early = hone_arena_array(f->program->arena, (size_t)count, sizeof *early);
  if (!early) return hone_oom();
  for (int i = 0; i < count; i++) {
    const hone_program_definition_t* definition = &f->program->definitions[i];
    if (!f->late[definition->symbol] || any_late(f, 1, &definition->expression)) continue;
    f->late[definition->symbol] = false;
    early[routine->n_early++] = i;
  }
  routine->early = early;
  return NULL;
}

/* Binds of symbols that have their values by then. */
static void mark_early(const finisher_t* f) {
  const hone_routine_t* routine = f->routine;
  for (int s = 0; s < routine->n_steps; s++)
    for (int i = 0; i < routine->steps[s].n_outputs; i++) {
      const hone_program_value_t* value = &routine->values[routine->steps[s].outputs[i]];
      hone_program_bind_t* binds = (hone_program_bind_t*)(uintptr_t)value->binds; /* the arena's */
      for (int b = 0; b < value->n_binds; b++) binds[b].is_early = !f->late[binds[b].symbol];
    }
}

/* What launches and views make gets a place among an instance's numbers, unless it is late. */
static void place_shapes(hone_routine_t* routine, const hone_step_t* step) {
  for (int i = 0; i < step->n_outputs; i++) {
    hone_program_value_t* value = &routine->values[step->outputs[i]];
    if (!value->is_known || value->is_late) continue;
    value->shape = routine->n_numbers;
    routine->n_numbers += 1 + value->rank;
  }
}

/* Also gives early steps their place among an instance's numbers. */
static void find_late(finisher_t* f) {
  hone_routine_t* routine = f->routine;
  for (int v = 0; v < routine->n_values; v++) {
    hone_program_value_t* value = &routine->values[v];
    value->shape = -1;
    if (!value->is_known) continue;
    value->is_late = any_late(f, value->rank, value->dims);
    if (!value->is_late) add_to_key(f, value->rank, value->dims);
  }
  for (int s = 0; s < routine->n_steps; s++) {
    hone_step_t* step = &routine->steps[s];
    if (step->kind == HONE_STEP_LAUNCH || step->kind == HONE_STEP_VIEW) place_shapes(routine, step);
    if (step->kind != HONE_STEP_LAUNCH) continue;
    step->is_late = any_late(f, step->n_sizes, step->sizes) || any_late(f, 3, step->groups) ||
                    any_late(f, 3, step->locals);
    step->numbers = routine->n_numbers;
    routine->n_numbers += step->n_sizes + HONE_LAUNCH_NUMBERS;
    if (step->is_late) continue;
    add_to_key(f, step->n_sizes, step->sizes);
    add_to_key(f, 3, step->groups);
    add_to_key(f, 3, step->locals);
  }
}

static hone_status_t keep_key(const finisher_t* f) {
  hone_routine_t* routine = f->routine;
  int n_symbols = hone_dims_symbol_count(f->program->dims);
  int* key = hone_arena_array(f->program->arena, (size_t)n_symbols, sizeof *key);
  if (!key) return hone_oom();
  for (int i = 0; i < n_symbols; i++)
    if (f->in_key[i]) key[routine->n_key++] = i;
  routine->key = key;
  return NULL;
}

/* Inputs and weights that give symbols their values. */
static hone_status_t keep_first(const finisher_t* f) {
  hone_routine_t* routine = f->routine;
  int* first = hone_arena_array(f->program->arena, (size_t)routine->n_values, sizeof *first);
  if (!first) return hone_oom();
  for (int v = 0; v < routine->n_values; v++)
    if (routine->values[v].n_binds && routine->values[v].first < 0) first[routine->n_first++] = v;
  routine->first = first;
  return NULL;
}

/* ---- lifetimes and places ---- */

static void use(const hone_routine_t* routine, int value, int step) {
  if (value >= 0 && routine->values[value].last < step) routine->values[value].last = step;
}

static void find_lifetimes(const hone_routine_t* routine) {
  for (int v = 0; v < routine->n_values; v++)
    routine->values[v].first = routine->values[v].last = -1;
  for (int s = 0; s < routine->n_steps; s++) {
    const hone_step_t* step = &routine->steps[s];
    for (int i = 0; i < step->n_inputs; i++) use(routine, step->inputs[i], s);
    for (int i = 0; i < step->n_outputs; i++) {
      routine->values[step->outputs[i]].first = s;
      use(routine, step->outputs[i], step->kind == HONE_STEP_DIMS ? routine->n_steps : s);
    }
  }
  for (int i = 0; i < routine->n_outputs; i++) use(routine, routine->outputs[i], routine->n_steps);
}

static bool ends_with(const hone_routine_t* routine, int value, int step) {
  if (value < 0) return false;
  const hone_program_value_t* v = &routine->values[value];
  return v->last == step && v->place != HONE_PLACE_WEIGHT;
}

static hone_status_t list_drops(const finisher_t* f, int index) {
  const hone_routine_t* routine = f->routine;
  hone_step_t* step = &routine->steps[index];
  size_t most = (size_t)step->n_inputs + (size_t)step->n_outputs;
  int* drops = hone_arena_array(f->program->arena, most, sizeof *drops);
  if (!drops) return hone_oom();
  step->n_drops = 0;
  for (int i = 0; i < step->n_inputs; i++)
    if (ends_with(routine, step->inputs[i], index)) drops[step->n_drops++] = step->inputs[i];
  for (int i = 0; i < step->n_outputs; i++) {
    if (ends_with(routine, step->outputs[i], index)) drops[step->n_drops++] = step->outputs[i];
    if (routine->values[step->outputs[i]].n_binds) step->has_binds = true;
  }
  step->drops = drops;
  return NULL;
}

/* A number that the host reads is in memory of its own, which devices that share the host's let
 * it look into. */
static void take_out_number(const hone_routine_t* routine, int v) {
  hone_program_value_t* value = &routine->values[v];
  if (value->place == HONE_PLACE_ARENA && value->rank == 0) value->place = HONE_PLACE_HEAP;
}

/* What a launch makes is planned, unless its size is late or it leaves, or each is
 * to have marks of its own around it. */
static void find_places(const hone_routine_t* routine, bool is_guarded) {
  for (int s = 0; s < routine->n_steps; s++) {
    const hone_step_t* step = &routine->steps[s];
    for (int i = 0; step->kind == HONE_STEP_LAUNCH && i < step->n_outputs; i++) {
      hone_program_value_t* value = &routine->values[step->outputs[i]];
      value->place = value->is_late || is_guarded ? HONE_PLACE_HEAP : HONE_PLACE_ARENA;
    }
  }
  for (int s = 0; s < routine->n_steps; s++) {
    const hone_step_t* step = &routine->steps[s];
    int n_read = step->kind == HONE_STEP_IF ? 1 : step->kind == HONE_STEP_LOOP ? 2 : 0;
    for (int i = 0; i < n_read; i++) take_out_number(routine, step->inputs[i]);
  }
  for (int i = 0; i < routine->n_outputs; i++) {
    hone_program_value_t* value = &routine->values[routine->outputs[i]];
    if (value->place == HONE_PLACE_VIEW) value = &routine->values[value->view_of];
    if (value->place == HONE_PLACE_ARENA) value->place = HONE_PLACE_HEAP;
  }
}

static bool keeps_on(const hone_program_t* program, const hone_routine_t* body) {
  int v = body->outputs[0];
  if (v == body->inputs[1]) return true;
  if (body->values[v].place != HONE_PLACE_WEIGHT) return false;
  const hone_tensor_t* tensor = program->weights[body->values[v].weight].tensor;
  return tensor->dtype == HONE_BOOL && tensor->count == 1 && *(const uint8_t*)tensor->data;
}

static void look_at_loops(const finisher_t* f) {
  for (int s = 0; s < f->routine->n_steps; s++) {
    hone_step_t* step = &f->routine->steps[s];
    if (step->kind == HONE_STEP_LOOP) step->keeps_on = keeps_on(f->program, step->bodies[0]);
  }
}

static hone_status_t finish_routine(finisher_t* f) {
  size_t bytes = (size_t)hone_dims_symbol_count(f->program->dims) * sizeof(bool);
  memset(f->late, 0, bytes);
  memset(f->in_key, 0, bytes);
  find_late_symbols(f);
  HONE_TRY(find_early(f));
  mark_early(f);
  find_late(f);
  find_lifetimes(f->routine);
  find_places(f->routine, f->program->properties.guard);
  HONE_TRY(hone_routine_find_turns(f->program, f->routine));
  for (int i = 0; i < f->routine->n_steps; i++) HONE_TRY(list_drops(f, i));
  look_at_loops(f);
  HONE_TRY(keep_first(f));
  return keep_key(f);
}

/* ---- weights ---- */

static hone_status_t copy_weight(const hone_program_t* program, hone_stream_t* stream,
                                 hone_weight_t* weight, size_t bytes) {
  const hone_backend_t* backend = program->backend;
  hone_memory_t** memory = &weight->block->memory;
  HONE_TRY(backend->alloc(program->device, HONE_MEMORY_DEVICE, bytes ? bytes : 1, memory));
  weight->is_copy = true;
  HONE_TRY(backend->copy_in(stream, *memory, 0, hone_tensor_data(weight->tensor), bytes));
  return backend->synchronize(stream);
}

static hone_status_t load_weight(const hone_program_t* program, hone_stream_t* stream,
                                 hone_weight_t* weight) {
  if (weight->block) return NULL;
  weight->block = hone_arena_alloc(program->arena, sizeof *weight->block);
  if (!weight->block) return hone_oom();
  weight->block->is_weight = true;
  const hone_backend_t* backend = program->backend;
  size_t bytes = hone_tensor_bytes(weight->tensor);
  if (program->properties.shares_host_memory && backend->wrap && bytes &&
      !program->properties.guard) {
    hone_status_t status = backend->wrap(program->device, hone_tensor_data(weight->tensor), bytes,
                                         &weight->block->memory);
    if (hone_status_code(status) != HONE_UNSUPPORTED) return status;
    hone_status_free(status);
  }
  return copy_weight(program, stream, weight, bytes);
}

static hone_status_t load_weights_of(const hone_program_t* program, hone_stream_t* stream,
                                     const hone_routine_t* routine) {
  for (int s = 0; s < routine->n_steps; s++) {
    const hone_step_t* step = &routine->steps[s];
    for (int i = 0; step->kind == HONE_STEP_LAUNCH && i < step->n_buffers; i++) {
      if (step->buffers[i] < 0) continue;
      const hone_program_value_t* value = &routine->values[step->buffers[i]];
      if (value->place == HONE_PLACE_VIEW) value = &routine->values[value->view_of];
      if (value->place == HONE_PLACE_WEIGHT)
        HONE_TRY(load_weight(program, stream, &program->weights[value->weight]));
    }
  }
  return NULL;
}

static hone_status_t load_weights(const hone_program_t* program) {
  hone_stream_t* stream;
  HONE_TRY(program->backend->stream_create(program->device, &stream));
  hone_status_t status = NULL;
  for (int i = 0; i < program->n_routines && !status; i++)
    status = load_weights_of(program, stream, program->routines[i]);
  program->backend->stream_destroy(stream);
  return status;
}

hone_status_t hone_program_finish(hone_program_t* program) {
  if (hone_dims_out_of_memory(program->dims)) return hone_oom();
  size_t n_symbols = (size_t)hone_dims_symbol_count(program->dims);
  bool* marks = hone_alloc(program->allocator, 2 * n_symbols * sizeof *marks);
  if (!marks) return hone_oom();
  hone_status_t status = NULL;
  for (int i = 0; i < program->n_routines && !status; i++) {
    finisher_t f = {.program = program, .routine = program->routines[i]};
    f.late = marks;
    f.in_key = marks + n_symbols;
    status = finish_routine(&f);
  }
  hone_free(program->allocator, marks, 2 * n_symbols * sizeof *marks);
  if (!status) status = load_weights(program);
  return status;
}

/* ---- looking ---- */

void hone_routine_define(const hone_program_t* program, const hone_routine_t* routine,
                         int64_t* symbols) {
  for (int i = 0; i < routine->n_early; i++) {
    const hone_program_definition_t* definition = &program->definitions[routine->early[i]];
    symbols[definition->symbol] = hone_dim_eval(definition->expression, symbols);
  }
}

bool hone_program_knows(const hone_program_t* program, int symbol) {
  const hone_routine_t* whole = program->routines[0];
  for (int i = 0; i < whole->n_early; i++)
    if (program->definitions[whole->early[i]].symbol == symbol) return true;
  return hone_dims_symbol(program->dims, symbol)->origin == HONE_SYMBOL_INPUT;
}

int hone_program_interpreted(const hone_program_t* program) {
  int count = 0;
  for (int r = 0; r < program->n_routines; r++)
    for (int s = 0; s < program->routines[r]->n_steps; s++)
      count += program->routines[r]->steps[s].kind == HONE_STEP_INTERPRET;
  return count;
}

uint64_t hone_program_weight_bytes(const hone_program_t* program) {
  uint64_t bytes = 0;
  for (int i = 0; i < program->n_weights; i++)
    bytes += hone_tensor_bytes(program->weights[i].tensor);
  return bytes;
}
