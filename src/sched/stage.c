/* stage: the part of a buffer that a round of a loop uses is copied to a
 * scratch buffer, which the round uses instead.
 *
 * The part is a box: along each axis, an index is base + inner, where inner
 * depends on loops inside only and so has a known range. A box in the memory of
 * a group is made by all of its items together, and reaches over them all. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "sched/common/edit.h"

typedef struct staging {
  hone_kernel_t* kernel;
  hone_stmt_t* loop;
  hone_buffer_t* buffer;
  bool shared;
  int number;                  /* of the only load that is meant; 0: all accesses */
  bool stores, loads;          /* of the buffer in the loop */
  hone_access_list_t accesses; /* all in the loop */
  int n_symbols;
  hone_dim_t* zeros; /* by symbol id: what inner variables are in a base */
  bool* is_inner;    /* by symbol id: a loop inside, or one over items */
  bool* is_let;      /* by symbol id: bound inside by a let */
  hone_dim_t base[HONE_MAX_BUFFER_RANK];
  int64_t low[HONE_MAX_BUFFER_RANK]; /* of the inner part: base + low … base + high is used */
  int64_t high[HONE_MAX_BUFFER_RANK];
  hone_buffer_t* box;
  int n_items; /* loops over items around */
  const hone_stmt_t* items[8];
} staging_t;

/* ---- what is inner ---- */

static bool mark_inner(void* self, hone_stmt_t* stmt) {
  staging_t* s = self;
  if (stmt != s->loop && stmt->kind == HONE_STMT_LOOP)
    s->is_inner[hone_dim_as_symbol(stmt->var)->id] = true;
  if (stmt->kind == HONE_STMT_LET) s->is_let[hone_dim_as_symbol(stmt->var)->id] = true;
  return true;
}

/* Threads inside would share what is meant for one. */
static bool is_for_threads(const hone_stmt_t* stmt) {
  for (int i = 0; i < stmt->n_body; i++) {
    const hone_stmt_t* inner = stmt->body[i];
    bool threads = inner->kind == HONE_STMT_LOOP &&
                   (inner->loop == HONE_LOOP_PARALLEL || inner->loop == HONE_LOOP_GROUP ||
                    inner->loop == HONE_LOOP_ITEM);
    if (threads || inner->kind == HONE_STMT_BARRIER || is_for_threads(inner)) return true;
  }
  return false;
}

/* The loops over items around; all items must come to the loop together. */
static hone_status_t find_items(staging_t* s) {
  for (hone_stmt_t* stmt = s->loop->parent; stmt != s->kernel->root; stmt = stmt->parent) {
    bool is_item = stmt->kind == HONE_STMT_LOOP && stmt->loop == HONE_LOOP_ITEM;
    if (stmt->kind == HONE_STMT_IF)
      return hone_sched_refuse("stage %s: some items may not come to loop %s", s->buffer->name,
                               s->loop->name);
    if (!is_item) continue;
    if (!hone_dim_is_int(stmt->extent) || s->n_items == 8)
      return hone_sched_refuse("stage %s: the number of items must be known", s->buffer->name);
    s->items[s->n_items++] = stmt;
    s->is_inner[hone_dim_as_symbol(stmt->var)->id] = true;
  }
  if (s->n_items == 0)
    return hone_sched_refuse("stage %s: there is no loop over items around %s", s->buffer->name,
                             s->loop->name);
  for (int i = 0; i < s->n_items; i++)
    for (const hone_stmt_t* l = s->loop; l != s->items[i]; l = l->parent)
      if (l->kind == HONE_STMT_LOOP && hone_dim_uses(l->extent, s->items[i]->var))
        return hone_sched_refuse("stage %s: items run loop %s differently often", s->buffer->name,
                                 l->name);
  return NULL;
}

/* ---- the box ---- */

typedef struct symbol_check {
  const staging_t* s;
  bool ok;
} symbol_check_t;

static void check_inner(void* self, const hone_symbol_t* symbol) {
  symbol_check_t* check = self;
  check->ok &= check->s->is_inner[symbol->id];
}

static void check_base(void* self, const hone_symbol_t* symbol) {
  symbol_check_t* check = self;
  check->ok &= !check->s->is_let[symbol->id];
}

