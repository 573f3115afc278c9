/* Control flow: if and loop, whose bodies are routines of the program. What a
 * body takes and gives are slots of its caller. */
#include <string.h>

#include "base/float_convert.h"
#include "base/memory.h"
#include "base/tensor_impl.h"
#include "runtime/context.h"

static hone_status_t read_scalar(hone_context_t* context, hone_slot_t* slot, const char* what,
                                 int64_t* out_value) {
  hone_tensor_t* tensor;
  HONE_TRY(hone_slot_to_host(context, slot, &tensor));
  if (tensor->kind != HONE_KIND_TENSOR || tensor->count != 1)
    return hone_status_make(HONE_INVALID_ARGUMENT, "%s is not one element", what);
  hone_load_i64(tensor->dtype, tensor->data, 0, 1, out_value);
  return NULL;
}

static void drop_slots(hone_context_t* context, int count, hone_slot_t* slots) {
  for (int i = 0; i < count; i++) hone_slot_drop(context, &slots[i]);
}

/* Runs a body on slots of its caller, which keeps them. */
static hone_status_t run_body(hone_context_t* context, hone_routine_t* body,
                              hone_slot_t* const* inputs, hone_slot_t* outputs) {
  hone_frame_t* frame = &context->frames[body->index];
  for (int i = 0; i < body->n_inputs; i++)
    hone_slot_share(inputs[i], &frame->slots[body->inputs[i]]);
  return hone_routine_run(context, body, outputs);
}

/* ---- if ---- */

