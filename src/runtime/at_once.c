/* Rounds of a loop at once: where no value is carried from one round to the next, and the body
 * is nothing but launches, threads take rounds of their own, each in a context of its own. What
 * a round launches runs on its thread alone.
 *
 * There are as many contexts as threads, and all of them are used, whichever threads come in
 * time: what a run takes does not depend on that. */
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/tensor_impl.h"
#include "base/thread_pool.h"
#include "runtime/context.h"
#include "tune/cost.h"

typedef struct at_once {
  hone_context_t* context;
  const hone_step_t* step;
  hone_slot_t* captures; /* of all rounds, with blocks that are not counted */
  hone_slot_t* wholes;   /* stacked outputs */
  hone_block_t* stacks;  /* their blocks, not counted */
  int n_stacked;
  int64_t part; /* rounds of a thread, where all come in time */
  pthread_mutex_t mutex;
  hone_context_t *fresh, *used; /* idle ones, without and with memory for such rounds; guarded */
  int64_t failed_round;         /* the first that failed; guarded, as are the next two */
  hone_status_t status;
  bool is_named;
} at_once_t;

/* ---- which loops ---- */

static bool is_simple(const hone_step_t* step) {
  if (step->kind == HONE_STEP_LAUNCH) return !step->is_late && !step->n_guards;
  return step->kind == HONE_STEP_VIEW || step->kind == HONE_STEP_DIMS;
}

static bool are_independent(const hone_program_t* program, const hone_step_t* step) {
  const hone_routine_t* body = step->bodies[0];
  const hone_device_properties_t* device = &program->properties;
  if (step->n_carried || !step->n_outputs || device->compute_units < 2 || device->guard ||
      !device->shares_host_memory || device->max_group_size > 1 || !step->keeps_on)
    return false;
  for (int s = 0; s < body->n_steps; s++)
    if (!is_simple(&body->steps[s])) return false;
  for (int i = 1; i < body->n_outputs; i++) {
    const hone_program_value_t* value = &body->values[body->outputs[i]];
    if (!value->is_known || value->is_late || value->dtype == HONE_STRING) return false;
  }
  return true;
}

/* Whether rounds are long enough to have a thread each. */
static bool are_long(const hone_program_t* program, const hone_routine_t* body,
                     const int64_t* symbols, int64_t rounds) {
  hone_work_amount_t work = {0};
  const int64_t groups[3] = {rounds, 1, 1};
  for (int s = 0; s < body->n_steps; s++) {
    if (body->steps[s].kind != HONE_STEP_LAUNCH) continue;
    const hone_work_amount_t one = hone_work_eval(&body->steps[s].work, symbols);
    work.arithmetic += (double)rounds * one.arithmetic;
    work.transcendental += (double)rounds * one.transcendental;
    work.single += (double)rounds * one.single;
    work.read += (double)rounds * one.read;
    work.written += (double)rounds * one.written;
  }
  return hone_cost_grain(&program->properties, &work, groups) <=
         rounds / program->properties.compute_units;
}

int64_t hone_loop_count_at_once(const hone_program_t* program, const hone_step_t* step,
                                const int64_t* symbols, int64_t rounds) {
  int threads = program->properties.compute_units;
  if (rounds < threads || !are_independent(program, step) ||
      !are_long(program, step->bodies[0], symbols, rounds))
    return 0;
  return rounds - rounds % threads;
}

/* ---- a round ---- */

static hone_status_t set_inputs(const at_once_t* all, hone_context_t* context, int64_t round) {
  const hone_routine_t* body = all->step->bodies[0];
  hone_slot_t* slots = context->frames[body->index].slots;
  HONE_TRY(hone_slot_set_number(context, HONE_I64, round, &slots[body->inputs[0]]));
  hone_status_t status = hone_slot_set_number(context, HONE_BOOL, 1, &slots[body->inputs[1]]);
  if (status) {
    hone_slot_drop(context, &slots[body->inputs[0]]);
    return status;
  }
  for (int i = 2; i < body->n_inputs; i++)
    hone_slot_share(&all->captures[i], &slots[body->inputs[i]]);
  return NULL;
}

