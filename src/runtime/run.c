/* Runs programs: the steps of a routine one after another. */
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "base/tensor_impl.h"
#include "base/thread_pool.h"
#include "base/trace.h"
#include "runtime/context.h"
#include "runtime/guard.h"
#include "runtime/output.h"
#include "runtime/turns.h"
#include "runtime/watch.h"

enum { FEW_BUFFERS = 32, FEW_NUMBERS = 64 };

/* ---- symbols ---- */

/* Launches went by what the symbol is defined as. */
static hone_status_t check_early(const hone_context_t* context, const hone_program_value_t* value,
                                 const hone_program_bind_t* bind, const hone_slot_t* slot) {
  int64_t wanted = context->symbols[bind->symbol];
  if (!bind->is_dim || bind->index >= slot->rank || slot->dims[bind->index] == wanted) return NULL;
  return hone_status_make(
      HONE_INVALID_MODEL, "extent %lld of '%s' is %lld, not %lld as its type says",
      (long long)bind->index, value->name, (long long)slot->dims[bind->index], (long long)wanted);
}

static hone_status_t bind(hone_context_t* context, const hone_program_value_t* value,
                          hone_slot_t* slot) {
  for (int i = 0; i < value->n_binds; i++) {
    const hone_program_bind_t* bind = &value->binds[i];
    int64_t* symbol = &context->symbols[bind->symbol];
    if (bind->is_early) {
      HONE_TRY(check_early(context, value, bind, slot));
      continue;
    }
    if (bind->is_dim) {
      *symbol = bind->index < slot->rank ? slot->dims[bind->index] : 0;
      continue;
    }
    HONE_TRY(hone_slot_read(context, slot, bind->index, symbol));
  }
  return NULL;
}

/* Those of inputs and weights: known when the routine starts. */
static hone_status_t bind_first(hone_context_t* context, hone_frame_t* frame) {
  const hone_routine_t* routine = frame->routine;
  for (int i = 0; i < routine->n_first; i++) {
    int v = routine->first[i];
    HONE_TRY(bind(context, &routine->values[v], &frame->slots[v]));
  }
  hone_routine_define(context->program, routine, context->symbols);
  return NULL;
}

/* ---- launches ---- */

/* The dtype and extents of a known value into its slot, which is empty. */
static hone_status_t shape_slot(const hone_context_t* context, const hone_frame_t* frame,
                                const hone_program_value_t* value, hone_slot_t* slot) {
  const int64_t* numbers = frame->instance->numbers + value->shape;
  if (value->shape < 0 || *numbers < 0) return hone_slot_shape(context, value, slot);
  hone_slot_begin(slot, value->dtype, value->rank, numbers + 1, (size_t)*numbers);
  return NULL;
}

/* Where the caller of the routine has room for an output, that is where it goes. */
static hone_status_t make_output(hone_context_t* context, hone_frame_t* frame, int v) {
  const hone_program_value_t* value = &frame->routine->values[v];
  hone_slot_t* slot = &frame->slots[v];
  hone_slot_t offered = *slot;
  hone_status_t status = shape_slot(context, frame, value, slot);
  if (!status && offered.block && offered.bytes == slot->bytes) {
    slot->block = offered.block;
    slot->offset = offered.offset;
    return NULL;
  }
  hone_slot_drop(context, &offered);
  HONE_TRY(status);
  if (value->place != HONE_PLACE_ARENA) return hone_slot_allocate(context, slot);
  slot->block = &frame->arena;
  slot->offset = frame->instance->offsets[v];
  return NULL;
}

static hone_status_t fill_launch(hone_context_t* context, hone_frame_t* frame,
                                 const hone_step_t* step, hone_argument_t* arguments) {
  for (int i = 0; i < step->n_outputs; i++) HONE_TRY(make_output(context, frame, step->outputs[i]));
  for (int i = 0; i < step->n_buffers; i++) {
    if (step->buffers[i] == HONE_BUFFER_ERROR)
      arguments[i] = (hone_argument_t){context->errors, (size_t)step->error * HONE_ERROR_STRIDE};
    else
      HONE_TRY(hone_slot_to_device(context, &frame->slots[step->buffers[i]], &arguments[i]));
  }
  return NULL;
}

