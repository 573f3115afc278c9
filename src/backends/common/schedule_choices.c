/* Choices by the index: rows that were put on a stack (a concat of single rows)
 * are told apart by conditions on a short loop, on what is left of an index
 * by a small divisor, or on the run of rounds that it is in, as where pictures that were taken
 * apart by every d-th row are put together. Written out, the loop decides them all, and what its
 * rounds have in common the compiler computes once. It goes inside of all others but the vectors.
 */
#include <stdio.h>
#include <string.h>

#include "backends/common/schedule_impl.h"

enum { MAX_LOOPS = 32, MAX_ROUNDS = 16, NAME = 128 };

/* A nest of loops with nothing but stores inside. */
typedef struct nest {
  hone_kernel_t* kernel;
  int n;
  hone_stmt_t* loops[MAX_LOOPS]; /* outermost first */
  bool chosen[MAX_LOOPS];        /* decides conditions */
  int64_t divisor[MAX_LOOPS];    /* its remainder does; 0: no */
  int64_t* values;               /* of symbols, all 0; NULL: none were needed */
} nest_t;

/* ---- looking ---- */

/* The first round of the loop in which the index is another than in round 0, all else being 0; 0:
 * there is none. */
static int64_t first_change(nest_t* nest, const hone_stmt_t* loop, hone_dim_t index) {
  int64_t* value = &nest->values[hone_dim_as_symbol(loop->var)->id];
  int64_t found = 0, begin = hone_dim_eval(index, nest->values);
  for (*value = 1; !found && *value < loop->extent.k; ++*value)
    if (hone_dim_eval(index, nest->values) != begin) found = *value;
  *value = 0;
  return found;
}

static bool has_values(nest_t* nest) {
  if (nest->values) return true;
  size_t count = (size_t)hone_dims_symbol_count(nest->kernel->dims);
  nest->values = hone_arena_array(nest->kernel->arena, count, sizeof *nest->values);
  if (!nest->values) nest->kernel->out_of_memory = true;
  return nest->values != NULL;
}

/* Rounds that the index does not tell apart, as rows of pictures that lie apart; 1: it tells each,
 * or only a run knows how many there are. */
static int64_t find_run(nest_t* nest, const hone_stmt_t* loop, hone_dim_t index) {
  if (!hone_dim_is_int(loop->extent) || !has_values(nest)) return 1;
  int64_t run = first_change(nest, loop, index);
  return run ? run : 1;
}

/* The number of a run that decides, where there are few, or what is left of it by a small divisor.
 * What tells each round goes before what tells runs. */
static void note_condition_of(nest_t* nest, int i, hone_dim_t index) {
  const hone_stmt_t* loop = nest->loops[i];
  hone_dims_t* dims = nest->kernel->dims;
  int64_t run = find_run(nest, loop, index);
  if (run > 1 && nest->divisor[i]) return;
  hone_dim_t number = hone_dim_floordiv(dims, loop->var, hone_dim_int(run)),
             divisor = hone_dim_modulus(index);
  if (hone_dim_same(index, number)) {
    bool are_few = hone_dim_is_int(loop->extent) && loop->extent.k <= run * MAX_ROUNDS;
    if (run == 1)
      nest->chosen[i] |= are_few;
    else if (are_few)
      nest->divisor[i] = run;
    return;
  }
  if (hone_dim_is_int(divisor) && divisor.k > 1 && divisor.k <= MAX_ROUNDS &&
      hone_dim_same(index, hone_dim_mod(dims, number, divisor)))
    nest->divisor[i] = run * divisor.k;
}

