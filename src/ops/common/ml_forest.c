/* See ml_forest.h. */
#include "ops/common/ml_forest.h"

#include <math.h>

#include "base/memory.h"

bool hone_forest_init(hone_forest_t* f, hone_lower_t* l, int64_t n_entries, int64_t n_targets) {
  hone_arena_t* arena = l->b->graph->arena;
  f->l = l;
  if (n_entries < 1 || n_entries > INT32_MAX || n_targets < 1 || n_targets > INT32_MAX) {
    hone_op_fail(l, "%lld nodes and %lld targets; both must be positive", (long long)n_entries,
                 (long long)n_targets);
    return false;
  }
  size_t n = (size_t)n_entries, total;
  f->n_entries = (int)n_entries;
  f->n_targets = (int)n_targets;
  if (!hone_size_mul(n, (size_t)n_targets, &total)) total = SIZE_MAX;
  f->feature = hone_arena_array(arena, n, sizeof *f->feature);
  f->split = hone_arena_array(arena, n, sizeof *f->split);
  f->mode = hone_arena_array(arena, n, sizeof *f->mode);
  f->yes = hone_arena_array(arena, n, sizeof *f->yes);
  f->no = hone_arena_array(arena, n, sizeof *f->no);
  f->missing_is_yes = hone_arena_array(arena, n, sizeof *f->missing_is_yes);
  f->roots = hone_arena_array(arena, n, sizeof *f->roots);
  f->weights = hone_arena_array(arena, total, sizeof *f->weights);
  f->scores = hone_arena_array(arena, total, sizeof *f->scores);
  bool ok = f->feature && f->split && f->mode && f->yes && f->no && f->missing_is_yes && f->roots &&
            f->weights && f->scores;
  if (!ok) hone_fail_status(l->b, hone_oom());
  return ok;
}

/* ---- depth ---- */

/* Longest way from the roots to a leaf, found without recursion: an entry is
 * open while those below it are being visited, and meeting an open one again
 * is a cycle. -1 after an error. */
typedef struct visit {
  int64_t* stack;
  int32_t* depth; /* of what hangs below; -1: not yet known, -2: open */
  int top;
} visit_t;

/* Opens `entry` when it is new; false on a cycle. */
static bool enter(visit_t* v, int64_t entry) {
  if (v->depth[entry] == -2) return false;
  if (v->depth[entry] == -1) {
    v->depth[entry] = -2;
    v->stack[v->top++] = entry;
  }
  return true;
}

static bool visit_from(const hone_forest_t* f, visit_t* v, int64_t root) {
  v->top = 0;
  if (!enter(v, root)) return false;
  while (v->top) {
    int64_t at = v->stack[v->top - 1], yes = f->yes[at], no = f->no[at];
    if (f->mode[at] == HONE_BRANCH_LEAF) {
      v->depth[at] = 0;
      v->top--;
    } else if (v->depth[yes] < 0) {
      if (!enter(v, yes)) return false;
    } else if (v->depth[no] < 0) {
      if (!enter(v, no)) return false;
    } else {
      v->depth[at] = 1 + (v->depth[yes] > v->depth[no] ? v->depth[yes] : v->depth[no]);
      v->top--;
    }
  }
  return true;
}

static bool branches_exist(const hone_forest_t* f) {
  for (int i = 0; i < f->n_entries; i++)
    if (f->yes[i] < 0 || f->yes[i] >= f->n_entries || f->no[i] < 0 || f->no[i] >= f->n_entries)
      return false;
  for (int i = 0; i < f->n_trees; i++)
    if (f->roots[i] < 0 || f->roots[i] >= f->n_entries) return false;
  return true;
}