static void make_call(const hone_context_t* context, const hone_step_t* step,
                      const hone_argument_t* arguments, const int64_t* numbers,
                      hone_launch_t* out) {
  const hone_program_t* program = context->program;
  *out = (hone_launch_t){.struct_size = sizeof *out,
                         .module = program->module,
                         .entry = program->kernels[step->kernel].entry,
                         .n_buffers = step->n_buffers,
                         .buffers = arguments,
                         .n_sizes = step->n_sizes,
                         .sizes = numbers,
                         .grain = numbers[step->n_sizes + 6],
                         .nanoseconds = numbers[step->n_sizes + 7],
                         .out_event = context->launched};
  for (int i = 0; i < 3; i++) {
    out->groups[i] = numbers[step->n_sizes + i];
    out->locals[i] = numbers[step->n_sizes + 3 + i];
  }
}

static bool is_empty(const hone_launch_t* call) {
  for (int i = 0; i < 3; i++)
    if (call->groups[i] <= 0 || call->locals[i] <= 0) return true;
  return false;
}

/* Whether no output has an element, and nothing is checked. */
static bool makes_nothing(const hone_frame_t* frame, const hone_step_t* step) {
  for (int i = 0; i < step->n_outputs; i++)
    if (frame->slots[step->outputs[i]].bytes) return false;
  return step->error < 0;
}

static hone_status_t launch(hone_context_t* context, hone_frame_t* frame, const hone_step_t* step,
                            hone_argument_t* arguments, int64_t* late_numbers) {
  const hone_program_t* program = context->program;
  HONE_TRY(fill_launch(context, frame, step, arguments));
  if (makes_nothing(frame, step)) return NULL;
  const int64_t* numbers = late_numbers;
  if (step->is_late)
    hone_step_evaluate(program, step, context->symbols, late_numbers);
  else
    numbers = frame->instance->numbers + step->numbers;
  hone_launch_t call;
  make_call(context, step, arguments, numbers, &call);
  if (is_empty(&call)) return NULL;
  if (step->error >= 0) context->has_checked = true;
  hone_status_t status = program->backend->launch(context->stream, &call);
  if (!program->properties.guard) return status;
  if (status) return hone_status_annotate(status, "kernel %s", step->name);
  return hone_fence_check(context, frame, step);
}

hone_status_t hone_step_launch(hone_context_t* context, hone_frame_t* frame,
                               const hone_step_t* step) {
  hone_argument_t few_arguments[FEW_BUFFERS];
  int64_t few_numbers[FEW_NUMBERS];
  if (step->n_buffers <= FEW_BUFFERS && step->n_sizes + HONE_LAUNCH_NUMBERS <= FEW_NUMBERS)
    return launch(context, frame, step, few_arguments, few_numbers);
  const hone_allocator_t* allocator = context->program->allocator;
  size_t n_numbers = (size_t)step->n_sizes + HONE_LAUNCH_NUMBERS;
  size_t bytes = n_numbers * sizeof(int64_t) + (size_t)step->n_buffers * sizeof(hone_argument_t);
  int64_t* block = hone_alloc(allocator, bytes);
  if (!block) return hone_oom();
  hone_argument_t* arguments = (hone_argument_t*)(void*)(block + n_numbers);
  hone_status_t status = launch(context, frame, step, arguments, block);
  hone_free(allocator, block, bytes);
  return status;
}

static hone_status_t run_view(hone_context_t* context, hone_frame_t* frame,
                              const hone_step_t* step) {
  int v = step->outputs[0];
  hone_slot_t *from = &frame->slots[step->inputs[0]], *to = &frame->slots[v];
  HONE_TRY(shape_slot(context, frame, &frame->routine->values[v], to));
  if (to->bytes != from->bytes)
    return hone_status_make(HONE_INVALID_ARGUMENT, "%s: %zu bytes do not become %zu", step->name,
                            from->bytes, to->bytes);
  return hone_slot_view(context, from, to);
}

