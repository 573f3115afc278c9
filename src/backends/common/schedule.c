/* Which recipe a kernel gets. */
#include "backends/common/schedule.h"

#include <stdio.h>
#include <string.h>

#include "backends/common/schedule_impl.h"
#include "tune/cost.h"

enum { ENOUGH_ROUNDS = 8, SOME_ROUNDS = 4 }; /* to share out among threads */

bool hone_recipe_did(hone_recipe_t* r, hone_status_t status) {
  if (!status) return true;
  if (hone_status_code(status) == HONE_OUT_OF_MEMORY && !r->status)
    r->status = status;
  else
    hone_status_free(status);
  return false;
}

bool hone_pack_words(hone_recipe_t* r, const hone_buffer_t* buffer, int n,
                     hone_layout_word_t* words) {
  const char* layout[HONE_MAX_BUFFER_RANK];
  for (int i = 0; i < n; i++) layout[i] = words[i];
  return hone_recipe_did(r, hone_sched_pack(r->kernel, buffer->name, n, layout));
}

/* ---- looking ---- */

bool hone_stmt_is_loop(const hone_stmt_t* stmt) { return stmt->kind == HONE_STMT_LOOP; }

hone_stmt_t* hone_only_loop(const hone_stmt_t* stmt) {
  return stmt->n_body == 1 && hone_stmt_is_loop(stmt->body[0]) ? stmt->body[0] : NULL;
}

const hone_term_t* hone_bare_load(const hone_term_t* term) {
  while (term->kind == HONE_TERM_PRIM && term->prim == HONE_PRIM_CAST) term = term->args[0];
  return term->kind == HONE_TERM_LOAD ? term : NULL;
}

bool hone_loop_name(char out[HONE_LOOP_NAME], const char* name, const char* suffix) {
  int n = snprintf(out, HONE_LOOP_NAME, "%s%s", name, suffix);
  return n > 0 && n < HONE_LOOP_NAME;
}

void hone_visit_loads(hone_kernel_t* kernel, const hone_term_t* term,
                      void (*visit)(void* self, hone_dim_t offset), void* self) {
  if (term->kind == HONE_TERM_LOAD)
    visit(self, hone_buffer_offset(kernel, term->buffer, term->index));
  for (int i = 0; i < term->n_args; i++) hone_visit_loads(kernel, term->args[i], visit, self);
}

void hone_visit_offsets(hone_kernel_t* kernel, hone_stmt_t* stmt,
                        void (*visit)(void* self, hone_dim_t offset), void* self) {
  if (stmt->value) hone_visit_loads(kernel, stmt->value, visit, self);
  if (stmt->buffer) visit(self, hone_buffer_offset(kernel, stmt->buffer, stmt->index));
  for (int i = 0; i < stmt->n_body; i++) hone_visit_offsets(kernel, stmt->body[i], visit, self);
}

/* ---- lanes ---- */

typedef struct lanes {
  hone_kernel_t* kernel;
  hone_dim_t var;
  int count; /* in a vector */
  int strided;
} lanes_t;

static bool is_step(int64_t factor) { return factor == 0 || factor == 1; }

/* From the first lane of a vector to this one; -1: nobody knows. */
static int64_t reach_lane(hone_kernel_t* kernel, hone_dim_t var, int count, int lane,
                          hone_dim_t offset) {
  hone_dims_t* dims = kernel->dims;
  hone_dim_t first = hone_dim_mul(dims, var, hone_dim_int(count));
  hone_dim_t last = hone_dim_add(dims, first, hone_dim_int(lane));
  hone_dim_t way = hone_dim_sub(dims, hone_dim_replace_symbol(dims, offset, var, last),
                                hone_dim_replace_symbol(dims, offset, var, first));
  return hone_dim_is_int(way) ? way.k : -1;
}

/* What comes again after three or five, say, is where it was in the last lane, not in the second.
 */