/* Widens the box along an axis by one index; false where it has no known size. */
static bool widen(staging_t* s, int axis, hone_dim_t index, bool first) {
  hone_dims_t* dims = s->kernel->dims;
  hone_dim_t base = hone_dim_replace(dims, index, s->n_symbols, s->zeros, s->is_inner);
  hone_dim_t inner = hone_dim_sub(dims, index, base);
  symbol_check_t check = {s, true};
  hone_dim_visit_symbols(inner, check_inner, &check);
  hone_dim_visit_symbols(base, check_base, &check);
  if (hone_dim_is_bad(inner) || !check.ok) return false;
  if (first) s->base[axis] = base;
  hone_dim_t shift = hone_dim_sub(dims, base, s->base[axis]);
  const int64_t limit = INT64_C(1) << 31;
  int64_t low = hone_dim_min_value(inner), high = hone_dim_max_value(inner);
  if (!hone_dim_is_int(shift) || low < -limit || high > limit || shift.k < -limit ||
      shift.k > limit)
    return false;
  if (first || low + shift.k < s->low[axis]) s->low[axis] = low + shift.k;
  if (first || high + shift.k > s->high[axis]) s->high[axis] = high + shift.k;
  return true;
}

static bool is_meant(const staging_t* s, const hone_dim_t* index) {
  return !s->number || hone_access_load_number(&s->accesses, s->buffer, index) == s->number;
}

static hone_status_t find_box(staging_t* s) {
  bool first = true;
  int64_t size = 1;
  for (int i = 0; i < s->accesses.count; i++) {
    const hone_access_t* a = &s->accesses.items[i];
    if (a->buffer != s->buffer) continue;
    s->stores |= a->is_store;
    if (!is_meant(s, a->index)) continue;
    s->loads |= !a->is_store || a->combine != HONE_COMBINE_SET;
    for (int k = 0; k < s->buffer->rank; k++)
      if (!widen(s, k, a->index[k], first))
        return hone_sched_refuse(
            "stage %s %s: the part that a round uses has no known size along "
            "axis %d",
            s->buffer->name, s->loop->name, k);
    first = false;
  }
  if (first)
    return hone_sched_refuse("stage %s: loop %s does not use it", s->buffer->name, s->loop->name);
  for (int k = 0; k < s->buffer->rank; k++)
    if (!hone_i64_mul(size, s->high[k] - s->low[k] + 1, &size) || size > (1 << 24))
      return hone_sched_refuse("stage %s: the part is too large", s->buffer->name);
  return NULL;
}

/* ---- when nothing has to be copied in ---- */

/* Whether the store, the first use, writes the whole box in every round. */
static bool writes_all(const staging_t* s, const hone_access_t* a) {
  if (!a->is_store || a->combine != HONE_COMBINE_SET) return false;
  int64_t rounds = 1, size = 1;
  for (int i = 0; i < s->buffer->rank; i++) {
    hone_dim_t inner = hone_dim_sub(s->kernel->dims, a->index[i], s->base[i]);
    if (!hone_dim_is_int(inner) && !hone_dim_as_symbol(inner)) return false;
    size *= s->high[i] - s->low[i] + 1;
    for (int k = 0; k < i; k++)
      if (hone_dim_as_symbol(inner) && hone_dim_uses(a->index[k], inner)) return false;
  }
  for (const hone_stmt_t* stmt = a->stmt->parent; stmt != s->loop; stmt = stmt->parent) {
    bool is_used = false;
    if (stmt->kind != HONE_STMT_LOOP || !hone_dim_is_int(stmt->extent)) return false;
    for (int i = 0; i < s->buffer->rank; i++) is_used |= hone_dim_uses(a->index[i], stmt->var);
    rounds *= is_used ? stmt->extent.k : 1;
    if (stmt->extent.k < 1) return false;
  }
  return rounds == size;
}

static bool must_copy_in(const staging_t* s) {
  for (int i = 0; i < s->accesses.count; i++)
    if (s->accesses.items[i].buffer == s->buffer) return !writes_all(s, &s->accesses.items[i]);
  return true;
}