static bool has_sizes(const hone_step_t* step, const int64_t* symbols,
                      const hone_tensor_t* tensor) {
  const int64_t* elements = tensor->data;
  int same = 0;
  while (same < step->n_sizes && elements[same] == hone_dim_eval(step->sizes[same], symbols))
    same++;
  return same == step->n_sizes;
}

/* Whether nobody but the slot has its tensor: no output of an earlier run is a view of it. */
static bool is_alone(const hone_slot_t* slot) {
  const hone_block_t* block = slot->block;
  size_t own = block && block->tensor == slot->tensor ? 2 : 1;
  return (!block || block->references == 1) && atomic_load(&slot->tensor->references) == own;
}

/* Sizes as elements: the host knows them, and the last run's, which its slot has kept, serve again
 * where they are equal. */
static hone_status_t run_dims(hone_context_t* context, hone_frame_t* frame,
                              const hone_step_t* step) {
  hone_slot_t* slot = &frame->slots[step->outputs[0]];
  hone_tensor_t* tensor;
  const int64_t count = step->n_sizes;
  if (slot->tensor && is_alone(slot) && has_sizes(step, context->symbols, slot->tensor))
    return NULL;
  hone_slot_drop(context, slot);
  HONE_TRY(hone_tensor_create_raw(context->program->allocator, HONE_I64, 1, &count, &tensor));
  int64_t* elements = tensor->data;
  for (int i = 0; i < step->n_sizes; i++)
    elements[i] = hone_dim_eval(step->sizes[i], context->symbols);
  hone_slot_set(slot, tensor);
  return NULL;
}

/* ---- steps ---- */

static hone_status_t run_launch(hone_context_t* context, hone_frame_t* frame,
                                const hone_step_t* step) {
  if (!hone_guards_hold(step, context->symbols)) return hone_step_interpret(context, frame, step);
  bool watched = context->watch && step->interpreted;
  return (watched ? hone_step_watch : hone_step_launch)(context, frame, step);
}

static hone_status_t dispatch(hone_context_t* context, hone_frame_t* frame,
                              const hone_step_t* step) {
  switch (step->kind) {
    case HONE_STEP_LAUNCH:
      return run_launch(context, frame, step);
    case HONE_STEP_VIEW:
      return run_view(context, frame, step);
    case HONE_STEP_INTERPRET:
      return hone_step_interpret(context, frame, step);
    case HONE_STEP_DIMS:
      return run_dims(context, frame, step);
    case HONE_STEP_IF:
      return hone_step_if(context, frame, step);
    default:
      return hone_step_loop(context, frame, step);
  }
}

/* What its results tell of sizes. */
static hone_status_t bind_outputs(hone_context_t* context, hone_frame_t* frame,
                                  const hone_step_t* step) {
  for (int i = 0; step->has_binds && i < step->n_outputs; i++) {
    int v = step->outputs[i];
    HONE_TRY(bind(context, &frame->routine->values[v], &frame->slots[v]));
  }
  return NULL;
}

/* After the step: takes in sizes, and gives back what nobody needs any more. */
static hone_status_t close_step(hone_context_t* context, hone_frame_t* frame,
                                const hone_step_t* step) {
  HONE_TRY(bind_outputs(context, frame, step));
  for (int i = 0; i < step->n_drops; i++) hone_slot_drop(context, &frame->slots[step->drops[i]]);
  return NULL;
}

static hone_status_t run_plain(hone_context_t* context, hone_frame_t* frame,
                               const hone_step_t* step) {
  HONE_TRY(dispatch(context, frame, step));
  return close_step(context, frame, step);
}

