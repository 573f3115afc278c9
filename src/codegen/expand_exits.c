/* Early exits of walks (loop/walk.h): the rest is left out once no round moves any more.
 *
 *   if (x6 != x5 in some round) { x7 = …; out = found[x9] }
 *   if (x6 == x5 in all) out = found[x6] */
#include "codegen/expand_impl.h"
#include "loop/walk.h"

enum { BETWEEN = 2 /* steps from one exit to the next, and behind the last at least */ };

typedef struct expanded {
  hone_kernel_t* kernel;
  hone_walk_t walk;
  hone_stmt_t* parent;
  int first, rounds, n_lets;
  hone_stmt_t** all; /* statement by statement, round by round, as they stood at first */
} expanded_t;

/* The place where so many steps lead. */
static hone_dim_t place_of(const expanded_t* e, int steps, int round) {
  return e->all[hone_walk_place(&e->walk, steps) * e->rounds + round]->var;
}

/* More than 0 where some round moved in the last of so many steps: places are not below 0. */
static const hone_term_t* moves_of(const expanded_t* e, int steps) {
  const hone_term_t* moves = NULL;
  for (int r = 0; r < e->rounds; r++) {
    const hone_term_t* one = hone_term_binary(e->kernel, HONE_PRIM_XOR,
                                              hone_term_index(e->kernel, place_of(e, steps - 1, r)),
                                              hone_term_index(e->kernel, place_of(e, steps, r)));
    moves = moves ? hone_term_binary(e->kernel, HONE_PRIM_OR, moves, one) : one;
  }
  return moves;
}

/* Compares 0 with them. */
static hone_stmt_t* add_if(const expanded_t* e, int position, hone_prim_t compare,
                           const hone_term_t* moves) {
  const hone_term_t* zero = hone_term_number(e->kernel, HONE_I64, 0);
  hone_stmt_t* made =
      hone_stmt_if(e->kernel, e->parent, hone_term_binary(e->kernel, compare, zero, moves));
  if (!made) return NULL;
  hone_stmt_remove(made);
  return hone_stmt_insert(e->kernel, e->parent, position, made) ? made : NULL;
}

/* What is stored where the walk ends after so many steps. */
static bool add_stores(const expanded_t* e, int steps, hone_stmt_t* to) {
  for (int r = 0; r < e->rounds; r++) {
    hone_stmt_t* copy = hone_stmt_copy(e->kernel, e->all[e->n_lets * e->rounds + r], NULL);
    if (!copy ||
        !hone_stmt_replace_var(e->kernel, copy, place_of(e, e->walk.n_steps, r),
                               place_of(e, steps, r)) ||
        !hone_stmt_insert(e->kernel, to, -1, copy))
      return false;
  }
  return true;
}

/* What stands behind so many steps goes into an if; `count` statements are left of what was
 * expanded, which it brings up to date. */
static bool add_exit(const expanded_t* e, int steps, int* count) {
  int kept = (hone_walk_place(&e->walk, steps) + 1) * e->rounds, position = e->first + kept;
  const hone_term_t* moves = moves_of(e, steps);
  hone_stmt_t* rest = add_if(e, position, HONE_PRIM_LT, moves);
  if (!rest) return false;
  for (int i = kept; i < *count; i++) {
    hone_stmt_t* stmt = e->parent->body[position + 1];
    hone_stmt_remove(stmt);
    if (!hone_stmt_insert(e->kernel, rest, -1, stmt)) return false;
  }
  hone_stmt_t* end = add_if(e, position + 1, HONE_PRIM_EQ, moves);
  *count = kept + 2;
  return end && add_stores(e, steps, end);
}

/* From the last one to the first, which has the others inside. */
static bool add_exits(const expanded_t* e) {
  int count = (e->n_lets + 1) * e->rounds;
  int between = (e->walk.n_steps - HONE_WALK_FIRST_STEPS) / BETWEEN - 1;
  for (int i = between; i >= 0; i--)
    if (!add_exit(e, HONE_WALK_FIRST_STEPS + i * BETWEEN, &count)) return false;
  return true;
}

bool hone_expand_exits(hone_kernel_t* kernel, const hone_stmt_t* loop, hone_stmt_t* parent,
                       int first) {
  expanded_t e = {.kernel = kernel,
                  .parent = parent,
                  .first = first,
                  .rounds = (int)loop->extent.k,
                  .n_lets = loop->n_body - 1};
  if (!hone_walk_find(kernel, loop, &e.walk)) return false;
  if (!e.walk.n_steps) return true;
  size_t n = (size_t)loop->n_body * (size_t)e.rounds;
  e.all = hone_arena_array(kernel->arena, n, sizeof *e.all);
  if (!e.all) return false;
  for (size_t i = 0; i < n; i++) e.all[i] = parent->body[(size_t)first + i];
  return add_exits(&e);
}