static hone_status_t run_branch(hone_context_t* context, hone_frame_t* frame,
                                const hone_step_t* step, hone_routine_t* body,
                                const int* captures) {
  size_t bytes =
      (size_t)body->n_inputs * sizeof(hone_slot_t*) + (size_t)body->n_outputs * sizeof(hone_slot_t);
  hone_slot_t* results = hone_alloc(context->program->allocator, bytes);
  if (!results) return hone_oom();
  hone_slot_t** inputs = (hone_slot_t**)(void*)(results + body->n_outputs);
  for (int i = 0; i < body->n_inputs; i++) inputs[i] = &frame->slots[captures[i]];
  hone_status_t status = run_body(context, body, inputs, results);
  for (int i = 0; i < step->n_outputs; i++) frame->slots[step->outputs[i]] = results[i];
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

/* The values that one stacked output had in each round. */
typedef struct stack {
  hone_slot_t* slots;
  int64_t room;
} stack_t;

typedef struct loop {
  hone_context_t* context;
  hone_frame_t* frame;
  const hone_step_t* step;
  hone_routine_t* body;
  int n_carried, n_stacked;
  hone_slot_t* carried;    /* n_carried; owned */
  hone_slot_t* results;    /* of a round: condition, carried, stacked */
  hone_slot_t counters[2]; /* the first two parameters: the round and the condition */
  hone_slot_t** inputs;
  stack_t* stacks;
  int64_t rounds; /* done */
  bool condition;
} loop_t;

static hone_status_t set_counter(const loop_t* loop, hone_dtype_t dtype, int64_t value,
                                 hone_slot_t* slot) {
  hone_tensor_t* tensor;
  HONE_TRY(hone_tensor_create(loop->context->program->allocator, dtype, 0, NULL, &tensor));
  if (dtype == HONE_BOOL)
    *(uint8_t*)tensor->data = value != 0;
  else
    memcpy(tensor->data, &value, sizeof value);
  hone_slot_set(slot, tensor);
  return NULL;
}

static hone_status_t grow_stacks(const loop_t* loop) {
  for (int i = 0; i < loop->n_stacked; i++) {
    stack_t* stack = &loop->stacks[i];
    if (loop->rounds < stack->room) continue;
    int64_t room = stack->room ? stack->room * 2 : 16;
    hone_slot_t* grown =
        hone_realloc(loop->context->program->allocator, stack->slots,
                     (size_t)stack->room * sizeof *grown, (size_t)room * sizeof *grown);
    if (!grown) return hone_oom();
    *stack = (stack_t){grown, room};
  }
  return NULL;
}

static void take_results(loop_t* loop) {
  for (int i = 0; i < loop->n_carried; i++) {
    hone_slot_drop(loop->context, &loop->carried[i]);
    loop->carried[i] = loop->results[1 + i];
  }
  for (int i = 0; i < loop->n_stacked; i++)
    loop->stacks[i].slots[loop->rounds] = loop->results[1 + loop->n_carried + i];
  hone_slot_drop(loop->context, &loop->results[0]);
  memset(loop->results, 0, (size_t)loop->body->n_outputs * sizeof *loop->results);
  loop->rounds++;
}

static hone_status_t run_round(loop_t* loop) {
  hone_context_t* context = loop->context;
  HONE_TRY(grow_stacks(loop));
  HONE_TRY(set_counter(loop, HONE_I64, loop->rounds, &loop->counters[0]));
  HONE_TRY(set_counter(loop, HONE_BOOL, loop->condition, &loop->counters[1]));
  uint64_t outer_key = context->round_key;
  context->round_key = (outer_key ^ (uint64_t)(loop->rounds + 1)) * 0x9e3779b97f4a7c15u;
  hone_status_t status = run_body(context, loop->body, loop->inputs, loop->results);
  context->round_key = outer_key;
  drop_slots(context, 2, loop->counters);
  int64_t condition = 0;
  if (!status) status = read_scalar(context, &loop->results[0], "loop: the condition", &condition);
  if (status) {
    drop_slots(context, loop->body->n_outputs, loop->results);
    return hone_status_annotate(status, "round %lld", (long long)loop->rounds);
  }
  loop->condition = condition != 0;
  take_results(loop);
  return NULL;
}

/* ---- stacked results ---- */

static hone_status_t check_shapes(const loop_t* loop, const stack_t* stack, int which) {
  const hone_slot_t* first = &stack->slots[0];
  for (int64_t r = 1; r < loop->rounds; r++) {
    const hone_slot_t* slot = &stack->slots[r];
    bool same = slot->rank == first->rank && slot->dtype == first->dtype &&
                memcmp(slot->dims, first->dims, (size_t)first->rank * sizeof *slot->dims) == 0;
    if (!same)
      return hone_status_make(HONE_INVALID_ARGUMENT,
                              "loop: stacked output %d changes its shape in round %lld", which,
                              (long long)r);
  }
  return NULL;
}

static hone_status_t stack_strings(const hone_slot_t* from, hone_tensor_t* to, int64_t first) {
  const hone_string_t* strings = from->tensor->data;
  for (int64_t i = 0; i < from->tensor->count; i++)
    HONE_TRY(hone_tensor_set_string(to, first + i, strings[i].data, strings[i].size));
  return NULL;
}

/* Strings, and what was on the host all the time, stay there. */
static hone_status_t stack_on_host(const loop_t* loop, const stack_t* stack, hone_slot_t* out) {
  hone_tensor_t* whole;
  HONE_TRY(hone_tensor_create(loop->context->program->allocator, out->dtype, out->rank, out->dims,
                              &whole));
  hone_status_t status = NULL;
  for (int64_t r = 0; r < loop->rounds && !status; r++) {
    hone_tensor_t* part;
    status = hone_slot_to_host(loop->context, &stack->slots[r], &part);
    if (status) break;
    if (out->dtype == HONE_STRING)
      status = stack_strings(&stack->slots[r], whole, r * part->count);
    else if (part->bytes)
      memcpy((char*)whole->data + (size_t)r * part->bytes, part->data, part->bytes);
  }
  if (status)
    hone_tensor_release(whole);
  else
    hone_slot_set(out, whole);
  return status;
}

static hone_status_t stack_on_device(const loop_t* loop, const stack_t* stack, hone_slot_t* out) {
  hone_context_t* context = loop->context;
  HONE_TRY(hone_slot_allocate(context, out));
  for (int64_t r = 0; r < loop->rounds; r++) {
    hone_argument_t part;
    hone_slot_t* slot = &stack->slots[r];
    if (!slot->bytes) continue;
    HONE_TRY(hone_slot_to_device(context, slot, &part));
    HONE_TRY(context->program->backend->copy(context->stream, out->block->memory,
                                             out->offset + (size_t)r * slot->bytes, part.memory,
                                             part.offset, slot->bytes));
  }
  return NULL;
}

static hone_status_t stack_rounds(const loop_t* loop, int which, hone_slot_t* out) {
  const stack_t* stack = &loop->stacks[which];
  const hone_slot_t* first = &stack->slots[0];
  HONE_TRY(check_shapes(loop, stack, which));
  if (first->rank >= HONE_MAX_RANK)
    return hone_status_make(HONE_UNSUPPORTED, "loop: stacked output %d has too many axes", which);
  *out = (hone_slot_t){.dtype = first->dtype,
                       .rank = first->rank + 1,
                       .dims = {loop->rounds},
                       .bytes = first->bytes * (size_t)loop->rounds};
  memcpy(out->dims + 1, first->dims, (size_t)first->rank * sizeof *out->dims);
  return first->block && first->bytes ? stack_on_device(loop, stack, out)
                                      : stack_on_host(loop, stack, out);
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

/* ---- the whole ---- */

static hone_status_t finish(loop_t* loop) {
  hone_slot_t* slots = loop->frame->slots;
  for (int i = 0; i < loop->n_carried; i++)
    hone_slot_share(&loop->carried[i], &slots[loop->step->outputs[i]]);
  for (int i = 0; i < loop->n_stacked; i++) {
    hone_slot_t* out = &slots[loop->step->outputs[loop->n_carried + i]];
    HONE_TRY(loop->rounds ? stack_rounds(loop, i, out) : empty_stack(loop, i, out));
  }
  return NULL;
}

static hone_status_t run_rounds(loop_t* loop, int64_t limit) {
  while (loop->condition && loop->rounds < limit) HONE_TRY(run_round(loop));
  return finish(loop);
}

static void close_loop(loop_t* loop, void* block, size_t bytes) {
  const hone_allocator_t* allocator = loop->context->program->allocator;
  drop_slots(loop->context, loop->n_carried, loop->carried);
  drop_slots(loop->context, 2, loop->counters);
  for (int i = 0; i < loop->n_stacked; i++) {
    for (int64_t r = 0; r < loop->rounds; r++)
      hone_slot_drop(loop->context, &loop->stacks[i].slots[r]);
    hone_free(allocator, loop->stacks[i].slots, (size_t)loop->stacks[i].room * sizeof(hone_slot_t));
  }
  hone_free(allocator, block, bytes);
}

/* The parameters: round, condition, carried values, captures. */
static hone_status_t open_loop(loop_t* loop) {
  hone_slot_t* slots = loop->frame->slots;
  const int* inputs = loop->step->inputs;
  loop->inputs[0] = &loop->counters[0];
  loop->inputs[1] = &loop->counters[1];
  for (int i = 0; i < loop->n_carried; i++) {
    hone_slot_share(&slots[inputs[2 + i]], &loop->carried[i]);
    loop->inputs[2 + i] = &loop->carried[i];
    HONE_TRY(hone_slot_keep(loop->context, &loop->carried[i]));
  }
  for (int i = 2 + loop->n_carried; i < loop->body->n_inputs; i++)
    loop->inputs[i] = &slots[inputs[i]];
  return NULL;
}

hone_status_t hone_step_loop(hone_context_t* context, hone_frame_t* frame,
                             const hone_step_t* step) {
  loop_t loop = {.context = context, .frame = frame, .step = step, .body = step->bodies[0]};
  loop.n_carried = step->n_carried;
  loop.n_stacked = step->n_outputs - step->n_carried;
  int64_t limit, condition;
  HONE_TRY(read_scalar(context, &frame->slots[step->inputs[0]], "loop: the trip count", &limit));
  HONE_TRY(read_scalar(context, &frame->slots[step->inputs[1]], "loop: the condition", &condition));
  loop.condition = condition != 0;
  size_t n_slots = (size_t)loop.n_carried + (size_t)loop.body->n_outputs;
  size_t bytes = n_slots * sizeof(hone_slot_t) + (size_t)loop.n_stacked * sizeof(stack_t) +
                 (size_t)loop.body->n_inputs * sizeof(hone_slot_t*);
  loop.carried = hone_alloc(context->program->allocator, bytes);
  if (!loop.carried) return hone_oom();
  loop.results = loop.carried + loop.n_carried;
  loop.stacks = (stack_t*)(void*)(loop.results + loop.body->n_outputs);
  loop.inputs = (hone_slot_t**)(void*)(loop.stacks + loop.n_stacked);
  hone_status_t status = open_loop(&loop);
  if (!status) status = run_rounds(&loop, limit);
  close_loop(&loop, loop.carried, bytes);
  return status;
}
