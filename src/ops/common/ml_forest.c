/* See ml_forest.h. */
#include "ops/common/ml_forest.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* Steps between looks for trees that have ended, the most that are written out, and the trees of
 * which the CPU's schedules take whole groups. */
enum { STEPS = 2, MOST_STEPS = 32, GROUP = 14 };

bool hone_forest_init(hone_forest_t* f, hone_lower_t* l, int64_t n_entries, int64_t n_targets,
                      int64_t n_scores) {
  hone_arena_t* arena = l->b->graph->arena;
  f->l = l;
  if (n_entries < 1 || n_entries > INT32_MAX || n_targets < 1 || n_targets > INT32_MAX) {
    hone_op_fail(l, "%lld nodes and %lld targets; both must be positive", (long long)n_entries,
                 (long long)n_targets);
    return false;
  }
  size_t n = (size_t)n_entries + 1 /* a blank */, scores = (size_t)n_scores;
  f->n_entries = (int)n_entries;
  f->n_targets = (int)n_targets;
  f->feature = hone_arena_array(arena, n, sizeof *f->feature);
  f->split = hone_arena_array(arena, n, sizeof *f->split);
  f->mode = hone_arena_array(arena, n, sizeof *f->mode);
  f->yes = hone_arena_array(arena, n, sizeof *f->yes);
  f->no = hone_arena_array(arena, n, sizeof *f->no);
  f->missing_is_yes = hone_arena_array(arena, n, sizeof *f->missing_is_yes);
  f->roots = hone_arena_array(arena, n, sizeof *f->roots);
  f->score_entry = hone_arena_array(arena, scores, sizeof *f->score_entry);
  f->score_target = hone_arena_array(arena, scores, sizeof *f->score_target);
  f->score_weight = hone_arena_array(arena, scores, sizeof *f->score_weight);
  bool ok = f->feature && f->split && f->mode && f->yes && f->no && f->missing_is_yes && f->roots &&
            f->score_entry && f->score_target && f->score_weight;
  if (!ok) hone_fail_status(l->b, hone_oom());
  return ok;
}