/* Kernels of the round write their part of a stack where it belongs. */
static void offer_room(const at_once_t* all, hone_context_t* context, int64_t round, int which) {
  const hone_routine_t* body = all->step->bodies[0];
  int v = body->outputs[1 + which];
  hone_slot_t* slot = &context->frames[body->index].slots[v];
  if (slot->block || !hone_value_is_launched(body, v)) return;
  *slot = all->wholes[which];
  slot->block = &all->stacks[which];
  slot->bytes /= (size_t)slot->dims[0];
  slot->offset += (size_t)round * slot->bytes;
}

/* What is not there yet is copied. */
static hone_status_t put(const at_once_t* all, hone_context_t* context, int64_t round, int which,
                         hone_slot_t* result) {
  if (result->block == &all->stacks[which]) return NULL;
  return hone_slot_put(context, result, &all->wholes[which], round);
}

static hone_status_t run_round(const at_once_t* all, hone_context_t* context, hone_slot_t* results,
                               int64_t round) {
  hone_routine_t* body = all->step->bodies[0];
  uint64_t outer_key = all->context->round_key;
  memset(results, 0, (size_t)body->n_outputs * sizeof *results);
  context->round_key = hone_random_round_key(outer_key, round);
  HONE_TRY(set_inputs(all, context, round));
  for (int i = 0; i < all->n_stacked; i++) offer_room(all, context, round, i);
  HONE_TRY(hone_routine_run(context, body, results));
  hone_status_t status = NULL;
  for (int i = 0; i < all->n_stacked && !status; i++)
    status = put(all, context, round, i, &results[1 + i]);
  for (int i = 0; i < body->n_outputs; i++) hone_slot_drop(context, &results[i]);
  return status;
}

/* ---- rounds of a thread ---- */

static void note_failure(at_once_t* all, const hone_context_t* context, int64_t round,
                         hone_status_t status) {
  pthread_mutex_lock(&all->mutex);
  if (!all->status || round < all->failed_round) {
    hone_status_free(all->status);
    all->status = hone_status_annotate(status, "round %lld", (long long)round);
    all->failed_round = round;
    all->is_named = context && context->is_named;
  } else {
    hone_status_free(status);
  }
  pthread_mutex_unlock(&all->mutex);
}

static void open_context(const hone_context_t* from, hone_context_t* context) {
  int symbols = hone_dims_symbol_count(from->program->dims);
  memcpy(context->symbols, from->symbols, (size_t)symbols * sizeof *context->symbols);
  context->options = from->options;
  context->watch = NULL;
  context->depth = from->depth;
  context->is_named = false;
}

/* Checks are looked at after each round, so that a failure has its number. */
static void run_rounds_in(at_once_t* all, hone_context_t* context, hone_slot_t* results,
                          int64_t begin, int64_t end) {
  for (int64_t round = begin; round < end; round++) {
    hone_status_t status = run_round(all, context, results, round);
    hone_status_t late = hone_context_synchronize(context);
    if (status)
      hone_status_free(late);
    else
      status = late;
    if (!status) continue;
    note_failure(all, context, round, status);
    return;
  }
}

/* Those without memory go first. */
static hone_context_t* take_context(at_once_t* all) {
  pthread_mutex_lock(&all->mutex);
  hone_context_t** list = all->fresh ? &all->fresh : &all->used;
  hone_context_t* context = *list;
  *list = context->next;
  pthread_mutex_unlock(&all->mutex);
  return context;
}

static void give_back(at_once_t* all, hone_context_t* context) {
  pthread_mutex_lock(&all->mutex);
  context->next = all->used;
  all->used = context;
  pthread_mutex_unlock(&all->mutex);
}

static void run_rounds(void* self, int64_t begin, int64_t end) {
  at_once_t* all = self;
  const hone_program_t* program = all->context->program;
  size_t bytes = (size_t)all->step->bodies[0]->n_outputs * sizeof(hone_slot_t);
  hone_slot_t* results = hone_alloc(program->allocator, bytes);
  if (!results) {
    note_failure(all, NULL, begin, hone_oom());
    return;
  }
  for (int64_t at = begin; at < end; at += all->part) {
    hone_context_t* context = take_context(all);
    run_rounds_in(all, context, results, at, end < at + all->part ? end : at + all->part);
    give_back(all, context);
  }
  hone_free(program->allocator, results, bytes);
}