static int find_depth(hone_forest_t* f) {
  hone_lower_t* l = f->l;
  size_t n = (size_t)f->n_entries;
  visit_t v = {.stack = hone_arena_array(l->b->graph->arena, n, sizeof *v.stack),
               .depth = hone_arena_array(l->b->graph->arena, n, sizeof *v.depth)};
  if (!v.stack || !v.depth) {
    hone_fail_status(l->b, hone_oom());
    return -1;
  }
  if (!branches_exist(f)) {
    hone_op_fail(l, "a branch leads to a node that is not there");
    return -1;
  }
  for (size_t i = 0; i < n; i++) v.depth[i] = -1;
  int depth = 0;
  for (int t = 0; t < f->n_trees; t++) {
    if (!visit_from(f, &v, f->roots[t])) {
      hone_op_fail(l, "the nodes of tree %d form a cycle", t);
      return -1;
    }
    if (v.depth[f->roots[t]] > depth) depth = v.depth[f->roots[t]];
  }
  return depth;
}

/* ---- constants ---- */

static hone_value_t* constant_i64(hone_forest_t* f, const int64_t* values) {
  return hone_list_i64(f->l->b, f->n_entries, values);
}

static hone_value_t* constant_numbers(hone_forest_t* f, int columns, const double* values) {
  hone_builder_t* b = f->l->b;
  const int64_t dims[2] = {f->n_entries, columns};
  return hone_cast(b, hone_constant_data(b, HONE_F64, columns ? 2 : 1, dims, values), f->dtype);
}

static bool any_of(const hone_forest_t* f, const bool* flags) {
  for (int i = 0; i < f->n_entries; i++)
    if (flags[i]) return true;
  return false;
}

static bool uses_mode(const hone_forest_t* f, int64_t mode) {
  for (int i = 0; i < f->n_entries; i++)
    if (f->mode[i] == mode) return true;
  return false;
}

/* ---- the walk ---- */

/* What the loop reads: constants outside of it. */
typedef struct tables {
  hone_value_t *feature, *split, *mode, *yes, *no, *missing, *members;
} tables_t;

static tables_t make_tables(hone_forest_t* f) {
  hone_builder_t* b = f->l->b;
  const int64_t n = f->n_entries;
  bool missing = any_of(f, f->missing_is_yes);
  return (tables_t){
      .feature = constant_i64(f, f->feature),
      .split = constant_numbers(f, 0, f->split),
      .mode = constant_i64(f, f->mode),
      .yes = constant_i64(f, f->yes),
      .no = constant_i64(f, f->no),
      .missing = missing ? hone_constant_data(b, HONE_BOOL, 1, &n, f->missing_is_yes) : NULL,
      .members = f->n_members ? constant_numbers(f, f->n_members, f->members) : NULL,
  };
}

static hone_value_t* is_member(hone_builder_t* b, const tables_t* t, hone_value_t* at,
                               hone_value_t* value) {
  if (!hone_is_known(b, value)) return NULL;
  if (!t->members) return hone_full(b, HONE_BOOL, 0, value->type.rank, value->type.dims);
  hone_value_t* sets = hone_gather(b, t->members, at);
  hone_value_t* same = hone_eq(b, sets, hone_unsqueeze(b, value, hone_rank(value)));
  return hone_reduce_last(b, HONE_COMBINE_MAX, same, 1, false);
}

static hone_value_t* test(hone_builder_t* b, const tables_t* t, int mode, hone_value_t* at,
                          hone_value_t* value, hone_value_t* split) {
  switch (mode) {
    case HONE_BRANCH_LEQ:
      return hone_le(b, value, split);
    case HONE_BRANCH_LT:
      return hone_lt(b, value, split);
    case HONE_BRANCH_GTE:
      return hone_ge(b, value, split);
    case HONE_BRANCH_GT:
      return hone_gt(b, value, split);
    case HONE_BRANCH_EQ:
      return hone_eq(b, value, split);
    case HONE_BRANCH_NEQ:
      return hone_ne(b, value, split);
    default:
      return is_member(b, t, at, value);
  }
}