int64_t hone_lanes_reach(hone_kernel_t* kernel, hone_dim_t var, int count, hone_dim_t offset) {
  int64_t way = reach_lane(kernel, var, count, count - 1, offset);
  return way == 0 ? reach_lane(kernel, var, count, 1, offset) : way;
}

static int64_t reach(const lanes_t* lanes, hone_dim_t offset) {
  return hone_lanes_reach(lanes->kernel, lanes->var, lanes->count, offset);
}

/* Elements may be consecutive in each vector and not beyond, as where rows of several vectors lie
 * apart. */
static void note_stride(void* self, hone_dim_t offset) {
  lanes_t* lanes = self;
  int64_t factor, way;
  if (hone_dim_factor(offset, lanes->var, &factor)) {
    lanes->strided += !is_step(factor);
    return;
  }
  way = reach(lanes, offset);
  lanes->strided += way != 0 && way != lanes->count - 1;
}

bool hone_has_index_of(const hone_term_t* term, hone_dim_t var) {
  if (term->kind == HONE_TERM_INDEX) return hone_dim_uses(term->dim, var);
  for (int i = 0; i < term->n_args; i++)
    if (hone_has_index_of(term->args[i], var)) return true;
  return false;
}

/* Whether an index that lanes would each have of their own is in the term as a number; one that is
 * the same in all of a vector, such as the half that a choice goes by, is not. */
static bool has_own_index(const lanes_t* lanes, const hone_term_t* term) {
  if (term->kind == HONE_TERM_INDEX)
    return hone_dim_uses(term->dim, lanes->var) && reach(lanes, term->dim) != 0;
  for (int i = 0; i < term->n_args; i++)
    if (has_own_index(lanes, term->args[i])) return true;
  return false;
}

static bool only_stores(const lanes_t* lanes, const hone_stmt_t* loop) {
  for (int i = 0; i < loop->n_body; i++) {
    const hone_stmt_t* stmt = loop->body[i];
    if (stmt->kind != HONE_STMT_STORE || has_own_index(lanes, stmt->value)) return false;
  }
  return loop->n_body > 0;
}

int hone_count_apart(const hone_recipe_t* r, const hone_stmt_t* inside, hone_dim_t var) {
  lanes_t lanes = {.kernel = r->kernel, .var = var, .count = r->shape->lanes};
  for (int i = 0; i < inside->n_body; i++)
    hone_visit_offsets(r->kernel, inside->body[i], note_stride, &lanes);
  return lanes.strided;
}

static bool can_be_lanes_of(const hone_recipe_t* r, const hone_stmt_t* inside, hone_dim_t var) {
  const lanes_t lanes = {.kernel = r->kernel, .var = var, .count = r->shape->lanes};
  return only_stores(&lanes, inside) && hone_count_apart(r, inside, var) == 0;
}

bool hone_can_be_lanes(const hone_recipe_t* r, const hone_stmt_t* loop) {
  return can_be_lanes_of(r, loop, loop->var);
}

static void note_factor(void* self, hone_dim_t offset) {
  lanes_t* lanes = self;
  int64_t factor;
  lanes->strided += !hone_dim_factor(offset, lanes->var, &factor) || factor < 0;
}

/* Primitives of the term; those on narrow floats count as three, for the rounding behind them. */
static int count_work(const hone_term_t* term) {
  bool is_narrow = term->dtype == HONE_F16 || term->dtype == HONE_BF16;
  int count = term->kind != HONE_TERM_PRIM ? 0 : is_narrow ? 3 : 1;
  for (int i = 0; i < term->n_args; i++) count += count_work(term->args[i]);
  return count;
}

/* Whether lanes are worth picking up and putting down elements that lie equally far apart, as
 * single columns of a table do: there is enough to compute of each. */
static bool pays_apart(const hone_recipe_t* r, const hone_stmt_t* inside, hone_dim_t var) {
  enum { WORK = 4 /* of a store */ };
  lanes_t lanes = {.kernel = r->kernel, .var = var, .count = r->shape->lanes};
  int work = 0;
  if (!only_stores(&lanes, inside)) return false;
  for (int i = 0; i < inside->n_body; i++) {
    hone_visit_offsets(r->kernel, inside->body[i], note_factor, &lanes);
    work += count_work(inside->body[i]->value);
  }
  return !lanes.strided && work >= WORK * inside->n_body;
}

