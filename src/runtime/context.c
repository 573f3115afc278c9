/* Contexts: made when all others are in use, kept for the next run. */
#include "runtime/context.h"

#include <string.h>

#include "base/memory.h"

enum { SPARE_BYTES = 1 << 16 };

/* ---- frames ---- */

/* Weights stay in their slots from run to run. */
static hone_status_t open_frame(const hone_program_t* program, const hone_routine_t* routine,
                                hone_frame_t* frame) {
  frame->routine = routine;
  frame->arena.is_arena = true;
  frame->slots = hone_alloc(program->allocator, (size_t)routine->n_values * sizeof *frame->slots);
  if (!frame->slots) return hone_oom();
  for (int v = 0; v < routine->n_values; v++) {
    const hone_program_value_t* value = &routine->values[v];
    if (value->place != HONE_PLACE_WEIGHT) continue;
    const hone_weight_t* weight = &program->weights[value->weight];
    hone_tensor_retain(weight->tensor);
    hone_slot_set(&frame->slots[v], weight->tensor);
    frame->slots[v].block = weight->block;
  }
  return NULL;
}

static void close_frame(hone_context_t* context, hone_frame_t* frame) {
  const hone_program_t* program = context->program;
  if (!frame->routine) return;
  for (int v = 0; frame->slots && v < frame->routine->n_values; v++)
    hone_slot_drop(context, &frame->slots[v]);
  hone_loop_free_room(context, frame);
  size_t bytes = (size_t)frame->routine->n_values * sizeof *frame->slots;
  hone_free(program->allocator, frame->slots, bytes);
  hone_frame_release(context, frame);
  if (frame->instance) hone_instance_drop(context->program, frame->instance);
}

/* ---- contexts ---- */

static void destroy(hone_context_t* context) {
  hone_program_t* program = context->program;
  size_t symbols = (size_t)hone_dims_symbol_count(program->dims);
  for (int i = 0; context->frames && i < program->n_routines; i++)
    close_frame(context, &context->frames[i]);
  hone_slot_drop(context, &context->rounds);
  hone_context_free_handed_out(context);
  hone_context_free_garbage(context, 0);
  hone_context_free_headers(context);
  hone_free(program->allocator, context->results,
            (size_t)program->routines[0]->n_outputs * sizeof *context->results);
  hone_free(program->allocator, context->frames,
            (size_t)program->n_routines * sizeof *context->frames);
  hone_free(program->allocator, context->symbols, symbols * sizeof *context->symbols);
  if (context->errors) program->backend->free(program->device, context->errors);
  hone_free(program->allocator, context->words, (size_t)program->n_errors * HONE_ERROR_STRIDE);
  if (context->stream) program->backend->stream_destroy(context->stream);
  hone_free(program->allocator, context, sizeof *context);
}

static hone_status_t clear_errors(const hone_context_t* context) {
  const hone_program_t* program = context->program;
  for (int i = 0; i < program->n_errors; i++) {
    static const int64_t none = 0;
    HONE_TRY(program->backend->copy_in(context->stream, context->errors,
                                       (size_t)i * HONE_ERROR_STRIDE, &none, sizeof none));
  }
  return program->backend->synchronize(context->stream);
}

/* The words of the host, where the device works in its memory. */
static hone_status_t make_errors(hone_context_t* context) {
  const hone_program_t* program = context->program;
  const hone_backend_t* backend = program->backend;
  size_t bytes = (size_t)program->n_errors * HONE_ERROR_STRIDE;
  context->words = hone_alloc(program->allocator, bytes);
  if (!context->words) return hone_oom();
  if (program->properties.shares_host_memory && backend->wrap) {
    hone_status_t status = backend->wrap(program->device, context->words, bytes, &context->errors);
    context->shares_errors = !status;
    if (hone_status_code(status) != HONE_UNSUPPORTED) return status;
    hone_status_free(status);
  }
  return backend->alloc(program->device, HONE_MEMORY_DEVICE, bytes, &context->errors);
}

