/* Control flow: if and loop, whose bodies are routines of the program. What a
 * body takes and gives are slots of its caller. */
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/tensor_impl.h"
#include "ops/common/host.h"
#include "runtime/context.h"

enum { NUMBERED = 256 }; /* rounds whose numbers the device is given at once */

static hone_status_t read_scalar(hone_context_t* context, hone_slot_t* slot, const char* what,
                                 int64_t* out_value) {
  bool is_tensor = !slot->tensor || slot->tensor->kind == HONE_KIND_TENSOR;
  if (!is_tensor || slot->bytes != hone_dtype_size(slot->dtype))
    return hone_status_make(HONE_INVALID_ARGUMENT, "%s is not one element", what);
  return hone_slot_read(context, slot, 0, out_value);
}

static void drop_slots(hone_context_t* context, int count, hone_slot_t* slots) {
  for (int i = 0; i < count; i++) hone_slot_drop(context, &slots[i]);
}

/* ---- if ---- */

/* What the body takes stays with its caller. */
static hone_status_t run_branch(hone_context_t* context, const hone_frame_t* frame,
                                const hone_step_t* step, hone_routine_t* body,
                                const int* captures) {
  size_t bytes = (size_t)body->n_outputs * sizeof(hone_slot_t);
  hone_slot_t* results = hone_alloc(context->program->allocator, bytes);
  if (!results) return hone_oom();
  hone_slot_t* inputs = context->frames[body->index].slots;
  for (int i = 0; i < body->n_inputs; i++)
    hone_slot_share(&frame->slots[captures[i]], &inputs[body->inputs[i]]);
  hone_status_t status = hone_routine_run(context, body, results);
  for (int i = 0; i < step->n_outputs; i++)
    hone_slot_move(&results[i], &frame->slots[step->outputs[i]]);
  hone_free(context->program->allocator, results, bytes);
  return status;
}

hone_status_t hone_step_if(hone_context_t* context, hone_frame_t* frame, const hone_step_t* step) {
  int64_t taken;
  HONE_TRY(read_scalar(context, &frame->slots[step->inputs[0]], "if: the condition", &taken));
  hone_routine_t* body = step->bodies[taken ? 0 : 1];
  const int* captures = step->inputs + 1 + (taken ? 0 : step->bodies[0]->n_inputs);
  return run_branch(context, frame, step, body, captures);
}

/* ---- loop ---- */

/* One stacked output so far. On the device the rounds are put behind each other as they come;
 * on the host each is kept. */
typedef struct stack {
  bool is_on_device;
  int64_t room;       /* rounds */
  int64_t count;      /* of slots */
  hone_slot_t whole;  /* on the device: `room` rounds; else the type of one */
  hone_slot_t* slots; /* on the host: a round each */
} stack_t;

typedef struct loop {
  hone_context_t* context;
  hone_frame_t* frame;
  const hone_step_t* step;
  hone_routine_t* body;
  int n_carried, n_stacked;
  hone_slot_t* carried;  /* n_carried; owned */
  hone_slot_t* results;  /* of a round: condition, carried, stacked */
  hone_slot_t* counters; /* the first two parameters: the round and the condition */
  stack_t* stacks;
  int64_t limit;
  int64_t rounds; /* done */
  bool condition;
} loop_t;

/* A table of the rounds from `from` on, where the device has it. */
static hone_status_t number_rounds(hone_context_t* context, int64_t from, size_t stride) {
  hone_argument_t unused;
  const int64_t count = (int64_t)(NUMBERED * stride / sizeof(int64_t));
  hone_tensor_t* tensor;
  if (context->rounds.tensor) HONE_TRY(hone_context_synchronize(context));
  hone_slot_drop(context, &context->rounds);
  HONE_TRY(hone_tensor_create_raw(context->program->allocator, HONE_I64, 1, &count, &tensor));
  int64_t* numbers = tensor->data;
  memset(numbers, 0, tensor->bytes);
  for (size_t i = 0; i < NUMBERED; i++) numbers[i * stride / sizeof *numbers] = from + (int64_t)i;
  hone_slot_set(&context->rounds, tensor);
  context->first_round = from;
  return hone_slot_to_device(context, &context->rounds, &unused);
}

/* Whether the body looks at its parameter, the round or the condition, or a size follows from it.
 */
static bool reads(const hone_routine_t* body, int parameter) {
  const hone_program_value_t* value = &body->values[body->inputs[parameter]];
  return value->last >= 0 || value->n_binds;
}