/* Whether several threads run the loop, or its rounds. */
static bool is_in_threads(const staging_t* s) {
  for (const hone_stmt_t* stmt = s->loop; stmt->parent; stmt = stmt->parent)
    if (stmt->kind == HONE_STMT_LOOP && stmt->loop != HONE_LOOP_SERIAL &&
        stmt->loop != HONE_LOOP_UNROLL)
      return true;
  return false;
}

static hone_status_t check(staging_t* s) {
  if (s->buffer->role == HONE_ROLE_ERROR)
    return hone_sched_refuse("stage %s: it is the error word", s->buffer->name);
  if (s->loop->loop == HONE_LOOP_VECTOR || is_for_threads(s->loop))
    return hone_sched_refuse("stage %s: loop %s is vectorized, or over threads or around such",
                             s->buffer->name, s->loop->name);
  hone_stmt_t** owners =
      hone_arena_array(s->kernel->arena, (size_t)s->kernel->n_buffers, sizeof *owners);
  if (!owners) return hone_oom();
  HONE_TRY(hone_access_owners(s->kernel, owners));
  if (s->buffer->role == HONE_ROLE_SCRATCH && hone_stmt_is_inside(owners[s->buffer->id], s->loop))
    return hone_sched_refuse("stage %s: it lives in loop %s already", s->buffer->name,
                             s->loop->name);
  if (s->shared) HONE_TRY(find_items(s));
  HONE_TRY(find_box(s));
  if (s->number && s->stores)
    return hone_sched_refuse("stage %s: one load of what is stored to is not staged",
                             s->buffer->name);
  if (s->shared && s->stores)
    return hone_sched_refuse("stage %s: what is stored to is not staged for a group",
                             s->buffer->name);
  if (s->stores && must_copy_in(s) && is_in_threads(s))
    return hone_sched_refuse("stage %s: threads may write back elements of one another",
                             s->buffer->name);
  return NULL;
}

/* ---- copying ---- */

/* Where an element of the box comes from: base + low + at. */
static hone_dim_t outside(const staging_t* s, int axis, hone_dim_t at) {
  hone_dim_t start = hone_dim_add(s->kernel->dims, s->base[axis], hone_dim_int(s->low[axis]));
  return hone_dim_add(s->kernel->dims, start, at);
}

/* Clamped into the buffer: what the box has beyond is not used. */
static const hone_term_t* load_outside(const staging_t* s, const hone_dim_t* at) {
  hone_dims_t* dims = s->kernel->dims;
  hone_dim_t index[HONE_MAX_BUFFER_RANK];
  for (int i = 0; i < s->buffer->rank; i++) {
    hone_dim_t last = hone_dim_sub(dims, s->buffer->dims[i], hone_dim_int(1));
    index[i] = hone_dim_max(dims, hone_dim_min(dims, outside(s, i, at[i]), last), hone_dim_int(0));
  }
  return hone_term_load(s->kernel, s->buffer, index);
}

/* How much of the box there is to copy along an axis: of a buffer whose extent only a run knows, as
 * much as it has, where the box begins at the same place in each round. */
static hone_dim_t extent_of(const staging_t* s, int axis) {
  hone_dim_t all = s->box->dims[axis];
  hone_dim_t rest =
      hone_dim_sub(s->kernel->dims, s->buffer->dims[axis], outside(s, axis, hone_dim_int(0)));
  bool is_open = !hone_dim_is_int(s->buffer->dims[axis]) && hone_dim_is_int(s->base[axis]);
  return is_open && hone_dim_min_value(rest) >= 0 && hone_dim_max_value(rest) <= all.k ? rest : all;
}

/* Loops over the box; gives the innermost, and the variables. */
static hone_stmt_t* make_loops(const staging_t* s, const char* suffix, int position,
                               hone_dim_t* at) {
  hone_stmt_t* parent = s->loop;
  for (int i = 0; i < s->box->rank; i++) {
    at[i] = hone_dim_int(0);
    if (hone_dim_is(s->box->dims[i], 1)) continue;
    const char* name = hone_sched_name(s->kernel, s->box->name, suffix);
    hone_stmt_t* loop = hone_stmt_loop(s->kernel, parent, name, extent_of(s, i), HONE_LOOP_SERIAL);
    if (!loop) return NULL;
    if (parent == s->loop) {
      hone_stmt_remove(loop);
      if (!hone_stmt_insert(s->kernel, parent, position, loop)) return NULL;
    }
    at[i] = loop->var;
    parent = loop;
  }
  return parent;
}