bool hone_gets_lanes(const hone_recipe_t* r, const hone_stmt_t* inside, hone_dim_t var) {
  return can_be_lanes_of(r, inside, var) || pays_apart(r, inside, var);
}

/* Vectors that are written out of a loop of that extent. */
static int vectors_of(const hone_recipe_t* r, hone_dim_t extent) {
  int vectors = r->choice->unroll > 1 ? r->choice->unroll : 1;
  while (vectors > 1 && hone_dim_is_int(extent) && extent.k < (int64_t)vectors * r->shape->lanes)
    vectors /= 2;
  return vectors;
}

void hone_make_vectors(hone_recipe_t* r, const char* name, int64_t vectors) {
  char part[132];
  size_t length = strlen(name);
  if (vectors == 1) {
    hone_recipe_did(r, hone_sched_vectorize(r->kernel, name));
    return;
  }
  if (length + 3 > sizeof part ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, name, r->shape->lanes, HONE_TAIL_EXACT)))
    return;
  memcpy(part, name, length);
  memcpy(part + length, ".i", 3);
  hone_recipe_did(r, hone_sched_vectorize(r->kernel, part));
  memcpy(part + length, ".o", 3);
  hone_recipe_did(r, hone_sched_unroll(r->kernel, part));
}

bool hone_is_part_of_vector(const hone_recipe_t* r, const hone_stmt_t* loop) {
  return hone_dim_is_int(loop->extent) && loop->extent.k < r->shape->lanes &&
         2 * loop->extent.k >= r->shape->lanes;
}

static void make_part(hone_recipe_t* r, const hone_stmt_t* loop) {
  if (hone_is_part_of_vector(r, loop))
    hone_recipe_did(r, hone_sched_vectorize(r->kernel, loop->name));
}

/* What is left over gets fewer vectors at a time. */
static void make_lanes(hone_recipe_t* r, hone_stmt_t* loop, int vectors) {
  char part[128];
  int lanes = r->shape->lanes;
  if (!hone_gets_lanes(r, loop, loop->var)) return;
  if (hone_dim_is_int(loop->extent) && loop->extent.k < lanes) {
    make_part(r, loop);
    return;
  }
  const char* base = loop->name;
  size_t length = strlen(base);
  if (!hone_recipe_did(
          r, hone_sched_split(r->kernel, base, (int64_t)lanes * vectors, HONE_TAIL_PEEL)) ||
      length + 3 > sizeof part)
    return;
  memcpy(part, base, length);
  memcpy(part + length, ".i", 3);
  hone_make_vectors(r, part, vectors);
  memcpy(part + length, ".t", 3);
  hone_stmt_t* rest = hone_kernel_find_loop(r->kernel, part);
  if (rest && vectors > 1)
    make_lanes(r, rest, vectors / 2);
  else if (rest)
    make_part(r, rest);
}

void hone_make_lanes(hone_recipe_t* r, hone_stmt_t* loop) {
  make_lanes(r, loop, vectors_of(r, loop->extent));
}

/* ---- fusing ---- */

typedef struct pair {
  hone_dim_t outer, inner, extent;
  bool fits;
} pair_t;

static void check_pair(void* self, hone_dim_t offset) {
  pair_t* pair = self;
  int64_t outer, inner;
  pair->fits &= hone_dim_factor(offset, pair->outer, &outer) &&
                hone_dim_factor(offset, pair->inner, &inner) && hone_dim_is_int(pair->extent) &&
                outer == inner * pair->extent.k;
}

static bool uses_as_number(const hone_stmt_t* stmt, hone_dim_t var) {
  if (stmt->value && hone_has_index_of(stmt->value, var)) return true;
  for (int i = 0; i < stmt->n_body; i++)
    if (uses_as_number(stmt->body[i], var)) return true;
  return false;
}