/* The number of the round, which the device finds in that table: taking it there in every round
 * would cost as much as a small kernel. */
static hone_status_t set_round(loop_t* loop) {
  hone_context_t* context = loop->context;
  hone_slot_t* slot = &loop->counters[0];
  const hone_device_properties_t* device = &context->program->properties;
  size_t stride = device->alignment > sizeof(int64_t) ? device->alignment : sizeof(int64_t);
  int64_t from = loop->rounds - loop->rounds % NUMBERED;
  bool has_table = !device->guard && stride % sizeof(int64_t) == 0;
  if (has_table && (!context->rounds.block || context->first_round != from))
    HONE_TRY(number_rounds(context, from, stride));
  hone_block_drop(context, slot->block); /* what the device has is not that number any more */
  slot->block = NULL;
  HONE_TRY(hone_slot_set_number(context, HONE_I64, loop->rounds, slot));
  if (!has_table) return NULL;
  slot->block = context->rounds.block;
  hone_block_retain(slot->block);
  slot->offset = (size_t)(loop->rounds - from) * stride;
  return NULL;
}

/* ---- stacked results ---- */

static bool has_shape(const hone_slot_t* slot, const stack_t* stack) {
  const hone_slot_t* whole = &stack->whole;
  return slot->rank + 1 == whole->rank && slot->dtype == whole->dtype &&
         memcmp(slot->dims, whole->dims + 1, (size_t)slot->rank * sizeof *slot->dims) == 0;
}

/* The stack in memory for `rounds`. */
static hone_status_t resize_stack(const loop_t* loop, stack_t* stack, int64_t rounds) {
  hone_context_t* context = loop->context;
  size_t part = stack->whole.bytes / (size_t)(stack->room ? stack->room : 1);
  hone_slot_t grown = stack->whole;
  grown.block = NULL;
  grown.offset = 0;
  grown.dims[0] = rounds;
  if (!hone_size_mul(part, (size_t)rounds, &grown.bytes)) return hone_oom();
  HONE_TRY(hone_slot_allocate(context, &grown));
  hone_status_t status = NULL;
  if (loop->rounds)
    status = context->program->backend->copy(context->stream, grown.block->memory, grown.offset,
                                             stack->whole.block->memory, stack->whole.offset,
                                             (size_t)loop->rounds * part);
  hone_slot_drop(context, &stack->whole);
  stack->whole = grown;
  stack->room = rounds;
  return status;
}

/* How many rounds are likely: all, where the condition stays as it is. */
static int64_t next_room(const loop_t* loop, const stack_t* stack) {
  int64_t room = stack->room ? 2 * stack->room : 16;
  return loop->step->keeps_on || room > loop->limit ? loop->limit : room;
}

/* Where the next round goes. */
static size_t next_offset(const loop_t* loop, const stack_t* stack, size_t part) {
  return stack->whole.offset + (size_t)loop->rounds * part;
}

bool hone_value_is_launched(const hone_routine_t* body, int v) {
  const hone_program_value_t* value = &body->values[v];
  if (value->place != HONE_PLACE_HEAP || value->first < 0) return false;
  const hone_step_t* step = &body->steps[value->first];
  return step->kind == HONE_STEP_LAUNCH && !step->n_guards;
}

static int stacked_value(const loop_t* loop, int which) {
  return loop->body->outputs[1 + loop->n_carried + which];
}

/* Of no shape. */
static void clear_stack(stack_t* stack) {
  stack->is_on_device = false;
  stack->room = stack->count = 0;
  stack->slots = NULL;
  hone_slot_begin(&stack->whole, HONE_UNKNOWN, 0, NULL, 0);
}

static hone_status_t begin_stack(const hone_slot_t* part, stack_t* stack) {
  HONE_TRY(hone_slot_shape_stack(part, 1, &stack->whole));
  stack->is_on_device = true;
  return NULL;
}

/* Before the first round: as the body's types have it, where they tell. What the round gives may
 * be another shape yet, since sizes may be known only in the body; then that is begun anew. */
static hone_status_t expect_stack(const loop_t* loop, int v, stack_t* stack) {
  const hone_program_value_t* value = &loop->body->values[v];
  hone_slot_t part;
  if (!value->is_known || value->is_late) return NULL;
  hone_status_t status = hone_slot_shape(loop->context, value, &part);
  if (!status && part.bytes) return begin_stack(&part, stack);
  hone_status_free(status);
  return NULL;
}