/* Each step is waited for, so that its time is its own. */
static hone_status_t run_timed(hone_context_t* context, hone_frame_t* frame,
                               const hone_step_t* step, hone_profile_event_t* event) {
  HONE_TRY(dispatch(context, frame, step));
  context->launched = NULL;
  HONE_TRY(close_step(context, frame, step));
  HONE_TRY(context->program->backend->synchronize(context->stream));
  hone_context_free_garbage(context, SIZE_MAX);
  event->duration_ns = (uint64_t)hone_clock_ns() - event->start_ns;
  return NULL;
}

/* What the device's clock says of a launch, besides, where that is not the host's. */
static hone_status_t run_marked(hone_context_t* context, hone_frame_t* frame,
                                const hone_step_t* step, hone_profile_event_t* event) {
  const hone_backend_t* backend = context->program->backend;
  hone_event_t* launched = NULL;
  if (!context->program->properties.is_immediate && backend->launch_times)
    context->launched = &launched;
  hone_status_t status = run_timed(context, frame, step, event);
  context->launched = NULL;
  if (context->program->properties.is_immediate) event->device_ns = event->duration_ns;
  if (!launched) return status;
  if (!status) status = backend->launch_times(launched, &event->launch_ns, &event->device_ns);
  backend->event_destroy(launched);
  return status;
}

static hone_status_t run_profiled(hone_context_t* context, hone_frame_t* frame,
                                  const hone_step_t* step) {
  hone_profile_event_t event = {.origin = step->origin,
                                .primitive = step->name,
                                .start_ns = (uint64_t)hone_clock_ns(),
                                .step = step,
                                .depth = context->depth - 1};
  if (step->kind == HONE_STEP_LAUNCH)
    HONE_TRY(run_marked(context, frame, step, &event));
  else
    HONE_TRY(run_timed(context, frame, step, &event));
  for (int i = 0; step->kind != HONE_STEP_VIEW && i < step->n_outputs; i++)
    event.output_bytes += frame->slots[step->outputs[i]].bytes;
  context->options->profile(context->options->profile_self, &event);
  return NULL;
}

/* ---- turns ---- */

static hone_status_t launch_turns(hone_context_t* context, hone_frame_t* frame,
                                  const hone_turns_t* turns) {
  hone_argument_t arguments[HONE_TURNS_MOST][HONE_TURNS_BUFFERS];
  hone_launch_t calls[HONE_TURNS_MOST];
  for (int i = 0; i < turns->plan.count; i++) {
    const hone_step_t* step = &frame->routine->steps[turns->first + i];
    HONE_TRY(fill_launch(context, frame, step, arguments[i]));
    make_call(context, step, arguments[i], frame->instance->numbers + step->numbers, &calls[i]);
    if (step->error >= 0) context->has_checked = true;
  }
  return context->program->backend->launch_turns(context->stream, calls, &turns->plan);
}

static hone_status_t run_turns(hone_context_t* context, hone_frame_t* frame,
                               const hone_turns_t* turns) {
  HONE_TRY(launch_turns(context, frame, turns));
  for (int i = 0; i < turns->plan.count; i++)
    HONE_TRY(close_step(context, frame, &frame->routine->steps[turns->first + i]));
  return NULL;
}

/* ---- steps and turns ---- */

static bool is_profiled(const hone_context_t* context) {
  return context->options->profile && (context->depth == 1 || context->options->profile_inner);
}

static hone_status_t run_step(hone_context_t* context, hone_frame_t* frame, int index) {
  const hone_step_t* step = &frame->routine->steps[index];
  hone_status_t status = (is_profiled(context) ? run_profiled : run_plain)(context, frame, step);
  if (!status) return NULL;
  bool named = context->is_named || !step->origin[0];
  context->is_named = false;
  return named ? status : hone_status_annotate(status, "node %s", step->origin);
}

bool hone_context_runs_apart(const hone_context_t* context) {
  return is_profiled(context) || context->watch;
}