static bool has_sum(const hone_stmt_t* stmt) {
  if (stmt->is_reduction) return true;
  for (int i = 0; i < stmt->n_body; i++)
    if (has_sum(stmt->body[i])) return true;
  return false;
}

/* A result that is put down once for a whole sum may lie anywhere, as rows inside of
 * a pad do, unless its neighbours along the loop do, which are lanes. */
static bool may_lie_anywhere(hone_kernel_t* kernel, const hone_stmt_t* store, hone_dim_t inner) {
  int64_t factor;
  return hone_stmt_is_loop(store->parent) && !store->parent->is_reduction &&
         hone_dim_factor(hone_buffer_offset(kernel, store->buffer, store->index), inner, &factor) &&
         factor != 1;
}

static void check_accesses(hone_kernel_t* kernel, hone_stmt_t* stmt, bool is_sum, pair_t* pair) {
  if (stmt->value) hone_visit_loads(kernel, stmt->value, check_pair, pair);
  if (stmt->buffer && !(is_sum && may_lie_anywhere(kernel, stmt, pair->inner)))
    check_pair(pair, hone_buffer_offset(kernel, stmt->buffer, stmt->index));
  for (int i = 0; i < stmt->n_body; i++) check_accesses(kernel, stmt->body[i], is_sum, pair);
}

static bool are_contiguous(hone_kernel_t* kernel, hone_stmt_t* outer, hone_stmt_t* inner) {
  pair_t pair = {outer->var, inner->var, inner->extent, true};
  if (uses_as_number(inner, outer->var) || uses_as_number(inner, inner->var)) return false;
  check_accesses(kernel, inner, has_sum(inner), &pair);
  return pair.fits;
}

static int axis_of(const hone_term_t* load, hone_dim_t var) {
  for (int i = 0; i < load->buffer->rank; i++)
    if (hone_dim_same(load->index[i], var)) return i;
  return -1;
}

/* Whether weights have an axis for each of two loops. */
static bool term_has_axes(const hone_term_t* term, hone_dim_t outer, hone_dim_t inner) {
  if (term->kind == HONE_TERM_LOAD && term->buffer->is_constant && axis_of(term, outer) >= 0 &&
      axis_of(term, inner) >= 0)
    return true;
  for (int i = 0; i < term->n_args; i++)
    if (term_has_axes(term->args[i], outer, inner)) return true;
  return false;
}

static bool sum_has_axes(const hone_stmt_t* stmt, hone_dim_t outer, hone_dim_t inner) {
  if (stmt->value && stmt->parent->is_reduction && term_has_axes(stmt->value, outer, inner))
    return true;
  for (int i = 0; i < stmt->n_body; i++)
    if (sum_has_axes(stmt->body[i], outer, inner)) return true;
  return false;
}

/* Whether the inner loop alone fills vectors with what sums read of weights: fused with the outer
 * one it would only know where in memory its rounds are, and weights are laid out axis by axis. */
static bool fills_vectors(const hone_recipe_t* r, const hone_stmt_t* outer,
                          const hone_stmt_t* inner) {
  int64_t lanes = r->shape->lanes, extent = hone_dim_is_int(inner->extent) ? inner->extent.k : 0;
  return lanes > 1 && extent >= lanes && extent % lanes == 0 &&
         sum_has_axes(inner, outer->var, inner->var);
}

hone_stmt_t* hone_fuse_contiguous(hone_recipe_t* r, hone_stmt_t* outer) {
  hone_stmt_t* parent = outer->parent;
  int position = hone_stmt_position(outer);
  hone_stmt_t* inner = hone_only_loop(outer);
  if (!inner || inner->is_reduction) return outer;
  inner = hone_fuse_contiguous(r, inner);
  if (!fills_vectors(r, outer, inner) && are_contiguous(r->kernel, outer, inner))
    hone_recipe_did(r, hone_sched_fuse(r->kernel, outer->name, inner->name));
  return parent->body[position];
}

