/* Walks along the steps and takes in launches while each needs only rounds nearby of those that
 * are in already. */
#include "runtime/turns.h"

#include <string.h>

#include "base/memory.h"

enum { MOST_NEEDS = 3 * HONE_TURNS_MOST, SHARE = 4 /* of all rounds that are nearby */ };

typedef struct finder {
  const hone_program_t* program;
  hone_routine_t* routine;
  const int64_t* symbols; /* by id: as small as they may be */
  int first, count;       /* launches that are in */
  int n_needs;
  hone_need_t needs[MOST_NEEDS];
} finder_t;

static const hone_step_t* step_at(const finder_t* f, int index) {
  return &f->routine->steps[index];
}

/* ---- facts ---- */

/* Rounds of a launch, where they are known before any run, and not so many that numbers made from
 * them could overflow; else 0. */
static int64_t rounds_of(const hone_step_t* step) {
  enum { MOST = 1 << 28 };
  int64_t rounds = 1;
  for (int i = 0; i < 3; i++)
    if (!hone_dim_is_int(step->groups[i]) || step->groups[i].k < 1 ||
        !hone_i64_mul(rounds, step->groups[i].k, &rounds))
      return 0;
  return rounds <= MOST ? rounds : 0;
}

int64_t hone_turns_bytes(const hone_program_value_t* value) {
  int64_t bytes = (int64_t)hone_dtype_size(value->dtype);
  for (int i = 0; i < value->rank; i++)
    if (!hone_dim_is_int(value->dims[i]) || !hone_i64_mul(bytes, value->dims[i].k, &bytes))
      return 0;
  return bytes;
}

/* Bytes of what the step makes, where they are known; else 0. */
static int64_t bytes_made(const finder_t* f, const hone_step_t* step) {
  int64_t total = 0;
  for (int i = 0; i < step->n_outputs; i++) {
    int64_t bytes = hone_turns_bytes(&f->routine->values[step->outputs[i]]);
    if (!bytes || !hone_i64_add(total, bytes, &total)) return 0;
  }
  return total;
}

/* Bytes of the weights that the launch reads, in each strip anew. */
static int64_t bytes_of_weights(const finder_t* f, const hone_step_t* step) {
  int64_t total = 0;
  for (int i = 0; i < step->n_buffers; i++) {
    if (step->buffers[i] < 0) continue;
    const hone_program_value_t* value = &f->routine->values[step->buffers[i]];
    if (value->place == HONE_PLACE_WEIGHT)
      total += (int64_t)hone_tensor_bytes(f->program->weights[value->weight].tensor);
  }
  return total;
}

/* Whether the weights of all that are in and of the next stay in their part of the second cache. */
static bool has_room_for_weights(const finder_t* f, const hone_step_t* next) {
  int64_t bytes = bytes_of_weights(f, next);
  for (int i = 0; i < f->count; i++) bytes += bytes_of_weights(f, step_at(f, f->first + i));
  return bytes <= (int64_t)f->program->properties.cache_bytes[1] / HONE_TURNS_WEIGHTS;
}

/* Launches whose rounds are few would leave threads without work. */
static bool is_eligible(const finder_t* f, const hone_step_t* step) {
  enum { ROUNDS_OF_THREAD = 3 };
  int threads = f->program->properties.compute_units;
  return step->kind == HONE_STEP_LAUNCH && !step->is_late && !step->n_guards &&
         step->n_buffers <= HONE_TURNS_BUFFERS && step->spans &&
         rounds_of(step) >= (threads > 1 ? threads * ROUNDS_OF_THREAD : 2) &&
         bytes_made(f, step) > 0;
}

/* ---- needs ---- */

static bool does_move(const hone_span_t* span) { return span->is_known && span->step > 0; }

/* Whether the first rounds of the reader need no more than the first of the writer, and the last
 * no more than the last. */
static bool is_near(const hone_need_t* need, int64_t writers, int64_t readers) {
  int64_t part = writers / SHARE > 1 ? writers / SHARE : 1;
  return hone_need_end(need, writers, 1) <= part + 1 &&
         hone_need_begin(need, writers, readers - 1) >= writers - part - 1;
}

