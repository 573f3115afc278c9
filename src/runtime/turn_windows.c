/* Windows: of a value that one launch makes and one other of the same turns reads, few rounds are
 * held at a time. Where all of it is more than the second cache has room for, memory has room for
 * these only, and no round is written to memory that is far.
 *
 * How much is held follows from walking through each share as a thread will (loop/turn_walk.h). */
#include "base/memory.h"
#include "loop/turn_walk.h"
#include "runtime/turns.h"

typedef struct finder {
  const hone_program_t* program;
  hone_routine_t* routine;
  hone_turns_t* turns;
  int64_t at; /* bytes of a share's block that are taken */
} finder_t;

static const hone_step_t* step_at(const finder_t* f, int launch) {
  return &f->routine->steps[f->turns->first + launch];
}

/* ---- which values ---- */

/* How often one of the step's buffers is the value; `out_slot` gets which. */
static int count_buffers(const finder_t* f, const hone_step_t* step, int value, int* out_slot) {
  int count = 0;
  for (int i = 0; i < step->n_buffers; i++) {
    if (step->buffers[i] < 0 || hone_routine_base_of(f->routine, step->buffers[i]) != value)
      continue;
    *out_slot = i;
    count++;
  }
  return count;
}

/* Whether no other value lies in the same bytes. */
static bool is_alone(const hone_routine_t* routine, int value) {
  if (routine->values[value].in_place_of >= 0) return false;
  for (int v = 0; v < routine->n_values; v++) {
    const hone_program_value_t* other = &routine->values[v];
    if (other->in_place_of == value || (other->place == HONE_PLACE_VIEW && other->view_of == value))
      return false;
  }
  return true;
}

/* The only launch of the turns that reads what this one writes; -1: there are others, or it
 * is read later. */
static int find_reader(const finder_t* f, int writer, int value, int* out_slot) {
  const hone_program_value_t* v = &f->routine->values[value];
  int reader = -1, slot = 0;
  if (v->place != HONE_PLACE_ARENA || !is_alone(f->routine, value)) return -1;
  for (int l = 0; l < f->turns->plan.count; l++) {
    int count = count_buffers(f, step_at(f, l), value, &slot);
    if (l == writer || !count) continue;
    if (count > 1 || reader >= 0 || v->last != f->turns->first + l) return -1;
    reader = l;
    *out_slot = slot;
  }
  return reader;
}

static hone_turn_reach_t reach_of(const hone_span_t* span) {
  return (hone_turn_reach_t){span->step, span->least, span->most};
}

/* Rounds must not write between what others do: the share behind begins where this one ends. */
static bool is_in_order(const hone_span_t* written) {
  return written->most - written->least <= written->step;
}

/* False: the value has no window. */
static bool make_window(const finder_t* f, int writer, int value, hone_turn_window_t* out) {
  const hone_step_t* from = step_at(f, writer);
  *out =
      (hone_turn_window_t){.writer = writer, .bytes = hone_turns_bytes(&f->routine->values[value])};
  out->reader = find_reader(f, writer, value, &out->reader_buffer);
  if (out->reader < 0 || count_buffers(f, from, value, &out->writer_buffer) != 1) return false;
  out->written = reach_of(&from->spans[out->writer_buffer]);
  out->read = reach_of(&step_at(f, out->reader)->spans[out->reader_buffer]);
  return is_in_order(&from->spans[out->writer_buffer]);
}

/* ---- how much is held ---- */

typedef struct measure {
  hone_turn_walk_t walk; /* first */
  const hone_turn_window_t* window;
  int64_t most;
} measure_t;

static void look(hone_turn_walk_t* walk, int launch, int64_t end) {
  measure_t* m = (measure_t*)walk;
  if (launch != m->window->writer && launch != m->window->reader) return;
  const hone_turn_held_t held = hone_turn_held(walk, m->window, launch, end);
  if (held.end - held.begin > m->most) m->most = held.end - held.begin;
}

static void go_on(hone_turn_walk_t* walk, int launch, int64_t end) {
  (void)walk;
  (void)launch;
  (void)end;
}

static int64_t most_held(const hone_turn_plan_t* plan, const hone_turn_window_t* window) {
  measure_t m = {.window = window};
  for (int s = 0; s < plan->n_shares; s++) {
    m.walk = (hone_turn_walk_t){.plan = plan, .share = s, .run = look, .await = go_on};
    hone_turn_walk(&m.walk);
  }
  return m.most;
}

/* ---- where they are ---- */

enum { LINE = 64 /* bytes */ };