/* A store in the innermost of the loops; without loops, at the position itself. */
static bool put_store(const staging_t* s, hone_stmt_t* parent, int position,
                      const hone_buffer_t* into, const hone_dim_t* index,
                      const hone_term_t* value) {
  hone_stmt_t* store = hone_stmt_store(s->kernel, parent, into, index, HONE_COMBINE_SET, value);
  if (!store || parent != s->loop) return store != NULL;
  hone_stmt_remove(store);
  return hone_stmt_insert(s->kernel, parent, position, store);
}

static bool copy_in(const staging_t* s) {
  hone_dim_t at[HONE_MAX_BUFFER_RANK];
  hone_stmt_t* parent = make_loops(s, "l", 0, at);
  return parent && put_store(s, parent, 0, s->box, at, load_outside(s, at));
}

/* Back, where it lies in the buffer. */
static bool copy_out(const staging_t* s) {
  hone_dim_t at[HONE_MAX_BUFFER_RANK], index[HONE_MAX_BUFFER_RANK];
  hone_kernel_t* kernel = s->kernel;
  hone_stmt_t* parent = make_loops(s, "w", -1, at);
  for (int i = 0; parent && i < s->buffer->rank; i++) {
    index[i] = outside(s, i, at[i]);
    const hone_term_t* not_before = hone_term_lt(kernel, hone_dim_int(-1), index[i]);
    const hone_term_t* inside = hone_term_lt(kernel, index[i], s->buffer->dims[i]);
    if (!not_before || !inside) return false;
    const hone_term_t* both = hone_term_binary(kernel, HONE_PRIM_AND, not_before, inside);
    if (!hone_term_is_true(both)) parent = hone_stmt_if(kernel, parent, both);
  }
  return parent && put_store(s, parent, -1, s->buffer, index, hone_term_load(kernel, s->box, at));
}

/* All items together: element number round * items + own number, while there are some. */
static bool copy_in_together(const staging_t* s) {
  hone_kernel_t* kernel = s->kernel;
  hone_dims_t* dims = kernel->dims;
  hone_dim_t at[HONE_MAX_BUFFER_RANK], number = hone_dim_int(0), rest;
  int64_t items = 1, size = 1;
  for (int i = s->n_items - 1; i >= 0; i--) {
    number = hone_dim_add(dims, hone_dim_mul(dims, number, s->items[i]->extent), s->items[i]->var);
    items *= s->items[i]->extent.k;
  }
  for (int i = 0; i < s->box->rank; i++) size *= s->box->dims[i].k;
  hone_stmt_t* loop = hone_stmt_loop(kernel, s->loop, hone_sched_name(kernel, s->box->name, "l"),
                                     hone_dim_int((size + items - 1) / items), HONE_LOOP_SERIAL);
  if (!loop) return false;
  hone_stmt_remove(loop);
  rest = hone_dim_add(dims, hone_dim_mul(dims, loop->var, hone_dim_int(items)), number);
  hone_stmt_t* within = hone_stmt_if(kernel, loop, hone_term_lt(kernel, rest, hone_dim_int(size)));
  for (int i = s->box->rank - 1; i >= 0; i--) {
    at[i] = i ? hone_dim_mod(dims, rest, s->box->dims[i]) : rest;
    rest = hone_dim_floordiv(dims, rest, s->box->dims[i]);
  }
  hone_stmt_t* ready = hone_stmt_barrier(kernel, s->loop);
  if (!within || !ready) return false;
  hone_stmt_remove(ready);
  return hone_stmt_store(kernel, within, s->box, at, HONE_COMBINE_SET, load_outside(s, at)) &&
         hone_sched_prune(kernel, loop) && hone_stmt_insert(kernel, s->loop, 0, ready) &&
         hone_stmt_insert(kernel, s->loop, 0, loop) && hone_stmt_barrier(kernel, s->loop);
}

/* ---- all together ---- */

