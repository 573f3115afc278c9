/* Entries of a forest in pairs.
 *
 * The two entries that a test leads to stand side by side, so that a step is an addition to the
 * place of the first, and what a step reads of an entry is short. An entry with several parents
 * has a copy in the pair of each; the pair that it leads to itself is there once, so that there
 * are as many entries as roots and twice the tests, however much the trees share. */
#include <math.h>

#include "base/memory.h"
#include "ops/common/ml_forest.h"

typedef struct pairs {
  hone_forest_t* f;
  hone_arena_t* arena;
  int64_t* from;    /* of each new entry: the old one */
  int64_t* pair_of; /* of each old entry: the first that it leads to, -1 before that has a place */
  int n;
} pairs_t;

static bool is_leaf(const hone_forest_t* f, int64_t entry) {
  return f->mode[entry] == HONE_BRANCH_LEAF;
}

/* Whether the branches are the other way round: where keys are compared the side of the smaller
 * numbers comes second, else the one of tests that hold. x != s is x == s so, NaN included. */
static bool is_turned(const hone_forest_t* f, int64_t entry) {
  int64_t mode = f->mode[entry];
  return f->by_key ? mode == HONE_BRANCH_GTE || mode == HONE_BRANCH_GT : mode == HONE_BRANCH_NEQ;
}

/* Gives what `old` leads to a place, unless it has one. */
static void place_below(pairs_t* p, int64_t old) {
  const hone_forest_t* f = p->f;
  if (is_leaf(f, old) || p->pair_of[old] >= 0) return;
  p->pair_of[old] = p->n;
  p->from[p->n++] = is_turned(f, old) ? f->yes[old] : f->no[old];
  p->from[p->n++] = is_turned(f, old) ? f->no[old] : f->yes[old];
}

/* The roots come first, then tree by tree what is below, level by level: the tests of the first
 * levels, which all rows take, share lines of the cache. An entry more at the end, which nothing
 * leads to, makes the one behind each entry one that is there. */
static void place_all(pairs_t* p) {
  const hone_forest_t* f = p->f;
  for (int i = 0; i < f->n_entries; i++) p->pair_of[i] = -1;
  for (int t = 0; t < f->n_trees; t++) p->from[p->n++] = f->roots[t];
  for (int t = 0; t < f->n_trees; t++) {
    int below = p->n;
    place_below(p, f->roots[t]);
    for (; below < p->n; below++) place_below(p, p->from[below]);
  }
  p->from[p->n++] = f->roots[0];
}

/* ---- what entries hold, in the new order ---- */

static double* move_members(const pairs_t* p) {
  const hone_forest_t* f = p->f;
  size_t each = (size_t)f->n_members, total;
  if (!hone_size_mul((size_t)p->n, each, &total)) total = SIZE_MAX;
  double* members = hone_arena_array(p->arena, total, sizeof *members);
  for (size_t i = 0; members && i < total; i++)
    members[i] = f->members[(size_t)p->from[i / each] * each + i % each];
  return members;
}

/* A leaf stays where it is: no test of NaN holds. */
static void move_entry(const pairs_t* p, int i, hone_forest_t* to) {
  const hone_forest_t* f = p->f;
  int64_t old = p->from[i];
  bool leaf = is_leaf(f, old), differs = f->mode[old] == HONE_BRANCH_NEQ;
  to->mode[i] = differs ? HONE_BRANCH_EQ : f->mode[old];
  to->feature[i] = leaf ? 0 : f->feature[old];
  to->split[i] = leaf ? (double)NAN : f->split[old];
  to->missing_is_yes[i] = !leaf && !differs && f->missing_is_yes[old];
  to->next[i] = leaf ? i : p->pair_of[old];
}

static bool move_entries(const pairs_t* p) {
  hone_forest_t *f = p->f, to = *f;
  size_t n = (size_t)p->n;
  to.feature = hone_arena_array(p->arena, n, sizeof *to.feature);
  to.split = hone_arena_array(p->arena, n, sizeof *to.split);
  to.mode = hone_arena_array(p->arena, n, sizeof *to.mode);
  to.missing_is_yes = hone_arena_array(p->arena, n, sizeof *to.missing_is_yes);
  to.next = hone_arena_array(p->arena, n, sizeof *to.next);
  if (f->members) to.members = move_members(p);
  if (!to.feature || !to.split || !to.mode || !to.missing_is_yes || !to.next ||
      (f->members && !to.members))
    return false;
  for (int i = 0; i < p->n; i++) move_entry(p, i, &to);
  to.next[p->n - 1] = 0;
  to.n_entries = p->n;
  to.yes = to.no = NULL;
  for (int t = 0; t < f->n_trees; t++) to.roots[t] = t;
  *f = to;
  return true;
}

/* ---- scores ---- */

/* Scores by the old entry: those of entry i are order[first[i]] up to order[first[i + 1]]. */
typedef struct by_entry {
  int64_t *first, *order;
} by_entry_t;

static bool sort_scores(const pairs_t* p, by_entry_t* s) {
  const hone_forest_t* f = p->f;
  s->first = hone_arena_array(p->arena, (size_t)f->n_entries + 2, sizeof *s->first);
  s->order = hone_arena_array(p->arena, (size_t)f->n_scores + 1, sizeof *s->order);
  if (!s->first || !s->order) return false;
  for (int i = 0; i < f->n_scores; i++) s->first[f->score_entry[i] + 2]++;
  for (int i = 0; i < f->n_entries; i++) s->first[i + 2] += s->first[i + 1];
  for (int i = 0; i < f->n_scores; i++) s->order[s->first[f->score_entry[i] + 1]++] = i;
  return true;
}

/* Scores of the copies of each leaf; what tests score nobody asks for. */
static bool move_scores(const pairs_t* p) {
  hone_forest_t *f = p->f, to = *f;
  by_entry_t s;
  int64_t total = 0;
  if (!sort_scores(p, &s)) return false;
  for (int i = 0; i < p->n; i++)
    if (is_leaf(f, p->from[i])) total += s.first[p->from[i] + 1] - s.first[p->from[i]];
  if (total > INT32_MAX) return false;
  to.score_entry = hone_arena_array(p->arena, (size_t)total, sizeof *to.score_entry);
  to.score_target = hone_arena_array(p->arena, (size_t)total, sizeof *to.score_target);
  to.score_weight = hone_arena_array(p->arena, (size_t)total, sizeof *to.score_weight);
  if (!to.score_entry || !to.score_target || !to.score_weight) return false;
  to.n_scores = 0;
  for (int i = 0; i < p->n; i++) {
    int64_t old = p->from[i];
    for (int64_t k = s.first[old]; is_leaf(f, old) && k < s.first[old + 1]; k++)
      hone_forest_add_score(&to, i, f->score_target[s.order[k]], f->score_weight[s.order[k]]);
  }
  *f = to;
  return true;
}

bool hone_forest_pair(hone_forest_t* f) {
  hone_arena_t* arena = f->l->b->graph->arena;
  size_t most = (size_t)f->n_trees + 2 * (size_t)f->n_entries + 1;
  pairs_t p = {.f = f, .arena = arena};
  p.from = most <= INT32_MAX ? hone_arena_array(arena, most, sizeof *p.from) : NULL;
  p.pair_of = hone_arena_array(arena, (size_t)f->n_entries, sizeof *p.pair_of);
  bool ok = p.from && p.pair_of;
  if (ok) {
    place_all(&p);
    ok = move_scores(&p) && move_entries(&p);
  }
  if (!ok) hone_fail_status(f->l->b, hone_oom());
  return ok;
}