static hone_status_t run_all(hone_context_t* context, hone_frame_t* frame) {
  const hone_routine_t* routine = frame->routine;
  const bool is_apart = frame->instance->is_apart;
  for (int s = 0, t = 0; s < routine->n_steps;) {
    const hone_turns_t* turns = !is_apart && t < routine->n_turns ? &routine->turns[t] : NULL;
    bool is_turn = turns && turns->first == s;
    HONE_TRY(is_turn ? run_turns(context, frame, turns) : run_step(context, frame, s));
    s += is_turn ? turns->plan.count : 1;
    t += is_turn;
  }
  return NULL;
}

/* ---- routines ---- */

/* The last run's, without a lock, where that is for the same sizes. */
static hone_status_t find_instance(const hone_context_t* context, hone_routine_t* routine,
                                   hone_frame_t* frame) {
  const bool is_apart = hone_context_runs_apart(context);
  if (frame->instance) {
    if (hone_instance_fits(frame->instance, routine, context->symbols, is_apart)) return NULL;
    hone_instance_drop(context->program, frame->instance);
    frame->instance = NULL;
  }
  return hone_instance_find(context->program, routine, context->symbols, is_apart,
                            &frame->instance);
}

/* Moves it out of the frame. Weights stay, and what is an output twice is with the first. */
static hone_status_t take_output(hone_context_t* context, const hone_frame_t* frame, int index,
                                 hone_slot_t* outputs) {
  const hone_routine_t* routine = frame->routine;
  int v = routine->outputs[index], first = 0;
  hone_slot_t *slot = &frame->slots[v], *output = &outputs[index];
  bool is_there = slot->block || slot->tensor;
  while (!is_there && routine->outputs[first] != v) first++;
  if (is_there && routine->values[v].place != HONE_PLACE_WEIGHT) {
    hone_slot_move(slot, output);
  } else {
    hone_slot_share(is_there ? slot : &outputs[first], output);
  }
  return hone_slot_keep(context, output);
}

static hone_status_t run_steps(hone_context_t* context, hone_routine_t* routine,
                               hone_frame_t* frame, hone_slot_t* outputs) {
  HONE_TRY(bind_first(context, frame));
  HONE_TRY(find_instance(context, routine, frame));
  HONE_TRY(hone_frame_reserve(context, frame));
  HONE_TRY(run_all(context, frame));
  for (int i = 0; i < routine->n_outputs; i++) HONE_TRY(take_output(context, frame, i, outputs));
  return NULL;
}

/* What steps made and read last is gone when all have run, and outputs were taken. */
static void drop_inputs(hone_context_t* context, const hone_frame_t* frame) {
  const hone_routine_t* routine = frame->routine;
  for (int i = 0; i < routine->n_inputs; i++)
    hone_slot_drop(context, &frame->slots[routine->inputs[i]]);
}

static void drop_all(hone_context_t* context, const hone_frame_t* frame, hone_slot_t* outputs) {
  const hone_routine_t* routine = frame->routine;
  for (int v = 0; v < routine->n_values; v++)
    if (routine->values[v].place != HONE_PLACE_WEIGHT) hone_slot_drop(context, &frame->slots[v]);
  for (int i = 0; i < routine->n_outputs; i++) hone_slot_drop(context, &outputs[i]);
}

hone_status_t hone_routine_run(hone_context_t* context, hone_routine_t* routine,
                               hone_slot_t* outputs) {
  hone_frame_t* frame = &context->frames[routine->index];
  context->depth++;
  hone_status_t status = run_steps(context, routine, frame, outputs);
  context->depth--;
  if (status)
    drop_all(context, frame, outputs);
  else
    drop_inputs(context, frame);
  return status;
}

/* ---- programs ---- */

void hone_program_bind_inputs(const hone_program_t* program, hone_tensor_t* const* inputs,
                              int64_t* out_symbols) {
  const hone_routine_t* routine = program->routines[0];
  for (int i = 0; i < hone_dims_symbol_count(program->dims); i++) out_symbols[i] = -1;
  for (int i = 0; i < routine->n_inputs; i++) {
    const hone_program_value_t* value = &routine->values[routine->inputs[i]];
    for (int b = 0; b < value->n_binds; b++) {
      const hone_program_bind_t* bind = &value->binds[b];
      if (bind->is_dim && inputs[i] && bind->index < hone_tensor_rank(inputs[i]))
        out_symbols[bind->symbol] = hone_tensor_dims(inputs[i])[bind->index];
    }
  }
}