static void reindex(void* self, hone_kernel_t* kernel, const hone_dim_t* old, hone_dim_t* out) {
  const staging_t* s = self;
  for (int i = 0; i < s->buffer->rank; i++) {
    hone_dim_t start = hone_dim_add(kernel->dims, s->base[i], hone_dim_int(s->low[i]));
    out[i] = hone_dim_sub(kernel->dims, old[i], start);
  }
}

static bool moves(void* self, const hone_dim_t* old) { return is_meant(self, old); }

static bool stage(staging_t* s) {
  hone_kernel_t* kernel = s->kernel;
  hone_dim_t dims[HONE_MAX_BUFFER_RANK];
  bool copies_in = must_copy_in(s);
  for (int i = 0; i < s->buffer->rank; i++) dims[i] = hone_dim_int(s->high[i] - s->low[i] + 1);
  s->box = hone_kernel_buffer(kernel, hone_sched_name(kernel, s->buffer->name, "s"),
                              s->buffer->dtype, s->buffer->rank, dims,
                              s->shared ? HONE_SPACE_SHARED : HONE_SPACE_LOCAL, HONE_ROLE_SCRATCH);
  if (!s->box) return false;
  hone_substitution_t by = {
      .from = s->buffer, .into = s->box, .moves = moves, .reindex = reindex, .self = s};
  for (int i = 0; i < s->loop->n_body; i++)
    if (!hone_stmt_replace(kernel, s->loop->body[i], &by)) return false;
  if (s->shared) return copy_in_together(s);
  return (!copies_in || copy_in(s)) && (!s->stores || copy_out(s));
}

hone_status_t hone_sched_stage_load(hone_kernel_t* kernel, const char* buffer, const char* name,
                                    hone_stage_space_t space, int number) {
  size_t begin = hone_sched_begin(kernel);
  char word[24] = "";
  staging_t s = {.kernel = kernel,
                 .shared = space == HONE_STAGE_SHARED,
                 .number = number,
                 .n_symbols = hone_dims_symbol_count(kernel->dims)};
  HONE_TRY(hone_sched_find(kernel, name, &s.loop));
  HONE_TRY(hone_sched_find_buffer(kernel, buffer, &s.buffer));
  s.zeros = hone_arena_array(kernel->arena, (size_t)s.n_symbols, sizeof *s.zeros);
  s.is_inner = hone_arena_array(kernel->arena, (size_t)s.n_symbols, sizeof *s.is_inner);
  s.is_let = hone_arena_array(kernel->arena, (size_t)s.n_symbols, sizeof *s.is_let);
  if (!s.zeros || !s.is_inner || !s.is_let) return hone_oom();
  hone_stmt_walk(s.loop, mark_inner, &s);
  hone_status_t status = hone_access_collect(kernel, s.loop, &s.accesses);
  if (!status) status = check(&s);
  if (!status && !stage(&s)) status = hone_oom();
  hone_access_free(&s.accesses);
  if (number) snprintf(word, sizeof word, " %d", number);
  return status ? status
                : hone_sched_end(kernel, begin, "stage %s %s %s%s", s.buffer->name, s.loop->name,
                                 s.shared ? "shared" : "local", word);
}

hone_status_t hone_sched_stage(hone_kernel_t* kernel, const char* buffer, const char* loop,
                               hone_stage_space_t space) {
  return hone_sched_stage_load(kernel, buffer, loop, space, 0);
}

static hone_status_t apply(hone_kernel_t* kernel, int n, const char* const* args) {
  int64_t number = 0;
  if (n == 4) HONE_TRY(hone_sched_parse_int(args[3], &number));
  if (n == 4 && (number < 1 || number > INT32_MAX))
    return hone_sched_refuse("stage: loads are numbered from 1");
  if (strcmp(args[2], "local") == 0)
    return hone_sched_stage_load(kernel, args[0], args[1], HONE_STAGE_LOCAL, (int)number);
  if (strcmp(args[2], "shared") == 0)
    return hone_sched_stage_load(kernel, args[0], args[1], HONE_STAGE_SHARED, (int)number);
  return hone_sched_refuse("stage: '%s' is neither local nor shared", args[2]);
}

const hone_primitive_t hone_primitive_stage = {
    .name = "stage",
    .usage = "stage BUFFER LOOP local|shared [NUMBER]",
    .min_args = 3,
    .max_args = 4,
    .apply = apply,
};