/* Fuses a sum's loops, inside out. */
static void fuse_sums(hone_recipe_t* r, hone_stmt_t* sum) {
  hone_stmt_t* inner = hone_only_loop(sum);
  if (!inner || !inner->is_reduction) return;
  fuse_sums(r, inner);
  inner = hone_only_loop(sum);
  if (inner && are_contiguous(r->kernel, sum, inner))
    hone_recipe_did(r, hone_sched_fuse(r->kernel, sum->name, inner->name));
}

void hone_fuse_contiguous_sums(hone_recipe_t* r, hone_stmt_t* nest) {
  hone_stmt_t* body = nest;
  while (hone_only_loop(body)) body = hone_only_loop(body);
  for (int i = 0; i < body->n_body; i++)
    if (hone_stmt_is_loop(body->body[i]) && body->body[i]->is_reduction)
      fuse_sums(r, body->body[i]);
}

/* ---- all ---- */

/* Whether a nest reads what another one of the kernel writes. */
static bool term_reads_output(const hone_term_t* term) {
  if (term->buffer && term->buffer->role == HONE_ROLE_OUTPUT) return true;
  for (int i = 0; i < term->n_args; i++)
    if (term_reads_output(term->args[i])) return true;
  return false;
}

static bool reads_output(void* self, hone_stmt_t* stmt) {
  bool* found = self;
  bool combines = stmt->kind == HONE_STMT_STORE && stmt->combine != HONE_COMBINE_SET &&
                  stmt->buffer->space == HONE_SPACE_GLOBAL;
  *found |= combines || (stmt->value && term_reads_output(stmt->value));
  return !*found;
}

static bool finds(hone_stmt_t* stmt, bool (*note)(void* found, hone_stmt_t* stmt)) {
  bool found = false;
  hone_stmt_walk(stmt, note, &found);
  return found;
}

/* Whether the loops of each nest may be taken in any order. */
static bool is_pure(hone_kernel_t* kernel) { return !finds(kernel->root, reads_output); }

/* A loop of the output, or a store to a single element of one. */
static bool stands_alone(const hone_stmt_t* stmt) {
  return hone_stmt_is_loop(stmt)
             ? !stmt->is_reduction
             : stmt->kind == HONE_STMT_STORE && stmt->buffer->space == HONE_SPACE_GLOBAL;
}

/* Whether the nests of the top may run side by side: none needs what another one has made, as
 * where all elements are added up. */
static bool are_apart(const hone_kernel_t* kernel) {
  bool found = false;
  for (int i = 0; i < kernel->root->n_body; i++) found |= !stands_alone(kernel->root->body[i]);
  return !found;
}

/* Places that are looked up stand in the way of lanes: they go in front of the
 * loops that they do not change with, inside out. */
static void hoist(hone_recipe_t* r, hone_stmt_t* stmt) {
  bool has_places = false;
  for (int i = stmt->n_body - 1; i >= 0; i--) hoist(r, stmt->body[i]);
  for (int i = 0; i < stmt->n_body; i++) has_places |= stmt->body[i]->kind == HONE_STMT_LET;
  if (has_places && hone_stmt_is_loop(stmt))
    hone_recipe_did(r, hone_sched_hoist(r->kernel, stmt->name));
}

/* A sum at the top, which gives a single element. */
static void schedule_sum(hone_recipe_t* r, int position) {
  fuse_sums(r, r->kernel->root->body[position]);
  if (!r->choice->no_lanes) hone_schedule_rows(r, r->kernel->root->body[position]);
}