/* Kernels of the next round write their part of the stack where it belongs. */
static hone_status_t offer_room(const loop_t* loop, int which) {
  hone_context_t* context = loop->context;
  stack_t* stack = &loop->stacks[which];
  int v = stacked_value(loop, which);
  hone_slot_t* slot = &context->frames[loop->body->index].slots[v];
  if (!hone_value_is_launched(loop->body, v) || slot->block) return NULL;
  if (!loop->rounds) HONE_TRY(expect_stack(loop, v, stack));
  if (!stack->is_on_device) return NULL;
  if (loop->rounds == stack->room) HONE_TRY(resize_stack(loop, stack, next_room(loop, stack)));
  size_t part = stack->whole.bytes / (size_t)stack->room;
  hone_slot_share(&stack->whole, slot);
  slot->bytes = part;
  slot->offset = next_offset(loop, stack, part);
  return NULL;
}

/* All or none: what was offered would be held on to until the body runs again. */
static hone_status_t offer_rooms(const loop_t* loop) {
  hone_slot_t* slots = loop->context->frames[loop->body->index].slots;
  hone_status_t status = NULL;
  if (loop->context->program->properties.guard) return NULL;
  for (int i = 0; i < loop->n_stacked && !status; i++) status = offer_room(loop, i);
  for (int i = 0; i < loop->n_stacked && status; i++) {
    int v = stacked_value(loop, i);
    if (hone_value_is_launched(loop->body, v)) hone_slot_drop(loop->context, &slots[v]);
  }
  return status;
}

static hone_status_t push_on_device(const loop_t* loop, stack_t* stack, hone_slot_t* slot) {
  bool is_there = stack->room && slot->block == stack->whole.block &&
                  slot->offset == next_offset(loop, stack, slot->bytes);
  if (is_there) return NULL;
  if (loop->rounds == stack->room) HONE_TRY(resize_stack(loop, stack, next_room(loop, stack)));
  return hone_slot_put(loop->context, slot, &stack->whole, loop->rounds);
}

static hone_status_t push_on_host(const loop_t* loop, stack_t* stack, hone_slot_t* slot) {
  if (loop->rounds == stack->room) {
    int64_t room = stack->room ? stack->room * 2 : 16;
    hone_slot_t* grown =
        hone_realloc(loop->context->program->allocator, stack->slots,
                     (size_t)stack->room * sizeof *grown, (size_t)room * sizeof *grown);
    if (!grown) return hone_oom();
    stack->slots = grown;
    stack->room = room;
  }
  stack->slots[stack->count++] = *slot;
  *slot = (hone_slot_t){0};
  return NULL;
}

static hone_status_t push(const loop_t* loop, int which, hone_slot_t* slot) {
  stack_t* stack = &loop->stacks[which];
  if (!loop->rounds && !has_shape(slot, stack)) {
    hone_slot_drop(loop->context, &stack->whole);
    clear_stack(stack);
    HONE_TRY(begin_stack(slot, stack));
    stack->is_on_device = slot->block && slot->bytes;
  }
  if (!has_shape(slot, stack))
    return hone_status_make(HONE_INVALID_ARGUMENT,
                            "loop: stacked output %d changes its shape in round %lld", which,
                            (long long)loop->rounds);
  return (stack->is_on_device ? push_on_device : push_on_host)(loop, stack, slot);
}

/* Strings, and what was on the host all the time, stay there. */
static hone_status_t stack_on_host(const loop_t* loop, const stack_t* stack, hone_slot_t* out) {
  hone_tensor_t* whole;
  HONE_TRY(hone_slot_shape_stack(&stack->slots[0], loop->rounds, out));
  HONE_TRY(hone_tensor_create(loop->context->program->allocator, out->dtype, out->rank, out->dims,
                              &whole));
  hone_status_t status = NULL;
  for (int64_t r = 0; r < loop->rounds && !status; r++) {
    hone_tensor_t* part;
    status = hone_slot_to_host(loop->context, &stack->slots[r], &part);
    if (!status) status = hone_host_copy(whole, r * part->count, part, 0, part->count);
  }
  if (status)
    hone_tensor_release(whole);
  else
    hone_slot_set(out, whole);
  return status;
}