void hone_forest_add_score(hone_forest_t* f, int64_t entry, int64_t target, double weight) {
  f->score_entry[f->n_scores] = entry;
  f->score_target[f->n_scores] = target;
  f->score_weight[f->n_scores++] = weight;
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

/* Trees in the order of their depth, the deepest first; `first` is zeroed, and has room for
 * each depth. */
static void sort_trees(hone_forest_t* f, const int32_t* depth_below, int64_t* roots,
                       int64_t* first) {
  int64_t before = 0;
  for (int t = 0; t < f->n_trees; t++) first[depth_below[f->roots[t]]]++;
  for (int depth = f->n_entries - 1; depth >= 0; depth--) {
    int64_t count = first[depth];
    first[depth] = before;
    before += count;
  }
  for (int t = 0; t < f->n_trees; t++) {
    int32_t depth = depth_below[f->roots[t]];
    f->depth[first[depth]] = depth;
    roots[first[depth]++] = f->roots[t];
  }
  f->roots = roots;
}

/* Of the deepest tree; -1 after an error. */
static int find_depth(hone_forest_t* f) {
  hone_lower_t* l = f->l;
  size_t n = (size_t)f->n_entries;
  hone_arena_t* arena = l->b->graph->arena;
  size_t trees = (size_t)f->n_trees + GROUP; /* with blanks */
  f->depth = hone_arena_array(arena, trees, sizeof *f->depth);
  int64_t* roots = hone_arena_array(arena, trees, sizeof *roots);
  int64_t* first = hone_arena_array(arena, n, sizeof *first);
  visit_t v = {.stack = hone_arena_array(arena, n, sizeof *v.stack),
               .depth = hone_arena_array(arena, n, sizeof *v.depth)};
  if (!v.stack || !v.depth || !f->depth || !roots || !first) {
    hone_fail_status(l->b, hone_oom());
    return -1;
  }
  if (!branches_exist(f)) {
    hone_op_fail(l, "a branch leads to a node that is not there");
    return -1;
  }
  for (size_t i = 0; i < n; i++) v.depth[i] = -1;
  for (int t = 0; t < f->n_trees; t++) {
    if (visit_from(f, &v, f->roots[t])) continue;
    hone_op_fail(l, "the nodes of tree %d form a cycle", t);
    return -1;
  }
  sort_trees(f, v.depth, roots, first);
  return f->n_trees ? f->depth[0] : 0;
}

/* ---- trees of one target ---- */

enum { NO_TARGET = -1, SEVERAL_TARGETS = -2 };

/* The only target that each entry scores: [n_entries]. */
static int64_t* entry_targets(const hone_forest_t* f) {
  size_t n = (size_t)f->n_entries;
  int64_t* target = hone_arena_array(f->l->b->graph->arena, n, sizeof *target);
  for (size_t i = 0; target && i < n; i++) target[i] = NO_TARGET;
  for (int i = 0; target && i < f->n_scores; i++) {
    int64_t* at = &target[f->score_entry[i]];
    *at = *at == NO_TARGET ? f->score_target[i] : SEVERAL_TARGETS;
  }
  return target;
}

typedef struct survey {
  const int64_t* target; /* of entries */
  int64_t* stack;
  int32_t* seen_by; /* the tree, plus 1, from which an entry was met last */
  int64_t left;     /* entries that may still be met; trees that share much are given up */
} survey_t;

/* The target that all leaves of a tree score; NO_TARGET when there is no such. */
static int64_t survey_tree(const hone_forest_t* f, survey_t* s, int tree) {
  int64_t target = NO_TARGET, top = 0;
  s->stack[top++] = f->roots[tree];
  s->seen_by[f->roots[tree]] = tree + 1;
  while (top) {
    int64_t at = s->stack[--top], next[2] = {f->yes[at], f->no[at]};
    if (s->left-- == 0) return NO_TARGET;
    if (f->mode[at] == HONE_BRANCH_LEAF) {
      if (s->target[at] < 0 || (target >= 0 && s->target[at] != target)) return NO_TARGET;
      target = s->target[at];
      continue;
    }
    for (int i = 0; i < 2; i++) {
      if (s->seen_by[next[i]] == tree + 1) continue;
      s->seen_by[next[i]] = tree + 1;
      s->stack[top++] = next[i];
    }
  }
  return target;
}

static void find_tree_targets(hone_forest_t* f) {
  hone_arena_t* arena = f->l->b->graph->arena;
  size_t n = (size_t)f->n_entries, trees = (size_t)f->n_trees + GROUP; /* with blanks */
  survey_t s = {.target = entry_targets(f),
                .stack = hone_arena_array(arena, n, sizeof *s.stack),
                .seen_by = hone_arena_array(arena, n, sizeof *s.seen_by),
                .left = 4 * (int64_t)n};
  int64_t* targets = hone_arena_array(arena, trees, sizeof *targets);
  if (!s.target || !s.stack || !s.seen_by || !targets) {
    hone_fail_status(f->l->b, hone_oom());
    return;
  }
  for (int t = 0; t < f->n_trees; t++) {
    targets[t] = survey_tree(f, &s, t);
    if (targets[t] == NO_TARGET) return;
  }
  f->tree_target = targets;
}

/* ---- blanks ---- */

/* Trees of one leaf that says nothing fill up the last group: others would have to overlap, and
 * threads can share no groups that do. Only where each tree has one target, so that nobody asks
 * what the leaf says of others. */
static void add_blanks(hone_forest_t* f) {
  int blank = f->n_entries, rest = f->n_trees % GROUP;
  if (!f->by_key || !f->tree_target || f->n_trees < GROUP || !rest) return;
  f->n_blanks = GROUP - rest;
  f->n_entries++;
  f->mode[blank] = HONE_BRANCH_LEAF;
  f->yes[blank] = f->no[blank] = blank;
  for (int i = 0; i < f->n_blanks; i++, f->n_trees++) {
    f->roots[f->n_trees] = blank;
    f->depth[f->n_trees] = 0;
    f->tree_target[f->n_trees] = f->tree_target[0];
  }
}

/* ---- constants ---- */

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

/* What is known of an entry stands in one row of whole numbers, so that it is found in one place
 * in memory; the split by its bits. */
enum { COLUMN_SPLIT, COLUMN_FEATURE, COLUMN_NEXT, COLUMN_MISSING, COLUMN_MODE, MOST_COLUMNS };

/* What the loop reads: constants outside of it. */
typedef struct tables {
  hone_value_t *entries, *members;
  bool has_missing;
  bool wraps; /* some features count from the end */
} tables_t;

static int64_t bits_of(hone_dtype_t dtype, double number) {
  const float narrow = (float)number;
  int32_t bits;
  int64_t wide_bits;
  memcpy(&bits, &narrow, sizeof bits);
  memcpy(&wide_bits, &number, sizeof wide_bits);
  return dtype == HONE_F32 ? bits : wide_bits;
}

/* A feature that no i32 holds is as wrong as the last that one holds. */
static int64_t clamp_feature(int64_t feature) {
  return feature < INT32_MIN ? INT32_MIN : feature > INT32_MAX ? INT32_MAX : feature;
}

static void fill_row(const hone_forest_t* f, int entry, int columns, int64_t* out) {
  int64_t split = f->by_key ? hone_forest_split_key(f, entry) : bits_of(f->dtype, f->split[entry]);
  const int64_t all[MOST_COLUMNS] = {split, clamp_feature(f->feature[entry]), f->next[entry],
                                     f->missing_is_yes[entry], f->mode[entry]};
  for (int i = 0; i < columns; i++) out[i] = all[i];
}

/* The rows, in whole numbers as wide as a split; NULL after an error. */
static hone_value_t* make_entries(hone_forest_t* f, int columns) {
  hone_builder_t* b = f->l->b;
  const int64_t dims[2] = {f->n_entries, columns};
  int64_t* rows =
      hone_arena_array(b->graph->arena, (size_t)f->n_entries, (size_t)columns * sizeof *rows);
  if (!rows) return hone_fail_status(b, hone_oom());
  for (int i = 0; i < f->n_entries; i++)
    fill_row(f, i, columns, rows + (size_t)i * (size_t)columns);
  hone_value_t* entries = hone_constant_data(b, HONE_I64, 2, dims, rows);
  return f->dtype == HONE_F32 ? hone_cast(b, entries, HONE_I32) : entries;
}

static int count_modes(const hone_forest_t* f) {
  int count = 0;
  for (int m = 0; m < HONE_BRANCH_COUNT; m++) count += uses_mode(f, m);
  return count;
}

static tables_t make_tables(hone_forest_t* f) {
  bool has_missing = !f->by_key && any_of(f, f->missing_is_yes);
  bool has_modes = !f->by_key && count_modes(f) > 1;
  tables_t tables = {
      .entries = make_entries(f, has_modes     ? MOST_COLUMNS
                                 : has_missing ? COLUMN_MODE
                                               : COLUMN_MISSING),
      .members = f->n_members ? constant_numbers(f, f->n_members, f->members) : NULL,
      .has_missing = has_missing,
  };
  for (int i = 0; i < f->n_entries; i++) tables.wraps |= f->feature[i] < 0;
  return tables;
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

/* Whether each entry is left for the second of its pair, whose row of the table is given; tests of
 * unused kinds are not written. */
static hone_value_t* passes(const hone_forest_t* f, hone_builder_t* b, const tables_t* t,
                            hone_value_t* at, hone_value_t* row, hone_value_t* x) {
  hone_value_t* feature = hone_pick(b, row, 2, hone_d(COLUMN_FEATURE));
  hone_value_t* value =
      t->wraps ? hone_take_along(b, x, feature, 1) : hone_take_from_front(b, x, feature, 1);
  hone_value_t* split =
      hone_bitcast(b, hone_pick(b, row, 2, hone_d(COLUMN_SPLIT)), hone_dtype_of(x));
  hone_value_t *mode = NULL, *result = NULL;
  if (f->by_key) return hone_lt(b, value, split);
  for (int m = 0; m < HONE_BRANCH_COUNT; m++) {
    if (!uses_mode(f, m)) continue;
    hone_value_t* holds = test(b, t, m, at, value, split);
    if (result && !mode) mode = hone_pick(b, row, 2, hone_d(COLUMN_MODE));
    result = result ? hone_select(b, hone_eq_number(b, mode, m), holds, result) : holds;
  }
  if (!t->has_missing) return result;
  hone_value_t* missing = hone_cast(b, hone_pick(b, row, 2, hone_d(COLUMN_MISSING)), HONE_BOOL);
  return hone_or(b, result, hone_and(b, hone_is_nan(b, value), missing));
}

/* Where the rows stand after STEPS steps from `at`. */
static hone_value_t* go(const hone_forest_t* f, hone_builder_t* b, const tables_t* t,
                        hone_value_t* at, hone_value_t* x) {
  for (int i = 0; i < STEPS; i++) {
    hone_value_t* row = hone_gather(b, t->entries, at);
    hone_value_t* holds = passes(f, b, t, at, row, x);
    hone_value_t* next = hone_pick(b, row, 2, hone_d(COLUMN_NEXT));
    at = hone_add(b, hone_cast(b, next, HONE_I64), hone_cast(b, holds, HONE_I64));
  }
  return at;
}

/* Of the trees, which come deepest first, those to go on with from this level: groups of them are
 * left behind when half have ended; fewer are not worth a piece. */
static int trees_to_go_on(const hone_forest_t* f, int trees, int level) {
  enum { FEW = 16 };
  int left = trees;
  while (f->depth[left - 1] <= level) left--;
  int behind = (trees - left) / GROUP * GROUP;
  return left >= FEW && 2 * behind >= trees - GROUP ? trees - behind : trees;
}

/* Step by step, trees that end early left behind. */
static hone_value_t* go_down(const hone_forest_t* f, hone_builder_t* b, const tables_t* t,
                             hone_value_t* at, hone_value_t* x) {
  hone_value_t* parts[MOST_STEPS / STEPS + 1];
  int n_parts = 0, trees = f->n_trees;
  for (int level = 0; level < f->depth[0]; level += STEPS) {
    int left = trees_to_go_on(f, trees, level);
    if (left < trees) {
      parts[n_parts++] = hone_slice_axis(b, at, 1, hone_d(left), hone_d(trees));
      at = hone_slice_axis(b, at, 1, hone_d(0), hone_d(left));
      trees = left;
    }
    at = go(f, b, t, at, x);
  }
  hone_value_t* all[MOST_STEPS / STEPS + 1] = {at};
  for (int i = 0; i < n_parts; i++) all[i + 1] = parts[n_parts - 1 - i];
  return n_parts ? hone_concat(b, n_parts + 1, all, 1) : at;
}

hone_value_t* hone_forest_walk(hone_forest_t* f, hone_value_t* x) {
  hone_builder_t* b = f->l->b;
  int depth = find_depth(f);
  if (depth < 0 || !hone_is_known(b, x)) return NULL;
  find_tree_targets(f);
  f->by_key = depth > 0 && hone_forest_can_use_keys(f, hone_dim(x, 1));
  if (!hone_builder_ok(b)) return NULL;
  add_blanks(f);
  if (!hone_forest_pair(f)) return NULL;
  if (f->by_key) x = hone_forest_keys(f, x);
  hone_dim_t shape[2] = {hone_dim(x, 0), hone_d(f->n_trees)};
  hone_value_t* at = hone_expand(b, hone_list_i64(b, f->n_trees, f->roots), 2, shape);
  if (depth == 0 || !at) return at;
  tables_t tables = make_tables(f);
  if (depth <= MOST_STEPS) return go_down(f, b, &tables, at, x);
  hone_builder_t body;
  hone_value_t *round, *here, *out;
  hone_loop_open(b, "trees", 1, &at->type, &body, &round, &here);
  hone_value_t* next = go(f, &body, &tables, here, x);
  hone_loop_close(b, &body, hone_scalar_i64(b, HONE_I64, (depth + STEPS - 1) / STEPS), NULL, 1, &at,
                  NULL, &next, 0, NULL, &out);
  return out;
}

/* ---- totals ---- */

/* Room for a table [n_entries, n_targets]. */
static void* table_room(hone_forest_t* f, size_t size) {
  size_t count;
  if (!hone_size_mul((size_t)f->n_entries, (size_t)f->n_targets, &count)) count = SIZE_MAX;
  void* table = hone_arena_array(f->l->b->graph->arena, count, size);
  if (!table) hone_fail_status(f->l->b, hone_oom());
  return table;
}

/* bool [n_entries, n_targets]: the leaf says something about the target. */
static bool* score_flags(hone_forest_t* f) {
  bool* flags = table_room(f, sizeof *flags);
  for (int i = 0; flags && i < f->n_scores; i++)
    flags[f->score_entry[i] * f->n_targets + f->score_target[i]] = true;
  return flags;
}

static hone_value_t* score_table(hone_forest_t* f) {
  const int64_t dims[2] = {f->n_entries, f->n_targets};
  bool* flags = score_flags(f);
  return flags ? hone_constant_data(f->l->b, HONE_BOOL, 2, dims, flags) : NULL;
}

/* Weights by entry and target. */
static hone_value_t* weight_table(hone_forest_t* f) {
  double* weights = table_room(f, sizeof *weights);
  for (int i = 0; weights && i < f->n_scores; i++)
    weights[f->score_entry[i] * f->n_targets + f->score_target[i]] += f->score_weight[i];
  return weights ? constant_numbers(f, f->n_targets, weights) : NULL;
}

/* bool [n_targets]: which targets some tree scores, where trees have one each. */
static bool* scored_targets(hone_forest_t* f) {
  bool* scored = hone_arena_array(f->l->b->graph->arena, (size_t)f->n_targets, sizeof *scored);
  if (!scored) hone_fail_status(f->l->b, hone_oom());
  for (int t = 0; scored && t < f->n_trees; t++) scored[f->tree_target[t]] = true;
  return scored;
}

hone_value_t* hone_forest_has_score(hone_forest_t* f, hone_value_t* leaves) {
  hone_builder_t* b = f->l->b;
  static const int64_t trees[1] = {1};
  if (!hone_is_known(b, leaves)) return NULL;
  if (!f->tree_target)
    return hone_reduce(b, HONE_COMBINE_MAX, hone_gather(b, score_table(f), leaves), 1, trees,
                       false);
  const int64_t count = f->n_targets;
  bool* scored = scored_targets(f);
  hone_dim_t shape[2] = {hone_dim(leaves, 0), hone_d(count)};
  return scored ? hone_expand(b, hone_constant_data(b, HONE_BOOL, 1, &count, scored), 2, shape)
                : NULL;
}

/* What the table says of the leaves. Those of trees that were left behind at the same level are
 * looked up where the walk ends: there it is known that they are in the table. */
static hone_value_t* look_up(hone_builder_t* b, hone_value_t* table, hone_value_t* leaves) {
  hone_value_t* parts[MOST_STEPS / STEPS + 1];
  if (!leaves || leaves->node->prim != HONE_PRIM_CONCAT) return hone_gather(b, table, leaves);
  int n = leaves->node->n_inputs;
  for (int i = 0; i < n; i++) parts[i] = hone_gather(b, table, leaves->node->inputs[i]);
  return hone_concat(b, n, parts, 1);
}

/* Weights of trees to be added up, in f64: the order of adding f32 hardly ever shows there, and
 * with it not which of two classes wins that all but tie. */
static hone_value_t* addends(hone_forest_t* f, hone_value_t* table, hone_value_t* leaves) {
  return hone_cast(f->l->b, look_up(f->l->b, table, leaves), HONE_F64);
}

/* Sums where each tree has one target: weights of the leaves [n, trees] times a
 * matrix that says which tree counts for which target. */
static hone_value_t* sum_by_tree(hone_forest_t* f, hone_value_t* leaves) {
  hone_builder_t* b = f->l->b;
  const int64_t dims[2] = {f->n_trees, f->n_targets};
  size_t cells;
  if (!hone_size_mul((size_t)dims[0], (size_t)dims[1], &cells)) cells = SIZE_MAX;
  double* weights = hone_arena_array(b->graph->arena, (size_t)f->n_entries, sizeof *weights);
  float* counts = hone_arena_array(b->graph->arena, cells, sizeof *counts);
  if (!weights || !counts) return hone_fail_status(b, hone_oom());
  for (int i = 0; i < f->n_scores; i++) weights[f->score_entry[i]] = f->score_weight[i];
  for (int t = 0; t < f->n_trees; t++) counts[t * dims[1] + f->tree_target[t]] = 1;
  hone_value_t* table = constant_numbers(f, 0, weights);
  if (f->n_targets == 1) {
    hone_value_t* sum = hone_reduce_last(b, HONE_COMBINE_ADD, addends(f, table, leaves), 1, true);
    return hone_cast(b, sum, f->dtype);
  }
  hone_value_t* of_trees = hone_gather(b, table, leaves);
  return hone_matmul(b, of_trees, hone_constant_data(b, HONE_F32, 2, dims, counts), f->dtype);
}

static hone_value_t* sum_scores(hone_forest_t* f, hone_value_t* leaves) {
  static const int64_t trees[1] = {1};
  hone_builder_t* b = f->l->b;
  if (f->tree_target) return sum_by_tree(f, leaves);
  hone_value_t* all = addends(f, weight_table(f), leaves);
  return hone_cast(b, hone_reduce(b, HONE_COMBINE_ADD, all, 1, trees, false), f->dtype);
}

hone_value_t* hone_forest_total(hone_forest_t* f, hone_value_t* leaves, hone_aggregate_t how) {
  hone_builder_t* b = f->l->b;
  static const int64_t trees[1] = {1};
  if (!hone_is_known(b, leaves)) return NULL;
  if (how == HONE_AGGREGATE_SUM) return sum_scores(f, leaves);
  if (how == HONE_AGGREGATE_AVERAGE)
    return hone_div_number(b, sum_scores(f, leaves), f->n_trees - f->n_blanks);
  bool least = how == HONE_AGGREGATE_MIN;
  hone_value_t* none = hone_scalar(b, f->dtype, least ? (double)INFINITY : -(double)INFINITY);
  hone_value_t* weights = hone_select(b, score_table(f), weight_table(f), none);
  hone_value_t* best = hone_reduce(b, least ? HONE_COMBINE_MIN : HONE_COMBINE_MAX,
                                   hone_gather(b, weights, leaves), 1, trees, false);
  return hone_select(b, hone_forest_has_score(f, leaves), best, hone_scalar(b, f->dtype, 0));
}

/* True when every leaf speaks of every target. */
static bool all_scored(hone_forest_t* f) {
  const bool* flags = f->tree_target ? scored_targets(f) : score_flags(f);
  int64_t rows = f->tree_target ? 1 : f->n_entries;
  for (int64_t i = 0; flags && i < rows; i++)
    for (int k = 0; k < f->n_targets; k++)
      if ((f->tree_target || f->mode[i] == HONE_BRANCH_LEAF) && !flags[i * f->n_targets + k])
        return false;
  return flags != NULL;
}

hone_value_t* hone_forest_mask(hone_forest_t* f, hone_value_t* leaves, hone_value_t* totals) {
  hone_builder_t* b = f->l->b;
  if (all_scored(f)) return totals;
  return hone_select(b, hone_forest_has_score(f, leaves), totals, hone_scalar(b, f->dtype, 0));
}