static void schedule_nest(hone_recipe_t* r, int position) {
  if (r->kernel->root->body[position]->is_reduction) {
    schedule_sum(r, position);
    return;
  }
  hoist(r, r->kernel->root->body[position]);
  hone_stmt_t* nest = hone_fuse_contiguous(r, r->kernel->root->body[position]);
  if (r->choice->product && hone_schedule_product(r, nest)) return;
  nest = r->kernel->root->body[position];
  if (r->choice->chain_rows && hone_schedule_attention(r, nest)) return;
  if (!r->choice->no_tile && hone_schedule_blocks(r, nest)) return;
  if (!r->choice->no_tile && hone_schedule_contract(r, nest)) return;
  if (r->choice->no_lanes) return;
  nest = r->kernel->root->body[position];
  hone_fuse_contiguous_sums(r, nest);
  if (!hone_schedule_choices(r, nest)) hone_schedule_rows(r, r->kernel->root->body[position]);
}

enum { MAX_CHOICE = 16 };

/* The loops of the nest that threads could share, outermost first. */
static int list_rounds(hone_stmt_t* loop, hone_stmt_t** out) {
  int n = 0;
  for (; loop && n < MAX_CHOICE; loop = hone_only_loop(loop)) {
    if (loop->is_reduction || loop->loop != HONE_LOOP_SERIAL) break;
    out[n++] = loop;
  }
  return n;
}

static bool has_loops(const hone_stmt_t* loop) {
  for (int i = 0; i < loop->n_body; i++)
    if (hone_stmt_is_loop(loop->body[i]) && loop->body[i]->loop == HONE_LOOP_SERIAL) return true;
  return false;
}

static bool note_lookup(void* self, hone_stmt_t* stmt) {
  *(bool*)self |= stmt->kind == HONE_STMT_LET;
  return true;
}

/* Whether the nest goes through tables, as trees do: each thread then has tables of its own,
 * which stay in its cache for all rows. */
static bool looks_up(hone_stmt_t* nest) { return finds(nest, note_lookup); }

typedef struct apartness {
  hone_kernel_t* kernel;
  const hone_stmt_t* loop;
} apartness_t;

static bool stores_by_round(void* self, hone_stmt_t* stmt) {
  apartness_t* a = self;
  int64_t factor;
  return stmt->kind != HONE_STMT_STORE ||
         hone_dim_factor(hone_buffer_offset(a->kernel, stmt->buffer, stmt->index), a->loop->var,
                         &factor);
}

/* Whether a few rounds that are certain are to be shared out where it looks up: if what they store
 * moves with the round. That of windows which overlap does not. */
static bool has_rounds_that_look(hone_kernel_t* kernel, hone_stmt_t* loop) {
  apartness_t apartness = {kernel, loop};
  return loop->extent.k > 1 && hone_stmt_walk(loop, stores_by_round, &apartness);
}

/* Which of them is likely to have enough rounds for all threads; -1: none. A loop of
 * unknown extent may well have one round only (batches), but hardly the second such: a
 * few rounds that are certain are better. The innermost one is a last resort, as its
 * rounds lie side by side. Where all rounds look up, few that are certain do: other nests of the
 * kernel look up more, in rounds of the same length then. */
static int find_rounds(hone_kernel_t* kernel, int n, hone_stmt_t* const* loops, bool looks) {
  int unknown = 0, first = -1, some = -1;
  for (int i = 0; i < n; i++) {
    bool is_known = hone_dim_is_int(loops[i]->extent), is_inside = i > 1 && !has_loops(loops[i]);
    if (!is_known && first < 0) first = i;
    unknown += !is_known;
    bool is_enough = hone_dim_min_value(loops[i]->extent) >= ENOUGH_ROUNDS;
    if (!is_inside && (is_enough || (!is_known && unknown == 2))) return i;
    bool is_some = is_known && (looks ? has_rounds_that_look(kernel, loops[i])
                                      : loops[i]->extent.k >= SOME_ROUNDS && has_loops(loops[i]));
    if (is_some && some < 0) some = i;
  }
  return first >= 0 && some >= 0 ? some : first;
}

/* Whether the first loop, of rounds that only a run knows, goes with known ones up to `last`. */
static bool is_around_known(hone_stmt_t* const* loops, int last) {
  bool is_known = !hone_dim_is_int(loops[0]->extent);
  for (int i = 1; i <= last; i++) is_known &= hone_dim_is_int(loops[i]->extent);
  return is_known;
}