static bool add_need(finder_t* f, int writer, const hone_span_t* written, const hone_span_t* read) {
  const hone_step_t *from = step_at(f, f->first + writer), *to = step_at(f, f->first + f->count);
  if (!does_move(written) || !does_move(read) || f->n_needs == MOST_NEEDS) return false;
  hone_need_t* need = &f->needs[f->n_needs];
  *need = (hone_need_t){.reader = f->count,
                        .writer = writer,
                        .reader_step = read->step,
                        .writer_step = written->step,
                        .least = read->least - written->most + written->step,
                        .most = read->most - written->least - 1};
  if (!is_near(need, rounds_of(from), rounds_of(to))) return false;
  f->n_needs++;
  return true;
}

static bool is_output(const hone_step_t* step, int value) {
  for (int i = 0; i < step->n_outputs; i++)
    if (step->outputs[i] == value) return true;
  return false;
}

/* What the step reads of one that is in; false where it needs that whole. */
static bool add_needs_of(finder_t* f, const hone_step_t* step, int writer) {
  const hone_step_t* from = step_at(f, f->first + writer);
  for (int k = 0; k < from->n_buffers; k++)
    for (int i = 0; i < step->n_buffers; i++)
      if (is_output(from, from->buffers[k]) && step->buffers[i] == from->buffers[k] &&
          !add_need(f, writer, &from->spans[k], &step->spans[i]))
        return false;
  return true;
}

static bool add_needs(finder_t* f, const hone_step_t* step) {
  for (int w = 0; w < f->count; w++)
    if (!add_needs_of(f, step, w)) return false;
  return true;
}

/* ---- the walk ---- */

/* Whether less goes on from here than came, and the next step makes more of it. */
static bool is_narrow(const finder_t* f, int last) {
  const hone_step_t *step = step_at(f, last), *next = step + 1;
  if (last + 1 >= f->routine->n_steps || last == f->first) return false;
  int64_t bytes = bytes_made(f, step);
  return bytes < bytes_made(f, step - 1) &&
         (next->kind != HONE_STEP_LAUNCH || bytes < bytes_made(f, next));
}

/* Whether there is room for more in the second caches of all threads, which then wait for one
 * another less often, and have work that is more evenly shared out. */
static bool has_room(const finder_t* f) {
  const hone_device_properties_t* device = &f->program->properties;
  int64_t bytes = 0, cache = (int64_t)device->cache_bytes[1] / 4 * 3;
  for (int i = 0; i < f->count; i++) bytes += bytes_made(f, step_at(f, f->first + i));
  return device->compute_units > 1 && 2 * bytes <= cache * device->compute_units;
}

/* Leaves out the launches from `count` on. */
static void cut(finder_t* f, int count) {
  int n = 0;
  while (n < f->n_needs && f->needs[n].reader < count) n++;
  f->n_needs = n;
  f->count = count;
}

static void walk(finder_t* f, int first) {
  f->first = first;
  f->count = f->n_needs = 0;
  int end = 0; /* the last where data is narrow */
  int n_steps = f->routine->n_steps;
  while (first + f->count < n_steps && f->count < HONE_TURNS_MOST &&
         is_eligible(f, step_at(f, first + f->count)) &&
         has_room_for_weights(f, step_at(f, first + f->count))) {
    int before = f->n_needs;
    bool fits = add_needs(f, step_at(f, first + f->count));
    if (!fits || (f->count && f->n_needs == before)) {
      f->n_needs = before;
      break;
    }
    f->count++;
    if (!is_narrow(f, first + f->count - 1)) continue;
    end = f->count;
    if (!has_room(f)) break;
  }
  if (end) cut(f, end);
}

/* About the cycles of a core that the launch takes, of which only the ratio to others matters:
 * of arithmetic, and of what moves between it and the second cache. */
static double weight_of(const finder_t* f, const hone_step_t* step) {
  enum { USUAL_FLOPS = 32, CACHE_BYTES = 13 };
  const hone_work_amount_t work = hone_work_eval(&step->work, f->symbols);
  double flops = f->program->properties.flops_per_cycle;
  return 1 + work.arithmetic / (flops > 0 ? flops : USUAL_FLOPS) +
         (work.read + work.written) / CACHE_BYTES;
}

/* Gives how unequal they are. */
static double cut_shares(const finder_t* f, hone_turn_plan_t* plan, int64_t* begins) {
  int64_t rounds[HONE_TURNS_MOST];
  double weights[HONE_TURNS_MOST];
  for (int i = 0; i < f->count; i++) {
    rounds[i] = rounds_of(step_at(f, f->first + i));
    weights[i] = weight_of(f, step_at(f, f->first + i));
  }
  return hone_turns_cut(plan, rounds, weights, begins);
}