/* Whether the test at each entry holds; tests of unused kinds are not written. */
static hone_value_t* passes(const hone_forest_t* f, hone_builder_t* b, const tables_t* t,
                            hone_value_t* at, hone_value_t* x) {
  hone_value_t* value = hone_take_along(b, x, hone_gather(b, t->feature, at), 1);
  hone_value_t* split = hone_gather(b, t->split, at);
  hone_value_t *mode = NULL, *result = NULL;
  for (int m = 0; m < HONE_BRANCH_COUNT; m++) {
    if (!uses_mode(f, m)) continue;
    hone_value_t* holds = test(b, t, m, at, value, split);
    if (result && !mode) mode = hone_gather(b, t->mode, at);
    result = result ? hone_select(b, hone_eq_number(b, mode, m), holds, result) : holds;
  }
  if (!t->missing) return result;
  return hone_or(b, result, hone_and(b, hone_is_nan(b, value), hone_gather(b, t->missing, at)));
}

hone_value_t* hone_forest_walk(hone_forest_t* f, hone_value_t* x) {
  hone_builder_t* b = f->l->b;
  int depth = find_depth(f);
  if (depth < 0 || !hone_is_known(b, x)) return NULL;
  hone_dim_t shape[2] = {hone_dim(x, 0), hone_d(f->n_trees)};
  hone_value_t* at = hone_expand(b, hone_list_i64(b, f->n_trees, f->roots), 2, shape);
  if (depth == 0 || !at) return at;
  tables_t tables = make_tables(f);
  hone_builder_t body;
  hone_value_t *round, *here, *out;
  hone_loop_open(b, "trees", 1, &at->type, &body, &round, &here);
  hone_value_t* holds = passes(f, &body, &tables, here, x);
  hone_value_t* next = hone_select(&body, holds, hone_gather(&body, tables.yes, here),
                                   hone_gather(&body, tables.no, here));
  hone_loop_close(b, &body, hone_scalar_i64(b, HONE_I64, depth), NULL, 1, &at, NULL, &next, 0, NULL,
                  &out);
  return out;
}

/* ---- totals ---- */

static hone_value_t* score_table(hone_forest_t* f) {
  const int64_t dims[2] = {f->n_entries, f->n_targets};
  return hone_constant_data(f->l->b, HONE_BOOL, 2, dims, f->scores);
}

hone_value_t* hone_forest_has_score(hone_forest_t* f, hone_value_t* leaves) {
  hone_builder_t* b = f->l->b;
  const int64_t trees[1] = {1};
  return hone_reduce(b, HONE_COMBINE_MAX, hone_gather(b, score_table(f), leaves), 1, trees, false);
}

hone_value_t* hone_forest_total(hone_forest_t* f, hone_value_t* leaves, hone_aggregate_t how) {
  hone_builder_t* b = f->l->b;
  const int64_t trees[1] = {1};
  hone_value_t* weights = constant_numbers(f, f->n_targets, f->weights);
  if (how == HONE_AGGREGATE_SUM || how == HONE_AGGREGATE_AVERAGE) {
    hone_value_t* sum =
        hone_reduce(b, HONE_COMBINE_ADD, hone_gather(b, weights, leaves), 1, trees, false);
    return how == HONE_AGGREGATE_SUM ? sum : hone_div_number(b, sum, f->n_trees);
  }
  bool least = how == HONE_AGGREGATE_MIN;
  hone_value_t* none = hone_scalar(b, f->dtype, least ? (double)INFINITY : -(double)INFINITY);
  weights = hone_select(b, score_table(f), weights, none);
  hone_value_t* best = hone_reduce(b, least ? HONE_COMBINE_MIN : HONE_COMBINE_MAX,
                                   hone_gather(b, weights, leaves), 1, trees, false);
  return hone_select(b, hone_forest_has_score(f, leaves), best, hone_scalar(b, f->dtype, 0));
}

hone_value_t* hone_forest_mask(hone_forest_t* f, hone_value_t* leaves, hone_value_t* totals) {
  hone_builder_t* b = f->l->b;
  bool all = true; /* every leaf speaks of every target */
  for (int64_t i = 0; i < f->n_entries; i++)
    for (int k = 0; k < f->n_targets && f->mode[i] == HONE_BRANCH_LEAF; k++)
      all &= f->scores[i * f->n_targets + k];
  if (all) return totals;
  return hone_select(b, hone_forest_has_score(f, leaves), totals, hone_scalar(b, f->dtype, 0));
}