static hone_status_t fill(hone_context_t* context) {
  hone_program_t* program = context->program;
  size_t symbols = (size_t)hone_dims_symbol_count(program->dims);
  HONE_TRY(program->backend->stream_create(program->device, &context->stream));
  context->symbols = hone_alloc(program->allocator, symbols * sizeof *context->symbols);
  context->frames =
      hone_alloc(program->allocator, (size_t)program->n_routines * sizeof *context->frames);
  context->results = hone_alloc(program->allocator,
                                (size_t)program->routines[0]->n_outputs * sizeof *context->results);
  if (!context->symbols || !context->frames || !context->results) return hone_oom();
  for (int i = 0; i < program->n_routines; i++)
    HONE_TRY(open_frame(program, program->routines[i], &context->frames[i]));
  if (!program->n_errors) return NULL;
  HONE_TRY(make_errors(context));
  return clear_errors(context);
}

hone_status_t hone_context_take(hone_program_t* program, hone_context_t** out_context) {
  pthread_mutex_lock(&program->mutex);
  hone_context_t* context = program->idle;
  if (context) program->idle = context->next;
  pthread_mutex_unlock(&program->mutex);
  *out_context = context;
  if (context) return NULL;
  context = hone_alloc(program->allocator, sizeof *context);
  if (!context) return hone_oom();
  context->program = program;
  hone_status_t status = fill(context);
  if (status)
    destroy(context);
  else
    *out_context = context;
  return status;
}

void hone_context_give_back(hone_context_t* context) {
  hone_program_t* program = context->program;
  pthread_mutex_lock(&program->mutex);
  context->next = program->idle;
  program->idle = context;
  pthread_mutex_unlock(&program->mutex);
}

void hone_contexts_destroy(hone_program_t* program) {
  while (program->idle) {
    hone_context_t* context = program->idle;
    program->idle = context->next;
    destroy(context);
  }
}

/* ---- checks ---- */

static hone_status_t failed_check(const hone_step_t* step, int64_t word) {
  bool known = word >= 1 && word <= step->n_checks;
  const char* message = known ? step->checks[word - 1] : "a check failed";
  hone_status_t status = hone_status_make(HONE_OUT_OF_RANGE, "%s", message);
  return step->origin[0] ? hone_status_annotate(status, "node %s", step->origin) : status;
}

static int64_t word_at(const hone_context_t* context, int index) {
  int64_t word;
  memcpy(&word, context->words + (size_t)index * HONE_ERROR_STRIDE, sizeof word);
  return word;
}

/* The first check that failed, in the order of the steps. */
static hone_status_t find_failed(hone_context_t* context) {
  const hone_program_t* program = context->program;
  for (int r = 0; r < program->n_routines; r++)
    for (int s = 0; s < program->routines[r]->n_steps; s++) {
      const hone_step_t* step = &program->routines[r]->steps[s];
      if (step->kind != HONE_STEP_LAUNCH || step->error < 0) continue;
      int64_t word = word_at(context, step->error);
      if (!word) continue;
      HONE_TRY(clear_errors(context));
      context->is_named = true;
      return failed_check(step, word);
    }
  return NULL;
}

/* All words at once: each copy is waited for. */
static hone_status_t look_at_checks(hone_context_t* context) {
  const hone_program_t* program = context->program;
  size_t bytes = (size_t)program->n_errors * HONE_ERROR_STRIDE;
  context->has_checked = false;
  if (!context->shares_errors) {
    HONE_TRY(
        program->backend->copy_out(context->stream, context->words, context->errors, 0, bytes));
    HONE_TRY(program->backend->synchronize(context->stream));
  }
  for (int i = 0; i < program->n_errors; i++)
    if (word_at(context, i)) return find_failed(context);
  return NULL;
}

hone_status_t hone_context_synchronize(hone_context_t* context) {
  const hone_program_t* program = context->program;
  hone_status_t status = program->backend->synchronize(context->stream);
  hone_context_free_garbage(context, SPARE_BYTES);
  if (!status && context->has_checked) status = look_at_checks(context);
  return status;
}