static void note_condition(nest_t* nest, hone_dim_t index) {
  for (int i = 0; i < nest->n; i++)
    if (hone_dim_uses(index, nest->loops[i]->var)) note_condition_of(nest, i, index);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the term */
static void look_at_term(nest_t* nest, const hone_term_t* term, bool in_condition) {
  bool is_choice = term->kind == HONE_TERM_PRIM && term->prim == HONE_PRIM_SELECT;
  if (in_condition && term->kind == HONE_TERM_INDEX) note_condition(nest, term->dim);
  for (int i = 0; i < term->n_args; i++)
    look_at_term(nest, term->args[i], in_condition || (is_choice && i == 0));
}

/* The nest that begins at `top`, and which of its loops decide; false where there is
 * more in it than serial loops around stores. */
static bool look(hone_kernel_t* kernel, hone_stmt_t* top, nest_t* nest) {
  *nest = (nest_t){.kernel = kernel};
  for (hone_stmt_t* loop = top; loop; loop = hone_only_loop(loop)) {
    if (nest->n == MAX_LOOPS || loop->is_reduction || loop->loop != HONE_LOOP_SERIAL) return false;
    nest->loops[nest->n++] = loop;
  }
  const hone_stmt_t* inside = nest->loops[nest->n - 1];
  for (int i = 0; i < inside->n_body; i++) {
    if (inside->body[i]->kind != HONE_STMT_STORE) return false;
    look_at_term(nest, inside->body[i]->value, false);
  }
  return inside->n_body > 0;
}

/* ---- doing ---- */

static void unroll_all(hone_recipe_t* r, hone_stmt_t* loop) {
  for (; loop; loop = hone_only_loop(loop))
    hone_recipe_did(r, hone_sched_unroll(r->kernel, loop->name));
}

/* Whether all that is stored is rounded to 16 bits, as devices do for two vectors at once. */
static bool stores_rounded(const hone_stmt_t* inside) {
  for (int i = 0; i < inside->n_body; i++)
    if (!hone_term_flushes(inside->body[i]->value)) return false;
  return true;
}

static bool is_multiple(hone_dim_t extent, int64_t of) {
  return hone_dim_is_int(extent) && extent.k % of == 0;
}

/* Vectors side by side in each round: two, where they are stored as one and registers are enough
 * for both. */
static int vectors_side_by_side(const hone_recipe_t* r, const hone_stmt_t* inside,
                                hone_dim_t extent) {
  enum { LANES = 16 /* of devices with many registers */ };
  bool pays = r->shape->lanes >= LANES && stores_rounded(inside);
  return pays && is_multiple(extent, 2 * (int64_t)r->shape->lanes) ? 2 : 1;
}

/* So many vectors along `lanes`, inside of the loops that follow, of which the last are written
 * out. */
static void make_vectors(hone_recipe_t* r, const char* lanes, int vectors, int n,
                         const char* const* inner_loops) {
  const char* order[MAX_LOOPS + 1];
  char inner[NAME], rest[NAME];
  snprintf(inner, sizeof inner, "%s.i", lanes);
  snprintf(rest, sizeof rest, "%s.t", lanes);
  if (!hone_recipe_did(r, hone_sched_split(r->kernel, lanes, (int64_t)vectors * r->shape->lanes,
                                           HONE_TAIL_PEEL)))
    return;
  for (int i = 0; i < n; i++) order[i] = inner_loops[i];
  order[n] = inner;
  if (hone_recipe_did(r, hone_sched_reorder(r->kernel, n + 1, order)))
    hone_make_vectors(r, inner, vectors);
  hone_stmt_t* tail = hone_kernel_find_loop(r->kernel, rest);
  if (tail) unroll_all(r, hone_only_loop(tail));
}

static bool could_be_lanes(const hone_recipe_t* r, const hone_stmt_t* inside,
                           const hone_stmt_t* loop) {
  return strlen(loop->name) + 3 <= NAME && hone_gets_lanes(r, inside, loop->var) &&
         hone_dim_max_value(loop->extent) >= r->shape->lanes;
}

/* Which of `n` loops, outermost first, gets lanes: the last one, or one of whole vectors in which
 * less of what is read and written lies apart, as channels of pictures that are turned; -1: none
 * does. */
static int find_lanes(const hone_recipe_t* r, const hone_stmt_t* inside, int n,
                      const hone_stmt_t* const* loops) {
  int best = -1, least = 0;
  for (int i = n - 1; i >= 0; i--) {
    bool is_whole = is_multiple(loops[i]->extent, r->shape->lanes);
    if ((i < n - 1 && !is_whole) || !could_be_lanes(r, inside, loops[i])) continue;
    int apart = hone_count_apart(r, inside, loops[i]->var);
    if (best >= 0 && apart >= least) continue;
    best = i;
    least = apart;
  }
  return best;
}

static bool write_out(hone_recipe_t* r, const nest_t* nest) {
  const hone_stmt_t *loops[MAX_LOOPS], *inside = nest->loops[nest->n - 1];
  const char* order[MAX_LOOPS];
  int n = 0, n_chosen = 0;
  for (int i = 0; i < nest->n; i++)
    if (!nest->chosen[i]) loops[n++] = nest->loops[i];
  for (int i = 0; i < nest->n; i++)
    if (nest->chosen[i]) order[n + n_chosen++] = nest->loops[i]->name;
  if (n_chosen == 0) return false;
  int lanes = find_lanes(r, inside, n, loops);
  /* Lanes stand around the last loop at least: lines of which a vector is a part are near still
   * when the next vector reads the rest. */
  for (; lanes >= 0 && lanes < n - 2; lanes++) {
    const hone_stmt_t* loop = loops[lanes];
    loops[lanes] = loops[lanes + 1];
    loops[lanes + 1] = loop;
  }
  int vectors = lanes < 0 ? 0 : vectors_side_by_side(r, inside, loops[lanes]->extent);
  for (int i = 0; i < n; i++) order[i] = loops[i]->name;
  if (n + n_chosen > 1 && !hone_recipe_did(r, hone_sched_reorder(r->kernel, n + n_chosen, order)))
    return false;
  if (lanes >= 0)
    make_vectors(r, order[lanes], vectors, n - lanes - 1 + n_chosen, order + lanes + 1);
  for (int i = 0; i < n_chosen; i++) hone_recipe_did(r, hone_sched_unroll(r->kernel, order[n + i]));
  return true;
}

/* Loop `first` of the nest outermost, those that decide conditions innermost. */
static bool move_out(hone_recipe_t* r, const nest_t* nest, int first) {
  const char* order[MAX_LOOPS];
  int n = 0;
  order[n++] = nest->loops[first]->name;
  for (int decides = 0; decides < 2; decides++)
    for (int i = 0; i < nest->n; i++)
      if (i != first && nest->chosen[i] == (decides == 1)) order[n++] = nest->loops[i]->name;
  return n < 2 || hone_recipe_did(r, hone_sched_reorder(r->kernel, n, order));
}

/* What was cut off, of which nothing may be left to decide. */
static void schedule_cut(hone_recipe_t* r, hone_stmt_t* part) {
  if (hone_schedule_choices(r, part) || !hone_stmt_is_loop(part)) return;
  for (hone_stmt_t* next = hone_only_loop(part); next; next = hone_only_loop(part)) part = next;
  hone_make_lanes(r, part);
}

/* Cuts a loop whose remainder is asked for, outermost where that leaves a rest, and goes on with
 * both parts. */
static bool cut(hone_recipe_t* r, const nest_t* nest, int which) {
  hone_stmt_t* parent = nest->loops[0]->parent;
  int position = hone_stmt_position(nest->loops[0]), before = parent->n_body;
  const char* name = nest->loops[which]->name;
  bool is_even = is_multiple(nest->loops[which]->extent, nest->divisor[which]);
  if ((!is_even && !move_out(r, nest, which)) ||
      !hone_recipe_did(r, hone_sched_split(r->kernel, name, nest->divisor[which], HONE_TAIL_PEEL)))
    return false;
  if (parent->n_body > before) schedule_cut(r, parent->body[position + 1]);
  schedule_cut(r, parent->body[position]);
  return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): once for each loop that is cut */
bool hone_schedule_choices(hone_recipe_t* r, hone_stmt_t* top) {
  nest_t nest;
  if (r->status || !hone_stmt_is_loop(top) || !look(r->kernel, top, &nest)) return false;
  for (int i = 0; i < nest.n; i++)
    if (nest.divisor[i]) return cut(r, &nest, i);
  return write_out(r, &nest);
}