/* Whether one thread would have a round more than others, and that shows. */
static bool is_uneven(const hone_recipe_t* r, hone_dim_t rounds) {
  enum { SHOWS = 32 };
  int64_t threads = r->shape->threads, rest = threads > 1 ? rounds.k % threads : 0;
  return hone_dim_is_int(rounds) && rest && (threads - rest) * SHOWS > rounds.k;
}

/* Has the loop with rounds for all threads at the outside: together with those around it, so
 * that each thread has consecutive rounds in kernel after kernel, or that loop alone. Known
 * loops with few rounds go together, too. Gives how many loops are to be shared out as one. */
static int choose_parallel(hone_recipe_t* r, int position) {
  hone_stmt_t *loops[MAX_CHOICE], **body = r->kernel->root->body;
  const char* order[MAX_CHOICE];
  bool looks = looks_up(body[position]);
  int n = list_rounds(body[position], loops), best = find_rounds(r->kernel, n, loops, looks);
  bool is_enough = best == 0 && hone_dim_min_value(loops[0]->extent) >= ENOUGH_ROUNDS;
  if (n < 2 || (is_enough && !is_uneven(r, loops[0]->extent))) return 1;
  if (hone_dim_is_int(loops[0]->extent) && hone_dim_is_int(loops[1]->extent)) return 2;
  if (best < 1) return has_loops(loops[1]) && is_around_known(loops, 1) && !looks ? 2 : 1;
  if (is_around_known(loops, best) && !looks) return best + 1;
  order[0] = loops[best]->name;
  for (int i = 0; i < best; i++) order[1 + i] = loops[i]->name;
  hone_recipe_did(r, hone_sched_reorder(r->kernel, best + 1, order));
  return 1;
}

/* Has threads share the rounds of the outermost loops, as far as that can be: each is found
 * to be fit for it before they become one. */
static void share_loops(hone_recipe_t* r, int position, int count) {
  hone_stmt_t* const* body = r->kernel->root->body;
  bool is_shared = hone_recipe_did(r, hone_sched_parallel(r->kernel, body[position]->name));
  for (int i = 1; i < count && is_shared; i++) {
    const hone_stmt_t *outer = body[position], *inner = hone_only_loop(outer);
    is_shared = inner && !inner->is_reduction && inner->loop == HONE_LOOP_SERIAL &&
                !hone_dim_uses(inner->extent, outer->var) && !hone_dim_is(inner->extent, 0) &&
                hone_recipe_did(r, hone_sched_parallel(r->kernel, inner->name)) &&
                hone_recipe_did(r, hone_sched_fuse(r->kernel, outer->name, inner->name));
  }
}

void hone_share_around(hone_recipe_t* r, const hone_stmt_t* loop) {
  enum { MOST = 2 };
  const hone_stmt_t *root = r->kernel->root, *top = loop;
  hone_stmt_t* loops[MAX_CHOICE];
  int count = 0;
  while (top->parent != root) top = top->parent;
  if (r->choice->parallel < 0 || root->n_body < 2 || hone_dim_is_int(loop->extent) ||
      !are_apart(r->kernel))
    return;
  int position = hone_stmt_position(top), n = list_rounds(root->body[position], loops);
  while (count < n && count < MOST && loops[count] != loop && hone_dim_is_int(loops[count]->extent))
    count++;
  if (!count && n > 0 && loops[0] != loop) count = 1;
  if (count) share_loops(r, position, count);
}

/* Stores made in a run. */
static double count_stores(const hone_stmt_t* stmt) {
  double count = stmt->kind == HONE_STMT_STORE ? 1 : 0;
  for (int i = 0; i < stmt->n_body; i++) count += count_stores(stmt->body[i]);
  return hone_stmt_is_loop(stmt) ? count * hone_cost_extent(stmt->extent) : count;
}

/* The border of a pad beside what it is around: left to one thread, it does not
 * upset how the rounds of the rest are shared out. */