/* Strips of a share, so many that what its launches hand on in one takes a part of the second
 * cache. */
static int64_t count_strips(const finder_t* f, int shares, int part) {
  int64_t bytes = 0, room = (int64_t)f->program->properties.cache_bytes[1] / part * shares;
  for (int i = 0; i + 1 < f->count; i++) bytes += bytes_made(f, step_at(f, f->first + i));
  return room > 0 ? bytes / room + 1 : 1;
}

/* With windows strips may be larger: what they write is in the cache already. */
static hone_status_t cut_strips(const finder_t* f, hone_turns_t* turns) {
  enum { PART = 8, PART_OF_WINDOWS = 4 };
  hone_turn_plan_t* plan = &turns->plan;
  plan->strips = count_strips(f, plan->n_shares, PART_OF_WINDOWS);
  HONE_TRY(hone_turns_find_windows(f->program, f->routine, turns));
  if (!plan->n_windows) plan->strips = count_strips(f, plan->n_shares, PART);
  return NULL;
}

/* Launches are left out again, the last first, while what rounds of it need would have a thread
 * wait for one with more work. Without a second launch there are no turns. */
static hone_status_t keep(finder_t* f) {
  static const double most_unequal = 0.025;
  hone_turns_t* turns = &f->routine->turns[f->routine->n_turns];
  int threads = f->program->properties.compute_units, shares = threads > 1 ? threads : 1;
  size_t numbers = (size_t)f->count * ((size_t)shares + 1);
  hone_need_t* needs = hone_arena_array(f->program->arena, (size_t)f->n_needs, sizeof *needs);
  int64_t* begins = hone_arena_array(f->program->arena, numbers, sizeof *begins);
  if (!needs || !begins) return hone_oom();
  memcpy(needs, f->needs, (size_t)f->n_needs * sizeof *needs);
  for (; f->count > 1; cut(f, f->count - 1)) {
    turns->first = f->first;
    turns->plan = (hone_turn_plan_t){
        .count = f->count, .n_needs = f->n_needs, .needs = needs, .n_shares = shares};
    if (cut_shares(f, &turns->plan, begins) > most_unequal) continue;
    f->routine->n_turns++;
    return cut_strips(f, turns);
  }
  return NULL;
}

hone_status_t hone_routine_find_turns(const hone_program_t* program, hone_routine_t* routine) {
  if (!program->backend->launch_turns || program->properties.guard) return NULL;
  size_t n_symbols = (size_t)hone_dims_symbol_count(program->dims);
  int64_t* symbols = hone_arena_array(program->arena, n_symbols, sizeof *symbols);
  routine->turns =
      hone_arena_array(program->arena, (size_t)routine->n_steps / 2, sizeof *routine->turns);
  if (!symbols || !routine->turns) return hone_oom();
  hone_dims_smallest(program->dims, symbols);
  finder_t f = {.program = program, .routine = routine, .symbols = symbols};
  for (int s = 0; s<routine->n_steps; s += f.count> 1 ? f.count : 1) {
    walk(&f, s);
    if (f.count > 1) HONE_TRY(keep(&f));
  }
  hone_turns_spread_windows(routine);
  return NULL;
}

/* ---- asking ---- */

const hone_turns_t* hone_turns_of(const hone_routine_t* routine, int step) {
  int low = 0, high = routine->n_turns;
  while (low < high) {
    int middle = low + (high - low) / 2;
    const hone_turns_t* turns = &routine->turns[middle];
    if (step < turns->first)
      high = middle;
    else if (step >= turns->first + turns->plan.count)
      low = middle + 1;
    else
      return turns;
  }
  return NULL;
}

int hone_turns_first(const hone_routine_t* routine, int step) {
  const hone_turns_t* turns = hone_turns_of(routine, step);
  return turns ? turns->first : step;
}

bool hone_turns_spare(const hone_routine_t* routine, int step, int value) {
  const hone_turns_t* turns = hone_turns_of(routine, step);
  for (int s = turns ? turns->first : step; turns && s < turns->first + turns->plan.count; s++) {
    const hone_step_t* other = &routine->steps[s];
    for (int i = 0; s != step && i < other->n_inputs; i++)
      if (other->inputs[i] >= 0 &&
          hone_routine_base_of(routine, other->inputs[i]) == hone_routine_base_of(routine, value))
        return false;
  }
  return true;
}