/* ---- the loop ---- */

/* Memory for all rounds. */
static hone_status_t make_wholes(const at_once_t* all, int64_t rounds) {
  const hone_routine_t* body = all->step->bodies[0];
  for (int i = 0; i < all->n_stacked; i++) {
    const hone_program_value_t* value = &body->values[body->outputs[1 + i]];
    hone_slot_t part;
    HONE_TRY(hone_slot_shape(all->context, value, &part));
    HONE_TRY(hone_slot_shape_stack(&part, rounds, &all->wholes[i]));
    HONE_TRY(hone_slot_allocate(all->context, &all->wholes[i]));
  }
  return NULL;
}

/* A block as others may share it: nobody counts references to it. */
static void lend_block(const hone_block_t* block, hone_block_t* lent) {
  *lent = *block;
  lent->is_weight = true;
  lent->tensor = NULL;
}

static void lend(const at_once_t* all, const hone_frame_t* frame, hone_block_t* blocks) {
  const hone_routine_t* body = all->step->bodies[0];
  for (int i = 2; i < body->n_inputs; i++) {
    all->captures[i] = frame->slots[all->step->inputs[i]];
    if (!all->captures[i].block) continue;
    lend_block(all->captures[i].block, &blocks[i]);
    all->captures[i].block = &blocks[i];
  }
  for (int i = 0; i < all->n_stacked; i++) lend_block(all->wholes[i].block, &all->stacks[i]);
}

static void close_contexts(hone_context_t* list) {
  while (list) {
    hone_context_t* context = list;
    list = context->next;
    hone_context_give_back(context);
  }
}

/* One for each thread. */
static hone_status_t open_contexts(at_once_t* all) {
  hone_program_t* program = all->context->program;
  const hone_routine_t* body = all->step->bodies[0];
  for (int i = 0; i < program->properties.compute_units; i++) {
    hone_context_t* context;
    HONE_TRY(hone_context_take(program, &context));
    open_context(all->context, context);
    const hone_instance_t* last = context->frames[body->index].instance;
    bool fits =
        last && hone_instance_fits(last, body, context->symbols, hone_context_runs_apart(context));
    hone_context_t** list = fits ? &all->used : &all->fresh;
    context->next = *list;
    *list = context;
  }
  return NULL;
}

static hone_status_t run_all(at_once_t* all, int64_t rounds) {
  int threads = all->context->program->properties.compute_units;
  all->part = rounds / threads;
  hone_status_t status = open_contexts(all);
  pthread_mutex_init(&all->mutex, NULL);
  if (!status) hone_parallel_for_on(hone_thread_pool_shared(), threads, rounds, 1, run_rounds, all);
  pthread_mutex_destroy(&all->mutex);
  close_contexts(all->fresh);
  close_contexts(all->used);
  if (status) return status;
  if (all->status) all->context->is_named = all->is_named;
  return all->status;
}

hone_status_t hone_loop_run_at_once(hone_context_t* context, const hone_frame_t* frame,
                                    const hone_step_t* step, int64_t limit, int64_t rounds,
                                    hone_slot_t* wholes) {
  at_once_t all = {.context = context, .step = step, .wholes = wholes};
  all.n_stacked = step->n_outputs;
  HONE_TRY(make_wholes(&all, limit));
  size_t n = (size_t)step->bodies[0]->n_inputs, stacks = (size_t)all.n_stacked,
         bytes = n * sizeof(hone_slot_t) + (n + stacks) * sizeof(hone_block_t);
  all.captures = hone_alloc(context->program->allocator, bytes);
  if (!all.captures) return hone_oom();
  all.stacks = (hone_block_t*)(void*)(all.captures + n);
  lend(&all, frame, all.stacks + stacks);
  hone_status_t status = run_all(&all, rounds);
  hone_free(context->program->allocator, all.captures, bytes);
  return status;
}
