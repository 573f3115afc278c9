/* See walk.h. */
#include "loop/walk.h"

enum { MOST_LETS = 4 /* in a step */, LEAST_STEPS = HONE_WALK_FIRST_STEPS + 2 };

typedef struct finder {
  hone_kernel_t* kernel;
  const hone_stmt_t* loop;
  int n_lets, step;
  hone_substitution_t later; /* names of lets by those of a step later */
} finder_t;

static bool name_later(finder_t* f) {
  size_t n = (size_t)hone_dims_symbol_count(f->kernel->dims);
  hone_dim_t* to = hone_arena_array(f->kernel->arena, n, sizeof *to);
  bool* is_mapped = hone_arena_array(f->kernel->arena, n, sizeof *is_mapped);
  if (!to || !is_mapped) return false;
  for (int i = 0; i + f->step < f->n_lets; i++) {
    int id = hone_dim_as_symbol(f->loop->body[i]->var)->id;
    to[id] = f->loop->body[i + f->step]->var;
    is_mapped[id] = true;
  }
  f->later = (hone_substitution_t){.n = (int)n, .to = to, .is_mapped = is_mapped};
  return true;
}

/* Whether a let is the one of the step before under the names of this one. */
static bool is_again(const finder_t* f, int let) {
  const hone_term_t* before = f->loop->body[let - f->step]->value;
  return hone_term_replace(f->kernel, before, &f->later) == f->loop->body[let]->value;
}

/* Whether the value reads no let in front of that one. */
static bool reads_from(const finder_t* f, const hone_term_t* value, int first) {
  for (int i = 0; i < first; i++)
    if (hone_term_uses(value, f->loop->body[i]->var)) return false;
  return true;
}

/* Whether the lets up to `last` are a step, from the place that stands in front of them. */
static bool is_step(const finder_t* f, int last) {
  for (int i = last - f->step + 1; i <= last; i++)
    if (!reads_from(f, f->loop->body[i]->value, last - f->step)) return false;
  return true;
}

/* Whether that step is the same as the one before it. */
static bool is_same_step(const finder_t* f, int last) {
  for (int i = last - f->step + 1; i <= last; i++)
    if (!is_again(f, i)) return false;
  return true;
}

/* Where the first of the steps sets out from that are the same as the last one. */
static int find_start(const finder_t* f) {
  int start = f->n_lets - 1;
  while (start >= f->step && is_step(f, start)) {
    int last = start;
    start -= f->step;
    if (start < f->step || !is_same_step(f, last)) break;
  }
  return start;
}

/* Whether all that the store reads of the walk is where it ends. */
static bool stores_end(const finder_t* f) {
  const hone_stmt_t* store = f->loop->body[f->n_lets];
  for (int d = 0; d < store->buffer->rank; d++)
    for (int i = 0; i < f->n_lets; i++)
      if (hone_dim_uses(store->index[d], f->loop->body[i]->var)) return false;
  return store->combine == HONE_COMBINE_SET && reads_from(f, store->value, f->n_lets - 1);
}

static bool is_all_lets(const hone_stmt_t* loop) {
  for (int i = 0; i < loop->n_body - 1; i++)
    if (loop->body[i]->kind != HONE_STMT_LET) return false;
  return true;
}

bool hone_walk_find(hone_kernel_t* kernel, const hone_stmt_t* loop, hone_walk_t* out_walk) {
  *out_walk = (hone_walk_t){0};
  finder_t f = {.kernel = kernel, .loop = loop, .n_lets = loop->n_body - 1};
  if (f.n_lets <= LEAST_STEPS || !hone_stmt_is_lookup(loop) || !is_all_lets(loop)) return true;
  if (!stores_end(&f)) return true;
  for (f.step = 1; f.step <= MOST_LETS; f.step++) {
    if (!name_later(&f)) return false;
    int start = find_start(&f), steps = (f.n_lets - 1 - start) / f.step;
    if (steps < LEAST_STEPS) continue;
    *out_walk = (hone_walk_t){.n_steps = steps, .step = f.step, .start = start};
    break;
  }
  return !kernel->out_of_memory;
}

int hone_walk_place(const hone_walk_t* walk, int steps) { return walk->start + steps * walk->step; }

int hone_walk_usual_steps(const hone_walk_t* walk) {
  return (walk->n_steps + HONE_WALK_FIRST_STEPS) / 2;
}