static int64_t round_up(int64_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

/* End of what the readers of the share, and of all before it, touch. */
static int64_t end_of_reads(const hone_turn_plan_t* plan, const hone_turn_window_t* w, int share) {
  int64_t end = hone_turn_begin(plan, w->reader, share + 1),
          readers = hone_turn_begin(plan, w->reader, plan->n_shares);
  return end ? hone_turn_reach_end(&w->read, end, readers, w->bytes) : 0;
}

/* Sets the share's part, with room for so many bytes, from byte `at` of the share's block on. Gives
 * where it ends. */
static int64_t place(const hone_turn_plan_t* plan, const hone_turn_window_t* w, int share,
                     int64_t room, int64_t at, hone_turn_part_t* part) {
  const int64_t writers = hone_turn_begin(plan, w->writer, plan->n_shares),
                begin = hone_turn_begin(plan, w->writer, share),
                end = hone_turn_begin(plan, w->writer, share + 1);
  part->begin = hone_turn_reach_begin(&w->written, begin, w->bytes);
  part->origin = at + part->begin % LINE;
  int64_t made = hone_turn_reach_end(&w->written, end, writers, w->bytes),
          whole = hone_i64_max(made, end_of_reads(plan, w, share)) - part->begin,
          head = share ? hone_i64_min(end_of_reads(plan, w, share - 1), made) - part->begin : 0;
  part->place = round_up(part->origin + hone_i64_max(head, 0));
  part->end = hone_i64_min(part->place + room, part->origin + whole);
  return round_up(part->end);
}

int64_t hone_turns_place_window(const hone_turn_plan_t* plan, int64_t more, int64_t at,
                                hone_turn_window_t* window, hone_turn_part_t* parts) {
  const int64_t room = most_held(plan, window) + more;
  int64_t end = at;
  for (int s = 0; s < plan->n_shares; s++) {
    if (hone_turn_begin(plan, window->writer, s) == hone_turn_begin(plan, window->writer, s + 1))
      return -1;
    end = hone_i64_max(end, place(plan, window, s, room, at, &parts[s]));
  }
  window->parts = parts;
  return end;
}

void hone_turns_part_blocks(const hone_turn_plan_t* plan, int64_t bytes, hone_turn_part_t* parts) {
  for (int s = 1; s < plan->n_shares; s++) {
    parts[s].origin += s * bytes;
    parts[s].place += s * bytes;
    parts[s].end += s * bytes;
  }
}

/* ---- the whole ---- */

/* Where a window is full, what is held moves: the more is left, the less often. */
static hone_status_t add_window(finder_t* f, int value, hone_turn_window_t* window) {
  enum { LEFT = 16 /* of a second cache */ };
  hone_turn_plan_t* plan = &f->turns->plan;
  hone_turn_part_t* parts =
      hone_arena_array(f->program->arena, (size_t)plan->n_shares, sizeof *parts);
  if (!parts) return hone_oom();
  int64_t left = (int64_t)f->program->properties.cache_bytes[1] / LEFT,
          end = hone_turns_place_window(plan, left, f->at, window, parts);
  if (end < 0 || (end - f->at) * plan->n_shares >= window->bytes) return NULL;
  f->at = end;
  f->routine->values[value].has_window = true;
  f->turns->windows[plan->n_windows] = *window;
  f->turns->parts[plan->n_windows++] = parts;
  return NULL;
}

/* Whether a share of the value takes a good part of a second cache, which holds what is less
 * from one strip to the next as it is. */
static bool is_large(const finder_t* f, const hone_turn_window_t* window) {
  enum { PART = 4 };
  return window->bytes / f->turns->plan.n_shares >=
         (int64_t)f->program->properties.cache_bytes[1] / PART;
}

hone_status_t hone_turns_find_windows(const hone_program_t* program, hone_routine_t* routine,
                                      hone_turns_t* turns) {
  finder_t f = {.program = program, .routine = routine, .turns = turns};
  hone_turn_plan_t* plan = &turns->plan;
  plan->windows = turns->windows;
  for (int l = 0; l + 1 < plan->count && plan->n_shares <= HONE_TURNS_SHARES; l++) {
    const hone_step_t* step = step_at(&f, l);
    hone_turn_window_t window;
    for (int i = 0; i < step->n_outputs && plan->n_windows < HONE_TURNS_WINDOWS; i++)
      if (make_window(&f, l, step->outputs[i], &window) && is_large(&f, &window))
        HONE_TRY(add_window(&f, step->outputs[i], &window));
  }
  int64_t bytes = f.at * plan->n_shares;
  if (bytes > routine->window_bytes) routine->window_bytes = bytes;
  return NULL;
}

void hone_turns_spread_windows(hone_routine_t* routine) {
  routine->window_first = -1;
  for (int t = 0; t < routine->n_turns; t++) {
    const hone_turns_t* turns = &routine->turns[t];
    const hone_turn_plan_t* plan = &turns->plan;
    if (!plan->n_windows) continue;
    routine->window_last = turns->first;
    if (routine->window_first < 0) routine->window_first = turns->first;
    for (int i = 0; i < plan->n_windows; i++)
      hone_turns_part_blocks(plan, routine->window_bytes / plan->n_shares, turns->parts[i]);
  }
}