static hone_status_t hand_out(hone_context_t* context, hone_slot_t* result,
                              hone_tensor_t** out_output) {
  HONE_TRY(hone_slot_send_to_host(context, result));
  return hone_output_own(context->program, result->tensor, out_output);
}

/* The results are there once the stream has been waited for. */
static hone_status_t run_whole(hone_context_t* context, hone_tensor_t* const* inputs,
                               hone_slot_t* results, hone_tensor_t** out_outputs) {
  hone_routine_t* routine = context->program->routines[0];
  hone_frame_t* frame = &context->frames[0];
  for (int i = 0; i < routine->n_inputs; i++) {
    hone_tensor_retain(inputs[i]);
    hone_slot_set(&frame->slots[routine->inputs[i]], inputs[i]);
  }
  HONE_TRY(hone_routine_run(context, routine, results));
  hone_status_t status = NULL;
  for (int i = 0; i < routine->n_outputs && !status; i++)
    status = hand_out(context, &results[i], &out_outputs[i]);
  if (!status) hone_context_hand_out(context, routine->n_outputs, results);
  for (int i = 0; i < routine->n_outputs; i++) hone_slot_drop(context, &results[i]);
  return status;
}

static hone_status_t run_in(hone_context_t* context, hone_tensor_t* const* inputs, int n_outputs,
                            hone_tensor_t** out_outputs) {
  const hone_program_t* program = context->program;
  memset(context->symbols, 0,
         (size_t)hone_dims_symbol_count(program->dims) * sizeof *context->symbols);
  hone_status_t status = run_whole(context, inputs, context->results, out_outputs);
  hone_status_t late = hone_context_synchronize(context);
  if (status)
    hone_status_free(late);
  else
    status = late;
  for (int i = 0; status && i < n_outputs; i++) {
    hone_tensor_release(out_outputs[i]);
    out_outputs[i] = NULL;
  }
  return status;
}

/* Where a run counts as a thread at work; NULL: it uses no pool, and is not to start one. */
static hone_thread_pool_t* pool_of(const hone_program_t* program) {
  bool uses_pool = program->properties.is_immediate && program->properties.compute_units > 1;
  return uses_pool ? hone_thread_pool_shared() : NULL;
}

hone_status_t hone_program_watch(hone_program_t* program, const hone_run_options_t* options,
                                 const hone_watch_t* watch, int n_inputs,
                                 hone_tensor_t* const* inputs, int n_outputs,
                                 hone_tensor_t** out_outputs) {
  memset(out_outputs, 0, (size_t)n_outputs * sizeof *out_outputs);
  const hone_routine_t* routine = program->routines[0];
  if (n_inputs != routine->n_inputs || n_outputs != routine->n_outputs)
    return hone_status_make(HONE_INVALID_ARGUMENT, "the program takes %d inputs and gives %d",
                            routine->n_inputs, routine->n_outputs);
  hone_context_t* context;
  HONE_TRY(hone_context_take(program, &context));
  context->options = options;
  context->watch = watch;
  context->round_key = 0;
  context->depth = 0;
  context->is_named = false;
  hone_thread_pool_t* pool = pool_of(program);
  hone_thread_pool_enter(pool);
  hone_status_t status = run_in(context, inputs, n_outputs, out_outputs);
  hone_thread_pool_leave(pool);
  hone_context_give_back(context);
  return status;
}

hone_status_t hone_program_run(hone_program_t* program, const hone_run_options_t* options,
                               int n_inputs, hone_tensor_t* const* inputs, int n_outputs,
                               hone_tensor_t** out_outputs) {
  return hone_program_watch(program, options, NULL, n_inputs, inputs, n_outputs, out_outputs);
}