static bool is_minor(const hone_stmt_t* nest) {
  enum { SHARE = 8 };
  return hone_stmt_is_fill(nest) && count_stores(nest) * SHARE < count_stores(nest->parent);
}

static void share_out(hone_recipe_t* r, int position) {
  hone_stmt_t** body = r->kernel->root->body;
  if (!hone_stmt_is_loop(body[position]) || r->choice->parallel < 0 || is_minor(body[position]))
    return;
  int count = choose_parallel(r, position);
  share_loops(r, position, r->choice->parallel > 1 ? count + 1 : count);
}

static bool is_open_loop(const hone_stmt_t* nest) {
  return hone_stmt_is_loop(nest) && !hone_dim_is_int(nest->extent);
}

static bool note_reduction(void* self, hone_stmt_t* stmt) {
  *(bool*)self |= hone_stmt_is_loop(stmt) && stmt->is_reduction;
  return true;
}

static bool adds_up(hone_stmt_t* nest) { return finds(nest, note_reduction); }

/* Open loops beside sums are done, and shared out, before these: beside tiles of rows that only a
 * run can count they would not show to be apart. What they leave behind them is open, too. */
static bool comes_first(hone_stmt_t* nest) {
  return is_open_loop(nest) && !adds_up(nest) && adds_up(nest->parent);
}

static void schedule_first(hone_recipe_t* r) {
  hone_stmt_t* root = r->kernel->root;
  for (int i = root->n_body - 1; i >= 0 && !r->status; i--) {
    if (!comes_first(root->body[i])) continue;
    schedule_nest(r, i);
    if (are_apart(r->kernel)) share_out(r, i);
  }
}

hone_status_t hone_cpu_schedule(hone_kernel_t* kernel, const hone_cpu_shape_t* shape,
                                const hone_cpu_choice_t* choice) {
  hone_recipe_t r = {.kernel = kernel, .shape = shape, .choice = choice};
  if (!is_pure(kernel)) return NULL;
  schedule_first(&r);
  /* Peeling adds nests behind; those are done already. */
  for (int i = kernel->root->n_body - 1; i >= 0 && !r.status; i--)
    if (!comes_first(kernel->root->body[i])) schedule_nest(&r, i);
  if (!r.status) hone_schedule_claims(&r);
  bool may_share = are_apart(kernel);
  for (int i = 0; i < kernel->root->n_body && !r.status && may_share; i++) share_out(&r, i);
  return r.status;
}

int hone_cpu_parallel(const hone_space_t* space, const hone_candidate_t* candidate) {
  int parallel = (int)hone_candidate_number(space, candidate, "parallel", 0);
  return parallel == 0 ? -1 : parallel;
}

hone_cpu_shape_t hone_cpu_shape(const hone_device_properties_t* properties) {
  enum { WIDE_LANES = 16 };
  int lanes = properties->vector_bytes / (int)sizeof(float);
  double flops = properties->flops_per_cycle;
  bool halves = lanes == WIDE_LANES && flops > 0 && flops <= 2 * WIDE_LANES;
  return (hone_cpu_shape_t){.lanes = lanes < 4    ? 4
                                     : lanes > 16 ? 16
                                                  : lanes,
                            .registers = properties->vector_registers,
                            .threads = properties->compute_units,
                            .halves_vectors = halves,
                            .first_cache = (int64_t)properties->cache_bytes[0],
                            .second_cache = (int64_t)properties->cache_bytes[1],
                            .has_dot4 = properties->has_dot4,
                            .fast_int8 = properties->fast_int8,
                            .mixed_int8 = properties->mixed_int8,
                            .has_dot2_bf16 = properties->has_dot2_bf16,
                            .has_dot2_i16 = properties->has_dot2_i16,
                            .has_dot_apart = properties->has_dot_apart,
                            .has_dot8 = properties->has_dot8,
                            .has_dot_nibbles = properties->has_dot_nibbles,
                            .has_block_int8 = properties->has_block_int8,
                            .has_block_bf16 = properties->has_block_bf16};
}