/* Without a round nothing tells the shape but the type. */
static hone_status_t empty_stack(const loop_t* loop, int which, hone_slot_t* out) {
  const hone_routine_t* body = loop->body;
  const hone_program_value_t* value = &body->values[body->outputs[1 + loop->n_carried + which]];
  int64_t dims[HONE_MAX_RANK] = {0};
  int rank = value->is_known ? value->rank : 0;
  for (int i = 0; i < rank && i + 1 < HONE_MAX_RANK; i++) {
    int64_t extent = hone_dim_eval(value->dims[i], loop->context->symbols);
    dims[i + 1] = extent < 0 ? 0 : extent;
  }
  hone_tensor_t* tensor;
  HONE_TRY(hone_tensor_create(loop->context->program->allocator,
                              value->dtype == HONE_UNKNOWN ? HONE_F32 : value->dtype, rank + 1,
                              dims, &tensor));
  hone_slot_set(out, tensor);
  return NULL;
}

/* The stack becomes the step's output. */
static hone_status_t take_stack(const loop_t* loop, int which, hone_slot_t* out) {
  stack_t* stack = &loop->stacks[which];
  if (!loop->rounds) return empty_stack(loop, which, out);
  if (!stack->is_on_device) return stack_on_host(loop, stack, out);
  if (stack->room != loop->rounds) HONE_TRY(resize_stack(loop, stack, loop->rounds));
  hone_slot_move(&stack->whole, out);
  return NULL;
}

/* ---- rounds ---- */

static hone_status_t take_results(loop_t* loop) {
  hone_slot_t* results = loop->results + 1;
  for (int i = 0; i < loop->n_stacked; i++) HONE_TRY(push(loop, i, &results[loop->n_carried + i]));
  for (int i = 0; i < loop->n_carried; i++) hone_slot_move(&results[i], &loop->carried[i]);
  return NULL;
}

/* Whether the next is to be run. */
static hone_status_t take_condition(loop_t* loop) {
  int64_t condition;
  HONE_TRY(read_scalar(loop->context, &loop->results[0], "loop: the condition", &condition));
  loop->condition = condition != 0;
  if (!reads(loop->body, 1)) return NULL;
  return hone_slot_set_number(loop->context, HONE_BOOL, condition, &loop->counters[1]);
}

/* The body's parameters: round, condition, carried values, captures. */
static void give_inputs(const loop_t* loop) {
  const int *inputs = loop->body->inputs, *captures = loop->step->inputs;
  hone_slot_t* slots = loop->context->frames[loop->body->index].slots;
  int first = 2 + loop->n_carried; /* capture */
  for (int i = 0; i < 2; i++)
    if (reads(loop->body, i)) hone_slot_share(&loop->counters[i], &slots[inputs[i]]);
  for (int i = 2; i < first; i++) hone_slot_move(&loop->carried[i - 2], &slots[inputs[i]]);
  for (int i = first; i < loop->body->n_inputs; i++)
    hone_slot_share(&loop->frame->slots[captures[i]], &slots[inputs[i]]);
}

static hone_status_t run_round(loop_t* loop) {
  hone_context_t* context = loop->context;
  if (reads(loop->body, 0)) HONE_TRY(set_round(loop));
  HONE_TRY(offer_rooms(loop));
  uint64_t outer_key = context->round_key;
  context->round_key = hone_random_round_key(outer_key, loop->rounds);
  give_inputs(loop);
  hone_status_t status = hone_routine_run(context, loop->body, loop->results);
  context->round_key = outer_key;
  if (!status && !loop->step->keeps_on) status = take_condition(loop);
  if (!status) status = take_results(loop);
  drop_slots(context, loop->body->n_outputs, loop->results);
  if (status) return hone_status_annotate(status, "round %lld", (long long)loop->rounds);
  loop->rounds++;
  return NULL;
}

/* ---- the whole ---- */

static hone_status_t finish(loop_t* loop) {
  hone_slot_t* slots = loop->frame->slots;
  for (int i = 0; i < loop->n_carried; i++)
    hone_slot_move(&loop->carried[i], &slots[loop->step->outputs[i]]);
  for (int i = 0; i < loop->n_stacked; i++) {
    hone_slot_t* out = &slots[loop->step->outputs[loop->n_carried + i]];
    HONE_TRY(take_stack(loop, i, out));
  }
  return NULL;
}

/* Whether each kernel is to be seen by itself. */
static bool is_looked_at(const hone_context_t* context) {
  const hone_run_options_t* options = context->options;
  return context->watch || (options->profile && options->profile_inner);
}

/* Rounds that do not depend on one another, as many as there are threads for. */
static hone_status_t run_at_once(loop_t* loop) {
  hone_context_t* context = loop->context;
  int64_t rounds =
      loop->condition && !is_looked_at(context)
          ? hone_loop_count_at_once(context->program, loop->step, context->symbols, loop->limit)
          : 0;
  if (!rounds) return NULL;
  size_t bytes = (size_t)loop->n_stacked * sizeof(hone_slot_t);
  hone_slot_t* wholes = hone_alloc(context->program->allocator, bytes);
  if (!wholes) return hone_oom();
  hone_status_t status =
      hone_loop_run_at_once(context, loop->frame, loop->step, loop->limit, rounds, wholes);
  for (int i = 0; i < loop->n_stacked; i++)
    loop->stacks[i] = (stack_t){.is_on_device = true, .room = loop->limit, .whole = wholes[i]};
  loop->rounds = rounds;
  hone_free(context->program->allocator, wholes, bytes);
  return status;
}

static hone_status_t run_rounds(loop_t* loop) {
  HONE_TRY(run_at_once(loop));
  while (loop->condition && loop->rounds < loop->limit) HONE_TRY(run_round(loop));
  return finish(loop);
}

static void close_stack(const loop_t* loop, stack_t* stack) {
  hone_slot_drop(loop->context, &stack->whole);
  if (!stack->slots) return;
  drop_slots(loop->context, (int)stack->count, stack->slots);
  hone_free(loop->context->program->allocator, stack->slots,
            (size_t)stack->room * sizeof(hone_slot_t));
}

/* The counters stay for the next run. */
static void close_loop(const loop_t* loop) {
  drop_slots(loop->context, loop->n_carried, loop->carried);
  for (int i = 0; i < loop->n_stacked; i++) close_stack(loop, &loop->stacks[i]);
}

/* Memory for as many values as the body has, which its frame keeps from run to run. */
static hone_status_t make_room(loop_t* loop) {
  hone_frame_t* frame = &loop->context->frames[loop->body->index];
  size_t n_slots = 2 + (size_t)loop->n_carried + (size_t)loop->body->n_outputs;
  size_t bytes = n_slots * sizeof(hone_slot_t) + (size_t)loop->n_stacked * sizeof(stack_t);
  if (!frame->room) frame->room = hone_alloc(loop->context->program->allocator, bytes);
  if (!frame->room) return hone_oom();
  frame->room_bytes = bytes;
  loop->counters = frame->room;
  loop->carried = loop->counters + 2;
  loop->results = loop->carried + loop->n_carried;
  loop->stacks = (stack_t*)(void*)(loop->results + loop->body->n_outputs);
  for (int i = 0; i < loop->n_stacked; i++) clear_stack(&loop->stacks[i]);
  return NULL;
}

void hone_loop_free_room(hone_context_t* context, hone_frame_t* frame) {
  if (frame->room) drop_slots(context, 2, frame->room);
  hone_free(context->program->allocator, frame->room, frame->room_bytes);
}

/* What the first round starts from. */
static hone_status_t open_loop(const loop_t* loop) {
  for (int i = 0; i < loop->n_carried; i++) {
    hone_slot_share(&loop->frame->slots[loop->step->inputs[2 + i]], &loop->carried[i]);
    HONE_TRY(hone_slot_keep(loop->context, &loop->carried[i]));
  }
  if (!reads(loop->body, 1)) return NULL;
  return hone_slot_set_number(loop->context, HONE_BOOL, loop->condition, &loop->counters[1]);
}

hone_status_t hone_step_loop(hone_context_t* context, hone_frame_t* frame,
                             const hone_step_t* step) {
  hone_routine_t* body = step->bodies[0];
  loop_t loop = {.context = context, .frame = frame, .step = step, .body = body};
  loop.n_carried = step->n_carried;
  loop.n_stacked = step->n_outputs - step->n_carried;
  int64_t condition;
  HONE_TRY(
      read_scalar(context, &frame->slots[step->inputs[0]], "loop: the trip count", &loop.limit));
  HONE_TRY(read_scalar(context, &frame->slots[step->inputs[1]], "loop: the condition", &condition));
  loop.condition = condition != 0;
  HONE_TRY(make_room(&loop));
  hone_status_t status = open_loop(&loop);
  if (!status) status = run_rounds(&loop);
  close_loop(&loop);
  return status;
}
